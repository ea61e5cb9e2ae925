/** Kind: everything that the service knows of one kind of field, as one record of data and pure functions. Part 2, fields. */
import type { Settings } from '../settings.ts'
import type { ValueCheck } from './check-members.ts'
import type { Field, Kind } from './field.ts'

/** The kinds that a service knows, by their names. */
export type FieldKinds = Readonly<Record<string, FieldKind>>

/** What a check needs to know besides its field. */
export interface ValueRules {
  readonly settings: Settings
  readonly isId: (resource: string, text: string) => boolean
  readonly kinds: FieldKinds
}

/** What consumers may rely on about a field, with all bounds in force, declared or not. A lock keeps it as JSON. */
export interface FieldTerms {
  readonly kind: Kind
  readonly precision?: number
  readonly scale?: number
  /** Bounds of a length, a number of items, a number or a time. */
  readonly min?: number | string
  readonly max?: number | string
  readonly pattern?: string
  /** The values of an enum, sorted: their order means nothing. */
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
  readonly sort?: true
  readonly filter?: readonly string[]
}

/** The use of a value: in an answer, a body, a merge patch, or a filter (`asked`), which ignores bounds. R72. */
export type SchemaUse = 'answered' | 'sent' | 'patched' | 'asked'

export type JsonSchema = Readonly<Record<string, unknown>>

/** What a schema is made with: the schemas of other fields and resources, and what holds for the whole document. */
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

/** Where sample values come from. */
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
export type BoundReader = readonly [read: (given: unknown) => number | bigint | string | undefined, what: string]

/** A value in a column. */
export type Cell = string | number | bigint | null

/** How values are kept in a column: its type, what else identifies how cells are made, and the cell of a value. */
export interface CellForm {
  readonly type: 'text' | 'integer'
  readonly how?: string
  readonly cell: (value: unknown) => Cell
}

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
  /** How many characters or items a value may have if `max` is not declared; missing if `max` is no length. */
  readonly length?: number
  /** How bounds are parsed; missing if the kind has none. */
  readonly bound?: (field: Field, settings: Settings) => BoundReader
  /** The mistakes of a declared field that only this kind can have, each with its mend. */
  readonly faults?: (field: Field) => Iterable<readonly [reason: string, mend: string]>
  /** The check of a value that is not null. */
  readonly check: (field: Field, rules: ValueRules) => ValueCheck
  /** The value of a new item without one; undefined if it has to be sent. */
  readonly empty?: (options: Field['options']) => unknown
  /** How a text of a URL becomes a value, and what it must be; missing if the value is a text. */
  readonly parse?: readonly [read: (text: string) => unknown, what: string]
  /** How values are kept in columns; as they are if it is missing. */
  readonly cell?: (options: Field['options']) => CellForm
  /** The bounds in force, in the one form that values have; as declared if it is missing. */
  readonly terms?: (field: Field, rules: ValueRules) => Partial<FieldTerms>
  readonly schema: (terms: FieldTerms, use: SchemaUse, make: SchemaMaker) => JsonSchema
  /** The pattern of a value in a set of a filter that needs no quotes; `true` if it is that of the schema. */
  readonly bare?: string | true
  /** A simple value that fits, and another one, which may break bounds. `inner` gives those of items and members. */
  readonly plain: (terms: FieldTerms, inner: (terms: FieldTerms) => unknown) => unknown
  readonly other?: (terms: FieldTerms, plain: unknown) => unknown
  /** Values for the first request of a newcomer, the best first; `mark` makes a unique text new. */
  readonly examples?: (options: Field['options'], mark: string) => readonly unknown[]
  /** One of many values; the same choices give the same value in every release, as columns are named by samples. */
  readonly sample: (field: Field, source: SampleSource) => unknown
}

export const fieldKind = (name: string, kinds: FieldKinds): FieldKind => kinds[name] as FieldKind

/** Reads bounds that are texts. */
export const textBound =
  <T>(read: (given: string) => T) =>
  (given: unknown) =>
    typeof given === 'string' ? read(given) : undefined

/** Reads bounds that are whole numbers from a least one. */
export const countBound = (least: number) => (given: unknown) =>
  Number.isSafeInteger(given) && (given as number) >= least ? (given as number) : undefined

/** An object without its undefined members. */
export const defined = <T extends object>(members: { readonly [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T
