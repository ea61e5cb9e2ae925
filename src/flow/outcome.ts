/** Outcome: the result of a plan. Part 1. */

import type { Reference } from '../rows/collection.ts'
import type {
  AbsentRow,
  EmbeddedRows,
  FoundRow,
  JoinedRow,
  ReadResult,
  RowKey,
  StoredEvent,
  StoredRows,
} from './found-row.ts'
import type { Consequences, FamilyRows, WaitingParts } from './plan.ts'
import type { TableRow, TableRows } from './table.ts'

/** Separates the documents of a page. It cannot occur inside one, as JSON.stringify writes no line breaks. */
export const documentSeparator = ',\n'

export interface Page extends StoredRows {
  readonly is: 'page'
  readonly count: number
  /** The positions of the first and the last row, for cursors; null if they were not requested or there are no rows. */
  readonly first: Position | null
  readonly last: Position | null
  /** Whether there are rows before the first and after the last one. */
  readonly hasBefore: boolean
  readonly hasAfter: boolean
  /** How many rows match; null if they were not counted, or if there are more than the limit of the count. */
  readonly total: number | null
  /** The rows of each embed of the plan. */
  readonly embedded?: readonly EmbeddedRows[]
  /** The parsed documents, if they were parsed to find the joined rows. */
  readonly documents?: readonly Readonly<Record<string, unknown>>[]
}

/**
 * All rows of a list, page by page, from one state of the store. The state is closed after the last page, by `close`, or when
 * no page has been asked for in a while.
 */
export interface PageStream {
  readonly is: 'pages'
  readonly first: Page
  readonly rest: AsyncGenerator<Page, void>
  readonly close: () => void
}

/** The values that a row is ordered by, each as the database's text. */
export type Position = readonly (string | null)[]

/** A group of the rows of a list. Keys and values are those of columns, as texts. */
export interface SummarizedGroup {
  readonly key: readonly (string | null)[]
  readonly count: number
  readonly values: readonly {
    /** How many rows have a value; the number of all rows if the plan does not read it. */
    readonly filled: bigint
    readonly sum: bigint
    readonly least: string | null
    readonly greatest: string | null
  }[]
}

/** The groups of a summary, in no order. */
export interface RowGroups {
  readonly is: 'groups'
  readonly groups: readonly SummarizedGroup[]
}

export interface WrittenRow {
  readonly is: 'created' | 'changed'
  readonly doc: string
  readonly revision: number
  readonly joined?: readonly (JoinedRow | null)[]
  /** The rows of each embed of the plan. */
  readonly embedded?: readonly EmbeddedRows[]
}

/** A committed write whose plan has an answer of its own. */
interface AnsweredWrite {
  readonly is: 'answered'
  readonly doc: string
  readonly revision: 0
  /** The version whose form a batch has answered in. */
  readonly version?: string
}

/** The outcome of each plan; those of plans that were kept apart can be errors. */
export interface SeveralOutcomes {
  readonly is: 'several'
  readonly outcomes: readonly (Outcome | { readonly is: 'refused'; readonly error: unknown })[]
}

/** A value that must be unique is in use. */
export interface Duplicate {
  readonly is: 'duplicate'
  readonly fields: readonly string[]
  /** The collection of the refused row; missing if it can only be that of the request. */
  readonly collection?: string
}

/** A reference names a row that does not exist. */
export interface MissingReferences {
  readonly is: 'unmet'
  readonly references: readonly Reference[]
  readonly collection?: string
}

/** An idempotency key that was used before, with the item of the first request. */
export interface PriorClaim {
  readonly is: 'claimed'
  readonly collection: string
  readonly id: string
  readonly parent: string | null
  readonly fingerprint: string
  /** The first answer, if it was kept. */
  readonly answer: {
    readonly doc: string
    readonly revision: number
    readonly joined?: readonly (JoinedRow | null)[]
    /** For the output of an operation: the newest version when it was stored. For the answer of a batch: the version that made it. */
    readonly version?: string
  } | null
}

export const eventRowName = (collection: string, id: unknown): string => `${collection} ${id}`

/** Events in the order of their positions. */
export interface EventPage {
  readonly is: 'events'
  readonly events: readonly StoredEvent[]
  /** The last position that was read. */
  readonly position: number
  /** The position of the last event; if it is greater than `position`, there are more events. */
  readonly head: number
  /** The first position that is still stored, minus one. */
  readonly base: number
  /** Set if events follow that only nodes of a newer declaration can show. */
  readonly stops?: boolean
}

/** A revision of a row, with the revision before it; null if none is kept. R237. */
export interface StoredRevision {
  readonly event: StoredEvent
  /** The id of the caller; null for the service itself and for callers without credentials. */
  readonly by: string | null
  readonly before: StoredEvent | null
}

export interface RevisionPage {
  readonly is: 'revisions'
  readonly revisions: readonly StoredRevision[]
  /** The number before which others may follow; null if there are none. */
  readonly next: number | null
}

/** The kinds of records that an erasure counts, in the words of its report. */
export type ErasedKind = 'events' | 'revisions' | 'idempotency keys' | 'dropped values'

/** The counts of emptied records of a row, and the further places where an erasure has to look. */
export interface ErasedRecords {
  readonly is: 'erased'
  readonly emptied: Readonly<Record<ErasedKind, number>>
  /** The ids of the events of the row, and of those that show values of it. */
  readonly events: readonly string[]
  /** The names of the contents of personal files that records had. */
  readonly contents: readonly string[]
  /** The rows that belong to it and were removed. */
  readonly removed: readonly { readonly collection: string; readonly key: RowKey }[]
}

/** The outcomes of committed writes; any other outcome of a write is rolled back. */
const committedKinds: ReadonlySet<Outcome['is']> = new Set([
  'created',
  'answered',
  'changed',
  'removed',
  'kept',
  'caughtUp',
  'numbered',
  'swept',
  'rows',
  'present',
  'erased',
])

export const isCommitted = ({ is }: Outcome): boolean => committedKinds.has(is)

export type Outcome =
  | FoundRow
  | AbsentRow
  | Page
  | PageStream
  | RowGroups
  | WrittenRow
  | AnsweredWrite
  | Duplicate
  | MissingReferences
  | { readonly is: 'kept'; readonly current: ReadResult }
  | PriorClaim
  | { readonly is: 'free' }
  | SeveralOutcomes
  | FamilyRows
  | WaitingParts
  | TableRows
  | { readonly is: 'caughtUp'; readonly more: boolean }
  /** The last position; `more` if events still wait for theirs. */
  | { readonly is: 'numbered'; readonly position: number; readonly more: boolean }
  /** Old events were deleted; `more` if there may be others. */
  | { readonly is: 'swept'; readonly more: boolean }
  | EventPage
  | RevisionPage
  | ErasedRecords
  /** With the consequences of rows that a cascade removed. */
  | { readonly is: 'removed'; readonly consequences?: readonly Consequences[] }
  | { readonly is: 'used'; readonly collection: string }
  /** A cascade would remove rows of this collection, which the caller may not remove. */
  | { readonly is: 'withheld'; readonly collection: string }
  | { readonly is: 'whose'; readonly accounts: readonly string[] }
  /** How many rows of each collection a removal would delete, its own included. */
  | { readonly is: 'removable'; readonly rows: ReadonlyMap<string, number> }

/** The rows of a table plan. */
export function rowsIn(outcome: Outcome): readonly TableRow[] {
  if (outcome.is !== 'rows' && outcome.is !== 'present')
    throw new Error(`The store answered ${outcome.is} to a table plan.`)
  return outcome.rows
}
