/** Summary types: the groups of a summary, inferred from its declaration. Part 1. */
import type { Flatten, Value } from '../fields/field.ts'
import type { FieldAt } from '../lists/where-parameters.ts'
import type { ConceptsOf, FieldsOf, Get, ResourceOf } from '../resources/infer.ts'

type SummariesOf<D, R> = Get<ResourceOf<D, R>, 'summaries', Record<never, never>>
export type SummaryName<D, R> = keyof SummariesOf<D, R> & string
type SummaryOf<D, R, N> = Get<SummariesOf<D, R>, N>
type Listed<D, R, N, Key> = Get<SummaryOf<D, R, N>, Key, readonly never[]> extends readonly (infer One)[] ? One : never

/** A group of a summary. Its values are null where no item of the group has one. */
export type SummaryGroup<D, R, N> = Flatten<
  { readonly id: string; readonly count: number } & {
    readonly [G in Listed<D, R, N, 'group'> as GroupName<D, G>]: G extends string
      ? FieldValue<D, R, G> | NullIn<D, R, G>
      : string | null
  } & { readonly [P in Listed<D, R, N, 'sum'> & string as MemberName<D, `sum.${P}`>]: string } & {
    readonly [P in Listed<D, R, N, 'average'> & string as MemberName<D, `average.${P}`>]: string | null
  } & { readonly [P in Listed<D, R, N, 'min'> & string as MemberName<D, `min.${P}`>]: FieldValue<D, R, P> | null } & {
    readonly [P in Listed<D, R, N, 'max'> & string as MemberName<D, `max.${P}`>]: FieldValue<D, R, P> | null
  }
>

type GroupName<D, G> = G extends string
  ? MemberName<D, G>
  : { [P in keyof G & string]: MemberName<D, `${G[P] & string}.${P}`> }[keyof G & string]
type FieldValue<D, R, Path> = Exclude<Value<FieldAt<FieldsOf<D, R>, ConceptsOf<D>, Path>, ConceptsOf<D>>, null>
/** The id of the parent always has a value; a stored row may lack that of any other field. */
type NullIn<D, R, Path> = Path extends keyof FieldsOf<D, R> | `${string}.${string}` ? null : never

/** `createdAt.month` as `createdAtMonth`, or with underscores. */
type MemberName<D, Path extends string> = D extends { readonly settings: { readonly naming: 'snake' } }
  ? WithUnderscores<Path>
  : InOneWord<Path>
type WithUnderscores<Path extends string> = Path extends `${infer A}.${infer B}` ? `${A}_${WithUnderscores<B>}` : Path
type InOneWord<Path extends string> = Path extends `${infer A}.${infer B}` ? `${A}${InOneWord<Capitalize<B>>}` : Path
