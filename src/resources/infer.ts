/** What a declaration says about types: rows, inputs, patches and names are inferred from it. Part 2, fields. */
import type { Access, DeclaredQuota, ParentDeclaration, ResourceDeclaration } from './declaration.ts'
import type { Enum, Field, FilterForm, Flat, Inputs, OrNull, Resolved, Sent, Such, Value } from './field.ts'
import type { Irregular } from './naming.ts'

/** The declaration of a service; a declaration is its own. */
type Of<S> = S extends { readonly declaration: infer D } ? D : S
type Get<T, K, Else = object> = K extends keyof T ? T[K] : Else
type ResourceOf<D, R> = Get<Get<D, 'resources'>, R>
type FieldsOf<D, R> = Get<ResourceOf<D, R>, 'fields'>
type ConceptsOf<D> = Get<D, 'concepts'>
type KeyOf<D, R> = Extract<Get<ResourceOf<D, R>, 'key', never>, string>
type Hidden<D, R> = Such<FieldsOf<D, R>, ConceptsOf<D>, { readonly options: { readonly writeOnly: true } }>
type Managed<D, R> = Such<FieldsOf<D, R>, ConceptsOf<D>, { readonly options: { readonly readOnly: true } }>

/** The names of the resources of a service. */
export type ResourceName<S> = keyof Get<Of<S>, 'resources'> & string

/** An item as it is answered. */
export type Row<S, R extends ResourceName<S>> = RowOf<Of<S>, R, FieldsOf<Of<S>, R>>
type RowOf<D, R, F> = Flat<
  { readonly id: string } & { readonly [K in ParentField<D, R>]: string } & {
    readonly [K in keyof F as Exclude<K, Hidden<D, R> | Veiled<D, R>>]: Value<F[K], ConceptsOf<D>>
  } & { readonly [K in Veiled<D, R> & keyof F]?: Value<F[K], ConceptsOf<D>> } & { readonly [K in Stamp<D>]: string }
>
/** Fields that only callers with a scope are answered. */
type Veiled<D, R> = Such<FieldsOf<D, R>, ConceptsOf<D>, { readonly options: { readonly read: string } }>

/** What a caller sends for a new item. */
export type CreateInput<S, R extends ResourceName<S>> = Inputs<
  Writable<Of<S>, R> & { readonly [K in ChosenId<Of<S>, R>]: Field<'text', object> },
  ConceptsOf<Of<S>>,
  'id'
>

/** What a caller sends in place of an item: the address gives its key, and write-only fields keep their value. R48, R111. */
export type ReplaceInput<S, R extends ResourceName<S>> = Inputs<
  Writable<Of<S>, R>,
  ConceptsOf<Of<S>>,
  KeyOf<Of<S>, R> | Hidden<Of<S>, R>
>

/** What a caller wants changed: null empties an optional field and removes a key of metadata. R113. */
export type Patch<S, R extends ResourceName<S>> = Patches<Omit<Writable<Of<S>, R>, KeyOf<Of<S>, R>>, ConceptsOf<Of<S>>>
type Patches<F, C> = Flat<{ readonly [K in keyof F]?: Patched<F[K], C> }>
type Patched<F, C> = Resolved<F, C> extends infer G ? OrNull<G, Merged<G, C>> : never
type Merged<G, C> = G extends { readonly kind: 'object'; readonly fields: infer F }
  ? Patches<F, C>
  : G extends { readonly kind: 'metadata' }
    ? Readonly<Record<string, string | null>>
    : Sent<G, C>

/** The declared fields that a caller may send; the key, even if nobody may change it. */
type Writable<D, R> = Omit<FieldsOf<D, R>, Exclude<Managed<D, R>, KeyOf<D, R>>>

/** The name of the id, where clients choose it. R91. */
type ChosenId<D, R> = [KeyOf<D, R>] extends [never]
  ? IdSource<ResourceOf<D, R>, IdSource<D, 'typeid'>> extends 'client'
    ? 'id'
    : never
  : never
type IdSource<T, Else> = T extends { readonly settings: { readonly resource: { readonly id: infer I } } } ? I : Else

/** The fields that a list can be filtered by, nested ones with dots. R71, R73. */
export type FilterName<S, R extends ResourceName<S>> = Listed<
  'id' | ParentField<Of<S>, R> | Stamp<Of<S>> | Path<FieldsOf<Of<S>, R>, ConceptsOf<Of<S>>, Filtered>
>
type Filtered = { readonly filter: true | FilterForm | readonly FilterForm[] }

/** The fields that a list can be sorted by. R56. */
export type SortName<S, R extends ResourceName<S>> = Listed<
  Stamp<Of<S>> | Path<FieldsOf<Of<S>, R>, ConceptsOf<Of<S>>, { readonly sort: true }>
>

/** A union without a name of its own, so that an editor lists its members. */
type Listed<Names> = [Names] extends [infer Each] ? Each : never

/** The paths of the fields whose options are such. */
type Path<F, C, Options> = Listed<
  { [K in keyof F & string]: PathAt<K, Resolved<F[K], C>, C, Options> }[keyof F & string]
>
type PathAt<K extends string, G, C, Options> = G extends { readonly kind: 'object'; readonly fields: infer F }
  ? `${K}.${Path<F, C, Options> & string}`
  : G extends { readonly options: Options }
    ? K
    : never

/** The names that the service itself adds. R41a. */
type Stamp<D> = Cased<D, 'created-at' | 'updated-at'>
type ParentField<D, R> = Cased<D, `${SingularOf<D, ParentOf<ResourceOf<D, R>>>}-id`>
type ParentOf<T> = T extends { readonly parent: infer P }
  ? P extends string
    ? P
    : Extract<Get<P, 'resource'>, string>
  : never
type SingularOf<D, R extends string> = R extends string
  ? ResourceOf<D, R> extends { readonly singular: infer Word extends string }
    ? Word
    : Singular<R>
  : never
type Cased<D, Name extends string> = D extends { readonly settings: { readonly naming: 'snake' } }
  ? Snake<Name>
  : Camel<Name>
type Snake<Name extends string> = Name extends `${infer A}-${infer B}` ? `${A}_${Snake<B>}` : Name
type Camel<Name extends string> = Name extends `${infer A}-${infer B}` ? `${A}${Camel<Capitalize<B>>}` : Name

/** The singular of a name, by the rules that `singular` keeps at run time. */
export type Singular<Name extends string> = Name extends `${infer A}-${infer B}`
  ? `${A}-${Singular<B>}`
  : Name extends keyof Irregular
    ? Irregular[Name]
    : RegularSingular<Name>
type RegularSingular<Word extends string> = Word extends `${infer A}ies`
  ? A extends '' | `${string}${Vowel}`
    ? Short<Word>
    : `${A}y`
  : Word extends `${infer A}es`
    ? Hissing<A> extends true
      ? A
      : Short<Word>
    : Short<Word>
type Short<Word extends string> = Word extends `${infer A}s` ? A : Word
type Hissing<A extends string> = A extends 'z' | 'o' | 'us' | `${string}${'eo' | 'oo' | 'aus' | 'ous' | `${Vowel}z`}`
  ? false
  : A extends `${string}${'ss' | 'x' | 'z' | 'ch' | 'sh' | 'o' | 'us'}`
    ? true
    : false
type Vowel = 'a' | 'e' | 'i' | 'o' | 'u'

/** The names of the versions of a service. */
export type VersionName<S> = keyof Get<Of<S>, 'versions'> & string
export type FieldName<D, R> = keyof FieldsOf<D, R> & string

/** What a change tells of a resource, as far as types follow from it. */
export interface Told {
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
type FieldsBefore<D, R, T extends Told> = Flat<
  {
    readonly [K in keyof FieldsOf<D, R> as K extends T['added'][number]
      ? never
      : OldName<K, T['renamed']>]: FieldBefore<K, FieldsOf<D, R>[K], T>
  } & T['removed'] & { readonly [K in keyof T['moved']]: FieldMoved<D, R, T['moved'][K]> }
>
type OldName<K, Renamed> = [OldNames<K, Renamed>] extends [never] ? K : OldNames<K, Renamed>
type OldNames<K, Renamed> = { [O in keyof Renamed]: Renamed[O] extends K ? O : never }[keyof Renamed]
type FieldBefore<K, F, T extends Told> = K extends keyof T['retyped']
  ? T['retyped'][K]
  : K extends keyof T['required']
    ? Loose<F>
    : K extends keyof T['mapped'] | keyof T['shown']
      ? F extends Enum<infer V, infer O>
        ? Enum<OldValues<V, Get<T['mapped'], K>, Get<T['shown'], K>>, O>
        : F
      : F
type Loose<F> = F extends { readonly options: infer O }
  ? { readonly [K in keyof F]: K extends 'options' ? Omit<O, 'default'> & { readonly optional: true } : F[K] }
  : F
type OldValues<V, Mapped, Shown> = (keyof Mapped & string) | (Exclude<V, Mapped[keyof Mapped] | keyof Shown> & string)
type FieldMoved<D, R, M> = M extends { readonly field: infer F }
  ? F
  : M extends { readonly by: infer By; readonly to: infer To }
    ? Get<
        FieldsOf<D, By extends keyof FieldsOf<D, R> ? Get<FieldsOf<D, R>[By], 'target'> : ParentOf<ResourceOf<D, R>>>,
        To
      >
    : never

/** The declaration before a change, as far as types need it. */
export interface Before<D, R extends ResourceName<D>, T extends Told> {
  readonly settings: Get<D, 'settings'>
  readonly concepts: Get<D, 'concepts'>
  readonly resources: {
    readonly [K in ResourceName<D> as K extends R ? (string extends T['was'] ? K : T['was']) : K]: K extends R
      ? { readonly [P in keyof ResourceOf<D, K>]: P extends 'fields' ? FieldsBefore<D, R, T> : ResourceOf<D, K>[P] }
      : ResourceOf<D, K>
  }
}

type Valued<F, C> = { readonly [K in keyof F]: Value<F[K], C> }
/** An old document, as functions of a change are given it. */
export type OldDocument<D, R, T extends Told> = Valued<FieldsBefore<D, R, T>, ConceptsOf<D>>
/** A document of the version itself; null stands for what a caller does not see. */
export type NewDocument<D, R> = { readonly [K in keyof FieldsOf<D, R>]: Seen<FieldsOf<D, R>[K], ConceptsOf<D>> }
type Seen<F, C> = Value<F, C> | (F extends { readonly options: { readonly read: string } } ? null : never)
/** The fields of a new document that follow from an old one: those that were added or are of another type now. */
export type NewFields<D, R, T extends Told> = Inputs<
  Pick<FieldsOf<D, R>, Extract<keyof FieldsOf<D, R>, T['added'][number] | keyof T['retyped']>>,
  ConceptsOf<D>
>
/** The fields of an old document that follow from a new one. */
export type OldFields<D, T extends Told> = Inputs<T['removed'] & T['retyped'], ConceptsOf<D>>

/** What is to stand where a name is wrong, so that the compiler says it there. */
type Unknown<Name> = `Error: '${Name & string}' is not known here`
type Known<What extends string, Name, Names> = string extends Name
  ? Name
  : Name extends Names
    ? Name
    : `Error: no ${What} '${Name & string}'`

/** A declaration as it may be: where it names what it does not have, the reason stands here and refuses it at its place. */
export type Checked<D, Allowed> =
  string extends ResourceName<D> ? D : D extends Sound<D, Allowed> ? D : Sound<D, Allowed>

type Sound<D, Allowed> = {
  readonly [K in keyof D]: K extends 'resources'
    ? { readonly [R in keyof D[K]]: SoundResource<D, R, D[K][R]> }
    : K extends 'concepts'
      ? SoundFields<D, D[K]>
      : K extends 'tiers'
        ? { readonly [T in keyof D[K]]: { readonly [Q in keyof D[K][T]]: SoundQuota<Q, D[K][T][Q]> } }
        : Exact<K, D[K], Allowed>
}

/** A number alone is for the hour; features are a list. */
type SoundQuota<Name, Q> = Q extends number
  ? 'hourly' extends Name
    ? Q
    : `Error: '${Name & string}' needs a quota and a window`
  : Exact<'of', Q, { readonly of: DeclaredQuota }>

type SoundResource<D, R, T> = {
  readonly [K in keyof T]: K extends 'fields'
    ? SoundFields<D, T[K]>
    : K extends 'parent'
      ? SoundParent<D, T[K]>
      : K extends 'key'
        ? Known<'field', T[K], keyof FieldsOf<D, R>>
        : K extends 'access'
          ? SoundAccess<D, T[K]>
          : K extends 'order' | 'sorts' | 'indexes' | 'uniques'
            ? Terms<T[K], AnyName<D, R>>
            : Exact<K, T[K], ResourceDeclaration>
}

type SoundFields<D, F> = { readonly [K in keyof F]: Unless<Fault<D, F[K]> | RuleFault<D, F[K]>, F[K]> }
type Unless<Faults, T> = [Faults] extends [never] ? T : Faults
/** What is wrong with who sees or writes a field: a scope that is not declared. */
type RuleFault<D, F> = F extends { readonly options: { readonly read: string } | { readonly write: string } }
  ? ScopeFault<D, F['options']>
  : never
type ScopeFault<D, O> = {
  [K in keyof O & ('read' | 'write')]: Exclude<Known<'scope', O[K] & string, keyof Get<D, 'scopes'>>, O[K]>
}[keyof O & ('read' | 'write')]
/** What is wrong with a field: a reference or a concept that is not declared, inside of it too. */
type Fault<D, F> = F extends { readonly kind: 'ref' | 'concept' | 'list' | 'object' } ? FaultIn<D, F> : never
type FaultIn<D, F> = F extends { readonly kind: 'ref'; readonly target: infer To }
  ? Exclude<Known<'resource', To, ResourceName<D>>, To>
  : F extends { readonly kind: 'concept'; readonly target: infer To; readonly options: infer O }
    ? Exclude<Known<'concept', To, keyof ConceptsOf<D>>, To> | FaultyDefault<To, O, Value<F, ConceptsOf<D>>>
    : F extends { readonly kind: 'list'; readonly item: infer I }
      ? Fault<D, I>
      : F extends { readonly kind: 'object'; readonly fields: infer N }
        ? { [K in keyof N]: Fault<D, N[K]> }[keyof N]
        : never

type FaultyDefault<To, O, V> = O extends { readonly default: infer G }
  ? G extends V
    ? never
    : `Error: the default is not a value of '${To & string}'`
  : never

type SoundParent<D, T> = T extends string
  ? Known<'resource', T, ResourceName<D>>
  : {
      readonly [K in keyof T]: K extends 'resource'
        ? Known<'resource', T[K], ResourceName<D>>
        : Exact<K, T[K], ParentDeclaration>
    }

type RuleOf<D> = 'public' | 'authenticated' | keyof Get<D, 'scopes'>
type SoundAccess<D, T> = T extends string
  ? Known<'scope', T, RuleOf<D>>
  : { readonly [K in keyof T]: K extends keyof Exclude<Access, string> ? Known<'scope', T[K], RuleOf<D>> : Unknown<K> }

/** Names of fields in lists of any depth. */
type Terms<T, Names> = T extends string
  ? Known<'field', T, Names | `-${Names & string}`>
  : { readonly [K in keyof T]: Terms<T[K], Names> }
type AnyName<D, R> = 'id' | Stamp<D> | ParentField<D, R> | Path<FieldsOf<D, R>, ConceptsOf<D>, object>

/** A member of an object that has only members of `Allowed`, at every depth. */
type Exact<K, T, Allowed> = K extends keyof Allowed
  ? T extends readonly unknown[] | ((...given: never) => unknown)
    ? T
    : T extends object
      ? { readonly [L in keyof T]: Exact<L, T[L], Exclude<NonNullable<Allowed[K]>, string>> }
      : T
  : Unknown<K>
