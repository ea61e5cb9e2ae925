/** Store: the port to the database. Part 1. */
import { isStoreFailure } from '../errors/problem.ts'
import type { Misfits } from '../fields/bounds.ts'
import type { Waiting } from '../rows/collection.ts'
import type { Outcome } from './outcome.ts'
import type { Plan } from './plan.ts'
import type { Table } from './table.ts'
import { type Clock, pause, type World } from './world.ts'

/** How a store is opened. */
export interface StoreOptions {
  /** The service's own tables, besides those of collections. */
  readonly tables?: readonly Table[]
  /** How long a plan may take, in milliseconds. */
  readonly patience?: number
  /** Whether reads may be cached. */
  readonly caches?: boolean
  readonly world?: World
}

/** How a store is used now, and its totals since it was opened. */
export interface StoreUsage {
  /** Its connections by their use; empty if it has no pool. */
  readonly connections: readonly ConnectionUsage[]
  /** How many connections have ended. */
  readonly losses: number
  /** How many batches were sent or committed, and how many statements or writes they had. */
  readonly batches: number
  readonly batched: number
}

export interface ConnectionUsage {
  readonly use: 'exclusive' | 'coalesced' | 'shared'
  readonly most: number
  readonly busy: number
  readonly waiting: number
}

/** The columns and rows that a list depends on. */
export interface ListedRows {
  readonly collection: string
  /** The columns that decide which rows it has, and in which order. */
  readonly columns: ReadonlySet<string>
  /** The ids of its rows; missing if their contents do not matter. */
  readonly ids?: ReadonlySet<string>
}

export interface Store {
  /**
   * Carries out a plan in one transaction; returns no promise if the outcome is known at once. A write may name pending
   * writes that it follows, by the promises of their outcomes: it is carried out after them, if the store keeps the order.
   */
  readonly execute: (plan: Plan, follows?: Iterable<Promise<unknown>>) => Outcome | Promise<Outcome>
  /** Whether all writes are carried out in the order in which `execute` was called, or only writes that name the writes that they follow. */
  readonly keepsOrder: 'all' | 'following'
  /** Lets reads share a snapshot until the returned function is called, or until a write. Missing if snapshots are expensive. */
  readonly hold?: () => () => void
  /** Changes with every write to the collections, by any process; null if that cannot be determined at once. */
  readonly mark: (collections: readonly string[]) => string | null
  /** As `mark`, by a query, for all collections together; null if it cannot be determined, or if the query would cost more than it saves. */
  readonly fetchMark?: () => Promise<string | null>
  /** Whether the writes since a mark of one collection do not affect a list of it; missing if only marks can be compared. */
  readonly isUnaffected?: (listed: ListedRows, mark: string) => boolean
  /** Whether answers, rows, totals and callers may be cached; false with `BYLAW_REMEMBER=off`. */
  readonly caches: boolean
  /** The clock of this store. */
  readonly clock: Clock
  /** The secret of this store, generated when it was first opened. */
  readonly secret: string
  /** When its database was last restored from a backup, in microseconds; 0 if never. */
  readonly restoredAt: number
  /** The rows that did not fit the declaration when they were last counted. */
  readonly misfits?: Misfits
  /** The behaviour of a collection that waited for the second phase of a change when a plan was last carried out; null if none did. */
  readonly waiting?: (collection: string) => Waiting | null
  /** The name of a collection in stored data; missing if it is the declared one. */
  readonly storedName?: (collection: string) => string
  /** Null if the store can answer, otherwise the reason. */
  readonly ready: () => Promise<string | null>
  /** For metrics; missing if the store measures nothing. */
  readonly usage?: () => StoreUsage
  /** Registers that this node serves its declaration: schema changes that would break it wait until the node has stopped. */
  readonly attend: () => void
  readonly close: () => Promise<void>
}

/** The pauses before background work is retried, in milliseconds. */
const failurePauses = [1000, 2000, 4000]

/** Repeats background work after a failure of the store, such as a conflict with another write. */
export async function despiteConflicts<T>(world: Pick<World, 'after'>, act: () => T | Promise<T>): Promise<T> {
  for (const time of failurePauses)
    try {
      return await act()
    } catch (error) {
      if (!isStoreFailure(error)) throw error
      await pause(world, time)
    }
  return act()
}
