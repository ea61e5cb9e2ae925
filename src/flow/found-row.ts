/** Found row: a row as the store read it, and how it is addressed. Part 1. */
/** Another row that was asked for: its text, and its revision, which names the state that the text is of. */
export interface JoinedRow {
  readonly doc: string
  readonly revision: number
}

/** A row as it is stored. */
export interface FoundRow {
  readonly is: 'found'
  readonly doc: string
  readonly hidden: string | null
  readonly revision: number
  /** The other rows that were asked for; null for one that is not there. */
  readonly joined?: readonly (JoinedRow | null)[]
  /** The text, read, where they were looked for by it. */
  readonly document?: Readonly<Record<string, unknown>>
}

/** Nothing there, or no longer. `collection` says which of the rows on the way is not there. */
export interface AbsentRow {
  readonly is: 'missing' | 'gone'
  readonly collection: string
  readonly id: string
  /** The last revision of a row that is gone, as far as it is known. */
  readonly revision: number
}

/** What a decision is made from. */
export type ReadResult = FoundRow | AbsentRow

/** One row of a collection; `parent` where it is identified below its parent. */
export interface RowKey {
  readonly id: string
  readonly parent: string | null
  /** The account that asks; where rows belong to accounts, only its own ones are there. R170. */
  readonly account: string | null
}
