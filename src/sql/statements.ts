/** Statements: compiles plans into SQL, as text and values. Pure: it runs nothing. The store. */
import type { RowKey } from '../flow/found-row.ts'
import { type Cell, type Collection, isRecorded } from '../rows/collection.ts'
import { type Dialect, equations, quoted, rowKeyColumns } from './dialect.ts'

export interface Statement {
  readonly text: string
  readonly values: readonly Cell[]
  /** Set if the statement needs no transaction: a read that takes no lock, or a write that nothing else has to be committed with. */
  readonly autocommit?: 'read' | 'write'
  /** The statement that coalesces several of this kind into one; missing where they cannot be coalesced. */
  readonly many?: CoalescedStatement
  /** The values of the statements that this one combines; then it has no `values` of its own. */
  readonly lists?: ValueLists
  /** Set if the operation does not use the rows, so that the next statement may be sent before this one is done. */
  readonly pipelined?: true
}

/** The values of several statements, which are sent as one array per placeholder. */
export interface ValueLists {
  readonly types: CoalescedStatement['types']
  readonly rows: readonly (readonly Cell[])[]
}

/** A statement without values. */
export const plainStatement = (text: string): Statement => ({ text, values: [] })

/** One statement in place of several that differ only in their values. */
export interface CoalescedStatement {
  /** Takes an array for each value. The columns `at0`, `at1` and so on of a result identify the row that it is about. */
  readonly text: string
  /** The element types of the arrays. */
  readonly types: readonly ('text' | 'bigint')[]
  /** The indexes of the values that identify the row of a statement. */
  readonly at: readonly number[]
}

/** The SQL texts of a collection, compiled once. */
export interface StatementTexts {
  readonly read: string
  /** As `read`, with a lock: no other transaction can change or delete the row. */
  readonly readForUpdate: string
  readonly readForShare: string
  readonly exists: string
  /** As `exists`, with a lock: the row cannot be deleted until the transaction ends. */
  readonly existsShared: string
  /** Locks a row: no other transaction can change it or refer to it. */
  readonly lock: string
  /** Finds a row at a revision and locks it: no other transaction can change it or refer to it. */
  readonly lockUnchanged: string
  readonly insert: string
  readonly remove: string
}

/** The tables that all collections share. */
export const tombstoneTable = 'bylaw_tombstones'
export const metaTable = 'bylaw_meta'
/** The row of `bylaw_meta` with the stored names of all collections, so that a node notices collections that it does not know. */
export const collectionsRow = 'collections'
/** The unique values of rows of a sharded database, where no index covers all rows. */
export const reservationTable = 'bylaw_values'
/** References between rows of a sharded database, by the row that they refer to. */
export const linkTable = 'bylaw_links'
/** The running nodes, and when each was last seen. */
export const nodeTable = 'bylaw_nodes'
/** The plan files that were applied. */
export const planTable = 'bylaw_plans'
/** The lease of the process that changes the schema. */
export const leaseTable = 'bylaw_leases'

/** A table that is searched by its primary key; where rows have accounts, SQLite needs an index hint for it. */
export const tableByKey = ({ account, table }: Collection, { byKey }: Dialect): string =>
  account === null ? quoted(table) : quoted(table) + byKey(table)

export function statementTexts(collection: Collection, dialect: Dialect): StatementTexts {
  const table = tableByKey(collection, dialect)
  const names = rowKeyColumns(collection, dialect)
  const columns = collection.columns.map(({ name }) => quoted(name))
  const stored = ['revision', 'shape', 'doc', 'hidden', ...columns]
  const where = equations(names, dialect).join(' AND ')
  const all = [...names, ...stored]
  const read = `SELECT revision, shape, doc, hidden FROM ${table} WHERE ${where}`
  const exists = `SELECT 1 AS found FROM ${table} WHERE ${where}`
  const unchanged = `revision = ${dialect.mark(names.length + 1)}`
  const returnsDocument = dialect.distribute !== null || isRecorded(collection)
  return {
    read,
    readForUpdate: read + (dialect.rowLocks?.update ?? ''),
    readForShare: read + (dialect.rowLocks?.steady ?? ''),
    exists,
    existsShared: exists + (dialect.rowLocks?.shared ?? ''),
    lock: exists + (dialect.rowLocks?.exclusive ?? ''),
    lockUnchanged: `${exists} AND ${unchanged}${dialect.rowLocks?.exclusive ?? ''}`,
    insert: `INSERT INTO ${quoted(collection.table)} (${all.join(', ')}) VALUES (${all.map((_, i) => dialect.mark(i + 1)).join(', ')})`,
    remove: `DELETE FROM ${table} WHERE ${where} AND ${unchanged} RETURNING revision${returnsDocument ? ', shape, doc, hidden' : ''}`,
  }
}

/** Finds a row whose column is null. */
export const blankStatement = ({ table }: Collection, column: string): Statement => ({
  text: `SELECT 1 AS found FROM ${quoted(table)} WHERE ${quoted(column)} IS NULL LIMIT 1`,
  values: [],
})

/** Updates the texts of a row and only the cells that changed, so that all other index entries stay as they are. */
export function updateText(collection: Collection, moved: readonly number[], dialect: Dialect): string {
  const { columns } = collection
  const names = ['shape', 'doc', 'hidden', ...moved.map((i) => quoted(columns[i]?.name as string))]
  const keys = [...rowKeyColumns(collection, dialect), 'revision']
  const [set, where] = [equations(names, dialect), equations(keys, dialect, names.length + 1)]
  return `UPDATE ${tableByKey(collection, dialect)} SET revision = revision + 1, ${set.join(', ')} WHERE ${where.join(' AND ')} RETURNING revision`
}

/** Identifies a row among the tombstones of its collection: its account and parent, if they are part of its key, and its id. R137. */
export function tombstoneId({ account, composite }: Collection, key: RowKey): string {
  if (account === null && !composite) return key.id
  const before = [...(account === null ? [] : [key.account ?? '']), ...(composite ? [key.parent ?? ''] : [])]
  return [...before.map(encodeURIComponent), key.id].join('/')
}

const viewName = ({ table }: { readonly table: string }): string => quoted(`${table}_view`)
export const dropView = (one: { readonly table: string }): string => `DROP VIEW IF EXISTS ${viewName(one)}`

/** A view with a column for every field that is not write-only, for people who query with SQL. */
export function viewText(one: Collection, dialect: Dialect): string {
  const columns = one.fields
    .filter(({ writeOnly }) => !writeOnly)
    .map(({ name, kind }) => `${dialect.member(name, viewType(kind))} AS ${quoted(name)}`)
  const whose = one.account === null ? [] : [`account AS ${quoted(one.account)}`]
  return `CREATE VIEW ${viewName(one)} AS SELECT ${[...whose, ...columns].join(', ')} FROM ${quoted(one.table)}`
}

function viewType(kind: string): 'text' | 'integer' | 'numeric' | 'boolean' | 'json' {
  if (kind === 'integer' || kind === 'bigint') return 'integer'
  if (kind === 'decimal') return 'numeric'
  if (kind === 'boolean') return 'boolean'
  return kind === 'list' || kind === 'object' || kind === 'metadata' ? 'json' : 'text'
}
