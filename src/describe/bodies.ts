/** Describes the bodies of a resource: as it is answered, created, replaced, changed and listed. Part 13; part 2. */
import type { Terms } from '../contract/terms.ts'
import { bodyField, keyForm } from '../idempotency/key.ts'
import { informationOf } from '../lists/page.ts'
import { isReadByWriters } from '../resources/declaration.ts'
import type { Member, Resource } from '../resources/resource.ts'

import { type Part, pascal, present, type Ref, type Shelf } from './shelf.ts'
import { type Around, closing, idSchema, inAddress, requiring, schemaOf } from './values.ts'

/** The schema of the item of a resource. */
export function itemRef(resource: Resource, around: Around): Ref {
  const seen = resource.members.filter(({ hidden }) => !hidden)
  return kept(resource, '', around, {
    title: resource.title,
    type: 'object',
    properties: properties(seen, (member) => answered(resource, member, around)),
    ...requiring(seen.filter(({ read }) => read === null).map(({ name }) => name)),
  })
}

export function createRef(resource: Resource, around: Around): Ref {
  const { settings, key } = resource
  const taken = resource.members.filter(
    (member) =>
      member.from === 'caller' ||
      member.name === key ||
      (member.name === 'id' && key === null && settings.resource.id === 'client'),
  )
  const needed = taken.filter(({ name, absent }) => absent === undefined && name !== 'id')
  return kept(resource, 'Create', around, {
    title: `${resource.title}, as it is created`,
    type: 'object',
    properties: {
      ...properties(taken, ({ name }) => {
        const sent = name === 'id' ? idSchema(resource, around) : field(resource, name, 'sent', around)
        return name === key ? inAddress(sent) : sent
      }),
      ...keyed(resource, 'create'),
    },
    ...requiring(needed.map(({ name }) => name)),
    ...closing(settings),
  })
}

/** What a PUT leaves out keeps its value where it is never answered, takes scopes, or cannot change and some callers may not read it; all else has to be there. R111. */
export function replaceRef(resource: Resource, around: Around): Ref {
  const isRead = isReadByWriters(resource)
  const stays = ({ hidden, write, immutable }: Member) => hidden || write.length > 0 || (immutable && !isRead)
  const needed = resource.members.filter((one) => one.from === 'caller' && one.absent === undefined && !stays(one))
  return kept(resource, 'Replace', around, {
    title: `${resource.title}, as it is replaced`,
    type: 'object',
    properties: {
      ...properties(resource.members, (member) => returned(resource, member, 'sent', around)),
      _links: ignored,
    },
    ...requiring(needed.map(({ name }) => name)),
    ...closing(resource.settings),
  })
}

export function changeRef(resource: Resource, around: Around): Ref {
  return kept(resource, 'Update', around, {
    title: `${resource.title}, as it is changed: a merge patch`,
    type: 'object',
    properties: {
      ...properties(resource.members, (member) => returned(resource, member, 'patched', around)),
      _links: ignored,
      ...keyed(resource, 'change'),
    },
    ...closing(resource.settings),
  })
}

export function listRef(resource: Resource, around: Around): Ref {
  const { settings } = resource
  const { pagination, maxPageSize, links } = settings.list
  const inside = links === 'body' || links === 'both'
  const url = { type: 'string', format: 'uri-reference' }
  const relations = ['self', 'first', 'prev', 'next', 'last'].map((relation) => [relation, url])
  return kept(resource, 'List', around, {
    title: `${resource.title}: a page of a list`,
    type: 'object',
    properties: {
      data: { type: 'array', items: once(itemRef, resource, around), maxItems: maxPageSize },
      [pagination.field]: around.shelf.put('schemas', ['PageInformation', `${nameOf(resource)}PageInformation`], {
        description: 'Where the page stands.',
        ...alternatives(informationOf(settings)),
      }),
      ...(inside ? { _links: { type: 'object', properties: Object.fromEntries(relations), required: ['self'] } } : {}),
    },
    required: ['data', pagination.field, ...(inside ? ['_links'] : [])],
  })
}

const nameOf = ({ singular }: Resource): string => pascal(singular)

/** Resources may share a singular, or have that of a shared schema. */
function kept(resource: Resource, what: string, { shelf }: Around, part: Part): Ref {
  const names = [nameOf(resource) + what, `${pascal(resource.name)}Item${what}`] as const
  return shelf.put('schemas', names, part)
}

const properties = (members: readonly Member[], schema: (member: Member) => Part): Part =>
  Object.fromEntries(members.map((member) => [member.name, schema(member)]))

const field = ({ name }: Resource, own: string, way: 'answered' | 'sent' | 'patched', around: Around): Part =>
  schemaOf(around.termsOf(name)[own] as Terms, way, around)

/** A field as rows may have it, in what is answered and in what takes the place of it. */
const storedField = ({ name }: Resource, own: string, way: 'answered' | 'sent' | 'patched', around: Around): Part =>
  schemaOf(around.storedOf(name)[own] as Terms, way, around)

function answered(resource: Resource, { name }: Member, around: Around): Part {
  const owner = name === resource.parent?.field ? around.resources.get(resource.parent.resource) : undefined
  if (name === 'id') return { ...idSchema(resource, around), readOnly: true }
  return owner ? { ...idSchema(owner, around), readOnly: true } : storedField(resource, name, 'answered', around)
}

const ignored = { readOnly: true, description: 'Set by the service; ignored here.' }

/** What a body in place of another may hold: the address has to agree, and what the service sets is ignored. R48. */
function returned(resource: Resource, member: Member, way: 'sent' | 'patched', around: Around): Part {
  const { name, from } = member
  if (from === 'caller') return storedField(resource, name, way, around)
  if (from === 'service') return ignored
  const {
    default: _,
    description: __,
    ...schema
  } = name === resource.key ? field(resource, name, way, around) : answered(resource, member, around)
  return { ...schema, readOnly: true, description: 'As in the address, or left out.' }
}

/** The key that a body may carry. R93. */
function keyed({ settings }: Resource, operation: 'create' | 'change'): Part {
  const name = bodyField(settings)
  const takes = operation === 'create' || settings.idempotency.methods.includes('PATCH')
  if (name === null || !takes) return {}
  const description = 'The idempotency key, where the header does not carry it.'
  return { [name]: present({ type: 'string', pattern: keyForm.source, writeOnly: true, description }) }
}

const made = new WeakMap<Shelf, Map<string, Ref>>()

/** A body, which is made once for a document. */
export function once(make: (resource: Resource, around: Around) => Ref, resource: Resource, around: Around): Ref {
  const own = made.get(around.shelf) ?? new Map<string, Ref>()
  made.set(around.shelf, own)
  const name = `${make.name} ${resource.name}`
  const ref = own.get(name) ?? make(resource, around)
  own.set(name, ref)
  return ref
}

/** One schema as itself. */
const alternatives = (schemas: readonly object[]): Part =>
  schemas.length === 1 ? { ...schemas[0] } : { anyOf: schemas }
