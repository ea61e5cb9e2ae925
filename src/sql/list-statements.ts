/** List statements: compiles lists, their totals and their pages into SQL. The store. */
import { isRelevance, type ListRows } from '../flow/plan.ts'
import { type Cell, type Collection, keyColumns } from '../rows/collection.ts'
import { type Dialect, quoted } from './dialect.ts'
import { alternativeParts, isSlot, type KeyRange, listParts, withStricterBounds } from './ranges.ts'
import type { Statement } from './statements.ts'
import { orderTerm, type StatementBinding, statementBinding, whereClause } from './where.ts'

/** Replaces the slots of a statement by values. */
export const fillSlots = ({ text, values }: Statement, cells: readonly Cell[]): Statement => ({
  text,
  values: values.map((value) => (isSlot(value) ? (cells[value.slot] as Cell) : value)),
})

/** Values as the text of an array of PostgreSQL. */
export const arrayText = (values: readonly unknown[]): string =>
  `{${values.map((value) => `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`

export interface OffsetAndLimit {
  readonly offset: Cell
  readonly limit: number
  /** Whether to read the write-only fields too, which conversions of other shapes need. */
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
  const { say } = statementBinding(dialect, collection, { ...plan, where: [] })
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
  const binding = statementBinding(dialect, collection, { ...plan, order: [] })
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
  // An order by joined columns or by relevance needs more than the keys.
  const isOwn = plan.order.every((term) => !term.reach && !isRelevance(term))
  const isFar = dialect.passesKeys && cut.offset !== 0 && isOwn
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

export function selectDirectly(
  { what, collection, plan, range, cut: { offset, limit }, dialect }: Selection,
  binding_ = statementBinding(dialect, collection, plan),
): Statement {
  const { bind, values, from, say } = binding_
  const parts = dialect.cutsParts && offset !== 0 ? [plan.where] : listParts(collection, plan, dialect)
  const merged = parts.length > 1
  const selection = merged ? what + range.order.map(({ column }, i) => `, ${say(column)} AS sorted${i}`).join('') : what
  const all = parts
    .map(
      (where) =>
        `SELECT ${selection} FROM ${from}${whereClause(collection, { ...plan, where }, range.bounds, binding_)}`,
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
  // The result leaves out the columns by which parts are merged: an integer could be too large for the driver.
  const resultColumns = what.split(', ').map((one) => one.split(' AS ').at(-1))
  const text = `${all}${order}${cut}`
  return { text: merged ? `SELECT ${resultColumns.join(', ')} FROM (${text}) AS merged` : text, values }
}

/**
 * Aggregates the rows of a list into one row: a page costs half of what its rows cost one by one. With `ranked` their
 * relevance is aggregated too, which no document contains.
 */
export function aggregateStatement(selection: Omit<Selection, 'what'>, ranked: boolean): Statement {
  const [column, all] = ranked ? [', relevance', ", string_agg(CAST(relevance AS TEXT), ',') AS ranks"] : ['', '']
  const { text, values } = selectStatement({ ...selection, what: `doc, shape${column}` })
  const docs = `${selection.dialect.documentsAggregate} AS docs${all}`
  const shapes = 'min(shape) AS oldest, max(shape) AS newest'
  return { text: `SELECT count(*) AS count, ${shapes}, ${docs} FROM (${text}) AS page`, values }
}

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
  const unordered = { ...plan, order: [] } // a count needs no order, so no joins
  const binding_ = statementBinding(dialect, collection, range === null ? unordered : plan)
  const { from, search } = binding_
  const isBySearchAlone = range === null && plan.parent === null && plan.where.length === 1
  const rows =
    (isBySearchAlone && search?.alone) || `${from}${whereClause(collection, plan, range?.bounds ?? [], binding_)}`
  if (dialect.distribute) return { text: `SELECT count(*) AS total FROM ${rows}`, values: binding_.values }
  const some = `SELECT 1 FROM ${rows} LIMIT ${binding_.bind(upTo)}`
  return { text: `SELECT count(*) AS total FROM (${some}) AS matching`, values: binding_.values }
}
