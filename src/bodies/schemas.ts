/** Schemas: the schema of a field in answers, requests, patches and filters. Part 13; part 2, fields. */
import { type FieldKinds, type FieldTerms, fieldKind, type SchemaUse } from '../fields/kind.ts'
import { chosenIdPattern, typeIdPattern } from '../formats/id.ts'
import type { Resource } from '../resources/resource.ts'
import { isStatusResource } from '../resources/service-fields.ts'
import type { Settings } from '../settings.ts'
import { type Components, type DocumentPart, pascalCase, withoutUndefined } from './components.ts'

export interface SchemaContext {
  readonly kinds: FieldKinds
  readonly settings: Settings
  readonly components: Components
  /** The resources of the version. */
  readonly resources: ReadonlyMap<string, Resource>
  readonly termsOf: (resource: string) => Readonly<Record<string, FieldTerms>>
  /** The terms with those of stored rows that do not fit the declaration. */
  readonly storedTermsOf: (resource: string) => Readonly<Record<string, FieldTerms>>
}

/** The terms of the field at a dotted path. */
export function termsAt(all: Readonly<Record<string, FieldTerms>>, path: string): FieldTerms {
  const [top = '', ...rest] = path.split('.')
  return rest.reduce((terms, name) => terms.fields?.[name] as FieldTerms, all[top] as FieldTerms)
}

/** The schema of a field. */
export function fieldSchema(terms: FieldTerms, use: SchemaUse, context: SchemaContext): DocumentPart {
  const { description, ...value } = valueSchema(terms, use, context)
  const examples = use === 'asked' || terms.example === undefined ? undefined : [terms.example]
  const schema = terms.nullable && use !== 'asked' ? nullableSchema(value) : value
  const usual = use === 'sent' ? { default: terms.default } : {}
  const marks = use === 'asked' ? {} : { writeOnly: terms.writeOnly, readOnly: terms.readOnly }
  return withoutUndefined({
    ...schema,
    ...usual,
    ...marks,
    'x-references': use === 'asked' ? undefined : terms.to,
    deprecated: use === 'asked' ? undefined : terms.deprecated, // R202
    'x-personal': use === 'asked' ? undefined : terms.personal,
    title: use === 'asked' ? undefined : terms.title,
    examples,
    description: schemaDescription(terms, use, description),
  })
}

function nullableSchema(schema: DocumentPart): DocumentPart {
  const { type, ...rest } = schema
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] }
  const values = Array.isArray(rest.enum) ? { enum: [...rest.enum, null] } : {}
  return { type: [type, 'null'], ...rest, ...values }
}

function valueSchema(terms: FieldTerms, use: SchemaUse, context: SchemaContext): DocumentPart {
  const { min, max, pattern, ...endless } = terms
  const { settings, components, kinds, resources } = context
  return fieldKind(terms.kind, kinds).schema(use === 'asked' ? endless : terms, use, {
    zone: use === 'answered' ? 'written' : settings.dates.acceptOffsets ? 'any' : 'utc',
    fieldSchema: (one, own) => fieldSchema(one, own, context),
    idSchema: (to) => idSchema(resources.get(to) as Resource, context),
    shared: (name, schema) => ({ ...components.put('schemas', [name], schema) }),
    open: settings.body.unknownFields !== 'reject',
  })
}

export const requiredNames = (names: readonly string[]): DocumentPart => (names.length === 0 ? {} : { required: names })

/** Unknown members are refused, or else ignored. R47. */
export const unnamedMembers = ({ body }: Settings): DocumentPart =>
  body.unknownFields === 'reject' ? { additionalProperties: false } : {}

/** The schema of the ids or keys of a resource, as texts. Ids are a component. */
export function idSchema(resource: Resource, context: SchemaContext): DocumentPart {
  const { key, singular } = resource
  const schema = idForm(resource, context)
  return key === null ? { ...context.components.put('schemas', [`${pascalCase(singular)}Id`], schema) } : schema
}

/** The same schema in place, not as a reference to a component. */
export function idForm(resource: Resource, context: SchemaContext): DocumentPart {
  const { key, prefix, settings, name } = resource
  if (key === null) {
    const isTypeId = settings.resource.id === 'typeid'
    const form = isTypeId ? typeIdPattern(prefix as string) : chosenIdPattern(prefix as string)
    return { type: 'string', pattern: form.source, examples: [exampleId(resource)] }
  }
  const { default: _, ...terms } = context.termsOf(name)[key] as FieldTerms
  const { description: __, ...value } = valueSchema(terms, 'sent', context)
  if (value.type === 'integer')
    return { type: 'string', pattern: wholeNumberPattern(Number(value.minimum), Number(value.maximum)) }
  return addressSchema(value)
}

const exampleId = ({ prefix }: Resource): string => `${prefix}_01jd8m2kq3v9x7c5b1n4f6h8t0`

/** The ids in examples; items with a key have none. */
export const exampleIds = ({ resources }: SchemaContext) => ({
  idOf: (name: string): string | undefined => {
    const resource = resources.get(name)
    return resource?.key === null ? exampleId(resource) : undefined
  },
})

/** The pattern of a whole number as a text, with its sign, zero and number of digits as the bounds allow them. */
function wholeNumberPattern(min: number, max: number): string {
  const longest = Math.max(`${Math.abs(min)}`.length, `${Math.abs(max)}`.length)
  const digits = `[1-9][0-9]{0,${longest - 1}}`
  if (min > 0) return `^${digits}$`
  return min === 0 ? `^(0|${digits})$` : `^(0|-?${digits})$`
}

/** The schema of the error of an asynchronous operation: that of every error, or null; null for other members. R149. */
export const statusErrorSchema = ({ declaration }: Resource, member: string): DocumentPart | null =>
  isStatusResource(declaration) && member === 'error'
    ? { anyOf: [{ $ref: '#/components/schemas/Error' }, { type: 'null' }], readOnly: true }
    : null

/** The schema of a key in a URL: a text must not be empty, `.` or `..`. R8. */
export function addressSchema(schema: DocumentPart): DocumentPart {
  if (schema.type !== 'string' || schema.enum !== undefined || schema.format !== undefined) return schema
  const { minLength = 1, pattern = '^(?!\\.{1,2}$)' } = schema
  return { ...schema, minLength: Math.max(1, Number(minLength)), pattern }
}

/** The parts of a field that JSON Schema has no keyword for, in words. */
function schemaDescription(
  { description, immutable, unique, fold, read, write }: FieldTerms,
  use: SchemaUse,
  ofKind: unknown,
): string | undefined {
  const sends = use === 'sent' || use === 'patched'
  const said = [
    use === 'asked' ? undefined : description,
    ofKind,
    sends && immutable && 'Cannot change once it is set.',
    use !== 'asked' && unique && 'No two items have the same.',
    fold && 'Compared without regard to case.',
    use === 'answered' && read !== undefined && `Only callers with the scope ${read} see it.`,
    sends && write !== undefined && `Takes the scope ${write}.`,
    sends && read !== undefined && read !== write && `Takes the scope ${read}.`,
  ].filter((one) => typeof one === 'string')
  return said.length === 0 ? undefined : said.join(' ')
}
