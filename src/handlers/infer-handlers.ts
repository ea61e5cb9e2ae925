/** Infer handlers: the types of handlers, inferred from the declaration of a service. Part 3, handlers. */
// long because: each type is the argument of one kind of handler, and they are made of one another
import type { Aggregate } from '../fields/aggregate.ts'
import type { FieldNamesWith } from '../fields/field.ts'
import type { Where } from '../lists/where-parameters.ts'
import type {
  ConceptsOf,
  CreateInput,
  FieldsOf,
  Get,
  Item,
  ParentFieldName,
  Patches,
  ResourceName,
  ResourceOf,
  SortName,
  StateField,
} from '../resources/infer.ts'
import type {
  ErrorFields,
  IsAsynchronous,
  OperationInput,
  OperationName,
  OperationOutput,
  OperationPlace,
  TransitionInput,
  TransitionName,
} from '../resources/infer-actions.ts'
import type { EventType, ReactionEvent } from '../resources/infer-events.ts'

type ErrorName<D> = keyof Get<D, 'errors'> & string

/** The place of a refusal as a JSON Pointer into the body, and its message for people. */
interface RefusalDetails {
  readonly pointer?: string
  readonly message?: string
}

/** The fields of a new item: as in a POST, with the id of its parent and read-only fields. */
type NewItem<D, R extends ResourceName<D>> = CreateInput<D, R> &
  FieldPatch<D, R> & { readonly [K in ParentFieldName<D, R>]: string }

/** The id of an item; the item itself where ids are unique only below a parent. */
type ItemId = string | { readonly id: string }

/** A list in a handler: the items of a parent, those that match filters, in an order. */
interface ListQueryOf<D, R extends ResourceName<D>> {
  /** The id of the parent whose items are listed: `parent: order.id`. */
  readonly parent?: string
  /** A value, several of which one has to match, or operators: `where: { state: ['open', 'done'], total: { gte: '5' } }`. */
  readonly where?: Where<D, R>
  /** A sortable field; with a minus sign descending: `sort: '-createdAt'`. */
  readonly sort?: SortName<D, R> | `-${SortName<D, R> & string}`
  /** How many items at most. Without it, more than 1,000 items are a failure: `limit: 10`. */
  readonly limit?: number
}

/** The fields that handlers may write: all except derived ones, files and the state. */
type FieldPatch<D, R extends ResourceName<D>> = Patches<
  Omit<FieldsOf<D, R>, DerivedNames<D, R> | FileNames<D, R> | keyof StateField<ResourceOf<D, R>>>,
  ConceptsOf<D>
>
type DerivedNames<D, R> = FieldNamesWith<
  FieldsOf<D, R>,
  ConceptsOf<D>,
  { readonly options: { readonly derived: true | Aggregate } }
>
type FileNames<D, R> = FieldNamesWith<FieldsOf<D, R>, ConceptsOf<D>, { readonly kind: 'file' }>

type LogLine = (text: string, fields?: object) => void

/** The argument of every handler. Reads see the earlier writes of the same request. */
interface HandlerContext<D, Used> {
  /** The caller; its id is null for the clock and for callers without credentials. */
  readonly caller: { readonly id: string | null; readonly account: string | null; readonly scopes: readonly string[] }
  /** The time of the request, as timestamps are: `'2026-11-22T10:00:00.000Z'`. */
  readonly now: string
  /** Makes an id for an item of a resource: `newId('orders')`. */
  readonly newId: (resource: ResourceName<D>) => string
  /** Writes to the log, with the name of the handler and the id of the request. */
  readonly log: { readonly info: LogLine; readonly warn: LogLine; readonly error: LogLine }
  /** Aborted when the handler has ended or its time is over: `fetch(url, { signal })`. */
  readonly signal: AbortSignal
  /** Whether the request is a dry run, so that no write is stored: `if (!dryRun) await notify(item.id)`. */
  readonly dryRun: boolean
  /** The value that the option `use` made. */
  readonly use: Used
  /** Reads an item; null if there is none: `await get('customers', input.customerId)`. */
  readonly get: <R extends ResourceName<D>>(resource: R, id: ItemId) => Promise<Item<D, R> | null>
  /** Reads items: `await list('order-lines', { parent: item.id })`. */
  readonly list: <R extends ResourceName<D>>(resource: R, query?: ListQueryOf<D, R>) => Promise<Item<D, R>[]>
  /** Creates an item and returns its id: `create('payments', { orderId: item.id })`. */
  readonly create: <R extends ResourceName<D>>(resource: R, fields: NewItem<D, R>) => string
  /** Changes an item, by fields or by a function of the item: `change('products', id, ({ stock }) => ({ stock: stock - 1 }))`. */
  readonly change: <R extends ResourceName<D>>(
    resource: R,
    id: ItemId,
    patch: FieldPatch<D, R> | ((item: Item<D, R>) => FieldPatch<D, R>),
  ) => void
  /** Removes an item, and those that depend on it: `remove('carts', input.cartId)`. */
  readonly remove: (resource: ResourceName<D>, id: ItemId) => void
  /** Carries out a transition of an item: `move('shipments', id, 'departures')`. */
  readonly move: <R extends ResourceName<D>, T extends TransitionName<D, R>>(
    resource: R,
    id: ItemId,
    ...transition: object extends TransitionInput<D, R, T>
      ? [name: T, input?: TransitionInput<D, R, T>]
      : [name: T, input: TransitionInput<D, R, T>]
  ) => void
  /**
   * Starts an asynchronous operation when the change is committed, or some time later; returns the id of its status.
   * @example later('orders.reminders', {}, { id: item.id, after: 'P3D' })
   */
  readonly later: <O extends LaterName<D>>(
    operation: O,
    input?: LaterInput<D, O>,
    when?: { readonly id?: ItemId } & (
      | { readonly after?: string; readonly at?: never }
      | { readonly at?: string; readonly after?: never }
    ),
  ) => string
  /**
   * Makes the refusal of the request, with a declared type of error and its further fields.
   * @example throw refuse('credit-exceeded', { pointer: '/total', fields: { limit: '100.00' } })
   */
  readonly refuse: <T extends ErrorName<D>>(
    type: T,
    ...details: keyof ErrorFields<D, T> extends never
      ? [details?: RefusalDetails]
      : object extends ErrorFields<D, T>
        ? [details?: RefusalDetails & { readonly fields?: ErrorFields<D, T> }]
        : [details: RefusalDetails & { readonly fields: ErrorFields<D, T> }]
  ) => Error
}

/** The argument of a handler that decides on a write of fields. */
interface WriteContext<D, R extends ResourceName<D>, Used, Before> extends HandlerContext<D, Used> {
  /** The fields that are written; for a PATCH, the fields that it changes. */
  readonly input: Partial<Item<D, R>>
  /** The item before the write; null if it is created. */
  readonly item: Before
  /** The item as it will be stored, with what handlers have set so far. */
  readonly next: Item<D, R>
  /** Sets fields of the item, read-only ones too: `set({ total })`. */
  readonly set: (patch: FieldPatch<D, R>) => void
}

interface CreationContext<D, R extends ResourceName<D>, Used> extends Omit<WriteContext<D, R, Used, null>, 'input'> {
  /** All fields of the new item. */
  readonly input: Item<D, R>
}

interface TransitionContext<D, R extends ResourceName<D>, T extends TransitionName<D, R>, Used>
  extends Omit<WriteContext<D, R, Used, Item<D, R>>, 'input'> {
  /** The input of the transition. */
  readonly input: Required<TransitionInput<D, R, T>>
}

interface CallContext<D, R extends ResourceName<D>, O extends OperationName<D, R>, Used>
  extends HandlerContext<D, Used> {
  /** The input of the operation. */
  readonly input: Required<OperationInput<D, R, O>>
}

interface ItemCallContext<D, R extends ResourceName<D>, O extends OperationName<D, R>, Used>
  extends CallContext<D, R, O, Used> {
  /** The item that it is called on. */
  readonly item: Item<D, R>
  /** Sets fields of the item, read-only ones too: `set({ remindedAt: now })`. */
  readonly set: (patch: FieldPatch<D, R>) => void
}

/** The asynchronous operations of all resources, as `orders.exports`. */
type LaterName<D> = {
  [R in ResourceName<D>]: {
    [O in OperationName<D, R>]: IsAsynchronous<D, R, O> extends true ? `${R & string}.${O}` : never
  }[OperationName<D, R>]
}[ResourceName<D>]

type LaterInput<D, N> = N extends `${infer R extends ResourceName<D> & string}.${infer O}`
  ? OperationInput<D, R, O & OperationName<D, R>>
  : never

/** The argument of a step of an asynchronous operation: it reads, writes and is committed like a handler. */
type StepContext<D, Used> = Omit<HandlerContext<D, Used>, 'dryRun'>

/** The argument of the handler of an asynchronous operation. Rows that it reads may change meanwhile; it writes in steps. */
interface JobContext<D, R extends ResourceName<D>, O extends OperationName<D, R>, Used>
  extends Pick<
    HandlerContext<D, Used>,
    'caller' | 'now' | 'newId' | 'log' | 'signal' | 'use' | 'get' | 'list' | 'refuse'
  > {
  /** The input of the operation. */
  readonly input: Required<OperationInput<D, R, O>>
  /** The id of its status, the same in every try: `opr_…`. It fits as an idempotency key for other services. */
  readonly id: string
  /** The number of this try; 1 is the first. */
  readonly attempt: number
  /**
   * Carries out a step: its writes are committed with its result. A later try does not carry it out again.
   * @example const url = await step('upload', async ({ get }) => save(await get('orders', input.orderId)))
   */
  readonly step: <T>(name: string, act: (given: StepContext<D, Used>) => T | Promise<T>) => Promise<T>
  /** Reads all items of a list, page by page: `for await (const page of pages('orders')) …`. */
  readonly pages: <P extends ResourceName<D>>(
    resource: P,
    query?: Omit<ListQueryOf<D, P>, 'limit'>,
  ) => AsyncIterable<Item<D, P>[]>
  /** Reports the progress in percent: `await report(50)`. */
  readonly report: (progress: number) => Promise<void>
}

interface ItemJobContext<D, R extends ResourceName<D>, O extends OperationName<D, R>, Used>
  extends JobContext<D, R, O, Used> {
  /** The item that it is called on, as it is when the try begins. */
  readonly item: Item<D, R>
}

/** The argument of the handler of an operation. */
type OperationContext<D, R extends ResourceName<D>, O extends OperationName<D, R>, Used> =
  IsAsynchronous<D, R, O> extends true
    ? OperationPlace<D, R, O> extends 'item'
      ? ItemJobContext<D, R, O, Used>
      : JobContext<D, R, O, Used>
    : OperationPlace<D, R, O> extends 'item'
      ? ItemCallContext<D, R, O, Used>
      : CallContext<D, R, O, Used>

/** The handler of an operation returns its output; nothing if the operation declares no output. */
type OperationHandler<Context, Output> =
  | ((given: Context) => Output | Promise<Output>)
  | (object extends Output ? Handler<Context> : never)

interface RemovalContext<D, R extends ResourceName<D>, Used> extends HandlerContext<D, Used> {
  /** The item that is removed. */
  readonly item: Item<D, R>
}

type Handler<Context> = (given: Context) => void | Promise<void>

/** The argument of a reaction. */
interface ReactionContext<Event, Used> {
  /** The event, in the newest version; `type` tells what `data` is. */
  readonly event: Event
  /** The number of this try; 1 is the first. */
  readonly attempt: number
  readonly now: string
  readonly log: { readonly info: LogLine; readonly warn: LogLine; readonly error: LogLine }
  /** Aborted when the reaction has ended or its time is over: `fetch(url, { signal })`. */
  readonly signal: AbortSignal
  /** The value that the option `use` made. */
  readonly use: Used
  /**
   * Sends a request to the own service, in the account of the event, with every scope. A POST has an idempotency key, so that
   * a repeated reaction creates nothing twice.
   * @example await call('POST', '/receipts', { body: { orderId: event.data.id } })
   */
  readonly call: (
    method: string,
    path: string,
    options?: { readonly body?: object; readonly headers?: Readonly<Record<string, string>>; readonly key?: string },
  ) => Promise<{
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    // biome-ignore lint/suspicious/noExplicitAny: the body of any answer
    readonly body: any
  }>
}

/** A reaction to events; it is tried again with growing pauses until it succeeds, and then parked. */
interface Reaction<D, Types extends readonly unknown[], Used> {
  /** The types of events, as `GET /events` shows them: `on: ['order.placed']`. */
  readonly on: Types
  /** Where a new reaction begins: with new events, or with the oldest one that is kept; by default `'now'`. */
  readonly from?: 'now' | 'start'
  /** Called at least once for each event, for each item in order. */
  readonly run: (given: ReactionContext<ReactionEvent<D, Types[number]>, Used>) => void | Promise<void>
}

interface WriteHandlers<D, R extends ResourceName<D>, Used> {
  /** Runs before `create`, `replace` and `change`. */
  readonly write?: Handler<WriteContext<D, R, Used, Item<D, R> | null>>
  /** Decides on a creation. */
  readonly create?: Handler<CreationContext<D, R, Used>>
  /** Decides on a PUT of an existing item. */
  readonly replace?: Handler<WriteContext<D, R, Used, Item<D, R>>>
  /** Decides on a PATCH. */
  readonly change?: Handler<WriteContext<D, R, Used, Item<D, R>>>
  /** Decides on a removal, by a cascade too. */
  readonly remove?: Handler<RemovalContext<D, R, Used>>
}

type ResourceHandlers<D, R extends ResourceName<D>, Used> = WriteHandlers<D, R, Used> & {
  readonly [T in TransitionName<D, R>]?: Handler<TransitionContext<D, R, T, Used>>
} & {
  readonly [O in OperationName<D, R>]: OperationHandler<OperationContext<D, R, O, Used>, OperationOutput<D, R, O>>
}

/** The types of events that each reaction follows, by the name of the reaction. */
export type ReactionTypes<D> = { readonly [name: string]: readonly EventType<D>[] }

/** The handlers of a service, by resource and method, transition or operation. Declared operations need theirs. */
export type Handlers<D, Used, Reactions extends ReactionTypes<D>> = {
  readonly [R in ResourceName<D>]?: ResourceHandlers<D, R, Used>
} & {
  /** Functions that follow events, by name. The name is the identity of a reaction: its position in the events is stored under it. */
  readonly reactions?: { readonly [N in keyof Reactions]: Reaction<D, Reactions[N], Used> }
}

/** Makes and ends a value for all handlers, such as clients of other services. */
export interface HandlerOptions<Used> {
  /** Makes it, once per process: `use: async () => ({ mail: await connect() })`. */
  readonly use?: () => Used | Promise<Used>
  /** Ends it when the process stops: `close: ({ mail }) => mail.end()`. */
  readonly close?: (used: Used) => unknown
}
