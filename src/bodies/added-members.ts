/** Added members: the members of bodies that are not fields: `_links`, `_embedded`, `_pair` and the idempotency key. Part 13; part 2. */
import { toCase } from '../formats/naming.ts'
import { idempotencyKeyField, idempotencyKeyPattern } from '../idempotency/key.ts'
import { embeddableNames } from '../lists/embed-names.ts'
import { relationsOf } from '../resources/references.ts'
import type { Resource } from '../resources/resource.ts'
import { linkNames } from '../views/item-links.ts'
import type { ComponentRef, DocumentPart } from './components.ts'
import type { SchemaContext } from './schemas.ts'

/** The schema of a resource's items, and the property `_pair` of those that are paired. */
interface EmbeddedSchemas {
  readonly item: (resource: Resource) => ComponentRef
  readonly pair: (pair: Resource) => DocumentPart
}

/** The property `_embedded` of the items of a resource; empty if nothing can be embedded. R232. */
export const embeddedProperty = (
  own: Resource,
  resources: ReadonlyMap<string, Resource>,
  schemas: EmbeddedSchemas,
): DocumentPart => embeddedMembers(own, embeddableNames(own, resources), resources, schemas)

function embeddedMembers(
  own: Resource,
  names: readonly string[],
  resources: ReadonlyMap<string, Resource>,
  schemas: EmbeddedSchemas,
): DocumentPart {
  if (names.length === 0) return {}
  const tops = relationsOf(own.name, resources, own.settings.naming).filter(({ name }) => names.includes(name))
  const properties = tops.map(({ name, by, resource, pair }): [string, DocumentPart] => {
    const there = resources.get(resource) as Resource
    const embeddable = new Set(embeddableNames(there, resources))
    const below = names.flatMap((path) => (path.startsWith(`${name}.`) ? path.slice(name.length + 1) : []))
    // The schema of an item already has the names that its resource can embed.
    const inner = below.every((one) => embeddable.has(one)) ? {} : embeddedMembers(there, below, resources, schemas)
    const more = { ...inner, ...(pair !== undefined && schemas.pair(resources.get(pair) as Resource)) }
    const item = { ...schemas.item(there) }
    const schema = Object.keys(more).length > 0 ? { allOf: [item, { type: 'object', properties: more }] } : item
    return [name, by === 'list' ? pageSchema(there, schema) : { anyOf: [schema, { type: 'null' }] }]
  })
  const description = 'What the parameter embed names, as this caller sees it.'
  return {
    _embedded: { type: 'object', readOnly: true, description, properties: Object.fromEntries(properties) },
  }
}

function pageSchema({ settings: { list, naming } }: Resource, items: DocumentPart): DocumentPart {
  const more = toCase('has-more', naming)
  return {
    type: 'object',
    description: 'The first page, in the order of the list.',
    properties: {
      data: { type: 'array', items, maxItems: Math.min(list.pageSize, list.maxPageSize) },
      [more]: { type: 'boolean' },
    },
    required: ['data', more],
  }
}

/** The schema of the links of an item; links of actions are optional, as they depend on the caller and the state. */
export function linksProperty(resource: Resource, { resources }: SchemaContext): DocumentPart | null {
  const names = linkNames(resource, resources)
  const url = { type: 'string', format: 'uri-reference' }
  const properties = Object.fromEntries(['self', ...(names ?? [])].map((name) => [name, url]))
  const description = 'Relative URLs; that of an action is there only while this caller can use it.'
  return names && { _links: { type: 'object', readOnly: true, description, properties, required: ['self'] } }
}

/** The members that the service adds to items. */
export const ignoredMembers = ({ carriesEmbedded, isPaired }: Resource): DocumentPart => ({
  _links: ignoredSchema,
  ...(carriesEmbedded && { _embedded: ignoredSchema }),
  ...(isPaired && { _pair: ignoredSchema }),
})

/** The introduction says that it is ignored. */
export const ignoredSchema = { readOnly: true }

/** The property of the idempotency key, if bodies may have one. R93. */
export function keyProperty(
  { settings }: Resource,
  operation: 'create' | 'change' | 'transition',
  { components }: SchemaContext,
): DocumentPart {
  const name = idempotencyKeyField(settings)
  const takes = operation !== 'change' || settings.idempotency.methods.includes('PATCH')
  if (name === null || !takes) return {}
  const description = 'The idempotency key, where the header does not carry it.'
  const schema = { type: 'string', pattern: idempotencyKeyPattern.source, writeOnly: true, description }
  return { [name]: components.put('schemas', ['IdempotencyKey'], schema) }
}
