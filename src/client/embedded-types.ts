/** Embedded types: the names that `embed` can have, and the type of `_embedded`. Part 1; part 4, list parameters. R232. */
import type { ResolvedField } from '../fields/field.ts'
import type {
  ConceptsOf,
  EventPrefix,
  FieldsOf,
  Get,
  InCase,
  Item,
  PairName,
  ResourceName,
  ResourceOf,
  Row,
} from '../resources/infer.ts'

/** The resource that a resource belongs to. */
export type ParentOf<D, R> = [Get<ResourceOf<D, R>, 'parent', never>] extends [infer P]
  ? P extends string
    ? P
    : Get<P, 'resource', never>
  : never
/** The other sides of the pairs of a resource, each with the pair. */
export type PairsOf<D, R> = { readonly [P in PairName<D> as OtherSide<Get<ResourceOf<D, P>, 'between'>, R>]: P }
type OtherSide<Sides, R> = Sides extends readonly [infer A extends string, infer B extends string]
  ? R extends A
    ? B
    : R extends B
      ? A
      : never
  : never
/** The member `_pair` of an item; without fields it has none. */
export type PairMember<D, P extends PairName<D>> = [PairField<D, P>] extends [never]
  ? unknown
  : { readonly _pair: Pick<Item<D, P>, PairField<D, P>> }
type PairField<D, P extends PairName<D>> = keyof Item<D, P> & keyof FieldsOf<D, P>
export type ChildName<D, R> = { [C in ResourceName<D>]: R extends ParentOf<D, C> ? C : never }[ResourceName<D>]

/** The names that `embed` can have: `'customer' | 'lines' | 'lines.product'`. */
export type EmbedName<D, R> =
  Get<ResourceOf<D, R>, 'embed', never> extends infer E
    ? E extends readonly (infer N extends string)[]
      ? N | FirstName<N>
      : E extends true
        ? keyof Related<D, R> & string
        : never
    : never
export type FirstName<N extends string> = N extends `${infer K}.${string}` ? K : N

/** The resources that an item links to, by the names of `_links`: a single item as the resource, a list as a tuple. */
type Related<D, R> = {
  readonly [K in keyof FieldsOf<D, R> & string as TargetOf<D, R, K> extends never ? never : LinkName<K>]: TargetOf<
    D,
    R,
    K
  >
} & { readonly [P in ParentOf<D, R> & string as EventPrefix<D, P>]: P } & {
  readonly [C in ChildName<D, R> & string as InCase<D, C>]: readonly [C]
} & {
  readonly [O in keyof PairsOf<D, R> & string as InCase<D, O>]: readonly [O, Get<PairsOf<D, R>, O, never>]
}
type TargetOf<D, R, K extends keyof FieldsOf<D, R>> =
  ResolvedField<FieldsOf<D, R>[K], ConceptsOf<D>> extends { readonly kind: 'ref'; readonly target: infer T } ? T : never
type LinkName<K extends string> = K extends `${infer N}Id` ? N : K extends `${infer N}_id` ? N : K

/** The member `_embedded` for the names of a request; without names an item has no such member. */
export type Embedded<D, R, E extends string> = [E] extends [never]
  ? unknown
  : {
      readonly _embedded: {
        readonly [N in FirstName<E>]: EmbeddedValue<
          D,
          Get<Related<D, R>, N, never>,
          E extends `${N}.${infer B}` ? B : never
        >
      }
    }
type EmbeddedValue<D, To, B extends string> = To extends readonly [infer C extends ResourceName<D>, ...infer P]
  ? { readonly data: readonly (EmbeddedItem<D, C, B> & PairMemberIn<D, P>)[] } & {
      readonly [M in InCase<D, 'has-more'>]: boolean
    }
  : To extends ResourceName<D>
    ? EmbeddedItem<D, To, B> | null
    : never
type PairMemberIn<D, P> = P extends readonly [infer Name extends PairName<D>] ? PairMember<D, Name> : unknown
type EmbeddedItem<D, R extends ResourceName<D>, B extends string> = Row<D, R> & Embedded<D, R, B>

export interface Embedding<E> {
  /** The names to embed, if the resource declares `embed`: `embed: ['customer', 'lines.product']`. */
  readonly embed?: readonly E[]
}
