/** Statements: compiles plans into SQL, as text and values. Pure: it runs nothing. The cellar. */
import type { RowKey } from '../flow/found-row.ts'
import type { ListRows } from '../flow/plan.ts'
import { type Cell, type Collection, keyColumns } from '../rows/collection.ts'
import { type Dialect, equations, quoted, rowKeyColumns } from './dialect.ts'
import { alternativeParts, isSlot, type KeyRange, listParts, withStricterBounds } from './ranges.ts'
import { orderTerm, type StatementBinding, statementBinding, whereClause } from './where.ts'

export interface Statement {
  readonly text: string
  readonly values: readonly Cell[]
  /**
   * Set if the statement needs no transaction: a read that takes no lock, or a write after which nothing follows that has to
   * commit with it.
   */
  readonly autocommit?: 'read' | 'write'
  /** The statement that coalesces several of this kind into one; missing where they cannot be coalesced. */
  readonly many?: CoalescedStatement
  /** Set if the operation does not use the rows, so that the next statement may be sent before this one is done. */
  readonly pipelined?: true
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
/** The row of `bylaw_meta` with the stored names of all collections, so that a node finds out that there are more than it knows. */
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
const tableByKey = ({ account, table }: Collection, { byKey }: Dialect): string =>
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
  const returnsDocument = dialect.distribute !== null || collection.eventPrefix !== undefined
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

/**
 * Identifies a row among the tombstones of its collection: its account and parent, if they are part of its key, and its id.
 * R137.
 */
export function tombstoneId({ account, composite }: Collection, key: RowKey): string {
  if (account === null && !composite) return key.id
  const before = [...(account === null ? [] : [key.account ?? '']), ...(composite ? [key.parent ?? ''] : [])]
  return [...before.map(encodeURIComponent), key.id].join('/')
}

/** Replaces the slots of a statement by values. */
export const fillSlots = ({ text, values }: Statement, cells: readonly Cell[]): Statement => ({
  text,
  values: values.map((value) => (isSlot(value) ? (cells[value.slot] as Cell) : value)),
})

export interface OffsetAndLimit {
  readonly offset: Cell
  readonly limit: number
  /** Whether to read the write-only fields too, which documents of other shapes are converted from. */
  readonly withWriteOnly?: boolean
}

/** The rows of one key range of a list. */
export function listStatement(
  collection: Collection,
  plan: ListRows,
  range: KeyRange,
  cut: OffsetAndLimit,
  dialect: Dialect,
): Statement {
  const places = plan.withPositions ? placesOf(collection, plan, dialect) : ''
  const what = `${cut.withWriteOnly ? 'doc, shape, hidden' : 'doc, shape'}${places}`
  return selectStatement({ what, collection, plan, range, cut, dialect })
}

function placesOf(collection: Collection, plan: ListRows, dialect: Dialect): string {
  const { say } = statementBinding(dialect, collection, plan)
  return plan.order.map(({ column }, i) => `, CAST(${say(column)} AS TEXT) AS place${i}`).join('')
}

const listKeys = (collection: Collection): string =>
  keyColumns(collection)
    .map((name, i) => `${name} AS key${i}`)
    .join(', ')

/** The shard keys, keys and positions of the rows of one key range, for `listedDocuments`. */
export const listedKeys = (
  collection: Collection,
  plan: ListRows,
  range: KeyRange,
  cut: OffsetAndLimit,
  dialect: Dialect,
): Statement => {
  const what = `home, ${listKeys(collection)}${placesOf(collection, plan, dialect)}`
  return selectStatement({ what, collection, plan, range, cut, dialect })
}

/** The documents of rows with some shard keys and ids, if they still match the filters of the list. */
export function listedDocuments(
  collection: Collection,
  plan: ListRows,
  [homes, ids]: readonly [Cell, Cell],
  dialect: Dialect,
): Statement {
  const binding = statementBinding(dialect, collection, plan)
  const where = whereClause(collection, plan, [], binding) || ' WHERE 1 = 1'
  const own = `home = ANY(CAST(${binding.bind(homes)} AS integer[])) AND id = ANY(CAST(${binding.bind(ids)} AS text[]))`
  const text = `SELECT doc, shape, hidden, ${listKeys(collection)} FROM ${quoted(collection.table)}${where} AND ${own}`
  return { text, values: binding.values }
}

/** Finds out whether a key range has a row. */
export const probeStatement = (collection: Collection, plan: ListRows, range: KeyRange, dialect: Dialect): Statement =>
  selectStatement({ what: '1 AS found', collection, plan, range, cut: { offset: 0, limit: 1 }, dialect })

/** The columns to select, and the rows of a key range to select them from. */
interface Selection {
  readonly what: string
  readonly collection: Collection
  readonly plan: ListRows
  readonly range: KeyRange
  readonly cut: OffsetAndLimit
  readonly dialect: Dialect
}

function selectStatement(selection: Selection): Statement {
  const { collection, plan, cut, dialect } = selection
  const parts = cut.offset === 0 ? alternativeParts(collection, plan, dialect) : []
  if (parts.length > 0) return selectViaParts(selection, parts)
  const isFar = dialect.passesKeys && cut.offset !== 0 && !plan.order.some(({ reach }) => reach)
  return isFar ? selectViaKeys(selection) : selectDirectly(selection)
}

/** Skips rows by their keys alone, which the index contains, and fetches only the rows of the page. */
function selectViaKeys(selection: Selection): Statement {
  const { what, collection, plan, range, dialect } = selection
  const key = keyColumns(collection)
  const keys = selectDirectly({ ...selection, what: key.map((name, i) => `${name} AS key${i}`).join(', ') })
  const same = key.map((name, i) => `own.${name} = key${i}`).join(' AND ')
  const order = orderClause(range, statementBinding(dialect, collection, plan))
  const text = `SELECT ${what} FROM (${keys.text}) AS place JOIN ${quoted(collection.table)} AS own ON ${same}${order}`
  return { text, values: keys.values }
}

/**
 * Reads as many rows of each part as the page has, by their keys, and the page from these. Each part is read in the order of
 * an index, so that the cost does not depend on how many rows match, or how many of them match several parts.
 */
function selectViaParts(selection: Selection, parts: readonly ListRows['where'][]): Statement {
  const { what, collection, plan, range, cut, dialect } = selection
  const binding = statementBinding(dialect, collection, plan)
  const key = keyColumns(collection)
  const keys = key.map((name, i) => `${name} AS key${i}`).join(', ')
  const all = parts.map((where, i) => {
    const part = withStricterBounds(where, range, plan)
    const [ofPart, ofRange] = [
      { ...plan, where: part.where },
      { ...range, bounds: part.bounds },
    ]
    const { text } = selectDirectly({ ...selection, what: keys, plan: ofPart, range: ofRange }, binding)
    return `SELECT * FROM (${text}) AS part${i}`
  })
  const same = key.map((name, i) => `own.${name} = key${i}`).join(' AND ')
  // SQLite joins in the order of a cross join.
  const from = `(${all.join(' UNION ')}) AS place CROSS JOIN ${quoted(collection.table)} AS own`
  const text = `SELECT ${what} FROM ${from} WHERE ${same}${orderClause(range, binding)}${limitClause(cut.limit)}`
  return { text, values: binding.values }
}

const limitClause = (limit: number): string => ` LIMIT 0 + ${Math.trunc(limit)}`

const orderClause = ({ order }: KeyRange, binding: StatementBinding): string =>
  order.length === 0 ? '' : ` ORDER BY ${order.map((one) => orderTerm(one, binding)).join(', ')}`

function selectDirectly(
  { what, collection, plan, range, cut: { offset, limit }, dialect }: Selection,
  binding_ = statementBinding(dialect, collection, plan),
): Statement {
  const { bind, values, from, say } = binding_
  const parts = dialect.cutsParts && offset !== 0 ? [plan.where] : listParts(collection, plan, dialect)
  const merged = parts.length > 1
  const shown = merged ? what + range.order.map(({ column }, i) => `, ${say(column)} AS sorted${i}`).join('') : what
  const all = parts
    .map(
      (where) => `SELECT ${shown} FROM ${from}${whereClause(collection, { ...plan, where }, range.bounds, binding_)}`,
    )
    .map((text) =>
      merged && dialect.cutsParts ? `(${text}${orderClause(range, binding_)}${limitClause(limit)})` : text,
    )
    .join(' UNION ALL ')
  const sorted = (column: string) => `sorted${range.order.findIndex((one) => one.column === column)}`
  const order = orderClause(range, merged ? { ...binding_, say: sorted } : binding_)
  // The limit is a literal: SQLite plans a statement again each time a bound limit is set, and PostgreSQL plans badly if it
  // does not know the limit. It is a sum: for a small literal, SQLite prefers to read and sort the whole table to an index
  // that leaves a little to sort.
  const cut = `${limitClause(limit)}${offset === 0 ? '' : ` OFFSET ${bind(offset)}`}`
  // The columns that parts are merged by are left out of the result: an integer may be too large for the driver.
  const resultColumns = what.split(', ').map((one) => one.split(' AS ').at(-1))
  const text = `${all}${order}${cut}`
  return { text: merged ? `SELECT ${resultColumns.join(', ')} FROM (${text}) AS merged` : text, values }
}

/** Aggregates the rows of a list into one row: a page costs half of what its rows cost one by one. */
export const aggregateStatement = ({ text, values }: Statement, { documentsAggregate }: Dialect): Statement => ({
  text: `SELECT count(*) AS count, min(shape) AS oldest, max(shape) AS newest, ${documentsAggregate} AS docs FROM (${text}) AS page`,
  values,
})

/**
 * Counts the rows that match, in a whole list or in a key range, up to a limit; on a sharded database all of them, as each shard
 * counts its own and would send as many rows as the limit otherwise.
 */
export function countStatement(
  collection: Collection,
  plan: ListRows,
  range: KeyRange | null,
  upTo: number,
  dialect: Dialect,
): Statement {
  const binding_ = statementBinding(dialect, collection, plan)
  const where = whereClause(collection, plan, range?.bounds ?? [], binding_)
  const from = range === null ? quoted(collection.table) : binding_.from // a count needs no order, so no joins
  if (dialect.distribute) return { text: `SELECT count(*) AS total FROM ${from}${where}`, values: binding_.values }
  const some = `SELECT 1 FROM ${from}${where} LIMIT ${binding_.bind(upTo)}`
  return { text: `SELECT count(*) AS total FROM (${some}) AS matching`, values: binding_.values }
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
