/** Client types: the type of a client, inferred from the declaration of its service. Part 1. */
// long because: every method has a doc comment with an example
import type { FileMember, Value } from '../fields/field.ts'
import type { Where } from '../lists/where-parameters.ts'
import type {
  ConceptsOf,
  CreateInput,
  DeclarationOf,
  FieldPath,
  FieldsOf,
  Get,
  PairInput,
  PairName,
  Patch,
  ReplaceInput,
  ResourceName,
  ResourceOf,
  Row,
  SortName,
  VersionName,
} from '../resources/infer.ts'
import type {
  IsAsynchronous,
  OperationInput,
  OperationName,
  OperationPlace,
  TransitionInput,
  TransitionName,
} from '../resources/infer-actions.ts'
import type { ChosenEvent, EventType } from '../resources/infer-events.ts'
import type {
  ChildName,
  Embedded,
  Embedding,
  EmbedName,
  FirstName,
  PairMember,
  PairsOf,
  ParentOf,
} from './embedded-types.ts'
import type { entityTag } from './entity-tag.ts'
import type { SummaryGroup, SummaryName } from './summary-types.ts'
import type { Files } from './upload-types.ts'

export interface ClientOptions<S> {
  /** The URL of the service; a path in it is put before the path of each request: `url: 'https://api.example.com/v2'`. */
  readonly url: string
  /** The API key or access token; a function is called for each request: `key: () => session.token()`. */
  readonly key?: string | (() => string | Promise<string>) | undefined
  /** The version that each request names in the header `Version`; its types are those of the newest one: `version: 'v2'`. */
  readonly version?: HeaderVersion<DeclarationOf<S>>
  /** How long one try may take, in milliseconds; 10,000 by default: `timeout: 2000`. */
  readonly timeout?: number
  /** How long a call may take with all its tries, in milliseconds; 30,000 by default: `deadline: 60_000`. */
  readonly deadline?: number
  /** Called for each answer of a deprecated version or operation: `onDeprecation: ({ path }) => console.warn(path)`. */
  readonly onDeprecation?: (notice: DeprecationNotice) => void
  /** Replaces the global `fetch`: `fetch: (url, init) => app.request(url, init)`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** The versions that the header can name. */
type HeaderVersion<D> = D extends { readonly settings: { readonly versions: { readonly carriers: infer C } } }
  ? 'header' extends Get<C, number>
    ? VersionName<D>
    : never
  : VersionName<D>

/** An answer with the header `Deprecation`. */
export interface DeprecationNotice {
  readonly method: string
  readonly path: string
  /** `true`, or since when: `@1767225600`, in seconds since 1970. */
  readonly deprecation: string
  /** The planned end. */
  readonly sunset: Date | null
  /** The URL of the migration guide. */
  readonly guide: string | null
  /** The URL to use instead. */
  readonly successor: string | null
}

export interface ClientCallOptions {
  /** Ends the call: it is rejected with the reason of the signal. */
  readonly signal?: AbortSignal
  /** How long the call may take with all its tries, in milliseconds: `deadline: 5000`. */
  readonly deadline?: number
}

interface PostOptions extends ClientCallOptions {
  /** A key of your own, so that the call can be repeated after a restart: `idempotencyKey: job.id`. */
  readonly idempotencyKey?: string
}

/** An item with its ETag; null if the service sends no strong one. */
export type Tagged<Item> = Item & { readonly [entityTag]: string | null }
/** The id of an item, or an item that was read: then a write fails if the item has changed since. */
type Target<Item> = string | Tagged<Item>

/** The client of a service: a property for each resource. */
export type Client<S> = ClientOf<DeclarationOf<S>>
type ClientOf<D> = ResourceClients<D, Get<D, 'resources'>, TopName<D> & keyof Get<D, 'resources'>> &
  ([EventType<D>] extends [never]
    ? unknown
    : {
        /**
         * The events of the service as they happen, of the chosen types and resources. After a lost connection it goes on after the last event.
         * @example for await (const event of shop.events({ types: ['order.placed'], after: lastId })) console.log(event.id)
         */
        readonly events: <
          const T extends EventType<D> = EventType<D>,
          const R extends ResourceName<D> = ResourceName<D>,
        >(
          query?: EventStreamQuery<T, R>,
          options?: { readonly signal?: AbortSignal },
        ) => AsyncIterable<ChosenEvent<D, T, R>>
      }) &
  ([AsynchronousName<D>] extends [never] ? unknown : { readonly operations: StatusClient })

/** Mapped like `Pick`, so that the comments above the declared resources are kept. */
type ResourceClients<D, All, Names extends keyof All> = {
  readonly [R in Names]: ResourceClient<D, R & ResourceName<D>>
}
/** The resources that have a URL of their own: all except those with a key below a parent. */
type TopName<D> = { [R in ResourceName<D>]: IsComposite<D, R> extends true ? never : R }[ResourceName<D>]
type IsComposite<D, R> = ResourceOf<D, R> extends { readonly key: string; readonly parent: unknown } ? true : false

type ResourceClient<D, R extends ResourceName<D>> = Pick<
  Methods<D, R>,
  Exclude<
    OfferedName<D, R>,
    [ParentOf<D, R>] extends [never] ? never : IsComposite<D, R> extends true ? never : 'create'
  >
> &
  Actions<D, R> &
  Summaries<D, R> &
  Histories<D, R> &
  Exports<D, R> &
  Files<D, R, UploadedFile<D, R>> &
  ([ParentOf<D, R>] extends [never] ? Imports<D, R> : IsComposite<D, R> extends true ? Imports<D, R> : unknown) &
  ([ChildName<D, R> | keyof PairsOf<D, R>] extends [never] ? unknown : ParentClient<D, R>)
/** The children of an item, and the items that are paired with it: `shop.orders(order)['order-lines'].create({ quantity: 2 })`. */
type ParentClient<D, R> = (parent: string | { readonly id: string }) => {
  readonly [C in ChildName<D, R>]: ChildClient<D, C>
} & {
  readonly [O in keyof PairsOf<D, R> & ResourceName<D>]: PairClient<D, O, Get<PairsOf<D, R>, O, never> & PairName<D>>
}
/** The items of one side that are paired with an item of the other. */
interface PairClient<D, O extends ResourceName<D>, P extends PairName<D>> {
  /** The paired items: `for await (const tag of shop.orders(order).tags.list({ sort: 'name' })) …`. */
  readonly list: <const F extends MemberPath<Row<D, O>> = never, const E extends EmbedName<D, O> = never>(
    query?: ListQuery<D, O> & Selecting<F> & Embedding<E>,
    options?: ClientCallOptions,
  ) => ItemList<Selected<Row<D, O>, F> & Embedded<D, O, E> & ([F] extends [never] ? PairMember<D, P> : unknown)>
  /** Reads a paired item: `const tag = await shop.orders(order).tags.get(id)`. */
  readonly get: (
    other: string | { readonly id: string },
    options?: ClientCallOptions,
  ) => Promise<Tagged<Row<D, O> & PairMember<D, P>>>
  /** Links an item, or replaces the fields of the pair: `await school.courses(course).students.link(ann, { role: 'tutor' })`. */
  readonly link: (
    other: string | { readonly id: string },
    fields?: PairInput<D, P>,
    options?: ClientCallOptions,
  ) => Promise<Tagged<Row<D, O> & PairMember<D, P>> | null>
  /** Unlinks an item, if it is linked: `await shop.orders(order).tags.unlink(tag)`. */
  readonly unlink: (other: string | { readonly id: string }, options?: ClientCallOptions) => Promise<void>
}
type ChildClient<D, C extends ResourceName<D>> =
  IsComposite<D, C> extends true
    ? ResourceClient<D, C>
    : Pick<Methods<D, C>, Extract<OfferedName<D, C>, 'list' | 'create'>> &
        Summaries<D, C> &
        Exports<D, C> &
        Imports<D, C>

type Exports<D, R extends ResourceName<D>> =
  ResourceOf<D, R> extends { readonly exports: true }
    ? {
        /**
         * All items that match, from one state of the service, as they arrive.
         * @example for await (const order of shop.orders.export({ where: { status: 'paid' } })) await write(order)
         */
        readonly export: <const F extends MemberPath<Row<D, R>> = never>(
          query?: Omit<ListQuery<D, R>, 'pageSize'> & Selecting<F>,
          options?: StreamOptions,
        ) => AsyncIterable<Selected<Row<D, R>, F>>
      }
    : unknown
type Imports<D, R extends ResourceName<D>> =
  ResourceOf<D, R> extends { readonly imports: true }
    ? {
        /**
         * Creates any number of items. With a key of your own, a repeated call continues where the earlier one ended.
         * @example const { created, errors } = await shop.orders.import(rows, { idempotencyKey: file.name })
         */
        readonly import: (
          items: Iterable<ImportedInput<D, R>> | AsyncIterable<ImportedInput<D, R>>,
          options?: StreamOptions & Pick<PostOptions, 'idempotencyKey'>,
        ) => Promise<ImportReport>
      }
    : unknown
/** An input with an idempotency key creates one item, even if it is imported again. */
type ImportedInput<D, R extends ResourceName<D>> = CreateInput<D, R> & { readonly idempotencyKey?: string }
interface StreamOptions {
  /** Ends the call: `signal: AbortSignal.timeout(60_000)`. There is no other deadline as long as bytes flow. */
  readonly signal?: AbortSignal
}
/** The result of an import. */
export interface ImportReport {
  readonly created: number
  /** How many have an `idempotencyKey` with which the item was created before. */
  readonly existing: number
  readonly failed: number
  /** Why the first of them were refused; lines are counted from 1. */
  readonly errors: readonly {
    readonly line: number
    readonly type: string
    readonly message: string
    readonly errors?: readonly { readonly pointer?: string; readonly type: string; readonly message: string }[]
  }[]
}

type Summaries<D, R extends ResourceName<D>> = [SummaryName<D, R>] extends [never]
  ? unknown
  : {
      /**
       * The groups of a summary of the list.
       * @example const groups = await shop.orders.summaries.byStatus({ where: { currency: 'EUR' } })
       */
      readonly summaries: {
        readonly [N in SummaryName<D, R>]: (
          query?: Pick<ListQuery<D, R>, 'where' | 'or'>,
          options?: ClientCallOptions,
        ) => Promise<readonly SummaryGroup<D, R, N>[]>
      }
    }

/** A change of an item, with what it has changed: a merge patch from the revision before. */
export interface Revision<Item> {
  readonly id: string
  readonly at: string
  /** The id of the caller; null for the service itself and for callers without credentials. */
  readonly by: string | null
  /** `created`, `updated`, `deleted`, or the state that a transition has entered. */
  readonly type: string
  readonly changes: Changes<Item>
}
type Changes<T> = {
  readonly [K in Exclude<keyof T, '_links'>]?:
    | (T[K] extends readonly unknown[] ? T[K] : T[K] extends object ? Changes<T[K]> : T[K])
    | null
}
type Histories<D, R extends ResourceName<D>> =
  ResourceOf<D, R> extends { readonly history: object }
    ? {
        /** The revisions of an item, the newest first: `for await (const { by, changes } of shop.orders.history(id)) …`. */
        readonly history: (
          target: string | Row<D, R>,
          query?: { readonly pageSize?: number },
          options?: ClientCallOptions,
        ) => ItemList<Revision<Row<D, R>>>
        /**
         * An item as it was; with `against`, the merge patch from that revision to this one.
         * @example const changes = await shop.orders.revision(id, 7, { against: 6 })
         */
        readonly revision: {
          (
            target: string | Row<D, R>,
            number: string | number,
            options: ClientCallOptions & { readonly against: string | number },
          ): Promise<Changes<Row<D, R>>>
          (target: string | Row<D, R>, number: string | number, options?: ClientCallOptions): Promise<Row<D, R>>
        }
      }
    : unknown

/** The methods of a client by the operations that a resource offers. */
interface MethodNames {
  readonly list: 'list'
  readonly read: 'get'
  readonly create: 'create'
  readonly change: 'update'
  readonly replace: 'replace'
  readonly remove: 'remove'
}
type OfferedName<D, R> =
  ResourceOf<D, R> extends { readonly methods: readonly (infer M extends keyof MethodNames)[] }
    ? MethodNames[M]
    : MethodNames[keyof MethodNames]

interface Methods<D, R extends ResourceName<D>> {
  /**
   * The items of a list, read page by page as they are needed.
   * @example for await (const order of shop.orders.list({ where: { status: 'draft' }, sort: '-createdAt' })) …
   */
  readonly list: <const F extends MemberPath<Row<D, R>> = never, const E extends EmbedName<D, R> = never>(
    query?: ListQuery<D, R> & Selecting<F> & Embedding<E>,
    options?: ClientCallOptions,
  ) => ItemList<Selected<Row<D, R>, F> & Embedded<D, R, E>>
  /** Reads an item: `const order = await shop.orders.get(id)`. */
  readonly get: <const F extends MemberPath<Row<D, R>> = never, const E extends EmbedName<D, R> = never>(
    target: Target<Row<D, R>>,
    options?: ClientCallOptions & Selecting<F> & Embedding<E>,
  ) => Promise<Tagged<Selected<Row<D, R>, F> & Embedded<D, R, E>>>
  /** Creates one item, even if the client has to send the request several times: `await shop.orders.create({ customerId })`. */
  readonly create: (input: CreateInput<D, R>, options?: PostOptions) => Promise<Tagged<Row<D, R>>>
  /**
   * Changes fields of an item. A function is given the item and applied again if the item has changed meanwhile.
   * @example await shop.products.update(id, ({ stock }) => ({ stock: stock - 1 }))
   */
  readonly update: (
    target: Target<Row<D, R>>,
    change: Patch<D, R> | ((item: Tagged<Row<D, R>>) => Patch<D, R> | Promise<Patch<D, R>>),
    options?: ClientCallOptions,
  ) => Promise<Answered<D, R, WriteRule<D, R, 'change'>>>
  /** Replaces an item, or creates it where clients choose ids: `await shop.orders.replace(order, { ...order, note })`. */
  readonly replace: (
    target: Target<Row<D, R>>,
    input: ReplaceInput<D, R>,
    options?: ClientCallOptions,
  ) => Promise<Answered<D, R, WriteRule<D, R, 'replace'>>>
  /** Removes an item: `await shop.orders.remove(order.id)`. */
  readonly remove: (target: Target<Row<D, R>>, options?: ClientCallOptions) => Promise<void>
}

/** An item that a write answers; null if the caller may write but not read it. */
type Answered<D, R extends ResourceName<D>, Rule> =
  ReadRule<D, R> extends 'public' | Rule
    ? Tagged<Row<D, R>>
    : [ReadRule<D, R>, Rule] extends ['authenticated', Exclude<Rule, 'public'>]
      ? Tagged<Row<D, R>>
      : Tagged<Row<D, R>> | null
/** An uploaded file; null if the caller may change the item but not read it. */
type UploadedFile<D, R extends ResourceName<D>> =
  null extends Answered<D, R, WriteRule<D, R, 'change'>> ? FileMember | null : FileMember
type AccessOf<D, R> = Get<ResourceOf<D, R>, 'access', never>
/** A rule that depends on the item is checked for each item, so every authenticated caller may send the request. */
type RuleOf<Rule> = Rule extends readonly unknown[] ? 'authenticated' : Rule
type ReadRule<D, R> = RuleOf<AccessOf<D, R> extends string ? AccessOf<D, R> : Get<AccessOf<D, R>, 'read', never>>
type WriteRule<D, R, Name> = RuleOf<
  AccessOf<D, R> extends string ? AccessOf<D, R> : Get<AccessOf<D, R>, Name, Get<AccessOf<D, R>, 'write', never>>
>

/** The transitions and operations of a resource. */
type Actions<D, R extends ResourceName<D>> = TransitionActions<
  D,
  R,
  Get<Get<ResourceOf<D, R>, 'states'>, 'transitions'>,
  CalledTransition<D, R> & keyof Get<Get<ResourceOf<D, R>, 'states'>, 'transitions'>
> &
  OperationActions<
    D,
    R,
    Get<ResourceOf<D, R>, 'operations'>,
    OperationName<D, R> & keyof Get<ResourceOf<D, R>, 'operations'>
  >
/** The transitions that callers carry out. */
type CalledTransition<D, R extends ResourceName<D>> = {
  [T in TransitionName<D, R>]: IsTimer<D, R, T> extends true ? never : T
}[TransitionName<D, R>]
type TransitionActions<D, R extends ResourceName<D>, All, Names extends keyof All> = {
  readonly [T in Names]: T extends TransitionName<D, R>
    ? ItemAction<
        Row<D, R>,
        TransitionInput<D, R, T>,
        Answered<D, R, Get<TransitionOf<D, R, T>, 'access', WriteRule<D, R, 'change'>>>
      >
    : never
}
type OperationActions<D, R extends ResourceName<D>, All, Names extends keyof All> = {
  readonly [O in Names]: O extends OperationName<D, R>
    ? OperationPlace<D, R, O> extends 'item'
      ? ItemAction<Row<D, R>, OperationInput<D, R, O>, OperationAnswer<D, R, O>>
      : CollectionAction<OperationInput<D, R, O>, OperationAnswer<D, R, O>>
    : never
}
type TransitionOf<D, R, T> = Get<Get<Get<ResourceOf<D, R>, 'states'>, 'transitions'>, T>
type IsTimer<D, R, T> =
  TransitionOf<D, R, T> extends { readonly after: string } | { readonly at: string } ? true : false
type ItemAction<Item, Input, Answer> = (
  target: Target<Item>,
  ...given: object extends Input ? [input?: Input, options?: PostOptions] : [input: Input, options?: PostOptions]
) => Promise<Answer>
/** Inputs have no ETag; by the ETag the client distinguishes an item from an input. */
type Untagged<Input> = Input & { readonly [entityTag]?: never }
type CollectionAction<Input, Answer> = (
  ...given: object extends Input
    ? [input?: Untagged<Input>, options?: PostOptions]
    : [input: Untagged<Input>, options?: PostOptions]
) => Promise<Answer>

type OperationAnswer<D, R extends ResourceName<D>, O extends OperationName<D, R>> =
  IsAsynchronous<D, R, O> extends true ? OperationStatus<OutputOf<D, R, O>> : OutputOf<D, R, O>
type OutputOf<D, R extends ResourceName<D>, O extends OperationName<D, R>> = {
  readonly [K in keyof DeclaredOutput<D, R, O>]: Value<DeclaredOutput<D, R, O>[K], ConceptsOf<D>>
}
type DeclaredOutput<D, R, O> = Get<Get<Get<ResourceOf<D, R>, 'operations'>, O>, 'output'>
type AsynchronousName<D> = {
  [R in ResourceName<D>]: {
    [O in OperationName<D, R>]: IsAsynchronous<D, R, O> extends true ? O : never
  }[OperationName<D, R>]
}[ResourceName<D>]

/** The status of an asynchronous operation. */
export interface OperationStatus<Output = unknown> {
  readonly id: string
  /** `orders.exports`. */
  readonly operation: string
  /** The id of the item that it is called on. */
  readonly item: string | null
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled'
  /** In percent. */
  readonly progress: number
  readonly result: Output | null
  /** Why it has failed, with the members of an error. */
  readonly error: OperationError | null
}
interface OperationError extends Readonly<Record<string, unknown>> {
  readonly message: string
  readonly type: string
  readonly types: readonly string[]
}
interface StatusClient {
  /** Reads a status: `await shop.operations.get<typeof started>(started.id)`. */
  readonly get: <T extends OperationStatus = OperationStatus>(id: string, options?: ClientCallOptions) => Promise<T>
  /** Cancels an operation. */
  readonly cancellations: (id: string, input?: object, options?: PostOptions) => Promise<OperationStatus>
}

/** A list: its items, or its pages. */
export interface ItemList<Item> extends AsyncIterable<Item> {
  readonly pages: () => AsyncIterable<ListPage<Item>>
}
interface ListPage<Item> {
  readonly data: readonly Item[]
}

interface Selecting<F> {
  /** The fields to answer, with `id`; nested ones with dots: `fields: ['total', 'buyer.name']`. */
  readonly fields?: readonly F[]
}
/** The names of the members of an item, nested ones with dots; members of the items of lists too. */
type MemberPath<T> = T extends readonly (infer I)[]
  ? MemberPath<I>
  : T extends object
    ? {
        [K in Exclude<keyof T, '_links'> & string]:
          | K
          | (MemberPath<T[K]> extends infer P extends string ? `${K}.${P}` : never)
      }[Exclude<keyof T, '_links'> & string]
    : never
type Selected<T, F extends string> = [F] extends [never] ? T : MembersIn<T, F | 'id'>
type MembersIn<T, F extends string> = T extends readonly (infer I)[]
  ? readonly MembersIn<I, F>[]
  : T extends object
    ? {
        readonly [K in keyof T as K extends FirstName<F> ? K : never]: K extends F
          ? T[K]
          : MembersIn<T[K], F extends `${K & string}.${infer P}` ? P : never>
      }
    : T

interface ListQuery<D, R extends ResourceName<D>> {
  /** A value, several of which one has to match, null, or operators: `where: { state: ['open', 'done'], total: { gte: '5' } }`. */
  readonly where?: Where<D, R>
  /** Alternative filters, of which one has to match, if `list.or` is on: `or: { state: 'done', total: { gte: '5' } }`. */
  readonly or?: TakesOr<D, R> extends true ? Where<D, R> : never
  /** Words that all have to begin words of the searched fields: `search: 'blue whale'`. */
  readonly search?: [SearchedField<D, R>] extends [never] ? never : string
  /** A sortable field; with a minus sign descending: `sort: '-createdAt'`. */
  readonly sort?: SortName<D, R> | `-${SortName<D, R> & string}`
  /** Where items without a value of the sort come: `nulls: 'first'`. */
  readonly nulls?: 'first' | 'last'
  /** A declared criterion in place of a field: `customSort: 'value'`. */
  readonly customSort?: CustomSort<D, R> | `-${CustomSort<D, R>}`
  /** How many items a page has; otherwise as the service declares it: `pageSize: 100`. */
  readonly pageSize?: number
}
type SearchedField<D, R> = FieldPath<FieldsOf<D, R>, ConceptsOf<D>, { readonly search: true }>
/** Whether its lists take `or`, by its own setting or that of the service. R234. */
type TakesOr<D, R> = [OrSetting<ResourceOf<D, R>, OrSetting<D, false>>] extends [false | 'off'] ? false : true
type OrSetting<T, Else> = Get<Get<Get<T, 'settings'>, 'list'>, 'or', Else>
type CustomSort<D, R> = keyof Get<ResourceOf<D, R>, 'sorts', Record<never, never>> & string

interface EventStreamQuery<T, R> {
  /** The types of events; all by default: `types: ['order.placed']`. */
  readonly types?: readonly T[]
  /** The resources; all by default: `resources: ['orders']`. */
  readonly resources?: readonly R[]
  /** The id of the item: `item: order.id`. */
  readonly item?: string
  /** The id of an event, after which the stream goes on; new events by default: `after: lastEvent.id`. */
  readonly after?: string
  /** The time from which on events are sent: `since: '2026-11-20T09:04:00Z'`. */
  readonly since?: string
}
