/** Infer faults: wrong names and values in a declaration are errors of the type checker. Part 2, fields. */
import type { Value } from '../fields/field.ts'
import type { SummaryDeclaration } from '../fields/summary.ts'
import type { Access, DeclaredQuota, ErrorDeclaration, ParentDeclaration, ResourceDeclaration } from './declaration.ts'
import type { ConceptsOf, FieldPath, FieldsOf, Get, ParentFieldName, ResourceName, TimestampName } from './infer.ts'
import type { HistoryDeclaration, OperationDeclaration } from './own-operations.ts'
import type { PairDeclaration } from './references.ts'
import type { Marker, StatesDeclaration, TransitionDeclaration } from './states.ts'

/** The expected type for a wrong name: the compiler shows its text as the error. */
type UnknownName<Name> = `Error: '${Name & string}' is not known here`

type KnownName<What extends string, Name, Names> = string extends Name
  ? Name
  : Name extends Names
    ? Name
    : `Error: no ${What} '${Name & string}'`

/** A declaration if it is sound; else a type with the reason in each wrong place, so that the compiler reports it there. */
export type CheckedDeclaration<D, Allowed> =
  string extends ResourceName<D>
    ? D
    : D extends SoundDeclaration<D, Allowed>
      ? D & Allowed
      : SoundDeclaration<D, Allowed>

type SoundDeclaration<D, Allowed> = {
  readonly [K in keyof D]: K extends 'resources'
    ? { readonly [R in keyof D[K]]: SoundResource<D, R, D[K][R]> }
    : K extends 'pairs'
      ? { readonly [P in keyof D[K]]: SoundPair<D, D[K][P]> }
      : K extends 'concepts'
        ? SoundFields<D, D[K]>
        : K extends 'errors'
          ? { readonly [T in keyof D[K]]: SoundError<D, D[K][T]> }
          : K extends 'tiers'
            ? { readonly [T in keyof D[K]]: { readonly [Q in keyof D[K][T]]: SoundQuota<Q, D[K][T][Q]> } }
            : OnlyAllowed<K, D[K], Allowed>
}

type SoundError<D, T> = {
  readonly [M in keyof T]: M extends 'fields' ? SoundFields<D, T[M]> : OnlyAllowed<M, T[M], ErrorDeclaration>
}

/** A type of its own, so that a tuple is mapped to a tuple. */
type SoundSides<D, T> = { readonly [I in keyof T]: KnownName<'resource', T[I], ResourceName<D>> }

type SoundPair<D, T> = {
  readonly [K in keyof T]: K extends 'fields'
    ? SoundFields<D, T[K]>
    : K extends 'between'
      ? SoundSides<D, T[K]>
      : K extends 'access'
        ? SoundAccess<D, never, T[K]>
        : OnlyAllowed<K, T[K], PairDeclaration>
}

/** Only `hourly` may be a number; `features` is a list. */
type SoundQuota<Name, Q> = Q extends number
  ? 'hourly' extends Name
    ? Q
    : `Error: '${Name & string}' needs a quota and a window`
  : OnlyAllowed<'of', Q, { readonly of: DeclaredQuota }>

type SoundResource<D, R, T> = {
  readonly [K in keyof T]: K extends 'fields'
    ? SoundFields<D, T[K]>
    : K extends 'parent'
      ? SoundParent<D, T[K]>
      : K extends 'key'
        ? KnownName<'field', T[K], keyof FieldsOf<D, R>>
        : K extends 'access'
          ? SoundAccess<D, R, T[K]>
          : K extends 'states'
            ? SoundStates<D, R, T[K]>
            : K extends 'operations'
              ? { readonly [N in keyof T[K]]: SoundOperation<D, T[K][N]> }
              : K extends 'history'
                ? SoundHistory<D, T[K]>
                : K extends 'summaries'
                  ? { readonly [N in keyof T[K]]: SoundSummary<T[K][N], AnyFieldName<D, R>> }
                  : K extends 'order' | 'sorts' | 'indexes' | 'uniques'
                    ? FieldNameLists<T[K], AnyFieldName<D, R>>
                    : OnlyAllowed<K, T[K], ResourceDeclaration>
}

type SoundFields<D, F> = { readonly [K in keyof F]: Unless<FieldFault<D, F[K]> | ScopeFaults<D, F[K]>, F[K]> }

type Unless<Faults, T> = [Faults] extends [never] ? T : Faults

/** Undeclared scopes in `read` and `write` of a field. */
type ScopeFaults<D, F> = F extends { readonly options: { readonly read: string } | { readonly write: string } }
  ? ScopeFault<D, F['options']>
  : never

type ScopeFault<D, O> = {
  [K in keyof O & ('read' | 'write')]: Exclude<KnownName<'scope', O[K] & string, keyof Get<D, 'scopes'>>, O[K]>
}[keyof O & ('read' | 'write')]

/** Undeclared targets of references and concepts, also inside a field. */
type FieldFault<D, F> = F extends { readonly kind: 'ref' | 'concept' | 'list' | 'object' } ? FieldFaultIn<D, F> : never

type FieldFaultIn<D, F> = F extends { readonly kind: 'ref'; readonly target: infer To }
  ? Exclude<KnownName<'resource', To, ResourceName<D>>, To>
  : F extends { readonly kind: 'concept'; readonly target: infer To; readonly options: infer O }
    ? Exclude<KnownName<'concept', To, keyof ConceptsOf<D>>, To> | FaultyDefault<To, O, Value<F, ConceptsOf<D>>>
    : F extends { readonly kind: 'list'; readonly item: infer I }
      ? FieldFault<D, I>
      : F extends { readonly kind: 'object'; readonly fields: infer N }
        ? { [K in keyof N]: FieldFault<D, N[K]> }[keyof N]
        : never

type FaultyDefault<To, O, V> = O extends { readonly default: infer G }
  ? G extends V
    ? never
    : `Error: the default is not a value of '${To & string}'`
  : never

type SoundParent<D, T> = T extends string
  ? KnownName<'resource', T, ResourceName<D>>
  : {
      readonly [K in keyof T]: K extends 'resource'
        ? KnownName<'resource', T[K], ResourceName<D>>
        : OnlyAllowed<K, T[K], ParentDeclaration>
    }

type SoundStates<D, R, T> = {
  readonly [K in keyof T]: K extends 'transitions'
    ? { readonly [N in keyof T[K]]: SoundTransition<D, R, T[K][N]> }
    : OnlyAllowed<K, T[K], StatesDeclaration>
}

type SoundTransition<D, R, T> = {
  readonly [K in keyof T]: K extends 'input'
    ? SoundFields<D, T[K]>
    : K extends 'access'
      ? KnownName<'scope', T[K], RuleName<D>>
      : K extends 'set'
        ? { readonly [F in keyof T[K]]: SoundSetting<F, T[K][F], keyof FieldsOf<D, R>, keyof Get<T, 'input'>> }
        : OnlyAllowed<K, T[K], TransitionDeclaration>
}

type SoundOperation<D, T> = {
  readonly [K in keyof T]: K extends 'input' | 'output'
    ? SoundFields<D, T[K]>
    : K extends 'access'
      ? KnownName<'scope', T[K], RuleName<D>>
      : OnlyAllowed<K, T[K], OperationDeclaration>
}

type SoundHistory<D, T> = {
  readonly [K in keyof T]: K extends 'read'
    ? KnownName<'scope', T[K], RuleName<D>>
    : OnlyAllowed<K, T[K], HistoryDeclaration>
}

type SoundSummary<T, Names> = {
  readonly [K in keyof T]: K extends keyof SummaryDeclaration ? FieldNameLists<T[K], Names> : UnknownName<K>
}

type SoundSetting<Name, Value, Names, Inputs> = Name extends Names
  ? Value extends Marker<'input', infer From>
    ? Unless<Exclude<KnownName<'input', From, Inputs>, From>, Value>
    : Value
  : UnknownName<Name>

type RuleName<D> = 'public' | 'authenticated' | keyof Get<D, 'scopes'>

type SoundAccess<D, R, T> = T extends string
  ? KnownName<'scope', T, RuleName<D>>
  : {
      readonly [K in keyof T]: K extends keyof Exclude<Access, string>
        ? T[K] extends readonly unknown[]
          ? SoundAlternatives<D, R, T[K]>
          : KnownName<'scope', T[K], RuleName<D>>
        : UnknownName<K>
    }

type SoundAlternatives<D, R, T> = { readonly [I in keyof T]: SoundAlternative<D, R, T[I]> }
type SoundAlternative<D, R, T> = {
  readonly [K in keyof T]: K extends 'scope'
    ? KnownName<'scope', T[K], Exclude<RuleName<D>, 'public' | 'authenticated'>>
    : K extends 'where'
      ? { readonly [F in keyof T[K]]: F extends AnyFieldName<D, R> ? T[K][F] : UnknownName<F> }
      : UnknownName<K>
}

/** Checks names of fields in nested lists. */
type FieldNameLists<T, Names> = T extends string
  ? KnownName<'field', T, Names | `-${Names & string}`>
  : { readonly [K in keyof T]: FieldNameLists<T[K], Names> }

type AnyFieldName<D, R> =
  | 'id'
  | TimestampName<D>
  | ParentFieldName<D, R>
  | FieldPath<FieldsOf<D, R>, ConceptsOf<D>, object>

/** A member of an object that may only have members of `Allowed`, at every depth. */
type OnlyAllowed<K, T, Allowed> = K extends keyof Allowed
  ? T extends readonly unknown[] | ((...given: never) => unknown)
    ? T
    : T extends object
      ? { readonly [L in keyof T]: OnlyAllowed<L, T[L], Exclude<NonNullable<Allowed[K]>, string>> }
      : T
  : UnknownName<K>
