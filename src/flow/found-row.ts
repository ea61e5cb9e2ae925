/** Found row: a row as the store read it, and how it is addressed. Part 1. */

/** A joined row: its document, and the revision of that document. */
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
  /** The joined rows; null for a row that does not exist. */
  readonly joined?: readonly (JoinedRow | null)[]
  /** The parsed document, if it was parsed to find the joined rows. */
  readonly document?: Readonly<Record<string, unknown>>
  /** The rows of each embed of the plan. */
  readonly embedded?: readonly EmbeddedRows[]
}

/** Rows as they are stored: their documents, joined by `documentSeparator`, and the joined rows of each join, by id. */
export interface StoredRows {
  readonly data: string
  readonly joined?: readonly ReadonlyMap<string, string>[]
}

/** Rows that are embedded in others. R232. */
export interface EmbeddedRows extends StoredRows {
  /** For each of the other rows: which of these rows it embeds, and whether its list has more. */
  readonly parts: readonly { readonly from: number; readonly count: number; readonly hasMore: boolean }[]
  readonly embedded: readonly EmbeddedRows[]
}

/** A row that does not exist (`missing`) or was deleted (`gone`): the item, or its owner if `collection` is the owner's. */
export interface AbsentRow {
  readonly is: 'missing' | 'gone'
  readonly collection: string
  readonly id: string
  /** The last revision of a deleted row, if it is known. */
  readonly revision: number
  /** The key of the item, if a write was decided from this: neither the item nor its tombstone is looked up again. */
  readonly key?: RowKey
}

/** The result of a read, from which a write is decided. */
export type ReadResult = FoundRow | AbsentRow

/** The key of a row; it includes `parent` if ids are unique only below their parent. */
export interface RowKey {
  readonly id: string
  readonly parent: string | null
  /** The caller's account; if rows belong to accounts, those of other accounts do not exist for it. R170. */
  readonly account: string | null
}

/** An event as it is stored, with its document in the current shape. R207. */
export interface StoredEvent {
  readonly id: string
  readonly position: number
  readonly collection: string
  readonly key: RowKey
  /** Names the item: its resource, by the name that stays when it is renamed, its account, its parent and its id, as JSON. */
  readonly item: string
  /** `created`, `updated`, `deleted`, or the state that a transition has entered. */
  readonly action: string
  /** The revision of the item. */
  readonly sequence: number
  readonly time: number
  readonly doc: string
  /** The rows that older versions show values of, as they were at the change, by `eventRowName`. */
  readonly joined: ReadonlyMap<string, JoinedRow>
}
