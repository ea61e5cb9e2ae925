/** Kind: what a kind of field is to checks, columns, views and samples: one record for each kind. Part 2, fields. */
import type { Settings } from '../settings.ts'
import type { ValueCheck } from './check-members.ts'
import type { Field, Kind } from './field.ts'

/** What a check needs to know besides its field. */
export interface ValueRules {
  readonly settings: Settings
  readonly isId: (resource: string, text: string) => boolean
  readonly kinds: FieldKinds
}

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

/** How the bounds of a kind are parsed, and how messages describe them. */
export type BoundReader = readonly [read: (given: unknown) => number | bigint | string | undefined, what: string]

export const generalOptions =
  'optional default fill immutable readOnly writeOnly read write unique filter sort was ownMeaning'.split(' ')
export const boundedOptions = [...generalOptions, 'min', 'max']

export interface FieldKind {
  /** The options that a field of this kind accepts. */
  readonly options: readonly string[]
  /** What lists can do with the values: nothing, filter by equality, sort too, or filter by ranges too. */
  readonly order: 'none' | 'equality' | 'sort' | 'range'
  /** The greatest length of any value as a text; missing if there is none. */
  readonly longest?: number
  /** How bounds are parsed; missing if the kind has none. */
  readonly bound?: (field: Field, settings: Settings) => BoundReader
  /** The check of a value that is not null. */
  readonly check: (field: Field, rules: ValueRules) => ValueCheck
  /** A simple value that fits a field, and another one, which may violate bounds; missing if there is no other. */
  readonly plain: (terms: ValueTerms, kinds: FieldKinds) => unknown
  readonly other?: (terms: ValueTerms, plain: unknown) => unknown
}

/** The kinds that a service knows, by their names. */
export type FieldKinds = Readonly<Record<string, FieldKind>>

export const fieldKind = (name: string, kinds: FieldKinds): FieldKind => kinds[name] as FieldKind

/** Reads bounds that are texts. */
export const textBound =
  <T>(read: (given: string) => T) =>
  (given: unknown) =>
    typeof given === 'string' ? read(given) : undefined

/** Reads bounds that are whole numbers from a least one. */
export const countBound = (least: number) => (given: unknown) =>
  Number.isSafeInteger(given) && (given as number) >= least ? (given as number) : undefined
