/** Store: the port to the cellar. Part 1. */
import type { Misfits } from '../fields/bounds.ts'
import type { Outcome } from './outcome.ts'
import type { Plan } from './plan.ts'
import type { Table } from './table.ts'
import type { Clock, World } from './world.ts'

/** How a store is opened. */
export interface StoreOptions {
  /** The tables that conventions need beside the rows of collections. */
  readonly tables?: readonly Table[]
  /** How long a plan may take, in milliseconds. */
  readonly patience?: number
  /** Whether anything that was read may be cached. */
  readonly caches?: boolean
  readonly world?: World
}

export interface Store {
  /** Carries out a plan, whole or not at all. What can be answered at once is. */
  readonly execute: (plan: Plan) => Outcome | Promise<Outcome>
  /** Keeps what is read until the call of what comes back in one state, where that costs less; a write ends it. */
  readonly hold?: () => () => void
  /** Changes with every write to the collections, by whomever; null where that cannot be told at once. */
  readonly mark: (collections: readonly string[]) => string | null
  /** The same where it has to be asked for, for all collections at once; null where asking would be of no use. */
  readonly fetchMark?: () => Promise<string | null>
  /** Whether answers, rows, totals and callers may be cached; false with `BYLAW_REMEMBER=off`. */
  readonly caches: boolean
  /** The time that this store goes by. */
  readonly clock: Clock
  /** A secret of this store's own, made when it was first opened. */
  readonly secret: string
  /** The rows that did not fit what is declared when they were last counted. */
  readonly misfits?: Misfits
  /** Whether the store can answer; the reason where it cannot. */
  readonly ready: () => Promise<string | null>
  /** Says from now on that this node serves its declaration, so that no step of the schema is taken that it could not stand. */
  readonly attend: () => void
  readonly close: () => Promise<void>
}
