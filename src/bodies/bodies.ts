/** Bodies: the schemas of a resource in answers, in POST, PUT and PATCH, and in lists. Part 13; part 2. */

import type { FieldTerms } from '../fields/kind.ts'
import { termsOf } from '../fields/value-terms.ts'
import { embeddableNames } from '../lists/embed-names.ts'
import { forwardPageSchema, linksSchema, pageInformationSchemas } from '../lists/page-text.ts'
import { isReadByWriters } from '../resources/declaration.ts'
import type { InputField, OwnOperation, Transition } from '../resources/machine.ts'
import type { Member, Resource } from '../resources/resource.ts'
import { pairFields } from '../views/paired.ts'
import { embeddedProperty, ignoredMembers, ignoredSchema, keyProperty, linksProperty } from './added-members.ts'
import { type ComponentRef, type DocumentPart, pascalCase } from './components.ts'
import { changeExample, createExample, exampleInput, exampleValue } from './example-body.ts'
import {
  addressSchema,
  exampleIds,
  fieldSchema,
  idForm,
  idSchema,
  requiredNames,
  type SchemaContext,
  statusErrorSchema,
  unnamedMembers,
} from './schemas.ts'

/** The schema of an item in answers. */
export function itemRef(resource: Resource, context: SchemaContext): ComponentRef {
  const links = linksProperty(resource, context)
  if (embeddableNames(resource, context.resources).length === 0)
    return putBodySchema(resource, '', context, shownSchema(resource, links, context))
  const { bodies, putRecursive } = context.components
  return putRecursive('schemas', schemaNames(resource, ''), (ref) => {
    bodies.form(bodyName(itemRef, resource), () => ref) // known before it is made: embedded resources may embed it
    const item = (one: Resource) => cachedBodyRef(itemRef, one, context)
    const embedded = embeddedProperty(resource, context.resources, { item, pair: (one) => pairProperty(one, context) })
    return shownSchema(resource, { ...links, ...embedded }, context)
  })
}

/** The property `_pair` of items that are answered as one side of a pair; empty if pairs have no fields. */
export function pairProperty(pair: Resource, context: SchemaContext): DocumentPart {
  const names = pairFields(pair)
  const members = pair.members.filter(({ name }) => names.includes(name))
  if (members.length === 0) return {}
  const schema = putBodySchema(pair, 'Pair', context, {
    title: `${pair.title}: what belongs to the pair`,
    ...{ type: 'object', readOnly: true },
    properties: propertySchemas(members, (member) => answeredSchema(pair, member, context)),
    ...requiredNames(members.filter(({ read }) => read === null).map(({ name }) => name)),
  })
  return { _pair: schema }
}

/** The schema of an item as an event carries it, without links and without embedded items. */
export const recordedRef = (resource: Resource, context: SchemaContext): ComponentRef => {
  const hasMore = linksProperty(resource, context) !== null || embeddableNames(resource, context.resources).length > 0
  if (!hasMore) return itemRef(resource, context)
  return putBodySchema(resource, 'Recorded', context, shownSchema(resource, null, context))
}

function shownSchema(resource: Resource, more: DocumentPart | null, context: SchemaContext): DocumentPart {
  const seen = resource.members.filter(({ writeOnly }) => !writeOnly)
  return {
    title: resource.title,
    description: resource.declaration.description,
    type: 'object',
    properties: { ...propertySchemas(seen, (member) => answeredSchema(resource, member, context)), ...more },
    ...requiredNames([
      ...seen.filter(({ read }) => read === null).map(({ name }) => name),
      ...(more?._links ? ['_links'] : []),
    ]),
  }
}

export function createRef(resource: Resource, context: SchemaContext): ComponentRef {
  const { settings, key } = resource
  const taken = resource.members.filter(
    (member) =>
      member.from === 'caller' ||
      member.name === key ||
      (member.name === 'id' && key === null && settings.resource.id === 'client'),
  )
  const needed = taken.filter(({ name, absent }) => absent === undefined && name !== 'id')
  return putBodySchema(resource, 'Create', context, {
    type: 'object',
    properties: {
      ...propertySchemas(taken, ({ name }) => {
        const sent = name === 'id' ? idForm(resource, context) : declaredSchema(resource, name, 'sent', context)
        return name === key ? addressSchema(sent) : sent
      }),
      ...keyProperty(resource, 'create', context),
    },
    ...requiredNames(needed.map(({ name }) => name)),
    ...unnamedMembers(settings),
    ...listedExample(createExample(resource, exampleIds(context))),
  })
}

/**
 * A PUT may leave out the fields that then keep their value: write-only ones, those with scopes, and immutable ones if not
 * every caller that may replace an item may read it. R111.
 */
export function replaceRef(resource: Resource, context: SchemaContext): ComponentRef {
  const isRead = isReadByWriters(resource)
  const stays = ({ writeOnly, write, immutable }: Member) => writeOnly || write.length > 0 || (immutable && !isRead)
  const needed = resource.members.filter((one) => one.from === 'caller' && one.absent === undefined && !stays(one))
  return putBodySchema(resource, 'Replace', context, {
    type: 'object',
    properties: {
      ...propertySchemas(resource.members, (member) => returnedSchema(resource, member, 'sent', context)),
      ...ignoredMembers(resource),
    },
    ...requiredNames(needed.map(({ name }) => name)),
    ...unnamedMembers(resource.settings),
    ...listedExample(changeExample(resource, exampleIds(context), false)),
  })
}

export function changeRef(resource: Resource, context: SchemaContext): ComponentRef {
  return putBodySchema(resource, 'Update', context, {
    type: 'object',
    properties: {
      ...propertySchemas(resource.members, (member) => returnedSchema(resource, member, 'patched', context)),
      ...ignoredMembers(resource),
      ...keyProperty(resource, 'change', context),
    },
    ...unnamedMembers(resource.settings),
    ...listedExample(changeExample(resource, exampleIds(context), true)),
  })
}

export function listRef(resource: Resource, context: SchemaContext): ComponentRef {
  const { settings } = resource
  const { pagination, maxPageSize } = settings.list
  const links = linksSchema(settings, ['self', 'first', 'prev', 'next', 'last'])
  return putBodySchema(resource, 'List', context, {
    type: 'object',
    properties: {
      data: { type: 'array', items: cachedBodyRef(itemRef, resource, context), maxItems: maxPageSize },
      [pagination.field]: context.components.put(
        'schemas',
        ['PageInformation', `${schemaName(resource)}PageInformation`],
        {
          description: 'Where the page stands.',
          ...anyOfSchemas(pageInformationSchemas(settings)),
        },
      ),
      ...links,
    },
    required: ['data', pagination.field, ...Object.keys(links)],
  })
}

/** The body of a transition or an operation. */
export function inputRef(
  resource: Resource,
  { name, input }: Pick<Transition, 'name' | 'input'>,
  context: SchemaContext,
): ComponentRef {
  const needed = input.filter(({ absent }) => absent === undefined).map((one) => one.name)
  return putBodySchema(resource, pascalCase(name), context, {
    title: `${resource.title}: the input of ${name}`,
    type: 'object',
    properties: {
      ...bodySchemas(resource, input, 'sent', context),
      ...keyProperty(resource, 'transition', context),
    },
    ...requiredNames(needed),
    ...unnamedMembers(resource.settings),
    ...listedExample(exampleInput(input, resource, exampleIds(context))),
  })
}

/** The answer of an operation. */
export function outputRef(
  resource: Resource,
  { name, output }: Pick<OwnOperation, 'name' | 'output'>,
  context: SchemaContext,
): ComponentRef {
  return putBodySchema(resource, `${pascalCase(name)}Output`, context, {
    title: `${resource.title}: the output of ${name}`,
    type: 'object',
    properties: bodySchemas(resource, output, 'answered', context),
    ...requiredNames(output.map((one) => one.name)),
  })
}

/** A list of outputs that is read forward by cursor. */
export function outputsRef(
  resource: Resource,
  operation: Pick<OwnOperation, 'name' | 'output'>,
  context: SchemaContext,
): ComponentRef {
  const { maxPageSize } = resource.settings.list
  const data = { type: 'array', items: outputRef(resource, operation, context), maxItems: maxPageSize }
  return putBodySchema(resource, `${pascalCase(operation.name)}Page`, context, {
    ...{ title: `${resource.title}: a page of ${operation.name}`, type: 'object' },
    ...forwardPageSchema(resource.settings, data),
  })
}

/** The schemas of the declared fields of a body, by name. */
export const bodySchemas = (
  { rules }: Resource,
  fields: readonly Pick<InputField, 'name' | 'field'>[],
  way: 'answered' | 'sent',
  context: SchemaContext,
): DocumentPart =>
  Object.fromEntries(
    fields.map(({ name, field }) => [
      name,
      fieldSchema(
        termsOf(field, rules, () => undefined, name),
        way,
        context,
      ),
    ]),
  )

const schemaName = ({ singular }: Resource): string => pascalCase(singular)

/** Another resource or a shared schema may have the same singular; then the name of the schema is the longer one. */
function putBodySchema(
  resource: Resource,
  what: string,
  { components }: SchemaContext,
  part: DocumentPart,
): ComponentRef {
  return components.put('schemas', schemaNames(resource, what), part)
}

const schemaNames = (resource: Resource, what: string): readonly [string, string] => [
  schemaName(resource) + what,
  `${pascalCase(resource.name)}Item${what}`,
]

const propertySchemas = (members: readonly Member[], schema: (member: Member) => DocumentPart): DocumentPart =>
  Object.fromEntries(members.map((member) => [member.name, schema(member)]))

const declaredSchema = (
  { name }: Resource,
  own: string,
  way: 'answered' | 'sent' | 'patched',
  context: SchemaContext,
): DocumentPart => fieldSchema(context.termsOf(name)[own] as FieldTerms, way, context)

/** The schema of a stored value, also of one that does not fit the declaration: for answers, PUT and PATCH. */
const storedSchema = (
  { name }: Resource,
  own: string,
  way: 'answered' | 'sent' | 'patched',
  context: SchemaContext,
): DocumentPart => fieldSchema(context.storedTermsOf(name)[own] as FieldTerms, way, context)

/** The schema of a field in an answer; ids are components. */
export function answeredSchema(resource: Resource, member: Member, context: SchemaContext): DocumentPart {
  const { name, field } = member
  const owner = name === resource.parent?.field ? context.resources.get(resource.parent.resource) : undefined
  if (name === 'id') return { ...idSchema(resource, context), readOnly: true }
  if (owner) return { ...idSchema(owner, context), readOnly: true }
  const schema = statusErrorSchema(resource, name) ?? storedSchema(resource, name, 'answered', context)
  const example = field.kind === 'text' ? exampleValue(member, resource.rules.kinds) : undefined
  return example === undefined ? schema : { examples: [example], ...schema }
}

/** A field in a PUT or PATCH. A field of the URL must agree with it; a field that the service sets is ignored. R48. */
function returnedSchema(
  resource: Resource,
  member: Member,
  way: 'sent' | 'patched',
  context: SchemaContext,
): DocumentPart {
  const { name, from } = member
  if (from === 'caller') return storedSchema(resource, name, way, context)
  if (from === 'service') return ignoredSchema
  const {
    default: _,
    description: __,
    ...schema
  } = name === resource.key ? declaredSchema(resource, name, way, context) : answeredSchema(resource, member, context)
  return { ...schema, readOnly: true }
}

type BodyMaker = (resource: Resource, context: SchemaContext) => ComponentRef

/** The schema of a body, made once for each OpenAPI document. */
export const cachedBodyRef = (make: BodyMaker, resource: Resource, context: SchemaContext): ComponentRef =>
  context.components.bodies.form(bodyName(make, resource), () => make(resource, context))

const bodyName = (make: BodyMaker, { name }: Resource): string => `${make.name} ${name}`

/** The example of a body; it is left out if no fitting values are known. */
const listedExample = (body: object | null): DocumentPart => (body === null ? {} : { examples: [body] })

/** The schema itself if there is only one, else `anyOf` of all. */
export const anyOfSchemas = (schemas: readonly object[]): DocumentPart =>
  schemas.length === 1 ? { ...schemas[0] } : { anyOf: schemas }
