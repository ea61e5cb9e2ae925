/** Compiles what a plan asks for into statements. Pure: text and values, nothing is run here. The cellar. */
import { apiKeyCollection } from '../flow/credential.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { ListRows } from '../flow/plan.ts'
import { type Cell, type Collection, keyColumns } from '../rows/collection.ts'
import { type Dialect, quoted, rowKeyColumns } from './dialect.ts'
import { isSlot, type KeyRange, listParts } from './ranges.ts'
import { orderTerm, statementBinding, whereClause } from './where.ts'

export interface Statement {
  readonly text: string
  readonly values: readonly Cell[]
  /**
   * Says that it needs no transaction around it: a read that holds nothing, or a write that is whole by itself. Such a write either ends
   * its story or changed nothing.
   */
  readonly autocommit?: 'read' | 'write'
  /** The same for several requests at once, where it can be. */
  readonly many?: CoalescedStatement
  /** Says that its story needs nothing of it: what follows may be sent before it is done. */
  readonly pipelined?: true
}

/** What several statements that differ in nothing but their values are in one. */
export interface CoalescedStatement {
  /** Takes a list for each value; its rows tell as `at0`, `at1` and so on whose they are. */
  readonly text: string
  /** What the lists are of. */
  readonly types: readonly ('text' | 'bigint')[]
  /** Which of the values name the row that a statement is about. */
  readonly at: readonly number[]
}

/** The texts of a collection's statements, made once. */
export interface StatementTexts {
  readonly read: string
  /** The same, keeping the row from being written by others. */
  readonly readForUpdate: string
  readonly exists: string
  /** The same, keeping the row from being deleted until the transaction ends. */
  readonly existsShared: string
  /** Finds a row at a revision, and keeps it from being changed or referred to. */
  readonly lockUnchanged: string
  readonly insert: string
  readonly remove: string
}

/** The tables that all collections share. */
export const tombstoneTable = 'bylaw_tombstones'
export const metaTable = 'bylaw_meta'
export const claimTable = 'bylaw_keys'
export const quotaTable = 'bylaw_quotas'
export const useTable = 'bylaw_uses'
export const credentialTable = apiKeyCollection
/** The values that have to be unique, where no index can see all rows. */
export const reservationTable = 'bylaw_values'
/** Which rows refer to a row, where these lie elsewhere. */
export const linkTable = 'bylaw_links'
/** The nodes that serve, and since when they were last seen. */
export const nodeTable = 'bylaw_nodes'
/** The plan files that were carried out. */
export const planTable = 'bylaw_plans'
/** Who changes the schema at the moment. */
export const leaseTable = 'bylaw_leases'

/** A table in a statement that seeks a row by its key. */
const tableByKey = ({ account, table }: Collection, { byKey }: Dialect): string =>
  account === null ? quoted(table) : quoted(table) + byKey(table)

export function statementTexts(collection: Collection, dialect: Dialect): StatementTexts {
  const table = tableByKey(collection, dialect)
  const names = rowKeyColumns(collection, dialect)
  const columns = collection.columns.map(({ name }) => quoted(name))
  const stored = ['revision', 'shape', 'doc', 'hidden', ...columns]
  const where = (from: number) => names.map((name, i) => `${name} = ${dialect.mark(from + i)}`).join(' AND ')
  const all = [...names, ...stored]
  const read = `SELECT revision, shape, doc, hidden FROM ${table} WHERE ${where(1)}`
  const exists = `SELECT 1 AS found FROM ${table} WHERE ${where(1)}`
  const unchanged = `revision = ${dialect.mark(names.length + 1)}`
  return {
    read,
    readForUpdate: read + (dialect.rowLocks?.update ?? ''),
    exists,
    existsShared: exists + (dialect.rowLocks?.shared ?? ''),
    lockUnchanged: `${exists} AND ${unchanged}${dialect.rowLocks?.exclusive ?? ''}`,
    insert: `INSERT INTO ${quoted(collection.table)} (${all.join(', ')}) VALUES (${all.map((_, i) => dialect.mark(i + 1)).join(', ')})`,
    remove: `DELETE FROM ${table} WHERE ${where(1)} AND ${unchanged} RETURNING revision${dialect.distribute ? ', shape, doc, hidden' : ''}`,
  }
}

/** Finds a row that has no value in a column. */
export const blankStatement = ({ table }: Collection, column: string): Statement => ({
  text: `SELECT 1 AS found FROM ${quoted(table)} WHERE ${quoted(column)} IS NULL LIMIT 1`,
  values: [],
})

/** New texts for a row, and new cells where they moved: every other index entry stays as it is. */
export function updateText(collection: Collection, moved: readonly number[], dialect: Dialect): string {
  const { columns } = collection
  const names = ['shape', 'doc', 'hidden', ...moved.map((i) => quoted(columns[i]?.name as string))]
  const keys = [...rowKeyColumns(collection, dialect), 'revision']
  const [set, where] = [names, keys].map((all, part) =>
    all.map((name, i) => `${name} = ${dialect.mark(part * names.length + i + 1)}`),
  ) as [string[], string[]]
  return `UPDATE ${tableByKey(collection, dialect)} SET revision = revision + 1, ${set.join(', ')} WHERE ${where.join(' AND ')} RETURNING revision`
}

/** What names a row among all that were deleted. R137. */
export function tombstoneId({ account, composite }: Collection, key: RowKey): string {
  if (account === null && !composite) return key.id
  const before = [...(account === null ? [] : [key.account ?? '']), ...(composite ? [key.parent ?? ''] : [])]
  return [...before.map(encodeURIComponent), key.id].join('/')
}

/** A statement with values in its slots. */
export const fillSlots = ({ text, values }: Statement, cells: readonly Cell[]): Statement => ({
  text,
  values: values.map((value) => (isSlot(value) ? (cells[value.slot] as Cell) : value)),
})

/** How many rows to pass over, and how many to take. */
export interface OffsetAndLimit {
  readonly offset: Cell
  readonly limit: number
  /** With what is never answered, which rows of other shapes are made from. */
  readonly withWriteOnly?: boolean
}

/** The rows of one stretch of a list. */
export function listStatement(
  collection: Collection,
  plan: ListRows,
  stretch: KeyRange,
  cut: OffsetAndLimit,
  dialect: Dialect,
): Statement {
  const { say } = statementBinding(dialect, collection, plan)
  const places = plan.withPositions
    ? plan.order.map(({ column }, i) => `, CAST(${say(column)} AS TEXT) AS place${i}`).join('')
    : ''
  return selectStatement(
    `${cut.withWriteOnly ? 'doc, shape, hidden' : 'doc, shape'}${places}`,
    collection,
    plan,
    stretch,
    cut,
    dialect,
  )
}

/** Finds out whether a stretch has a row. */
export const probeStatement = (
  collection: Collection,
  plan: ListRows,
  stretch: KeyRange,
  dialect: Dialect,
): Statement => selectStatement('1 AS found', collection, plan, stretch, { offset: 0, limit: 1 }, dialect)

function selectStatement(
  what: string,
  collection: Collection,
  plan: ListRows,
  stretch: KeyRange,
  cut: OffsetAndLimit,
  dialect: Dialect,
): Statement {
  const isFar = dialect.passesKeys && cut.offset !== 0 && !plan.order.some(({ reach }) => reach)
  return isFar
    ? selectViaKeys(what, collection, plan, stretch, cut, dialect)
    : selectDirectly(what, collection, plan, stretch, cut, dialect)
}

/** What is passed over is asked for its keys, which an index has; the rows of the page alone are fetched. */
function selectViaKeys(
  what: string,
  collection: Collection,
  plan: ListRows,
  stretch: KeyRange,
  cut: OffsetAndLimit,
  dialect: Dialect,
): Statement {
  const key = keyColumns(collection)
  const keys = selectDirectly(
    key.map((name, i) => `${name} AS key${i}`).join(', '),
    collection,
    plan,
    stretch,
    cut,
    dialect,
  )
  const same = key.map((name, i) => `own.${name} = key${i}`).join(' AND ')
  const said = statementBinding(dialect, collection, plan)
  const order = stretch.order.map((one) => orderTerm(one, said)).join(', ')
  const sorted = order === '' ? '' : ` ORDER BY ${order}`
  const text = `SELECT ${what} FROM (${keys.text}) AS place JOIN ${quoted(collection.table)} AS own ON ${same}${sorted}`
  return { text, values: keys.values }
}

function selectDirectly(
  what: string,
  collection: Collection,
  plan: ListRows,
  stretch: KeyRange,
  { offset, limit }: OffsetAndLimit,
  dialect: Dialect,
): Statement {
  const binding_ = statementBinding(dialect, collection, plan)
  const { bind, values, from, say } = binding_
  const parts = dialect.cutsParts && offset !== 0 ? [plan.where] : listParts(collection, plan, dialect)
  const merged = parts.length > 1
  const shown = merged ? what + stretch.order.map(({ column }, i) => `, ${say(column)} AS sorted${i}`).join('') : what
  const ordered = (say_: typeof say) => {
    const terms = stretch.order.map((one) => orderTerm(one, { ...binding_, say: say_ }))
    return terms.length === 0 ? '' : ` ORDER BY ${terms.join(', ')}`
  }
  const all = parts
    .map(
      (where) => `SELECT ${shown} FROM ${from}${whereClause(collection, { ...plan, where }, stretch.bounds, binding_)}`,
    )
    .map((text) => (merged && dialect.cutsParts ? `(${text}${ordered(say)} LIMIT 0 + ${Math.trunc(limit)})` : text))
    .join(' UNION ALL ')
  const order = ordered(merged ? (column) => `sorted${stretch.order.findIndex((one) => one.column === column)}` : say)
  // Written out: SQLite plans a statement anew each time a bound limit is set, PostgreSQL plans badly for any limit. As a sum: for a
  // small number SQLite takes reading and sorting a whole table for cheaper than an index that leaves a little to be sorted.
  const cut = ` LIMIT 0 + ${Math.trunc(limit)}${offset === 0 ? '' : ` OFFSET ${bind(offset)}`}`
  // What parts are merged by is not told: an integer may be too large for who reads the rows.
  const told = what.split(', ').map((one) => one.split(' AS ').at(-1))
  const text = `${all}${order}${cut}`
  return { text: merged ? `SELECT ${told.join(', ')} FROM (${text}) AS merged` : text, values }
}

/** What stands between joined documents, and nowhere inside them. */
export const documentSeparator = ',\n'

/** The rows of a list in one: a page costs half of what its rows cost one by one. */
export const aggregateStatement = ({ text, values }: Statement, { documentsAggregate }: Dialect): Statement => ({
  text: `SELECT count(*) AS count, min(shape) AS oldest, max(shape) AS newest, ${documentsAggregate} AS docs FROM (${text}) AS page`,
  values,
})

/** How many rows match, or match within a stretch, counted no further than needed. */
export function countStatement(
  collection: Collection,
  plan: ListRows,
  stretch: KeyRange | null,
  upTo: number,
  dialect: Dialect,
): Statement {
  const binding_ = statementBinding(dialect, collection, plan)
  const where = whereClause(collection, plan, stretch?.bounds ?? [], binding_)
  const from = stretch === null ? quoted(collection.table) : binding_.from // a whole list has no order to be counted by
  const some = `SELECT 1 FROM ${from}${where} LIMIT ${binding_.bind(upTo)}`
  return { text: `SELECT count(*) AS total FROM (${some}) AS matching`, values: binding_.values }
}

const viewName = ({ table }: { readonly table: string }): string => quoted(`${table}_view`)
export const dropView = (one: { readonly table: string }): string => `DROP VIEW IF EXISTS ${viewName(one)}`

/** Every field under its own name, for people who ask with SQL. */
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
