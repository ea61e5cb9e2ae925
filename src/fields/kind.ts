/** Kind: everything about one kind of field, as one record of data and pure functions. Part 2, fields. */
import type { Settings } from '../settings.ts'
import type { ValueCheck } from './check-members.ts'
import type { Field, Kind } from './field.ts'

/** The kinds of fields by name. */
export type FieldKinds = Readonly<Record<string, FieldKind>>

/** The context of a check, except for its field. */
export interface ValueRules {
  readonly settings: Settings
  readonly isId: (resource: string, text: string) => boolean
  readonly kinds: FieldKinds
}

/** The promises about a field to consumers, with all bounds in force, declared or default. Locks store them as JSON. */
export interface FieldTerms {
  readonly kind: Kind
  readonly precision?: number
  readonly scale?: number
  /** The least and the greatest value, length or number of items. */
  readonly min?: number | string
  readonly max?: number | string
  readonly pattern?: string
  /** The values of an enum or the media types of a file, sorted, as their order has no meaning. */
  readonly values?: readonly string[]
  /** The resource of a reference. */
  readonly to?: string
  readonly onDelete?: 'restrict' | 'cascade'
  readonly item?: FieldTerms
  readonly fields?: { readonly [name: string]: FieldTerms }
  /** How many keys metadata may have, and how long its keys and values may be. */
  readonly keys?: number
  readonly keyLength?: number
  readonly valueLength?: number
  readonly nullable?: true
  /** Must be sent. */
  readonly required?: true
  /** The value if nothing is sent, unless it is null. */
  readonly default?: unknown
  readonly readOnly?: true
  readonly writeOnly?: true
  /** The scopes that are needed to read it, and to write it. */
  readonly read?: string
  readonly write?: string
  readonly immutable?: true
  readonly unique?: true
  readonly fold?: true
  readonly search?: true
  readonly sort?: true
  readonly filter?: readonly string[]
  /** For readers only: not a part of the contract, so locks do not contain them. */
  readonly title?: string
  readonly description?: string
  readonly example?: unknown
  readonly personal?: true
  readonly deprecated?: true
  /** The source from which the newest version computes its value; missing in locks that an earlier release wrote. */
  readonly derived?: string
}

/** The use of a value: in an answer, a body, a merge patch, or a filter (`asked`), which ignores bounds. R72. */
export type SchemaUse = 'answered' | 'sent' | 'patched' | 'asked'

export type JsonSchema = Readonly<Record<string, unknown>>

/** The context of a schema: the schemas of other fields and resources, and the settings of the document. */
export interface SchemaMaker {
  /** The form of times in requests and answers. */
  readonly zone: 'written' | 'any' | 'utc'
  readonly fieldSchema: (terms: FieldTerms, use: SchemaUse) => JsonSchema
  readonly idSchema: (resource: string) => JsonSchema
  /** Puts a schema into the components of the document, and refers to it. */
  readonly shared: (name: string, schema: JsonSchema) => JsonSchema
  /** Whether an object may have other members than those that are described. */
  readonly open: boolean
}

/** The choices that sample values are made from. */
export interface SampleSource {
  readonly kinds: FieldKinds
  /** A whole number from 0 to below the given one; 0 is the simplest choice. */
  readonly below: (count: number) => number
  /** Set if the values are sent in requests: then they keep the bounds of their field. */
  readonly sent?: {
    /** The id of an item of a resource; undefined if there is no item. */
    readonly idOf: (resource: string) => string | undefined
    /** A text that matches a pattern. */
    readonly matching: (pattern: string) => string
    /** As `below`, but mostly a small number or the greatest. */
    readonly mostlySmall: (count: number) => number
    /** As `below` for lengths: mostly short, sometimes zero or the greatest. */
    readonly length: (count: number) => number
  }
}

/** How the bounds of a kind are parsed, and how messages describe them. */
export type BoundReader = readonly [read: (value: unknown) => number | bigint | string | undefined, what: string]

/** A value in a column. */
export type Cell = string | number | bigint | null

/** How values are stored in a column: its type, a name of the conversion, if there are several, and the conversion. */
export interface CellForm {
  readonly type: 'text' | 'integer'
  readonly how?: string
  readonly cell: (value: unknown) => Cell
  /** The value of a column, given as a text; missing if that is the value. */
  readonly value?: (text: string) => unknown
}

export const generalOptions =
  'title description example deprecated optional default fill immutable readOnly derived writeOnly read write personal unique filter sort was ownMeaning'.split(
    ' ',
  )
export const boundedOptions = [...generalOptions, 'min', 'max']

export interface FieldKind {
  /** The options that a field of this kind accepts. */
  readonly options: readonly string[]
  /** The operations of lists on the values: none, filters by equality, also sorting, or also filters by ranges. */
  readonly order: 'none' | 'equality' | 'sort' | 'range'
  /** The greatest length of a value as a text; missing if the kind does not limit it. */
  readonly longest?: number
  /** The number of characters or items that are allowed if `max` is not declared; missing if `max` is not a length. */
  readonly length?: number
  /** How bounds are parsed; missing if the kind has none. */
  readonly bound?: (field: Field, settings: Settings) => BoundReader
  /** The mistakes of a declared field that only this kind can have, each with its fix. */
  readonly faults?: (field: Field) => Iterable<readonly [reason: string, mend: string]>
  /** The check of a value that is not null. */
  readonly check: (field: Field, rules: ValueRules) => ValueCheck
  /** The value of a new item that leaves the field out, without a default; undefined if it has to be sent. */
  readonly empty?: (options: Field['options']) => unknown
  /** Parses a text of a URL into a value, with the words for a valid text; missing if values are texts. */
  readonly parse?: readonly [read: (text: string) => unknown, what: string]
  /** How values are stored in columns; unchanged if it is missing. */
  readonly cell?: (options: Field['options']) => CellForm
  /** The terms that only this kind has, with bounds written like values; missing if there are no such terms. */
  readonly terms?: (field: Field, rules: ValueRules) => Partial<FieldTerms>
  readonly schema: (terms: FieldTerms, use: SchemaUse, make: SchemaMaker) => JsonSchema
  /** The pattern of values that need no quotes in a set of a filter; `true` if it is the pattern of the schema. */
  readonly bare?: string | true
  /** A simple value that fits, and another one, which may break bounds. `inner` gives those of items and members. */
  readonly plain: (terms: FieldTerms, inner: (terms: FieldTerms) => unknown) => unknown
  readonly other?: (terms: FieldTerms, plain: unknown) => unknown
  /** Values for sample requests, the best first; `mark` makes the text of a unique field new. */
  readonly examples?: (options: Field['options'], mark: string) => readonly unknown[]
  /**
   * One of many values. The same choices must give the same value in every release: columns of older versions are
   * identified by the results for samples.
   */
  readonly sample: (field: Field, source: SampleSource) => unknown
}

export const fieldKind = (name: string, kinds: FieldKinds): FieldKind => kinds[name] as FieldKind

/** Reads bounds that are texts. */
export const textBound =
  <T>(read: (value: string) => T) =>
  (value: unknown) =>
    typeof value === 'string' ? read(value) : undefined

/** Reads bounds that are whole numbers, at least `least`. */
export const countBound = (least: number) => (value: unknown) =>
  Number.isSafeInteger(value) && (value as number) >= least ? (value as number) : undefined

/** An object without its undefined members. */
export const defined = <T extends object>(members: { readonly [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T
