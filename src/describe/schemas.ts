/** Schemas: the schema of a field in answers, requests, patches and filters. Part 13; part 2, fields. */
import type { FieldTerms } from '../contract/terms.ts'
import { countryCodes, currencyCodes } from '../formats/codes.ts'
import { chosenIdPattern, typeIdPattern } from '../formats/id.ts'
import { bigintPattern, decimalPattern } from '../formats/numbers.ts'
import { durationPattern, intervalPattern, timestampPattern } from '../formats/time.ts'
import { emailPattern, urlPattern } from '../formats/web-addresses.ts'
import type { Resource } from '../resources/resource.ts'
import type { Settings } from '../settings.ts'
import { type Components, type DocumentPart, withoutUndefined } from './components.ts'

/** The use of a value: in an answer, a body, a merge patch, or a filter (`asked`), which ignores bounds. R72. */
export type SchemaUse = 'answered' | 'sent' | 'patched' | 'asked'

export interface SchemaContext {
  readonly settings: Settings
  readonly components: Components
  /** The resources of the version. */
  readonly resources: ReadonlyMap<string, Resource>
  readonly termsOf: (resource: string) => Readonly<Record<string, FieldTerms>>
  /** The terms with those of stored rows that do not fit the declaration. */
  readonly storedTermsOf: (resource: string) => Readonly<Record<string, FieldTerms>>
}

/** The schema of a field. */
export function fieldSchema(terms: FieldTerms, way: SchemaUse, around: SchemaContext): DocumentPart {
  const value = valueSchema(terms, way, around)
  const whole = terms.nullable && way !== 'asked' ? nullableSchema(value) : value
  const usual = way === 'sent' ? { default: terms.default } : {}
  const marks = way === 'asked' ? {} : { writeOnly: terms.writeOnly, readOnly: terms.readOnly }
  return withoutUndefined({ ...whole, ...usual, ...marks, description: schemaDescription(terms, way) })
}

function nullableSchema(schema: DocumentPart): DocumentPart {
  const { type, ...rest } = schema
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] }
  const values = Array.isArray(rest.enum) ? { enum: [...rest.enum, null] } : {}
  return { type: [type, 'null'], ...rest, ...values }
}

// long because: a line or two for each kind of field
function valueSchema(terms: FieldTerms, way: SchemaUse, around: SchemaContext): DocumentPart {
  const { kind, pattern, precision = 0, scale = 0, values = [], to = '', item, fields = {} } = terms
  const { settings, components } = around
  const [min, max] = way === 'asked' ? [] : [terms.min, terms.max]
  const offsets = settings.dates.acceptOffsets && way !== 'answered'
  const exact = way === 'answered'
  const lengths = withoutUndefined({ minLength: min, maxLength: max, pattern: way === 'asked' ? undefined : pattern })
  switch (kind) {
    case 'text':
      return { type: 'string', ...lengths }
    case 'email':
      return { type: 'string', format: 'email', pattern: emailPattern.source, ...lengths }
    case 'url': // stored URLs need not be valid URIs
      return { type: 'string', ...(exact ? {} : { format: 'uri' }), pattern: urlPattern.source, ...lengths }
    case 'integer':
      return {
        type: 'integer',
        format: 'int64',
        minimum: min ?? Number.MIN_SAFE_INTEGER,
        maximum: max ?? Number.MAX_SAFE_INTEGER,
      }
    case 'bigint':
      return { type: 'string', pattern: bigintPattern.source }
    case 'decimal':
      return { type: 'string', pattern: pattern ?? decimalPattern(precision, scale, exact) }
    case 'boolean':
      return { type: 'boolean' }
    case 'timestamp':
      return {
        type: 'string',
        format: 'date-time',
        pattern: timestampPattern(exact ? 'written' : offsets ? 'any' : 'utc'),
      }
    case 'date':
      return { type: 'string', format: 'date' }
    case 'duration':
      return { type: 'string', pattern: durationPattern, maxLength: 100 }
    case 'interval':
      return { type: 'string', pattern: intervalPattern(exact ? 'written' : offsets ? 'any' : 'utc'), maxLength: 100 }
    case 'enum':
      return { type: 'string', ...(values.length > 0 && { enum: values }) } // empty if not all stored values are known
    case 'country':
      return {
        ...components.put(
          'schemas',
          ['CountryCode'],
          codeSchema(countryCodes, 'A country code of ISO 3166-1 alpha-2.'),
        ),
      }
    case 'currency':
      return {
        ...components.put('schemas', ['CurrencyCode'], codeSchema(currencyCodes, 'A currency code of ISO 4217.')),
      }
    case 'ref':
      return idSchema(around.resources.get(to) as Resource, around)
    case 'list':
      return {
        type: 'array',
        items: fieldSchema(item as FieldTerms, way === 'patched' ? 'sent' : way, around),
        ...withoutUndefined({ minItems: min, maxItems: max }),
      }
    case 'object':
      return objectSchema(fields, way, around)
    case 'metadata':
      return metadataSchema(terms, way)
    case 'concept':
      throw new Error('A concept was not resolved.')
  }
}

const codeSchema = (all: ReadonlySet<string>, description: string): DocumentPart => ({
  type: 'string',
  enum: [...all],
  description,
})

function objectSchema(
  fields: Readonly<Record<string, FieldTerms>>,
  way: SchemaUse,
  around: SchemaContext,
): DocumentPart {
  const all = Object.entries(fields)
  const needed = all.filter(([, { required }]) => way === 'answered' || (way === 'sent' && required))
  return {
    type: 'object',
    properties: Object.fromEntries(all.map(([name, one]) => [name, fieldSchema(one, way, around)])),
    ...requiredNames(needed.map(([name]) => name)),
    ...(way === 'answered' ? {} : unnamedMembers(around.settings)),
  }
}

export const requiredNames = (names: readonly string[]): DocumentPart => (names.length === 0 ? {} : { required: names })

/** Unknown members are refused, or else ignored. R47. */
export const unnamedMembers = ({ body }: Settings): DocumentPart =>
  body.unknownFields === 'reject' ? { additionalProperties: false } : {}

/** In a patch, null removes a key of metadata. R117. */
function metadataSchema({ keys, keyLength, valueLength }: FieldTerms, way: SchemaUse): DocumentPart {
  return {
    type: 'object',
    additionalProperties: { type: way === 'patched' ? ['string', 'null'] : 'string', maxLength: valueLength },
    propertyNames: { type: 'string', minLength: 1, maxLength: keyLength },
    ...(way === 'patched' ? {} : { maxProperties: keys }),
  }
}

/** The schema of the ids or keys of a resource, as texts. */
export function idSchema(resource: Resource, around: SchemaContext): DocumentPart {
  const { key, prefix, settings, name } = resource
  if (key === null) {
    const form = settings.resource.id === 'typeid' ? typeIdPattern(prefix as string) : chosenIdPattern(prefix as string)
    return { type: 'string', pattern: form.source }
  }
  const { default: _, ...terms } = around.termsOf(name)[key] as FieldTerms
  const value = valueSchema(terms, 'sent', around)
  if (value.type === 'integer') return { type: 'string', pattern: '^(0|-?[1-9][0-9]*)$' }
  return addressSchema(value)
}

/** The schema of a key in a URL: a text must not be empty, `.` or `..`. R8. */
export function addressSchema(schema: DocumentPart): DocumentPart {
  if (schema.type !== 'string' || schema.enum !== undefined || schema.format !== undefined) return schema
  const { minLength = 1, pattern = '^(?!\\.{1,2}$)' } = schema
  return { ...schema, minLength: Math.max(1, Number(minLength)), pattern }
}

/** The parts of a field that JSON Schema has no keyword for, in words. */
function schemaDescription(
  { kind, min, max, immutable, unique, fold, read, write, precision, scale }: FieldTerms,
  way: SchemaUse,
): string | undefined {
  const bounded = way !== 'asked' && ['bigint', 'decimal', 'timestamp', 'date'].includes(kind)
  const sends = way === 'sent' || way === 'patched'
  const said = [
    kind === 'decimal' && `A decimal number with up to ${precision} digits, ${scale} of them behind the point.`,
    kind === 'bigint' && 'A whole number of 64 bits.',
    kind === 'duration' && 'A duration of ISO 8601; only its last part may have a fraction.',
    kind === 'interval' && 'An interval of ISO 8601.',
    bounded && min !== undefined && `At least ${min}.`,
    bounded && max !== undefined && `At most ${max}.`,
    sends && immutable && 'Cannot change once it is set.',
    way !== 'asked' && unique && 'No two items have the same.',
    fold && 'Compared without regard to case.',
    way === 'answered' && read !== undefined && `Only callers with the scope ${read} see it.`,
    sends && write !== undefined && `Takes the scope ${write}.`,
    sends && read !== undefined && `Takes the scope ${read}.`,
  ].filter((one) => typeof one === 'string')
  return said.length === 0 ? undefined : said.join(' ')
}
