/** Own operations: the operations, schedules and history that a resource declares in addition to its methods. Part 4, methods. R88. */
import type { Fields } from '../fields/field.ts'
import { summarySegment } from '../fields/summary.ts'
import { durationMilliseconds } from '../formats/time-texts.ts'
import type { Settings } from '../settings.ts'

/**
 * An operation: a POST whose handler reads, writes and returns an output. Its name is a plural noun, the last part of its URL.
 * @example quotes: { at: 'collection', input: { quantity: f.integer() }, output: { total: f.decimal({ scale: 2 }) } }
 */
export interface OperationDeclaration {
  /** Its URL: below the collection, `POST /orders/quotes`, or below an item, `POST /orders/{id}/reminders`: `at: 'item'`. */
  readonly at: 'collection' | 'item'
  /** The fields of the request body; by default it has none: `input: { quantity: f.integer({ min: 1 }) }`. */
  readonly input?: Fields
  /** The fields of the answer; by default it has none: `output: { total: f.decimal({ scale: 2 }) }`. */
  readonly output?: Fields
  /** The access rule; by default that of `change` for an item, of `create` for a collection: `access: 'orders:read'`. */
  readonly access?: string
  /**
   * For operations that take long: a request is answered 202 with the URL of its status, and a worker runs the handler
   * afterwards.
   * @example exports: { at: 'collection', output: { url: f.url() }, asynchronous: true }
   */
  readonly asynchronous?: true
  /** What it is called in the API's description: `title: 'Quote a price'`. */
  readonly title?: string
  /** What it does, for the API's description: `description: 'Computes the price without ordering.'`. */
  readonly description?: string
  /** A body that fits `input`, for the API's description: `example: { quantity: 3 }`. */
  readonly example?: { readonly [input: string]: unknown }
}

export const operationKeys = [
  'at',
  'input',
  'output',
  'access',
  'asynchronous',
  'title',
  'description',
  'example',
] as const satisfies readonly (keyof OperationDeclaration)[]

/**
 * Starts an asynchronous operation of the collection at the times of a calendar, without input and without a caller.
 * @example nightly: { cron: '0 2 * * *', zone: 'Europe/Rome', run: 'exports' }
 */
export interface ScheduleDeclaration {
  /** Minute, hour, day of the month, month and day of the week: `cron: '0 2 * * *'` is at two o'clock. */
  readonly cron: string
  /** The time zone of the calendar; UTC by default: `zone: 'Europe/Rome'`. */
  readonly zone?: string
  /** The name of the operation: `run: 'exports'`. */
  readonly run: string
}

export const scheduleKeys = ['cron', 'zone', 'run'] as const satisfies readonly (keyof ScheduleDeclaration)[]

/**
 * The history of a resource: all revisions of its items are kept, `GET /orders/{id}/revisions`. R237.
 * @example history: { read: 'orders:audit', retention: 'P730D' }
 */
export interface HistoryDeclaration {
  /** The access rule of revisions, besides that of reading items: `read: 'orders:audit'`. */
  readonly read: string
  /** How long revisions are kept; as the setting `history.retention` says by default, or `'forever'`: `retention: 'P730D'`. */
  readonly retention?: string
}

/** How long revisions are kept, in milliseconds; null for ever. R237. */
export const historyRetention = ({ retention }: HistoryDeclaration, { history }: Settings): number | null =>
  retention === undefined
    ? history.retention
    : retention === 'forever'
      ? null
      : (durationMilliseconds(retention) ?? null)

export const historyKeys = ['read', 'retention'] as const satisfies readonly (keyof HistoryDeclaration)[]
/** The segment of URLs that revisions are below, after that of their item. */
export const revisionSegment = 'revisions'

/** The operations of a resource by name. */
export type DeclaredOperations = { readonly [name: string]: OperationDeclaration }

/** The standard operation whose access rule an operation has by default. */
export const ruleSource = (at: unknown): 'create' | 'change' => (at === 'collection' ? 'create' : 'change')

/** The segment of URLs at which items of a collection are imported. */
export const importSegment = 'imports'

interface BelowCollection {
  readonly operations?: DeclaredOperations | undefined
  readonly imports?: boolean | undefined
  readonly summaries?: object | undefined
}

/** The segments below a collection that belong to operations, imports and summaries. An item cannot have such a key. */
export const collectionSegments = ({ operations = {}, imports, summaries }: BelowCollection): readonly string[] => [
  ...Object.keys(operations).filter((name) => operations[name]?.at === 'collection'),
  ...(imports ? [importSegment] : []),
  ...(summaries ? [summarySegment] : []),
]
