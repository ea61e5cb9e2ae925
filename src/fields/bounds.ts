/** Bounds: which values a field may have, as the database remembers them, and whether a later declaration allows fewer. Part 2, fields. */

import { scaledInteger } from '../formats/numbers.ts'
import type { Settings } from '../settings.ts'
import type { Field } from './field.ts'

/** The values that a field may have, in a form that is stored and compared. */
export interface Bounds {
  readonly kind: string
  readonly nullable?: true
  /** Of a length, a number of items, a number or a time. */
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
  /** Nothing stands for it where no value is given. */
  readonly needed?: true
  /** What rows get whose value does not fit. */
  readonly fill?: unknown
  /** The name the field had before. */
  readonly was?: string
}

export const defaultPrecision = 18
const longestByKind: Partial<Record<Field['kind'], number>> = { text: 10_000, email: 254, url: 2048, list: 1000 }
const longestSorted = 500 // what is sorted by stands in cursors, and they in URLs

/** How long a text is, or how many items a list has: at least and at most. */
export function lengthsOf({ kind, options }: Field): { readonly min: number; readonly max: number } {
  const most = longestByKind[kind] ?? Number.MAX_SAFE_INTEGER
  const { min = 0, max = options.sort ? Math.min(most, longestSorted) : most } = options
  return { min: Number(min), max: Number(max) }
}

/** The bounds of a field whose concepts are filled in. */
export function boundsOf(field: Field, settings: Settings): Bounds {
  const { kind, options, item, fields, values } = field
  const { optional, default: usual, fill, was, min, max, pattern, precision = defaultPrecision, scale = 0 } = options
  const measured = kind in longestByKind
  const { min: least, max: most } = lengthsOf(field)
  const free = usual !== undefined || optional === true || kind === 'metadata' || (kind === 'list' && least === 0)
  const entries = Object.entries(fields ?? {}).map(([name, one]) => [name, boundsOf(one, settings)])
  const all = {
    kind,
    nullable: optional === true ? true : undefined,
    min: measured ? least : min,
    max: measured ? most : max,
    pattern,
    ...(kind === 'decimal' && { precision, scale }),
    values,
    item: item && boundsOf(item, settings),
    fields: fields && Object.fromEntries(entries),
    ...(kind === 'metadata' && settings.metadata),
    needed: free ? undefined : true,
    fill,
    was,
  }
  return withoutUnsetBounds(all as Bounds)
}

const withoutUnsetBounds = (bounds: Bounds): Bounds =>
  Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined)) as unknown as Bounds

/** The digits before the point and behind it. */
const digitsOf = ({ precision = 0, scale = 0 }: Bounds): readonly [number, number] => [precision - scale, scale]

const mostDigits = 38

/** Whether there may be values that the bounds of before allowed and those of now do not. */
export function isNarrower(was: Bounds | undefined, is: Bounds): boolean {
  if (was === undefined) return is.needed === true && is.fill === undefined
  return (
    was.kind !== is.kind ||
    (was.nullable === true && is.nullable !== true) ||
    (is.pattern !== undefined && is.pattern !== was.pattern) ||
    was.values?.some((one) => !is.values?.includes(one)) === true ||
    (is.max !== undefined && (was.max === undefined || isBelow(is.max, was.max, is.kind))) ||
    (is.min !== undefined && (was.min === undefined || isBelow(was.min, is.min, is.kind))) ||
    digitsOf(is).some((digits, i) => digits < (digitsOf(was)[i] as number)) ||
    metadataSizes.some((size) => (is[size] ?? 0) < (was[size] ?? 0)) ||
    (is.item !== undefined && isNarrower(was.item, is.item)) ||
    Object.entries(is.fields ?? {}).some(([name, one]) => isNarrower(boundsBefore(was.fields ?? {}, name, one), one))
  )
}

/** The bounds that a field had before, perhaps under another name. */
export const boundsBefore = (
  before: Readonly<Record<string, Bounds>>,
  name: string,
  { was }: Bounds,
): Bounds | undefined => before[name] ?? (was === undefined ? undefined : before[was])

const metadataSizes = ['keys', 'keyLength', 'valueLength'] as const

function isBelow(low: number | string, high: number | string, kind: string): boolean {
  if (kind === 'decimal') return scaledInteger(String(low), mostDigits) < scaledInteger(String(high), mostDigits)
  return kind === 'bigint' ? BigInt(low) < BigInt(high) : low < high
}

/** Bounds under which all values of both fit. */
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
    return isBelow(one, two, is.kind) === (sign === 'low') ? one : two
  }
  return withoutUnsetBounds({
    ...is,
    nullable: was.nullable ?? is.nullable,
    min: outer('min', 'low'),
    max: outer('max', 'high'),
    pattern: was.pattern === is.pattern ? is.pattern : undefined,
    ...(is.kind === 'decimal' && { precision: units + scale, scale }),
    values: is.values && [...new Set([...is.values, ...(was.values ?? [])])],
    item: is.item && unionBounds(was.item ?? is.item, is.item),
    fields: is.fields && Object.fromEntries(inner),
    ...Object.fromEntries(metadataSizes.map((size) => [size, is[size] && Math.max(is[size], was[size] ?? 0)])),
  } as Bounds)
}

/** Bounds that allow a stored value too. */
export function widenBounds(bounds: Bounds, value: unknown): Bounds {
  if (value === null || value === undefined) return { ...bounds, nullable: true }
  const { kind, values, item, fields } = bounds
  if (kind === 'list' && item && Array.isArray(value)) {
    const { min = 0, max = 0 } = bounds
    const lengths = { min: Math.min(Number(min), value.length), max: Math.max(Number(max), value.length) }
    return { ...bounds, ...lengths, item: value.reduce(widenBounds, item) }
  }
  if (kind === 'object' && fields && typeof value === 'object') {
    const given = value as Readonly<Record<string, unknown>>
    const inner = Object.entries(fields).map(([name, one]) => [name, widenBounds(one, given[name])])
    return { ...bounds, fields: Object.fromEntries(inner) }
  }
  if (kind === 'enum') return { ...bounds, values: [...new Set([...(values ?? []), String(value)])] }
  return openBounds(bounds, value)
}

/** Bounds of the same kind without a limit; those of decimals hold the digits of a value. */
function openBounds(
  { min: _, max: __, pattern: ___, keys, keyLength, valueLength, ...rest }: Bounds,
  value: unknown,
): Bounds {
  if (rest.kind !== 'decimal') return rest
  const [units = '', fraction = ''] = String(value).replace('-', '').split('.')
  const [before, behind] = digitsOf(rest)
  const scale = Math.max(behind, fraction.length)
  return { ...rest, precision: Math.max(before, units.length) + scale, scale }
}

/** Bounds that allow every value of a kind: for rows that were not all looked at. */
export function unlimitedBounds(bounds: Bounds): Bounds {
  const { min: _, max: __, pattern: ___, keys, keyLength, valueLength, values, ...rest } = bounds
  const inner = Object.entries(rest.fields ?? {}).map(([name, one]) => [name, unlimitedBounds(one)])
  return withoutUnsetBounds({
    ...rest,
    nullable: true as const,
    ...(rest.kind === 'decimal' && { precision: 2 * mostDigits, scale: mostDigits }),
    item: rest.item && unlimitedBounds(rest.item),
    fields: rest.fields && Object.fromEntries(inner),
  } as Bounds)
}

/** Stored values of a field that do not fit what is declared. */
export interface Misfit {
  /** How many rows have one. */
  readonly rows: number
  /** Whether there may be more, as not all rows were looked at. */
  readonly more: boolean
  /** The first of these rows. */
  readonly ids: readonly string[]
  /** What is wrong with the first of them. */
  readonly says: string
  /** Bounds under which all stored values fit. */
  readonly wide: Bounds
}

/** Misfits by the collection and the field. */
export type Misfits = { readonly [collection: string]: { readonly [field: string]: Misfit } }
