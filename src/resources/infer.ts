/** Infer: the types of rows, inputs, patches and names, inferred from a declaration. Part 2, fields. */

import type { Aggregate } from '../fields/aggregate.ts'
import type {
  Enum,
  Field,
  FieldNamesWith,
  FilterForm,
  Flatten,
  Inputs,
  OrNull,
  ResolvedField,
  SentValue,
  Value,
} from '../fields/field.ts'
import type { Irregular } from '../formats/naming.ts'
import type { DeclaredOperations } from './own-operations.ts'
import type { StatesDeclaration, TransitionDeclaration } from './states.ts'

/** The declaration of a service; of a declaration, itself. */
export type DeclarationOf<S> = S extends { readonly declaration: infer D } ? D : S
export type Get<T, K, Else = object> = K extends keyof T ? T[K] : Else
/** A resource or a pair; a pair cannot have the name of a resource. */
export type ResourceOf<D, R> = Get<Get<D, 'resources'>, R, Get<Get<D, 'pairs'>, R>>
export type FieldsOf<D, R> = Get<ResourceOf<D, R>, 'fields'> & StateField<ResourceOf<D, R>>
/** The field that `states` adds. Its states are one union without an alias, so that editors list them in rows. */
export type StateField<T> = T extends { readonly states: infer S extends StatesDeclaration }
  ? {
      readonly [K in S['field']]: Enum<
        S['initial'] | TransitionsOf<S>['from'][number] | TransitionsOf<S>['to'],
        StateOptions<S['initial']>
      >
    }
  : unknown
interface StateOptions<Initial> {
  readonly readOnly: true
  readonly default: Initial
  readonly filter: true
  readonly sort: true
}
type TransitionsOf<S extends StatesDeclaration> = S['transitions'][keyof S['transitions']]
export type StatesIn<S extends StatesDeclaration> = S['initial'] | StatesOfTransition<TransitionsOf<S>>
type StatesOfTransition<T extends TransitionDeclaration> = T['from'][number] | T['to']
export type ConceptsOf<D> = Get<D, 'concepts'>
type KeyOf<D, R> = Extract<Get<ResourceOf<D, R>, 'key', never>, string>
type WriteOnlyNames<D, R> = FieldNamesWith<
  FieldsOf<D, R>,
  ConceptsOf<D>,
  { readonly options: { readonly writeOnly: true } }
>
type ReadOnlyNames<D, R> = FieldNamesWith<
  FieldsOf<D, R>,
  ConceptsOf<D>,
  { readonly options: { readonly readOnly: true } | { readonly derived: true | Aggregate } }
>

/**
 * The names of the resources of a service.
 * @example const name: ResourceName<typeof api> = 'notes'
 */
export type ResourceName<S> = keyof Get<DeclarationOf<S>, 'resources'> & string

/** The names of the pairs of a service. */
export type PairName<S> = keyof Get<DeclarationOf<S>, 'pairs'> & string

/**
 * An item in an answer. Fields that need a scope may be missing; write-only fields are.
 * @example const title = (note: Row<typeof api, 'notes'>): string => `${note.state}: ${note.text}`
 */
export type Row<S, R extends ResourceName<S>> = RowOf<DeclarationOf<S>, R, FieldsOf<DeclarationOf<S>, R>>
/** An item as handlers and events have it: as in an answer, but without links. */
export type Item<D, R extends ResourceName<D> | PairName<D>> = Omit<RowOf<D, R, FieldsOf<D, R>>, '_links'>
type RowOf<D, R, F> = Flatten<
  { readonly id: string } & { readonly [K in ParentFieldName<D, R>]: string } & {
    readonly [K in keyof F as Exclude<K, WriteOnlyNames<D, R> | ScopedNames<D, R>>]: Value<F[K], ConceptsOf<D>>
  } & { readonly [K in ScopedNames<D, R> & keyof F]?: Value<F[K], ConceptsOf<D>> } & {
    readonly [K in TimestampName<D>]: string
  } & LinksOf<ResourceOf<D, R>>
>
/** The links of items with transitions or operations; missing with `resource.links: 'none'`. */
type LinksOf<T> = T extends { readonly states: StatesDeclaration } | { readonly operations: DeclaredOperations }
  ? { readonly _links?: { readonly self: string; readonly [name: string]: string } }
  : unknown
/** The names of fields that only callers with a scope see. */
type ScopedNames<D, R> = FieldNamesWith<FieldsOf<D, R>, ConceptsOf<D>, { readonly options: { readonly read: string } }>

/**
 * The body of a POST.
 * @example const input: CreateInput<typeof api, 'notes'> = { text: 'Call Ann' }
 */
export type CreateInput<S, R extends ResourceName<S>> = Inputs<
  WritableFields<DeclarationOf<S>, R> & { readonly [K in ChosenIdName<DeclarationOf<S>, R>]: Field<'text', object> },
  ConceptsOf<DeclarationOf<S>>,
  'id'
>

/**
 * The body of a PUT. It may leave out the key, which the URL has, and write-only fields, which keep their values. R48, R111.
 * @example const input: ReplaceInput<typeof api, 'notes'> = { text: 'Call Bob', state: 'done' }
 */
export type ReplaceInput<S, R extends ResourceName<S>> = Inputs<
  WritableFields<DeclarationOf<S>, R>,
  ConceptsOf<DeclarationOf<S>>,
  KeyOf<DeclarationOf<S>, R> | WriteOnlyNames<DeclarationOf<S>, R>
>

/** The fields of a pair as a PUT sends them. */
export type PairInput<D, P extends PairName<D>> = Inputs<WritableFields<D, P>, ConceptsOf<D>, WriteOnlyNames<D, P>>

/**
 * The body of a PATCH: null clears an optional field, and removes a key of metadata. R113.
 * @example const patch: Patch<typeof api, 'notes'> = { state: 'done' }
 */
export type Patch<S, R extends ResourceName<S>> = Patches<
  Omit<WritableFields<DeclarationOf<S>, R>, KeyOf<DeclarationOf<S>, R>>,
  ConceptsOf<DeclarationOf<S>>
>
export type Patches<F, C> = Flatten<{ readonly [K in keyof F]?: PatchValue<F[K], C> }>
type PatchValue<F, C> = ResolvedField<F, C> extends infer G ? OrNull<G, NonNullPatch<G, C>> : never
type NonNullPatch<G, C> = G extends { readonly kind: 'object'; readonly fields: infer F }
  ? Patches<F, C>
  : G extends { readonly kind: 'metadata' }
    ? Readonly<Record<string, string | null>>
    : SentValue<G, C>

/** The declared fields that a body may have: all that are not read-only, and the key. */
type WritableFields<D, R> = Omit<FieldsOf<D, R>, Exclude<ReadOnlyNames<D, R>, KeyOf<D, R>>>

/** `id` if clients choose it, else nothing. R91. */
type ChosenIdName<D, R> = [KeyOf<D, R>] extends [never]
  ? IdSetting<ResourceOf<D, R>, IdSetting<D, 'typeid'>> extends 'client'
    ? 'id'
    : never
  : never
type IdSetting<T, Else> = T extends { readonly settings: { readonly resource: { readonly id: infer I } } } ? I : Else

/**
 * The fields that a list can be filtered by, nested ones with dots. R71, R73.
 * @example const filter: FilterName<typeof api, 'notes'> = 'createdAt'
 */
export type FilterName<S, R extends ResourceName<S>> = ExpandUnion<
  | 'id'
  | ParentFieldName<DeclarationOf<S>, R>
  | TimestampName<DeclarationOf<S>>
  | FieldPath<FieldsOf<DeclarationOf<S>, R>, ConceptsOf<DeclarationOf<S>>, FilterOption>
>
type FilterOption = { readonly filter: true | FilterForm | readonly FilterForm[] }

/**
 * The fields that a list can be sorted by. R56.
 * @example const sort: SortName<typeof api, 'notes'> = 'updatedAt'
 */
export type SortName<S, R extends ResourceName<S>> = ExpandUnion<
  | TimestampName<DeclarationOf<S>>
  | FieldPath<FieldsOf<DeclarationOf<S>, R>, ConceptsOf<DeclarationOf<S>>, { readonly sort: true }>
>

/** A union without its alias, so that editors list its members. */
export type ExpandUnion<Names> = [Names] extends [infer Each] ? Each : never

/** The paths of the fields whose options extend `Options`. */
export type FieldPath<F, C, Options> = ExpandUnion<
  { [K in keyof F & string]: FieldPathAt<K, ResolvedField<F[K], C>, C, Options> }[keyof F & string]
>
type FieldPathAt<K extends string, G, C, Options> = G extends { readonly kind: 'object'; readonly fields: infer F }
  ? `${K}.${FieldPath<F, C, Options> & string}`
  : G extends { readonly options: Options }
    ? K
    : never

/** The names of the times that the service adds. R41a. */
export type TimestampName<D> = InCase<D, 'created-at' | 'updated-at'>
export type ParentFieldName<D, R> = InCase<D, `${SingularOf<D, ParentName<ResourceOf<D, R>>>}-id`>
/** The parent, or both sides of a pair. */
type ParentName<T> = T extends { readonly parent: infer P }
  ? P extends string
    ? P
    : Extract<Get<P, 'resource'>, string>
  : T extends { readonly between: readonly (infer Side extends string)[] }
    ? Side
    : never
type SingularOf<D, R extends string> = R extends string
  ? ResourceOf<D, R> extends { readonly singular: infer Word extends string }
    ? Word
    : Singular<R>
  : never
/** The first part of the types of a resource's events: `order-lines` as `orderLine`. R205. */
export type EventPrefix<D, R extends string> = InCase<D, SingularOf<D, R>>
export type InCase<D, Name extends string> = D extends { readonly settings: { readonly naming: 'snake' } }
  ? Snake<Name>
  : Camel<Name>
type Snake<Name extends string> = Name extends `${infer A}-${infer B}` ? `${A}_${Snake<B>}` : Name
type Camel<Name extends string> = Name extends `${infer A}-${infer B}` ? `${A}${Camel<Capitalize<B>>}` : Name

/** The singular of a name, by the same rules as `singularOf` at run time. */
export type Singular<Name extends string> = Name extends `${infer A}-${infer B}`
  ? `${A}-${Singular<B>}`
  : Name extends keyof Irregular
    ? Irregular[Name]
    : RegularSingular<Name>
type RegularSingular<Word extends string> = Word extends `${infer A}ies`
  ? A extends '' | `${string}${Vowel}`
    ? WithoutS<Word>
    : `${A}y`
  : Word extends `${infer A}es`
    ? TakesEs<A> extends true
      ? A
      : WithoutS<Word>
    : WithoutS<Word>
type WithoutS<Word extends string> = Word extends `${infer A}s` ? A : Word
type TakesEs<A extends string> = A extends 'z' | 'o' | 'us' | `${string}${'eo' | 'oo' | 'aus' | 'ous' | `${Vowel}z`}`
  ? false
  : A extends `${string}${'ss' | 'x' | 'z' | 'ch' | 'sh' | 'o' | 'us'}`
    ? true
    : false
type Vowel = 'a' | 'e' | 'i' | 'o' | 'u'

/** The names of the versions of a service. */
export type VersionName<S> = keyof Get<DeclarationOf<S>, 'versions'> & string
export type FieldName<D, R> = keyof FieldsOf<D, R> & string

/** The parts of a change that determine the types of older versions. */
export interface ChangeTypes {
  readonly was: string
  readonly removed: unknown
  readonly added: readonly unknown[]
  readonly renamed: unknown
  readonly retyped: unknown
  readonly required: unknown
  readonly mapped: unknown
  readonly shown: unknown
  readonly moved: unknown
}

/** The fields of a resource before a change. */
type FieldsBefore<D, R, T extends ChangeTypes> = Flatten<
  {
    readonly [K in keyof FieldsOf<D, R> as K extends T['added'][number]
      ? never
      : OldName<K, T['renamed']>]: FieldBefore<K, FieldsOf<D, R>[K], T>
  } & T['removed'] & { readonly [K in keyof T['moved']]: MovedFieldType<D, R, T['moved'][K]> }
>
type OldName<K, Renamed> = [OldNames<K, Renamed>] extends [never] ? K : OldNames<K, Renamed>
type OldNames<K, Renamed> = { [O in keyof Renamed]: Renamed[O] extends K ? O : never }[keyof Renamed]
type FieldBefore<K, F, T extends ChangeTypes> = K extends keyof T['retyped']
  ? T['retyped'][K]
  : K extends keyof T['required']
    ? AsOptional<F>
    : K extends keyof T['mapped'] | keyof T['shown']
      ? F extends Enum<infer V, infer O>
        ? Enum<OldValues<V, Get<T['mapped'], K>, Get<T['shown'], K>>, O>
        : F
      : F
type AsOptional<F> = F extends { readonly options: infer O }
  ? { readonly [K in keyof F]: K extends 'options' ? Omit<O, 'default'> & { readonly optional: true } : F[K] }
  : F
type OldValues<V, Mapped, Shown> = (keyof Mapped & string) | (Exclude<V, Mapped[keyof Mapped] | keyof Shown> & string)
type MovedFieldType<D, R, M> = M extends { readonly field: infer F }
  ? F
  : M extends { readonly by: infer By; readonly to: infer To }
    ? Get<
        FieldsOf<D, By extends keyof FieldsOf<D, R> ? Get<FieldsOf<D, R>[By], 'target'> : ParentName<ResourceOf<D, R>>>,
        To
      >
    : never

/** The declaration before a change, with the parts that types are inferred from. */
export interface DeclarationBefore<D, R extends ResourceName<D> | PairName<D>, T extends ChangeTypes> {
  readonly settings: Get<D, 'settings'>
  readonly concepts: Get<D, 'concepts'>
  readonly pairs: {
    readonly [K in PairName<D>]: K extends R
      ? Omit<ResourceOf<D, K>, 'fields'> & { readonly fields: FieldsBefore<D, R, T> }
      : ResourceOf<D, K>
  }
  readonly resources: {
    readonly [K in ResourceName<D> as K extends R ? (string extends T['was'] ? K : T['was']) : K]: K extends R
      ? {
          readonly [P in keyof ResourceOf<D, K> as P extends 'states' ? never : P]: P extends 'fields'
            ? FieldsBefore<D, R, T>
            : ResourceOf<D, K>[P]
        }
      : ResourceOf<D, K>
  }
}

type ValuesOf<F, C> = { readonly [K in keyof F]: Value<F[K], C> }
/** An old document, the parameter of `request`. */
export type OldDocument<D, R, T extends ChangeTypes> = ValuesOf<FieldsBefore<D, R, T>, ConceptsOf<D>>
/** A document of the version itself, the parameter of `response`; a field that the caller does not see is null. */
export type NewDocument<D, R> = { readonly [K in keyof FieldsOf<D, R>]: VisibleValue<FieldsOf<D, R>[K], ConceptsOf<D>> }
type VisibleValue<F, C> = Value<F, C> | (F extends { readonly options: { readonly read: string } } ? null : never)
/** The result of `request`: the fields that were added, or have another type now. */
export type NewFields<D, R, T extends ChangeTypes> = Inputs<
  Pick<FieldsOf<D, R>, Extract<keyof FieldsOf<D, R>, T['added'][number] | keyof T['retyped']>>,
  ConceptsOf<D>
>
/** The result of `response`: the fields that were removed, or had another type. */
export type OldFields<D, T extends ChangeTypes> = Inputs<T['removed'] & T['retyped'], ConceptsOf<D>>
