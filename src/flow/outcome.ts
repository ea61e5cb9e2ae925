/** Outcome: what happened in the store. Part 1. */

import type { Absent, Found, Reference, Seen } from './plan.ts'

export interface Page {
  readonly is: 'page'
  /** The documents, joined by commas. */
  readonly data: string
  readonly count: number
  /** The place of the first and the last row in the order, for cursors. */
  readonly first: readonly unknown[] | null
  readonly last: readonly unknown[] | null
  /** Whether rows follow in the direction of the window. */
  readonly more: boolean
  readonly total: number | null
}

export interface Written {
  readonly is: 'created' | 'changed'
  readonly doc: string
  readonly revision: number
}

/** A value that has to be unique is in use. */
export interface Duplicate {
  readonly is: 'duplicate'
  readonly fields: readonly string[]
}

/** A reference names a row that does not exist. */
export interface Unmet {
  readonly is: 'unmet'
  readonly references: readonly Reference[]
}

export type Outcome =
  | Found
  | Absent
  | Page
  | Written
  | Duplicate
  | Unmet
  | { readonly is: 'kept'; readonly seen: Seen }
  | { readonly is: 'removed' }
  | { readonly is: 'used'; readonly collection: string }
