/** Describes values: the schema of a field as it is answered, sent, patched or asked for. Part 13; part 2, fields. */
import type { Terms } from '../contract/terms.ts'
import { chosenIdForm, typeIdForm } from '../resources/id.ts'
import type { Resource } from '../resources/resource.ts'
import type { Settings } from '../resources/settings.ts'
import { countries, currencies, decimalForm, emailForm, urlForm, wholeForm } from '../resources/texts.ts'
import { durationForm, intervalForm, timestampForm } from '../resources/time.ts'
import { type Part, present, type Shelf } from './shelf.ts'

/** In answers, in a whole body, in a merge patch, or in a filter, where bounds do not count. R72. */
export type Way = 'answered' | 'sent' | 'patched' | 'asked'

export interface Around {
  readonly settings: Settings
  readonly shelf: Shelf
  /** The resources of the version. */
  readonly resources: ReadonlyMap<string, Resource>
  readonly termsOf: (resource: string) => Readonly<Record<string, Terms>>
  /** The same as stored rows have them. */
  readonly storedOf: (resource: string) => Readonly<Record<string, Terms>>
}

/** The schema of a field. */
export function schemaOf(terms: Terms, way: Way, around: Around): Part {
  const value = plainOf(terms, way, around)
  const whole = terms.nullable && way !== 'asked' ? orNull(value) : value
  const usual = way === 'sent' ? { default: terms.default } : {}
  const marks = way === 'asked' ? {} : { writeOnly: terms.writeOnly, readOnly: terms.readOnly }
  return present({ ...whole, ...usual, ...marks, description: says(terms, way) })
}

function orNull(schema: Part): Part {
  const { type, ...rest } = schema
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] }
  const values = Array.isArray(rest.enum) ? { enum: [...rest.enum, null] } : {}
  return { type: [type, 'null'], ...rest, ...values }
}

// long because: a line or two for each kind of field
function plainOf(terms: Terms, way: Way, around: Around): Part {
  const { kind, pattern, precision = 0, scale = 0, values = [], to = '', item, fields = {} } = terms
  const { settings, shelf } = around
  const [min, max] = way === 'asked' ? [] : [terms.min, terms.max]
  const offsets = settings.dates.acceptOffsets && way !== 'answered'
  const exact = way === 'answered'
  const lengths = present({ minLength: min, maxLength: max, pattern: way === 'asked' ? undefined : pattern })
  switch (kind) {
    case 'text':
      return { type: 'string', ...lengths }
    case 'email':
      return { type: 'string', format: 'email', pattern: emailForm.source, ...lengths }
    case 'url': // what is answered may be written in more ways than a URI
      return { type: 'string', ...(exact ? {} : { format: 'uri' }), pattern: urlForm.source, ...lengths }
    case 'integer':
      return {
        type: 'integer',
        format: 'int64',
        minimum: min ?? Number.MIN_SAFE_INTEGER,
        maximum: max ?? Number.MAX_SAFE_INTEGER,
      }
    case 'bigint':
      return { type: 'string', pattern: wholeForm.source }
    case 'decimal':
      return { type: 'string', pattern: pattern ?? decimalForm(precision, scale, exact) }
    case 'boolean':
      return { type: 'boolean' }
    case 'timestamp':
      return {
        type: 'string',
        format: 'date-time',
        pattern: timestampForm(exact ? 'written' : offsets ? 'any' : 'utc'),
      }
    case 'date':
      return { type: 'string', format: 'date' }
    case 'duration':
      return { type: 'string', pattern: durationForm, maxLength: 100 }
    case 'interval':
      return { type: 'string', pattern: intervalForm(exact ? 'written' : offsets ? 'any' : 'utc'), maxLength: 100 }
    case 'enum':
      return { type: 'string', ...(values.length > 0 && { enum: values }) } // stored ones may not all be known
    case 'country':
      return { ...shelf.put('schemas', ['CountryCode'], codes(countries, 'A country code of ISO 3166-1 alpha-2.')) }
    case 'currency':
      return { ...shelf.put('schemas', ['CurrencyCode'], codes(currencies, 'A currency code of ISO 4217.')) }
    case 'ref':
      return idSchema(around.resources.get(to) as Resource, around)
    case 'list':
      return {
        type: 'array',
        items: schemaOf(item as Terms, way === 'patched' ? 'sent' : way, around),
        ...present({ minItems: min, maxItems: max }),
      }
    case 'object':
      return objectOf(fields, way, around)
    case 'metadata':
      return metadataOf(terms, way)
    case 'concept':
      throw new Error('A concept was not resolved.')
  }
}

const codes = (all: ReadonlySet<string>, description: string): Part => ({ type: 'string', enum: [...all], description })

function objectOf(fields: Readonly<Record<string, Terms>>, way: Way, around: Around): Part {
  const all = Object.entries(fields)
  const needed = all.filter(([, { required }]) => way === 'answered' || (way === 'sent' && required))
  return {
    type: 'object',
    properties: Object.fromEntries(all.map(([name, one]) => [name, schemaOf(one, way, around)])),
    ...requiring(needed.map(([name]) => name)),
    ...(way === 'answered' ? {} : closing(around.settings)),
  }
}

export const requiring = (names: readonly string[]): Part => (names.length === 0 ? {} : { required: names })

/** What is not named is refused, or dropped. R47. */
export const closing = ({ body }: Settings): Part =>
  body.unknownFields === 'reject' ? { additionalProperties: false } : {}

/** A key of metadata that is patched with null is taken out. R117. */
function metadataOf({ keys, keyLength, valueLength }: Terms, way: Way): Part {
  return {
    type: 'object',
    additionalProperties: { type: way === 'patched' ? ['string', 'null'] : 'string', maxLength: valueLength },
    propertyNames: { type: 'string', minLength: 1, maxLength: keyLength },
    ...(way === 'patched' ? {} : { maxProperties: keys }),
  }
}

/** The identifiers of a resource, as texts. */
export function idSchema(resource: Resource, around: Around): Part {
  const { key, prefix, settings, name } = resource
  if (key === null) {
    const form = settings.resource.id === 'typeid' ? typeIdForm(prefix as string) : chosenIdForm(prefix as string)
    return { type: 'string', pattern: form.source }
  }
  const { default: _, ...terms } = around.termsOf(name)[key] as Terms
  const value = plainOf(terms, 'sent', around)
  if (value.type === 'integer') return { type: 'string', pattern: '^(0|-?[1-9][0-9]*)$' }
  return inAddress(value)
}

/** A key that is a text names something in an address: it is not empty, and none of the dots that addresses are resolved by. R8. */
export function inAddress(schema: Part): Part {
  if (schema.type !== 'string' || schema.enum !== undefined || schema.format !== undefined) return schema
  const { minLength = 1, pattern = '^(?!\\.{1,2}$)' } = schema
  return { ...schema, minLength: Math.max(1, Number(minLength)), pattern }
}

/** What a schema cannot say. */
function says(
  { kind, min, max, immutable, unique, fold, read, write, precision, scale }: Terms,
  way: Way,
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
