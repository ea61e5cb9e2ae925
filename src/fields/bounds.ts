/** Bounds: the limits of a field's values, which the database stores, and how they are compared. Part 2, fields. */

import { scaledInteger } from '../formats/number-texts.ts'
import type { Field } from './field.ts'
import { defined, type FieldKinds, type FieldTerms, fieldKind, type ValueRules } from './kind.ts'

/** The limits of a field's values, in a form that can be stored and compared. */
export interface Bounds {
  readonly kind: string
  readonly nullable?: true
  /** The least and the greatest value, length or number of items. */
  readonly min?: number | string
  readonly max?: number | string
  readonly pattern?: string
  readonly precision?: number
  readonly scale?: number
  /** The values of an enum. */
  readonly values?: readonly string[]
  readonly item?: Bounds
  readonly fields?: { readonly [name: string]: Bounds }
  /** How many keys metadata may have, and how long its keys and values may be. */
  readonly keys?: number
  readonly keyLength?: number
  readonly valueLength?: number
  /** Set if the field has no default, cannot be null, and its kind has no empty value. */
  readonly needed?: true
  /** The value that replaces stored values that do not fit. */
  readonly fill?: unknown
  /** The former name of the field. */
  readonly was?: string
}

export const defaultPrecision = 18
export const longestSorted = 500 // cursors contain the values of the sort, and URLs contain cursors

/** The bounds of the length of a text or a list; `length` is the greatest one by default. */
export function lengthsOf(
  { options: { min = 0, max, sort } }: Pick<Field, 'options'>,
  length: number,
): { readonly min: number; readonly max: number } {
  return { min: Number(min), max: Number(max ?? (sort ? Math.min(length, longestSorted) : length)) }
}

/**
 * How many characters all searched fields of a row may have together, as an index of PostgreSQL takes 1 MB of words, each with
 * eight characters for its account; and how many of these fields a resource has, as an order by relevance has a term for each.
 */
export const mostSearched = 50_000
export const mostSearchedFields = 16

/** The greatest number of characters of a text or a list of texts. */
export const searchedLength = (field: Field, kinds: FieldKinds): number =>
  lengthsOf(field, fieldKind(field.kind, kinds).length ?? 0).max * (field.item ? searchedLength(field.item, kinds) : 1)

/** A field and the fields inside it that are searched; the field need not be valid. */
export const searchedIn = (field: Field | undefined): readonly Field[] =>
  field?.options
    ? [...(field.options.search ? [field] : []), ...Object.values(field.fields ?? {}).flatMap(searchedIn)]
    : []

type BoundTerms = Pick<FieldTerms, 'min' | 'max' | 'pattern'>

/** The bounds in force of a text or a list, as terms. */
export function lengthTerms(field: Field, length: number): BoundTerms {
  const { min, max } = lengthsOf(field, length)
  return defined<BoundTerms>({ min: min === 0 ? undefined : min, max, pattern: field.options.pattern })
}

/** Bounds as terms, written like the values of the field. */
export const boundTerms = ({ min, max }: Field['options'], read: (text: string) => string | undefined): BoundTerms => {
  const written = (bound: unknown) => (bound === undefined ? undefined : (read(String(bound)) ?? String(bound)))
  return defined<BoundTerms>({ min: written(min), max: written(max) })
}

/** A description of values, with bounds that JSON Schema has no keyword for. */
export const withBounds = (about: string, { min, max }: BoundTerms): string | undefined =>
  [about, min === undefined ? '' : `At least ${min}.`, max === undefined ? '' : `At most ${max}.`]
    .filter(Boolean)
    .join(' ') || undefined

/** The bounds of a field whose concepts are resolved. */
export function boundsOf(field: Field, rules: Pick<ValueRules, 'settings' | 'kinds'>): Bounds {
  const { kind, options, item, fields, values } = field
  const { default: usual, fill, was, min, max, pattern, precision = defaultPrecision, scale } = options
  // The limits of a file concern uploads, not stored rows.
  if (kind === 'file') return defined<Bounds>({ kind, nullable: true, was })
  const { length, empty } = fieldKind(kind, rules.kinds)
  const free = usual !== undefined || options.optional === true || empty?.(options) !== undefined
  const entries = Object.entries(fields ?? {}).map(([name, one]) => [name, boundsOf(one, rules)])
  return defined<Bounds>({
    kind,
    nullable: options.optional === true ? true : undefined,
    ...(length === undefined ? { min, max } : lengthsOf(field, length)),
    pattern,
    ...(scale !== undefined && { precision, scale }),
    values,
    item: item && boundsOf(item, rules),
    fields: fields && Object.fromEntries(entries),
    ...(kind === 'metadata' && rules.settings.metadata),
    needed: free ? undefined : true,
    fill,
    was,
  })
}

/** The number of digits before the point, and after it. */
const digitsOf = ({ precision = 0, scale = 0 }: Bounds): readonly [number, number] => [precision - scale, scale]

const mostDigits = 38

/** Whether `is` may exclude values that `was` allowed. */
export function isNarrower(was: Bounds | undefined, is: Bounds): boolean {
  if (was === undefined) return is.needed === true && is.fill === undefined
  return (
    was.kind !== is.kind ||
    (was.nullable === true && is.nullable !== true) ||
    (is.pattern !== undefined && is.pattern !== was.pattern) ||
    was.values?.some((one) => !is.values?.includes(one)) === true ||
    (is.max !== undefined && (was.max === undefined || isBelow(is.max, was.max))) ||
    (is.min !== undefined && (was.min === undefined || isBelow(was.min, is.min))) ||
    digitsOf(is).some((digits, i) => digits < (digitsOf(was)[i] as number)) ||
    metadataSizes.some((size) => (is[size] ?? 0) < (was[size] ?? 0)) ||
    (is.item !== undefined && isNarrower(was.item, is.item)) ||
    Object.entries(is.fields ?? {}).some(([name, one]) => isNarrower(boundsBefore(was.fields ?? {}, name, one), one))
  )
}

/** The former bounds of a field, under its current or its former name; undefined if it is new. */
export const boundsBefore = (
  before: Readonly<Record<string, Bounds>>,
  name: string,
  { was }: Bounds,
): Bounds | undefined => before[name] ?? (was === undefined ? undefined : before[was])

const metadataSizes = ['keys', 'keyLength', 'valueLength'] as const

/** Whether a bound is below another one: numbers by value, times as texts. */
function isBelow(low: number | string, high: number | string): boolean {
  const [one, other] = [low, high].map((bound) => scaledNumber(String(bound)))
  return one === undefined || other === undefined ? low < high : one < other
}

const scaledNumber = (text: string): bigint | undefined =>
  /^-?\d+(\.\d+)?$/.test(text) ? scaledInteger(text, mostDigits) : undefined

/** Bounds that allow the values of both; `is` if the kinds differ. */
export function unionBounds(was: Bounds, is: Bounds): Bounds {
  if (was.kind !== is.kind) return is
  const [wide, other] = [digitsOf(was), digitsOf(is)]
  const [units, scale] = [Math.max(wide[0], other[0]), Math.max(wide[1], other[1])]
  const inner = Object.entries(is.fields ?? {}).map(([name, one]) => {
    const before = boundsBefore(was.fields ?? {}, name, one)
    const isNull = before === undefined && isNarrower(before, one)
    return [name, before ? unionBounds(before, one) : isNull ? { ...one, nullable: true } : one]
  })
  const outer = (name: 'min' | 'max', sign: 'low' | 'high') => {
    const [one, two] = [was[name], is[name]]
    if (one === undefined || two === undefined) return undefined
    return isBelow(one, two) === (sign === 'low') ? one : two
  }
  return defined<Bounds>({
    ...is,
    nullable: was.nullable ?? is.nullable,
    min: outer('min', 'low'),
    max: outer('max', 'high'),
    pattern: was.pattern === is.pattern ? is.pattern : undefined,
    ...(is.scale !== undefined && { precision: units + scale, scale }),
    values: is.values && [...new Set([...is.values, ...(was.values ?? [])])],
    item: is.item && unionBounds(was.item ?? is.item, is.item),
    fields: is.fields && Object.fromEntries(inner),
    ...Object.fromEntries(metadataSizes.map((size) => [size, is[size] && Math.max(is[size], was[size] ?? 0)])),
  })
}

/** The bounds, widened to allow a stored value. */
export function widenBounds(bounds: Bounds, value: unknown): Bounds {
  if (value === null || value === undefined) return { ...bounds, nullable: true }
  const { values, item, fields } = bounds
  if (item && Array.isArray(value)) {
    const { min = 0, max = 0 } = bounds
    const lengths = { min: Math.min(Number(min), value.length), max: Math.max(Number(max), value.length) }
    return { ...bounds, ...lengths, item: value.reduce(widenBounds, item) }
  }
  if (fields && typeof value === 'object') {
    const members = value as Readonly<Record<string, unknown>>
    const inner = Object.entries(fields).map(([name, one]) => [name, widenBounds(one, members[name])])
    return { ...bounds, fields: Object.fromEntries(inner) }
  }
  if (values) return { ...bounds, values: [...new Set([...values, String(value)])] }
  return openBounds(bounds, value)
}

/** Bounds of the same kind without limits; those of a decimal have enough digits for the value. */
function openBounds(
  { min: _, max: __, pattern: ___, keys, keyLength, valueLength, ...rest }: Bounds,
  value: unknown,
): Bounds {
  if (rest.scale === undefined) return rest
  const [units = '', fraction = ''] = String(value).replace('-', '').split('.')
  const [before, behind] = digitsOf(rest)
  const scale = Math.max(behind, fraction.length)
  return { ...rest, precision: Math.max(before, units.length) + scale, scale }
}

/** Bounds that allow every value of the kind, for when not all rows were read. */
export function unlimitedBounds(bounds: Bounds): Bounds {
  const { min: _, max: __, pattern: ___, keys, keyLength, valueLength, values, ...rest } = bounds
  const inner = Object.entries(rest.fields ?? {}).map(([name, one]) => [name, unlimitedBounds(one)])
  return defined<Bounds>({
    ...rest,
    nullable: true as const,
    ...(rest.scale !== undefined && { precision: 2 * mostDigits, scale: mostDigits }),
    item: rest.item && unlimitedBounds(rest.item),
    fields: rest.fields && Object.fromEntries(inner),
  })
}

/** Stored values of a field that do not fit the declaration. */
export interface Misfit {
  /** The number of rows with such a value. */
  readonly rows: number
  /** Whether there may be more, as not all rows were read. */
  readonly more: boolean
  /** The labels of the first of these rows. */
  readonly ids: readonly string[]
  /** Why the value of the first row does not fit. */
  readonly says: string
  /** Bounds that allow all stored values. */
  readonly wide: Bounds
}

/** Misfits by collection and field. */
export type Misfits = { readonly [collection: string]: { readonly [field: string]: Misfit } }
