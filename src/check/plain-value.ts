/** Plain value: simple values that fit a field, used as samples. Part 2, fields. */
import type { Field, Kind } from '../fields/field.ts'

/** The constraints of a field on its values. */
export interface ValueTerms {
  readonly kind: Kind
  readonly min?: number | string
  readonly max?: number | string
  readonly scale?: number
  readonly values?: readonly string[]
  readonly item?: ValueTerms
  readonly fields?: { readonly [name: string]: ValueTerms }
  readonly nullable?: true
  readonly default?: unknown
}

export function valueTerms({ kind, options, values, item, fields }: Field): ValueTerms {
  const { min, max, scale, optional, default: usual } = options
  return {
    kind,
    ...(min === undefined ? {} : { min: min as number | string }),
    ...(max === undefined ? {} : { max: max as number | string }),
    ...(scale === undefined ? {} : { scale }),
    ...(values === undefined ? {} : { values }),
    ...(item === undefined ? {} : { item: valueTerms(item) }),
    ...(fields === undefined
      ? {}
      : { fields: Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, valueTerms(one)])) }),
    ...(optional ? { nullable: true as const } : {}),
    ...(usual === undefined ? {} : { default: usual }),
  }
}

/** A simple value that fits a field: its default, null, or a plain value. */
function nullableValue(terms: ValueTerms): unknown {
  if (terms.default !== undefined) return terms.default
  return terms.nullable ? null : plainValue(terms)
}

// long because: one line for each kind of field
/** A simple value that fits a field, never null. */
export function plainValue(terms: ValueTerms): unknown {
  const { kind, min, max, scale = 0, values = [], item, fields = {} } = terms
  switch (kind) {
    case 'text':
      return 'unknown'.slice(0, Number(max ?? 7)).padEnd(Number(min ?? 0), '.')
    case 'email':
      return 'nobody@example.com'
    case 'url':
      return 'https://example.com/'
    case 'integer':
      return Number(min) > 0 ? min : Number(max) < 0 ? max : 0
    case 'bigint':
      return min ?? max ?? '0'
    case 'decimal':
      return min ?? max ?? (0).toFixed(scale)
    case 'boolean':
      return false
    case 'timestamp':
      return min ?? max ?? '1970-01-01T00:00:00.000Z'
    case 'date':
      return min ?? max ?? '1970-01-01'
    case 'duration':
      return 'PT0S'
    case 'interval':
      return '1970-01-01T00:00:00.000Z/PT0S'
    case 'enum':
      return values[0]
    case 'list':
      return Array.from({ length: Number(min ?? 0) }, () => nullableValue(item as ValueTerms))
    case 'object':
      return Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, nullableValue(one)]))
    case 'metadata':
      return {}
    case 'country':
      return 'IT'
    case 'currency':
      return 'EUR'
    case 'ref':
    case 'concept':
      return ''
    default:
      return kind satisfies never
  }
}

/** A value other than the plain one, for kinds that have more than one; it may violate bounds. */
export function otherPlainValue(terms: ValueTerms): unknown {
  const value = plainValue(terms)
  const { kind, max, values = [], scale = 0 } = terms
  const others: Partial<Record<Kind, unknown>> = {
    text: `v${String(value).slice(1)}`,
    email: 'somebody@example.com',
    url: 'https://example.com/other',
    integer: Number(value) + (Number(value) === Number(max) ? -1 : 1),
    bigint: String(value) === String(max) ? `${BigInt(String(value)) - 1n}` : '1',
    decimal: (Number(value) + (String(value) === String(max) ? -1 : 1)).toFixed(scale),
    boolean: true,
    timestamp: '2000-01-31T09:30:00.000Z',
    date: '2000-01-31',
    duration: 'P1D',
    interval: '2000-01-31T09:30:00.000Z/P1D',
    enum: values[1],
    country: 'FR',
    currency: 'USD',
    ref: 'another',
  }
  return others[kind] ?? value
}
