/** Table: a table of the service's own and the operations on it, as data that is declared once. Part 1. */

/** The type of a column; one with a question mark may be null. */
export type TableColumn = 'text' | 'integer' | 'text?' | 'integer?'

export interface Table {
  readonly name: string
  /** The columns in their order. */
  readonly columns: Readonly<Record<string, TableColumn>>
  readonly key: readonly string[]
  /** The column with the name of a resource. The first name of the resource is stored, so that a rename keeps the rows. */
  readonly resource?: string
  /** The column that decides on which shard a row is stored; without one, the whole table is on one machine. */
  readonly shardKey?: string
  readonly indexes?: readonly TableIndex[]
  /** How it is created in new SQLite files: as a table with another key, or as a view that accepts rows without storing them. */
  readonly onSqlite?: Pick<Table, 'key' | 'indexes'> | { readonly view: string }
}

interface TableIndex {
  readonly name: string
  readonly columns: readonly string[]
  readonly unique?: true
}

/** A condition for each column: it equals a value, is null, is one of several texts, or is within bounds. All values are named. */
export type TableMatch = Readonly<
  Record<string, string | null | { readonly in: string } | { readonly above?: string; readonly upTo?: string }>
>

/** The rows that meet a condition, or the first ones of an order; a column with a minus sign is descending. */
interface SomeRows {
  readonly table: Table
  readonly where: TableMatch
  readonly order?: readonly string[]
  readonly limit?: number
  /** Names a value of the shard key: only its shard is searched. */
  readonly near?: string
}

interface FindRows extends SomeRows {
  readonly do: 'find'
}

/** Inserts a row, or returns the existing row. */
export interface InsertRow {
  readonly do: 'insert'
  readonly table: Table
  /** The columns of a unique index that identify the row; by default those of the key. */
  readonly by?: readonly string[]
  /** Replaces the existing row if it meets this. */
  readonly replaces?: TableMatch
}

/** Sets columns to named values and returns the changed rows. With a limit, rows that others have locked are skipped. */
interface SetRows extends SomeRows {
  readonly do: 'set'
  readonly to: Readonly<Record<string, string | { readonly column: string }>>
}

/** Adds to numbers of a row and returns it; a missing row is inserted. */
export interface AddToRow {
  readonly do: 'add'
  readonly table: Table
  /** The columns that are added up, and those that keep the greater value; others keep the stored one. */
  readonly sums: readonly string[]
  readonly greatest?: readonly string[]
  /** A row that does not meet this is replaced. */
  readonly while?: TableMatch
}

/** Deletes rows. */
interface SweepRows extends SomeRows {
  readonly do: 'sweep'
}

export type TableOperation = FindRows | InsertRow | SetRows | AddToRow | SweepRows

export type TableValue = string | number | null
export type TableRow = Readonly<Record<string, TableValue>>

/** Runs an operation with values by their names; the columns of a row to insert are values too, missing ones are null. */
export interface TablePlan {
  readonly do: 'table'
  readonly run: TableOperation
  readonly values: Readonly<Record<string, TableValue | readonly string[]>>
}

export const tablePlan = (run: TableOperation, values: TablePlan['values'] = {}): TablePlan => ({
  do: 'table',
  run,
  values,
})

/** Several writes in this order, committed together. */
export interface SeveralWrites {
  readonly do: 'several'
  readonly writes: readonly TablePlan[]
}

/** The rows that were found, inserted or changed; or the row that an insert found in its place. */
export interface TableRows {
  readonly is: 'rows' | 'present'
  readonly rows: readonly TableRow[]
}
