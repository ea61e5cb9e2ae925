/** Store: the port to the cellar. Part 1. */
import type { Misfits } from '../fields/bounds.ts'
import type { Outcome, QuotaUsage } from './outcome.ts'
import type { Plan, SpendQuota } from './plan.ts'

/** The time of a store, in milliseconds; what is kept in it expires by this, whatever is done to the clock of a machine. */
export interface Clock {
  /** Never goes back, over restarts either. */
  readonly now: () => number
  /** The time that has certainly come, where a clock that is far ahead is doubted: what is kept expires by this one. */
  readonly due?: () => number
  /** The time to judge by what others have issued: the later of the machine's own at start and what has certainly come. */
  readonly issued?: () => number
  /** By how much the clock of the machine was too far ahead at start, in milliseconds; null where it was not. */
  readonly ahead?: number | null
}

/** How a store is opened. */
export interface StoreOptions {
  /** How long a plan may take, in milliseconds. */
  readonly patience?: number
  /** Whether anything that was read may be cached. */
  readonly caches?: boolean
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
  /** The time that this store goes by; that of the machine where there is none. */
  readonly clock?: Clock
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

/** Counts what is spent of quotas, for all nodes together. R184. */
export type Ledger = (plan: SpendQuota) => Promise<Omit<QuotaUsage, 'is'>>
