/** Stored layout: the description of the tables that a database keeps. Pure. The store. */

import type { Behaviour, Renaming } from '../rows/collection.ts'

/** The stored layout of one collection's table. */
export interface TableLayout {
  readonly table: string
  /** The name of the collection in tombstones and idempotency keys, if it differs from its own. */
  readonly called?: string
  readonly identity: string
  readonly composite: boolean
  /** The declared name of the account that rows belong to; missing if they belong to no account. */
  readonly account?: string
  /** Columns by their name in the database: their type, how their values are made, and the field whose values they repeat. */
  readonly columns: Readonly<Record<string, { readonly type: string; readonly form: string; readonly field?: string }>>
  /** The columns that old rows lack until the change is finished. */
  readonly pending: readonly string[]
  /** Index names and their columns; unique ones begin with `unique`. */
  readonly indexes: Readonly<Record<string, readonly string[]>>
  /** The unique indexes that cannot cover all shards; their values are reserved in a shared table instead. */
  readonly reserved?: readonly string[]
  /** The kinds of fields by their path. */
  readonly kinds: Readonly<Record<string, string>>
  /** The statement that creates the view. */
  readonly view: string
  /** The structure of documents by shape number, counted from 1; each change of documents or columns adds one. */
  readonly shapes: readonly string[]
  /** The number of the shape that is written now. */
  readonly shape: number
  /** The fields that were renamed, in the order of the shapes; missing if none was. */
  readonly renamed?: readonly Renaming[]
  /** The version that all rows have at least, if no structure name contains it. */
  readonly since?: string
  /** The states, timers and rules that nodes of this declaration apply to writes. */
  readonly behaviour?: Behaviour
}

export interface Layout {
  /** The version of the layout format; a newer one is refused. */
  readonly layout: number
  /** The tables that all collections share. */
  readonly shared: readonly string[]
  readonly tables: Readonly<Record<string, TableLayout>>
  /** Whether some steps still wait until all old nodes have stopped. */
  readonly open: boolean
  /** Set if old nodes cannot run any more, although some steps are not done yet. */
  readonly alone?: true
  /** Set if rows are distributed over shards by their shard key. */
  readonly spread?: true
}

/** The names of all collections in tombstones, idempotency keys and events, as JSON. */
export const storedNamesIn = ({ tables }: Layout): string =>
  JSON.stringify(Object.entries(tables).map(([name, { called = name }]) => called))

/** The format version during a change that nodes of earlier releases cannot serve, as they do not merge writes. */
export const mergingLayoutVersion = 4

/** Releases that do not support shards understand only version 2. */
export const layoutVersionOf = ({ spread }: Pick<Layout, 'spread'>): number => (spread ? 3 : 2)
