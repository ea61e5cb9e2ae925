/** Outcome: what happened in the store. Part 1. */

import type { Reference } from '../resources/collection.ts'
import type { Credential } from './credential.ts'
import type { Absent, Found, Other, Seen, Use } from './plan.ts'

export interface Page {
  readonly is: 'page'
  /** The documents, joined by commas. */
  readonly data: string
  readonly count: number
  /** The places of the first and the last row in the order, as text; null where none are wanted or there are no rows. */
  readonly first: Place | null
  readonly last: Place | null
  /** Whether there are rows before the first and behind the last one. */
  readonly before: boolean
  readonly after: boolean
  /** How many rows match; null where they were not counted, or are more than were to be counted. */
  readonly total: number | null
  /** The other rows that were asked for beside, by their ids. */
  readonly beside?: readonly ReadonlyMap<string, string>[]
  /** The documents, read, where these were looked for by them. */
  readonly documents?: readonly Readonly<Record<string, unknown>>[]
}

/** What a row is ordered by, each value in the database's own text. */
export type Place = readonly (string | null)[]

interface Written {
  readonly is: 'created' | 'changed'
  readonly doc: string
  readonly revision: number
  readonly beside?: readonly (Other | null)[]
}

/** A value that has to be unique is in use. */
export interface Duplicate {
  readonly is: 'duplicate'
  readonly fields: readonly string[]
  /** The collection of the row that it is about, where that can be another one than the own. */
  readonly collection?: string
}

/** A reference names a row that does not exist. */
export interface Unmet {
  readonly is: 'unmet'
  readonly references: readonly Reference[]
  readonly collection?: string
}

/** A key that was used before, and what was made with it. */
export interface Claimed {
  readonly is: 'claimed'
  readonly collection: string
  readonly id: string
  readonly parent: string | null
  readonly fingerprint: string
  /** The first answer, where it is kept. */
  readonly answer: {
    readonly doc: string
    readonly revision: number
    readonly beside?: readonly (Other | null)[]
  } | null
}

/** What all nodes have spent in the window that runs, and when it ends. */
export interface Spent {
  readonly is: 'spent'
  readonly used: number
  readonly until: number
}

/** What came of a deed that stays; anything else leaves nothing behind. */
const lasting: ReadonlySet<Outcome['is']> = new Set([
  'created',
  'changed',
  'removed',
  'kept',
  'spent',
  'tallied',
  'raised',
  'credentials',
])

export const isLasting = ({ is }: Outcome): boolean => lasting.has(is)

export type Outcome =
  | Found
  | Absent
  | Page
  | Written
  | Duplicate
  | Unmet
  | { readonly is: 'kept'; readonly seen: Seen }
  | Claimed
  | { readonly is: 'free' }
  | Spent
  | { readonly is: 'tallied' }
  | { readonly is: 'raised' }
  | { readonly is: 'usage'; readonly uses: readonly Use[] }
  | { readonly is: 'removed' }
  | { readonly is: 'used'; readonly collection: string }
  /** Rows of a collection would have to be removed with it that the caller may not remove. */
  | { readonly is: 'withheld'; readonly collection: string }
  | { readonly is: 'credentials'; readonly credentials: readonly Credential[] }
  | { readonly is: 'whose'; readonly accounts: readonly string[] }
