/** Remembered: what a database remembers of its tables. Pure. The cellar. */

/** What is stored of one collection, as far as its tables depend on it. */
export interface TableLayout {
  readonly table: string
  /** What tombstones and keys call the collection, where that is not its name. */
  readonly called?: string
  readonly identity: string
  readonly composite: boolean
  /** What the account that rows belong to is called; missing where they belong to nobody. */
  readonly account?: string
  /** Columns by their name in the database: their type, how their values are made, and the field that they repeat. */
  readonly columns: Readonly<Record<string, { readonly type: string; readonly form: string; readonly field?: string }>>
  /** The columns that rows of before do not have until the change is finished. */
  readonly pending: readonly string[]
  /** Index names and their columns; unique ones begin with `unique`. */
  readonly indexes: Readonly<Record<string, readonly string[]>>
  /** What no index can keep unique, as rows are spread; there are rows of their own for these values. */
  readonly reserved?: readonly string[]
  /** The kinds of fields by their path. */
  readonly kinds: Readonly<Record<string, string>>
  /** The statement that makes the view. */
  readonly view: string
  /** The structure of documents by the number of their shape, counted from 1: a new one for every change of documents or columns. */
  readonly shapes: readonly string[]
  /** The number of the shape that is written now. */
  readonly shape: number
  /** The version that all rows are of at least, where no name of a structure says it. */
  readonly since?: string
}

export interface Layout {
  /** The version of this layout itself: a newer one is not understood. */
  readonly layout: number
  /** The tables that all collections share. */
  readonly shared: readonly string[]
  readonly tables: Readonly<Record<string, TableLayout>>
  /** Whether steps that wait for the nodes of before are still to be done. */
  readonly open: boolean
  /** Whether nodes of the declaration before can run no more, though steps are still to be done. */
  readonly alone?: true
  /** Whether rows are spread over machines by their home; missing where all lie together. */
  readonly spread?: true
}

/** The version of a layout between the phases of a change that nodes of earlier releases cannot serve: they do not merge writes. */
export const mergingLayoutVersion = 4

/** Releases before that of rows that are spread know of no other version. */
export const layoutVersionOf = ({ spread }: Pick<Layout, 'spread'>): number => (spread ? 3 : 2)
