/** Outcome: what happened in the store. Part 1. */

import type { Reference } from '../rows/collection.ts'
import type { AbsentRow, FoundRow, JoinedRow, ReadResult } from './found-row.ts'
import type { Consequences } from './plan.ts'
import type { TableRow, TableRows } from './table.ts'

export interface Page {
  readonly is: 'page'
  /** The documents, joined by commas. */
  readonly data: string
  readonly count: number
  /** The places of the first and the last row in the order, as text; null where none are wanted or there are no rows. */
  readonly first: Position | null
  readonly last: Position | null
  /** Whether there are rows before the first and behind the last one. */
  readonly hasBefore: boolean
  readonly hasAfter: boolean
  /** How many rows match; null where they were not counted, or are more than were to be counted. */
  readonly total: number | null
  /** The other rows that were asked for beside, by their ids. */
  readonly joined?: readonly ReadonlyMap<string, string>[]
  /** The documents, read, where these were looked for by them. */
  readonly documents?: readonly Readonly<Record<string, unknown>>[]
}

/** What a row is ordered by, each value in the database's own text. */
export type Position = readonly (string | null)[]

interface WrittenRow {
  readonly is: 'created' | 'changed'
  readonly doc: string
  readonly revision: number
  readonly joined?: readonly (JoinedRow | null)[]
}

/** A value that has to be unique is in use. */
export interface Duplicate {
  readonly is: 'duplicate'
  readonly fields: readonly string[]
  /** The collection of the row that it is about, where that can be another one than the own. */
  readonly collection?: string
}

/** A reference names a row that does not exist. */
export interface MissingReferences {
  readonly is: 'unmet'
  readonly references: readonly Reference[]
  readonly collection?: string
}

/** A key that was used before, and what was made with it. */
export interface PriorClaim {
  readonly is: 'claimed'
  readonly collection: string
  readonly id: string
  readonly parent: string | null
  readonly fingerprint: string
  /** The first answer, where it is kept. */
  readonly answer: {
    readonly doc: string
    readonly revision: number
    readonly joined?: readonly (JoinedRow | null)[]
  } | null
}

/** What came of a deed that stays; anything else leaves nothing behind. */
const committedKinds: ReadonlySet<Outcome['is']> = new Set([
  'created',
  'changed',
  'removed',
  'kept',
  'raised',
  'rows',
  'present',
])

export const isCommitted = ({ is }: Outcome): boolean => committedKinds.has(is)

export type Outcome =
  | FoundRow
  | AbsentRow
  | Page
  | WrittenRow
  | Duplicate
  | MissingReferences
  | { readonly is: 'kept'; readonly seen: ReadResult }
  | PriorClaim
  | { readonly is: 'free' }
  | TableRows
  | { readonly is: 'raised' }
  /** With what follows from the rows that were removed with it. */
  | { readonly is: 'removed'; readonly consequences?: readonly Consequences[] }
  | { readonly is: 'used'; readonly collection: string }
  /** Rows of a collection would have to be removed with it that the caller may not remove. */
  | { readonly is: 'withheld'; readonly collection: string }
  | { readonly is: 'whose'; readonly accounts: readonly string[] }

/** The rows of a table plan. */
export function rowsIn(outcome: Outcome): readonly TableRow[] {
  if (outcome.is !== 'rows' && outcome.is !== 'present')
    throw new Error(`The store answered ${outcome.is} to a table plan.`)
  return outcome.rows
}
