/** Fields: what a declaration is made of, each maker with the options its kind has. Part 2, resources and their fields. */

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
  | 'country'
  | 'currency'
  | 'concept'

export type FilterForm = 'range' | 'like' | 'gt' | 'lt' | 'ne'

/** What every field may say about itself. */
interface FieldOptions<T> {
  /** May be null. */
  readonly optional?: boolean
  /** The value where none is given; the field is then not required. */
  readonly default?: T
  /** The value that rows get whose stored value does not fit: written once, when the declaration is applied. */
  readonly fill?: T
  /** Cannot change once it is set. */
  readonly immutable?: boolean
  /** Set by the service, never by a caller. */
  readonly readOnly?: boolean
  /** Accepted and stored, never answered. */
  readonly writeOnly?: boolean
  /** The scope that callers need to see it, and to write it. */
  readonly read?: string
  /** The scope that callers need besides to write it. */
  readonly write?: string
  /** The name the field had before; its values move with it. */
  readonly was?: string
  /** Why this field shares a name with another one of different structure. R37. */
  readonly ownMeaning?: string
}

/** A field whose values can be told apart. */
interface ComparableOptions<T, Form extends FilterForm> extends FieldOptions<T> {
  readonly unique?: boolean
  readonly filter?: boolean | Form | readonly Form[]
}
/** A field whose values have an order. */
interface SortableOptions<T, Form extends FilterForm> extends ComparableOptions<T, Form> {
  readonly sort?: boolean
}
type OrderedFilterForm = Exclude<FilterForm, 'like'>

interface TextOptions extends SortableOptions<string, FilterForm> {
  readonly min?: number
  readonly max?: number
  readonly pattern?: string
  /** Compared, sorted, matched and kept unique without regard to case and composition. R60. */
  readonly fold?: boolean
}
interface IntegerOptions extends SortableOptions<number, OrderedFilterForm> {
  readonly min?: number
  readonly max?: number
}
/** Numbers and times that travel as strings. */
interface BoundOptions extends SortableOptions<string, OrderedFilterForm> {
  readonly min?: string
  readonly max?: string
}
interface DecimalOptions extends BoundOptions {
  readonly precision?: number
  readonly scale: number
}
interface RefOptions extends SortableOptions<never, 'ne'> {
  /** What becomes of this resource when what it refers to is deleted. R138. */
  readonly onDelete?: 'restrict' | 'cascade'
}
interface ListOptions<T> extends FieldOptions<readonly T[]> {
  readonly min?: number
  readonly max?: number
}
/** A concept takes what its place may say of any field. */
interface ConceptOptions extends SortableOptions<unknown, FilterForm> {
  readonly min?: number | string
  readonly max?: number | string
  readonly pattern?: string
  readonly fold?: boolean
}
interface AnyOptions extends ConceptOptions {
  readonly precision?: number
  readonly scale?: number
  readonly onDelete?: 'restrict' | 'cascade'
}

/** A declared field: its kind and its options as they were written. */
export interface Field<K extends Kind = Kind, O extends AnyOptions = AnyOptions> {
  readonly kind: K
  readonly options: O
  /** The values of an enum. */
  readonly values?: readonly string[]
  /** The item of a list. */
  readonly item?: Field
  /** The fields of an object. */
  readonly fields?: Fields
  /** The resource of a reference, or the name of a concept. */
  readonly target?: string
}

export type Fields = { readonly [name: string]: Field }

export interface Enum<V extends string, O extends AnyOptions> extends Field<'enum', O> {
  readonly values: readonly V[]
}
export interface List<I extends Field, O extends AnyOptions> extends Field<'list', O> {
  readonly item: I
}
export interface Nested<F extends Fields, O extends AnyOptions> extends Field<'object', O> {
  readonly fields: F
}
export interface Ref<To extends string, O extends AnyOptions> extends Field<'ref', O> {
  readonly target: To
}
export interface Concept<Name extends string, O extends AnyOptions> extends Field<'concept', O> {
  readonly target: Name
}

/** Values whose type depends on the kind alone. */
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
}

/** A field with the concept it uses put in. `C` are the concepts of the service, here and below. */
export type ResolvedField<F, C> =
  F extends Concept<infer Name, infer O>
    ? C extends { readonly [N in Name]: infer G }
      ? WithOptions<ResolvedField<G, C>, O>
      : unknown
    : F
type WithOptions<G, O> = [keyof O] extends [never]
  ? G
  : { readonly [K in keyof G]: K extends 'options' ? Omit<G[K], keyof O> & O : G[K] }

/** The value of a field, as rows have it. */
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

/** The value of a field as it is sent: an object may leave out what has a value without. */
type InputValue<F, C> = ResolvedField<F, C> extends infer G ? OrNull<G, SentValue<G, C>> : never
export type SentValue<G, C> = G extends { readonly kind: 'object'; readonly fields: infer F }
  ? Inputs<F, C>
  : G extends { readonly kind: 'list'; readonly item: infer I }
    ? readonly InputValue<I, C>[]
    : NonNullValue<G, C>

/** Fields as they are sent; those of `Free` may be left out too. */
export type Inputs<F, C, Free = never> = InputsWithout<F, C, Extract<keyof F, Free> | OmittableNames<F, C>>
type InputsWithout<F, C, Free> = Flatten<
  { readonly [K in keyof F as Exclude<K, Free>]: InputValue<F[K], C> } & {
    readonly [K in keyof F as Extract<K, Free>]?: InputValue<F[K], C>
  }
>
/** The fields that have a value where none is given. */
type OmittableNames<F, C> = FieldNamesWith<
  F,
  C,
  | { readonly options: { readonly optional: true } | { readonly default: unknown } }
  | { readonly kind: 'list' | 'metadata' }
>

/** The names of the fields that are such. */
export type FieldNamesWith<F, C, Shape> = { [K in keyof F]: ResolvedField<F[K], C> extends Shape ? K : never }[keyof F]

/** An intersection as one object, for those who read it. */
export type Flatten<T> = T extends infer O ? { [K in keyof O]: O[K] } : never

/** Options as they were written; where one is foreign to the kind, the kind's own stand here and refuse it at its place. */
type ExactOptions<O, Allowed> = [Exclude<keyof O, keyof Allowed>] extends [never] ? O : Allowed

function makeField(kind: Kind, options: object | undefined, more: Partial<Field> = {}): Field {
  return Object.freeze({ kind, options: Object.freeze({ ...options }), ...more })
}

/** Makes fields of one kind. */
interface FieldMaker<K extends Kind, Allowed extends AnyOptions> {
  (): Field<K, object>
  <const O extends Allowed>(options: ExactOptions<O, Allowed>): Field<K, O>
}

function fieldMaker<K extends Kind, Allowed extends AnyOptions>(kind: K): FieldMaker<K, Allowed> {
  return (options?: object) => makeField(kind, options) as Field<K, never>
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
const makeConcept: ConceptMaker = (target: string, options?: object) =>
  makeField('concept', options, { target }) as Concept<never, never>

/** The makers of all kinds of fields. */
export const f = {
  text: fieldMaker<'text', TextOptions>('text'),
  email: fieldMaker<'email', TextOptions>('email'),
  url: fieldMaker<'url', TextOptions>('url'),
  integer: fieldMaker<'integer', IntegerOptions>('integer'),
  bigint: fieldMaker<'bigint', BoundOptions>('bigint'),
  decimal: <const O extends DecimalOptions>(options: ExactOptions<O, DecimalOptions>): Field<'decimal', O> =>
    makeField('decimal', options as O) as Field<'decimal', O>,
  boolean: fieldMaker<'boolean', SortableOptions<boolean, 'ne'>>('boolean'),
  timestamp: fieldMaker<'timestamp', BoundOptions>('timestamp'),
  date: fieldMaker<'date', BoundOptions>('date'),
  duration: fieldMaker<'duration', ComparableOptions<string, 'ne'>>('duration'),
  interval: fieldMaker<'interval', ComparableOptions<string, 'ne'>>('interval'),
  country: fieldMaker<'country', SortableOptions<string, 'ne'>>('country'),
  currency: fieldMaker<'currency', SortableOptions<string, 'ne'>>('currency'),
  metadata: fieldMaker<'metadata', FieldOptions<Readonly<Record<string, string>>>>('metadata'),
  enum: makeEnum,
  ref: makeRef,
  list: makeList,
  object: makeObject,
  concept: makeConcept,
}
