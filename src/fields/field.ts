/** Fields: the kinds of fields, their makers (`f.text()`) and their options. Part 2, resources and their fields. */
// long because: every maker and every option of the public API has a doc comment with an example

import type { Aggregate } from './aggregate.ts'

export type Kind =
  | 'text'
  | 'email'
  | 'url'
  | 'integer'
  | 'bigint'
  | 'decimal'
  | 'boolean'
  | 'timestamp'
  | 'date'
  | 'duration'
  | 'interval'
  | 'enum'
  | 'ref'
  | 'list'
  | 'object'
  | 'metadata'
  | 'json'
  | 'country'
  | 'currency'
  | 'file'
  | 'concept'

export type FilterForm = 'range' | 'like' | 'gt' | 'lt' | 'ne'

/** Options of fields of every kind. */
interface FieldOptions<T> {
  /** What the field is called in forms and tables, for the API's description: `f.text({ title: 'Name on the card' })`. */
  readonly title?: string
  /** What the field means, for the readers of the API's description: `f.text({ description: 'As on the passport.' })`. */
  readonly description?: string
  /** A value that fits, for the API's description and its samples: `f.text({ example: 'Ada Lovelace' })`. */
  readonly example?: T
  /** The value may be null, and is null in a new item that leaves the field out: `f.text({ optional: true })`. */
  readonly optional?: boolean
  /** The value of a new item that leaves the field out; the field is then not required: `f.boolean({ default: false })`. */
  readonly default?: T
  /**
   * Replaces stored values that do not fit this declaration, for example after an enum lost a value. It is written once,
   * when the declaration is applied, and never replaces a value that a client sends.
   * @example f.enum(['open', 'shut'], { fill: 'shut' })
   */
  readonly fill?: T
  /** The value is set when the item is created and cannot change: `f.text({ immutable: true })`. */
  readonly immutable?: boolean
  /** Clients cannot set the value, so it needs `optional` or a `default`: `f.integer({ readOnly: true, default: 0 })`. */
  readonly readOnly?: boolean
  /**
   * The value follows from other fields of the item (`true`, with a function in `derived` of the resource), or from the
   * items that belong or refer to it. Clients cannot set it.
   * @example f.decimal({ scale: 2, derived: sum('order-lines', 'amount') })
   */
  readonly derived?: true | Aggregate
  /** The value is accepted and stored, and never answered: `f.text({ writeOnly: true })`. */
  readonly writeOnly?: boolean
  /** The scope that a caller needs to see or write the field: `f.text({ optional: true, read: 'patients:pii' })`. */
  readonly read?: string
  /** The scope that a caller needs to write the field: `f.integer({ default: 0, write: 'patients:bill' })`. */
  readonly write?: string
  /**
   * The value is data about a person, which `bylaw erase` empties: it becomes null, the default, `[]` or `{}`. So the field
   * has to be optional, have a default, or be of a kind that may be left out.
   * @example f.email({ optional: true, personal: true })
   */
  readonly personal?: boolean
  /** The field is to be used no longer: the description says so, and nothing else changes: `f.text({ deprecated: true })`. */
  readonly deprecated?: boolean
  /** The former name of the field; stored values move to the new name: `lastName: f.text({ was: 'surname' })`. */
  readonly was?: string
  /**
   * Why this field may have another structure than a field of the same name in another resource. R37.
   * @example f.integer({ ownMeaning: 'A number of pages, not a text.' })
   */
  readonly ownMeaning?: string
}

/** Options of fields whose values can be compared for equality. */
interface ComparableOptions<T, Form extends FilterForm> extends FieldOptions<T> {
  /** No two items (of an account, if the resource has an `owner`) have the same value: `f.email({ unique: true })`. */
  readonly unique?: boolean
  /**
   * Lists can be filtered by the field. `true` allows equality, sets and `[null]`; `'range'` adds `[gte]` and `[lte]`,
   * `'like'` patterns, and `'gt'`, `'lt'` and `'ne'` the operator of that name.
   * @example f.integer({ filter: ['range', 'ne'] }) // ?year[gte]=1900&year[ne]=1950
   */
  readonly filter?: boolean | Form | readonly Form[]
}
/** Options of fields whose values have an order. */
interface SortableOptions<T, Form extends FilterForm> extends ComparableOptions<T, Form> {
  /** Lists can be sorted by the field, as in `?sort=name&order=desc`: `f.text({ max: 100, sort: true })`. */
  readonly sort?: boolean
}
type OrderedFilterForm = Exclude<FilterForm, 'like'>

interface TextOptions extends SortableOptions<string, FilterForm> {
  /** The least number of characters: `f.text({ min: 1 })`. */
  readonly min?: number
  /** The greatest number of characters: `f.text({ max: 200 })`. */
  readonly max?: number
  /** A regular expression of JavaScript (flag `u`) that the text must match: `f.text({ pattern: '^[0-9]{1,4}$' })`. */
  readonly pattern?: string
  /** Filters, sorting and `unique` ignore case and Unicode composition: `f.email({ unique: true, fold: true })`. R60. */
  readonly fold?: boolean
  /** Lists can be searched for its words, as in `?search=blue`: `f.text({ max: 200, search: true })`. R235. */
  readonly search?: boolean
}
interface IntegerOptions extends SortableOptions<number, OrderedFilterForm> {
  /** The least value: `f.integer({ min: 0 })`. */
  readonly min?: number
  /** The greatest value: `f.integer({ max: 100 })`. */
  readonly max?: number
}
/** Options of numbers and times that are strings in JSON. */
interface BoundOptions extends SortableOptions<string, OrderedFilterForm> {
  /** The least value: `f.date({ min: '2000-01-01' })`. */
  readonly min?: string
  /** The greatest value: `f.bigint({ max: '1000000' })`. */
  readonly max?: string
}
interface DecimalOptions extends BoundOptions {
  /** How many digits there are in all, from 1 to 38; 18 by default: `f.decimal({ precision: 10, scale: 2 })`. */
  readonly precision?: number
  /** How many of the digits are after the point: `f.decimal({ scale: 2 })` answers `"9.50"`. */
  readonly scale: number
}
interface RefOptions extends SortableOptions<never, 'ne'> {
  /**
   * Deleting the item that is referred to: `'restrict'` (default) refuses it, `'cascade'` deletes this item too. R138.
   * @example f.ref('orders', { onDelete: 'cascade' })
   */
  readonly onDelete?: 'restrict' | 'cascade'
}
interface ListOptions<T> extends FieldOptions<readonly T[]> {
  /** The least number of items; above 0 the field is required: `f.list(f.text(), { min: 1 })`. */
  readonly min?: number
  /** The greatest number of items; 1,000 by default: `f.list(f.text(), { max: 10 })`. */
  readonly max?: number
  /** Lists can be searched for the words of its texts: `f.list(f.text({ max: 50 }), { max: 10, search: true })`. R235. */
  readonly search?: boolean
}
interface FileOptions
  extends Pick<
    FieldOptions<never>,
    'title' | 'description' | 'deprecated' | 'read' | 'write' | 'personal' | 'was' | 'ownMeaning'
  > {
  /** The greatest number of bytes of the content; 10 MiB by default: `f.file({ max: 5_000_000 })`. */
  readonly max?: number
  /** The media types of the content; any by default: `f.file({ types: ['image/*', 'application/pdf'] })`. */
  readonly types?: readonly string[]
}
/** A field that uses a concept may have any option; whether it fits the concept is checked at start. */
interface ConceptOptions extends SortableOptions<unknown, FilterForm> {
  /** The least value or length, as the kind of the concept has it. */
  readonly min?: number | string
  /** The greatest value or length, as the kind of the concept has it. */
  readonly max?: number | string
  /** A regular expression that the text must match; for concepts of texts. */
  readonly pattern?: string
  /** Filters, sorting and `unique` ignore case and Unicode composition; for concepts of texts. R60. */
  readonly fold?: boolean
  /** Lists can be searched for its words; for concepts of texts and of lists of texts. R235. */
  readonly search?: boolean
}
interface AnyOptions extends ConceptOptions {
  readonly precision?: number
  readonly scale?: number
  readonly onDelete?: 'restrict' | 'cascade'
  readonly types?: readonly string[]
}

/** A declared field, as a maker of `f` returns it: its kind and its options. */
export interface Field<K extends Kind = Kind, O extends AnyOptions = AnyOptions> {
  readonly kind: K
  readonly options: O
  /** The values of an enum, or the media types of a file. */
  readonly values?: readonly string[]
  /** The field of each item of a list. */
  readonly item?: Field
  /** The fields of an object. */
  readonly fields?: Fields
  /** The resource that a reference names, or the name of a concept. */
  readonly target?: string
}

/** Fields by their names. */
export type Fields = { readonly [name: string]: Field }

/** The field that `f.enum()` returns. */
export interface Enum<V extends string, O extends AnyOptions> extends Field<'enum', O> {
  readonly values: readonly V[]
}
/** The field that `f.list()` returns. */
export interface List<I extends Field, O extends AnyOptions> extends Field<'list', O> {
  readonly item: I
}
/** The field that `f.object()` returns. */
export interface Nested<F extends Fields, O extends AnyOptions> extends Field<'object', O> {
  readonly fields: F
}
/** The field that `f.ref()` returns. */
export interface Ref<To extends string, O extends AnyOptions> extends Field<'ref', O> {
  readonly target: To
}
/** The field that `f.concept()` returns. */
export interface Concept<Name extends string, O extends AnyOptions> extends Field<'concept', O> {
  readonly target: Name
}

/**
 * The member of a file. In stored documents `href` is the name under which the content is stored; answers have the URL of the
 * content there.
 */
export interface FileMember {
  readonly href: string
  /** The media type that the content was sent with. */
  readonly type: string
  /** The number of bytes. */
  readonly length: number
  /** The SHA-256 digest of the content in hexadecimal. */
  readonly sha256: string
  /** The name that it was sent with; null if it was sent without one. */
  readonly name: string | null
}

/** The types of values of the kinds whose options do not change the type. */
interface ValueByKind {
  readonly text: string
  readonly email: string
  readonly url: string
  readonly integer: number
  readonly bigint: string
  readonly decimal: string
  readonly boolean: boolean
  readonly timestamp: string
  readonly date: string
  readonly duration: string
  readonly interval: string
  readonly ref: string
  readonly metadata: Readonly<Record<string, string>>
  readonly country: string
  readonly currency: string
  readonly file: FileMember
}

/** A field with its concept resolved. `C` are the concepts of the service, here and below. */
export type ResolvedField<F, C> =
  F extends Concept<infer Name, infer O>
    ? C extends { readonly [N in Name]: infer G }
      ? WithOptions<ResolvedField<G, C>, O>
      : unknown
    : F
type WithOptions<G, O> = [keyof O] extends [never]
  ? G
  : { readonly [K in keyof G]: K extends 'options' ? Omit<G[K], keyof O> & O : G[K] }

/** The value of a field in an answer. */
export type Value<F, C> = ResolvedField<F, C> extends infer G ? OrNull<G, NonNullValue<G, C>> : never
type NonNullValue<G, C> = G extends { readonly kind: infer K extends keyof ValueByKind }
  ? ValueByKind[K]
  : G extends { readonly kind: 'enum'; readonly values: readonly (infer V)[] }
    ? V
    : G extends { readonly kind: 'list'; readonly item: infer I }
      ? readonly Value<I, C>[]
      : G extends { readonly kind: 'object'; readonly fields: infer F }
        ? { readonly [K in keyof F]: Value<F[K], C> }
        : unknown

export type OrNull<G, T> = G extends { readonly options: { readonly optional: infer B } }
  ? true extends B
    ? T | null
    : T
  : T

/** The value of a field in a request: an object may leave out its optional fields and those with a default. */
type InputValue<F, C> = ResolvedField<F, C> extends infer G ? OrNull<G, SentValue<G, C>> : never
export type SentValue<G, C> = G extends { readonly kind: 'object'; readonly fields: infer F }
  ? Inputs<F, C>
  : G extends { readonly kind: 'list'; readonly item: infer I }
    ? readonly InputValue<I, C>[]
    : NonNullValue<G, C>

/** The values of fields in a request; those named by `Free` may be left out too. */
export type Inputs<F, C, Free = never> = InputsWithout<F, C, Extract<keyof F, Free> | OmittableNames<F, C>>
type InputsWithout<F, C, Free> = Flatten<
  { readonly [K in keyof F as Exclude<K, Free>]: InputValue<F[K], C> } & {
    readonly [K in keyof F as Extract<K, Free>]?: InputValue<F[K], C>
  }
>
/** The names of the fields that a request may leave out. */
type OmittableNames<F, C> = FieldNamesWith<
  F,
  C,
  | { readonly options: { readonly optional: true } | { readonly default: unknown } }
  | { readonly kind: 'list' | 'metadata' }
>

/** The names of the fields that extend `Shape`. */
export type FieldNamesWith<F, C, Shape> = { [K in keyof F]: ResolvedField<F[K], C> extends Shape ? K : never }[keyof F]

/** An intersection as one object type, so that editors show its members. */
export type Flatten<T> = T extends infer O ? { [K in keyof O]: O[K] } : never

/** The declared options; if the kind does not have one of them, the allowed options, so that the compiler reports it. */
type ExactOptions<O, Allowed> = [Exclude<keyof O, keyof Allowed>] extends [never] ? O & Allowed : Allowed

/**
 * The type of the options that a call has, `object` if it has none. Without it TypeScript would take the type that the place of the
 * call expects, which is none of the package's public types, so that no declaration file could name it.
 */
type Given<O extends AnyOptions> = [O] extends [infer Own extends AnyOptions] ? Own : never

function makeField(kind: Kind, options: object | undefined, more: Partial<Field> = {}): Field {
  return Object.freeze({ kind, options: Object.freeze({ ...options }), ...more })
}

interface EnumMaker {
  <const V extends string>(values: readonly V[]): Enum<V, object>
  <const V extends string, const O extends SortableOptions<NoInfer<V>, 'ne'>>(
    values: readonly V[],
    options: ExactOptions<O, SortableOptions<NoInfer<V>, 'ne'>>,
  ): Enum<V, O>
}
interface RefMaker {
  <const To extends string>(target: To): Ref<To, object>
  <const To extends string, const O extends RefOptions>(target: To, options: ExactOptions<O, RefOptions>): Ref<To, O>
}
interface ListMaker {
  <I extends Field>(item: I): List<I, object>
  <I extends Field, const O extends ListOptions<InputValue<I, object>>>(
    item: I,
    options: ExactOptions<O, ListOptions<InputValue<I, object>>>,
  ): List<I, O>
}
interface ObjectMaker {
  <F extends Fields>(fields: F): Nested<F, object>
  <F extends Fields, const O extends FieldOptions<Inputs<F, object>>>(
    fields: F,
    options: ExactOptions<O, FieldOptions<Inputs<F, object>>>,
  ): Nested<F, O>
}
interface ConceptMaker {
  <const Name extends string>(name: Name): Concept<Name, object>
  <const Name extends string, const O extends ConceptOptions>(
    name: Name,
    options: ExactOptions<O, ConceptOptions>,
  ): Concept<Name, O>
}

const makeEnum: EnumMaker = (values: readonly string[], options?: object) =>
  makeField('enum', options, { values: Object.freeze([...values]) }) as Enum<never, never>
const makeRef: RefMaker = (target: string, options?: object) =>
  makeField('ref', options, { target }) as Ref<never, never>
const makeList: ListMaker = (item: Field, options?: object) =>
  makeField('list', options, { item }) as List<never, never>
const makeObject: ObjectMaker = (fields: Fields, options?: object) =>
  makeField('object', options, { fields: Object.freeze({ ...fields }) }) as Nested<never, never>
/** Only uploads write files, so a new item has none. */
interface OfUploads {
  readonly readOnly: true
  readonly optional: true
}
const ofUploads: OfUploads = { readOnly: true, optional: true }
const makeConcept: ConceptMaker = (target: string, options?: object) =>
  makeField('concept', options, { target }) as Concept<never, never>

/**
 * The makers of fields, one for each kind. A field is required unless it is `optional` or has a `default`.
 * @example
 * const fields = {
 *   title: f.text({ max: 200, sort: true }),
 *   authorId: f.ref('authors', { filter: true }),
 *   price: f.decimal({ scale: 2, default: '0.00' }),
 * }
 */
export const f = {
  /**
   * A text of at most 10,000 characters, or 500 if it is sortable.
   * @example f.text({ max: 200, filter: 'like', sort: true })
   */
  text: <const O extends TextOptions = object>(options?: ExactOptions<O, TextOptions>): Field<'text', Given<O>> =>
    makeField('text', options) as Field<'text', Given<O>>,
  /**
   * An e-mail address of at most 254 characters.
   * @example f.email({ unique: true, fold: true })
   */
  email: <const O extends TextOptions = object>(options?: ExactOptions<O, TextOptions>): Field<'email', Given<O>> =>
    makeField('email', options) as Field<'email', Given<O>>,
  /**
   * An absolute http or https URL of at most 2,048 characters.
   * @example f.url({ optional: true })
   */
  url: <const O extends TextOptions = object>(options?: ExactOptions<O, TextOptions>): Field<'url', Given<O>> =>
    makeField('url', options) as Field<'url', Given<O>>,
  /**
   * A whole number within ±(2^53 − 1).
   * @example f.integer({ min: 0, default: 10, filter: 'range' })
   */
  integer: <const O extends IntegerOptions = object>(
    options?: ExactOptions<O, IntegerOptions>,
  ): Field<'integer', Given<O>> => makeField('integer', options) as Field<'integer', Given<O>>,
  /**
   * A whole number of 64 bits, a string in JSON because it may exceed what JavaScript can represent.
   * @example f.bigint({ min: '0' })
   */
  bigint: <const O extends BoundOptions = object>(options?: ExactOptions<O, BoundOptions>): Field<'bigint', Given<O>> =>
    makeField('bigint', options) as Field<'bigint', Given<O>>,
  /**
   * An exact decimal number, a string in JSON, padded to `scale` digits after the point: `"9.50"`.
   * @example f.decimal({ scale: 2, min: '0', filter: 'range', sort: true })
   */
  decimal: <const O extends DecimalOptions>(options: ExactOptions<O, DecimalOptions>): Field<'decimal', O> =>
    makeField('decimal', options) as Field<'decimal', O>,
  /**
   * `true` or `false`.
   * @example f.boolean({ default: false, filter: true })
   */
  boolean: <const O extends SortableOptions<boolean, 'ne'> = object>(
    options?: ExactOptions<O, SortableOptions<boolean, 'ne'>>,
  ): Field<'boolean', Given<O>> => makeField('boolean', options) as Field<'boolean', Given<O>>,
  /**
   * A moment in UTC with milliseconds: `2026-11-20T09:04:00.000Z`.
   * @example f.timestamp({ optional: true, filter: 'range', sort: true })
   */
  timestamp: <const O extends BoundOptions = object>(
    options?: ExactOptions<O, BoundOptions>,
  ): Field<'timestamp', Given<O>> => makeField('timestamp', options) as Field<'timestamp', Given<O>>,
  /**
   * A calendar date: `2026-11-20`.
   * @example f.date({ min: '2000-01-01', filter: 'range', sort: true })
   */
  date: <const O extends BoundOptions = object>(options?: ExactOptions<O, BoundOptions>): Field<'date', Given<O>> =>
    makeField('date', options) as Field<'date', Given<O>>,
  /**
   * An ISO 8601 duration: `P3DT4H`.
   * @example f.duration({ default: 'PT30M' })
   */
  duration: <const O extends ComparableOptions<string, 'ne'> = object>(
    options?: ExactOptions<O, ComparableOptions<string, 'ne'>>,
  ): Field<'duration', Given<O>> => makeField('duration', options) as Field<'duration', Given<O>>,
  /**
   * An ISO 8601 interval: `2026-01-01T00:00:00.000Z/P1M`.
   * @example f.interval({ optional: true })
   */
  interval: <const O extends ComparableOptions<string, 'ne'> = object>(
    options?: ExactOptions<O, ComparableOptions<string, 'ne'>>,
  ): Field<'interval', Given<O>> => makeField('interval', options) as Field<'interval', Given<O>>,
  /**
   * A country code of ISO 3166: `IT`.
   * @example f.country({ optional: true, filter: true })
   */
  country: <const O extends SortableOptions<string, 'ne'> = object>(
    options?: ExactOptions<O, SortableOptions<string, 'ne'>>,
  ): Field<'country', Given<O>> => makeField('country', options) as Field<'country', Given<O>>,
  /**
   * A currency code of ISO 4217: `EUR`.
   * @example f.currency({ default: 'EUR' })
   */
  currency: <const O extends SortableOptions<string, 'ne'> = object>(
    options?: ExactOptions<O, SortableOptions<string, 'ne'>>,
  ): Field<'currency', Given<O>> => makeField('currency', options) as Field<'currency', Given<O>>,
  /**
   * Keys that clients choose, each with a text; `{}` by default. The setting `metadata` limits keys and values.
   * @example f.metadata()
   */
  metadata: <const O extends FieldOptions<Readonly<Record<string, string>>> = object>(
    options?: ExactOptions<O, FieldOptions<Readonly<Record<string, string>>>>,
  ): Field<'metadata', Given<O>> => makeField('metadata', options) as Field<'metadata', Given<O>>,
  /**
   * One of the given texts.
   * @example f.enum(['open', 'done'], { default: 'open', filter: true })
   */
  enum: makeEnum,
  /**
   * The id of an existing item of another resource (or of the same one).
   * @example f.ref('authors', { filter: true, onDelete: 'cascade' })
   */
  ref: makeRef,
  /**
   * A list of at most 1,000 items of one kind; `[]` by default.
   * @example f.list(f.text({ max: 500 }), { max: 10 })
   */
  list: makeList,
  /**
   * An object with the given fields.
   * @example f.object({ street: f.text({ max: 200 }), city: f.text({ max: 100, filter: true }) })
   */
  object: makeObject,
  /**
   * A file, or null: clients upload the content to the URL of the item with the name of the field, and read it there.
   * @example f.file({ max: 5_000_000, types: ['application/pdf', 'image/*'] })
   */
  file: <const O extends FileOptions = object>(
    options?: ExactOptions<O, FileOptions>,
  ): Field<'file', Given<O> & OfUploads> =>
    makeField('file', { ...options, ...ofUploads }, options?.types && { values: options.types }) as Field<
      'file',
      Given<O> & OfUploads
    >,
  /**
   * A field that the service declares once in `concepts`, for all resources that use it. The name of the field is the name
   * of the concept or ends with it; options given here replace those of the concept.
   * @example billingAddress: f.concept('address', { optional: true })
   */
  concept: makeConcept,
}
