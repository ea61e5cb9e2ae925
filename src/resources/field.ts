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
export interface Options<T = unknown> {
  /** May be null. */
  readonly optional?: boolean
  /** The value where none is given; the field is then not required. */
  readonly default?: T
  /** Cannot change once it is set. */
  readonly immutable?: boolean
  /** Set by the service, never by a caller. */
  readonly readOnly?: boolean
  /** Accepted and stored, never answered. */
  readonly writeOnly?: boolean
  readonly unique?: boolean
  readonly filter?: boolean | FilterForm | readonly FilterForm[]
  readonly sort?: boolean
  /** The name the field had before; its values move with it. */
  readonly was?: string
  /** Why this field shares a name with another one of different structure. R37. */
  readonly ownMeaning?: string
}

export interface TextOptions extends Options<string> {
  readonly min?: number
  readonly max?: number
  readonly pattern?: string
  /** Compared, sorted, matched and kept unique without regard to case and composition. R60. */
  readonly fold?: boolean
}
export interface IntegerOptions extends Options<number> {
  readonly min?: number
  readonly max?: number
}
export interface BigintOptions extends Options<string> {
  readonly min?: string
  readonly max?: string
}
export interface DecimalOptions extends BigintOptions {
  readonly precision?: number
  readonly scale: number
}
export interface TimeOptions extends Options<string> {
  readonly min?: string
  readonly max?: string
}
export interface ListOptions<T> extends Options<readonly T[]> {
  readonly min?: number
  readonly max?: number
}
export interface RefOptions extends Options<string> {
  /** What becomes of this resource when what it refers to is deleted. R138. */
  readonly onDelete?: 'restrict' | 'cascade'
}
interface AnyOptions extends Options {
  readonly min?: number | string
  readonly max?: number | string
  readonly pattern?: string
  readonly fold?: boolean
  readonly precision?: number
  readonly scale?: number
  readonly onDelete?: 'restrict' | 'cascade'
}

/** A declared field. `T` is the type of its value and `O` its options as they were written. */
export interface Field<T = unknown, O = unknown> {
  readonly kind: Kind
  readonly options: AnyOptions
  /** The values of an enum. */
  readonly values?: readonly string[]
  /** The item of a list. */
  readonly item?: Field
  /** The fields of an object. */
  readonly fields?: Fields
  /** The resource of a reference, or the name of a concept. */
  readonly target?: string
  /** Types only; nothing is there at run time. */
  readonly typed?: { readonly value: T; readonly options: O }
}

export type Fields = { readonly [name: string]: Field }

/** A reference keeps the name of its resource in its type, a concept its own. */
export type Ref<To extends string, O> = Field<string, O> & { readonly kind: 'ref'; readonly target: To }
export type Concept<Name extends string, O> = Field<ConceptValue<Name>, O> & {
  readonly kind: 'concept'
  readonly target: Name
}
/** Stands for the value of a concept until the service that declares it is known. */
export interface ConceptValue<Name extends string> {
  readonly concept: Name
}

type OptionsOf<O, Allowed> = O & { readonly [K in Exclude<keyof O, keyof Allowed>]: never }

function field<T, O>(kind: Kind, options: O | undefined, more: Partial<Field> = {}): Field<T, O> {
  return Object.freeze({ kind, options: Object.freeze({ ...options }) as AnyOptions, ...more })
}

function textual(kind: Kind) {
  return <const O extends TextOptions = {}>(options?: OptionsOf<O, TextOptions>): Field<string, O> =>
    field(kind, options as O)
}
function temporal(kind: Kind) {
  return <const O extends TimeOptions = {}>(options?: OptionsOf<O, TimeOptions>): Field<string, O> =>
    field(kind, options as O)
}
function plain<T>(kind: Kind) {
  return <const O extends Options<T> = {}>(options?: OptionsOf<O, Options<T>>): Field<T, O> => field(kind, options as O)
}

/** The value type of a field, as rows have it. */
export type Value<F> =
  F extends Field<infer T, infer O> ? (O extends { readonly optional: true } ? T | null : T) : never

type Flatten<T> = { [K in keyof T]: T[K] }
export type ObjectValue<F extends Fields> = Flatten<{ [K in keyof F]: Value<F[K]> }>

/** The makers of all kinds of fields. */
export const f = {
  text: textual('text'),
  email: textual('email'),
  url: textual('url'),
  integer: <const O extends IntegerOptions = {}>(options?: OptionsOf<O, IntegerOptions>): Field<number, O> =>
    field('integer', options as O),
  bigint: <const O extends BigintOptions = {}>(options?: OptionsOf<O, BigintOptions>): Field<string, O> =>
    field('bigint', options as O),
  decimal: <const O extends DecimalOptions>(options: OptionsOf<O, DecimalOptions>): Field<string, O> =>
    field('decimal', options as O),
  boolean: plain<boolean>('boolean'),
  timestamp: temporal('timestamp'),
  date: temporal('date'),
  duration: plain<string>('duration'),
  interval: plain<string>('interval'),
  country: plain<string>('country'),
  currency: plain<string>('currency'),
  metadata: plain<Readonly<Record<string, string>>>('metadata'),
  enum: <const V extends string, const O extends Options<V> = {}>(
    values: readonly V[],
    options?: OptionsOf<O, Options<V>>,
  ): Field<V, O> => field('enum', options as O, { values: Object.freeze([...values]) }),
  ref: <const To extends string, const O extends RefOptions = {}>(
    target: To,
    options?: OptionsOf<O, RefOptions>,
  ): Ref<To, O> => field<string, O>('ref', options as O, { target }) as Ref<To, O>,
  list: <const I extends Field, const O extends ListOptions<Value<I>> = {}>(
    item: I,
    options?: OptionsOf<O, ListOptions<Value<I>>>,
  ): Field<readonly Value<I>[], O> => field('list', options as O, { item }),
  object: <const F extends Fields, const O extends Options<Partial<ObjectValue<F>>> = {}>(
    fields: F,
    options?: OptionsOf<O, Options<Partial<ObjectValue<F>>>>,
  ): Field<ObjectValue<F>, O> => field('object', options as O, { fields: Object.freeze({ ...fields }) }),
  concept: <const Name extends string, const O extends TextOptions = {}>(
    name: Name,
    options?: OptionsOf<O, TextOptions>,
  ): Concept<Name, O> => field<ConceptValue<Name>, O>('concept', options as O, { target: name }) as Concept<Name, O>,
}
