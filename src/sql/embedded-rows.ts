/** Embedded rows: compiles the reads of rows that are embedded in others, one statement for any number of those. The store. */
import type { ListRows, PairedRows } from '../flow/plan.ts'
import type { Cell, Collection } from '../rows/collection.ts'
import { type Dialect, quoted } from './dialect.ts'
import { arrayText, selectDirectly } from './list-statements.ts'
import { isSlot, rangesOf, slot, slotAt } from './ranges.ts'
import { type Statement, tableByKey } from './statements.ts'
import { orderTerm, type StatementBinding, statementBinding, whereClause } from './where.ts'

const [account, ids, homes] = [slot<string>(slotAt.account), slot<string>(slotAt.owner), slot<string>(slotAt.home)]

const others = slot<string>(slotAt.offset)

const takesJson = ({ name }: Dialect): boolean => name === 'sqlite'

/** Ids as one value. */
export const idsValue = (all: readonly string[], dialect: Dialect): string =>
  takesJson(dialect) ? JSON.stringify(all) : arrayText(all)

/** Compares a column with the ids of a value. */
export const isAmong = (mark: string, dialect: Dialect): string =>
  takesJson(dialect) ? `IN (${dialect.itemsOf(mark)})` : `= ANY(CAST(${mark} AS text[]))`

/** Finds rows by their ids. The values have the slots of the account, the ids and their shard keys. */
export function rowsByIdStatement(collection: Collection, dialect: Dialect): Statement {
  const values: Cell[] = []
  const bind = (value: Cell): string => dialect.mark(values.push(value))
  const whose = collection.account === null ? '' : `account = ${bind(account)} AND `
  const shards = dialect.distribute ? `home = ANY(CAST(${bind(homes)} AS integer[])) AND ` : ''
  const text = `SELECT doc, shape, hidden, id FROM ${tableByKey(collection, dialect)} WHERE ${whose}${shards}id ${isAmong(bind(ids), dialect)}`
  return { text, values }
}

/** Finds pairs by the ids of both sides. The values have the slots of the account, the ids of the parents and their shard keys. */
export function pairsStatement(collection: Collection, dialect: Dialect): Statement {
  const values: Cell[] = []
  const bind = (value: Cell): string => dialect.mark(values.push(value))
  const whose = collection.account === null ? '' : `account = ${bind(account)} AND `
  const shards = dialect.distribute ? `home = ANY(CAST(${bind(homes)} AS integer[])) AND ` : ''
  const sides = `parent ${isAmong(bind(ids), dialect)} AND id ${isAmong(bind(others), dialect)}`
  const text = `SELECT doc, shape, hidden, parent, id FROM ${tableByKey(collection, dialect)} WHERE ${whose}${shards}${sides}`
  return { text, values }
}

/** The first rows of a list for each of several owners, with the owner as `owner`, in the order of the list. */
export function rowsOfOwnersStatement(collection: Collection, plan: ListRows, dialect: Dialect): Statement {
  const binding = statementBinding(dialect, collection, plan)
  if (dialect.distribute) return { text: numberedRows(collection, plan, binding), values: binding.values }
  const mark = binding.bind(ids)
  const first = (what: string) => firstRows(collection, plan, what, binding)
  const text = takesJson(dialect)
    ? `SELECT owner.id AS owner, doc, shape, hidden FROM (SELECT value AS id, key AS n FROM json_each(${mark})) AS owner CROSS JOIN json_each((SELECT json_group_array(line) FROM (${first('rowid AS line')}))) AS place CROSS JOIN ${quoted(collection.table)} AS own ON own.rowid = place.value ORDER BY owner.n, place.key`
    : `SELECT owner.id AS owner, own.* FROM unnest(CAST(${mark} AS text[])) WITH ORDINALITY AS owner (id, n) CROSS JOIN LATERAL (SELECT part.*, row_number() OVER () AS place FROM (${first('doc, shape, hidden')}) AS part) AS own ORDER BY owner.n, place`
  return { text, values: binding.values }
}

/** The first rows of one owner, whose id is the column `owner.id`. */
function firstRows(collection: Collection, plan: ListRows, what: string, own: StatementBinding): string {
  const bind = (value: Cell) => (isSlot(value) && value.slot === slotAt.owner ? 'owner.id' : own.bind(value))
  const cut = { offset: 0, limit: plan.window.limit }
  const all = rangesOf(plan).map((range) =>
    selectDirectly({ what, collection, plan, range, cut, dialect: own.dialect }, { ...own, bind }),
  )
  const [first] = all
  if (first && all.length === 1) return first.text
  const parts = all.map(({ text }, i) => `SELECT * FROM (${text}) AS range${i}`)
  return `SELECT * FROM (${parts.join(' UNION ALL ')}) AS ranges LIMIT 0 + ${cut.limit}`
}

/** On a sharded database, which runs no subquery for each owner: all rows of the owners are numbered, and the first ones kept. */
function numberedRows(collection: Collection, plan: ListRows, binding: StatementBinding): string {
  const { parent, composite } = collection
  const { order, window, parent: listed } = plan
  const { bind, dialect, from } = binding
  if (listed?.pairs) return numberedPairs(collection, plan, listed.pairs, binding)
  const owner = quoted(parent?.column ?? '')
  const shards = composite ? `home = ANY(CAST(${bind(homes)} AS integer[])) AND ` : ''
  const conditions = whereClause(collection, { ...plan, parent: null }, [], binding)
  const where = conditions === '' ? ' WHERE ' : `${conditions} AND `
  const sorted = order.map((one) => orderTerm(one, binding)).join(', ')
  const place = `row_number() OVER (PARTITION BY ${composite ? 'home, ' : ''}${owner} ORDER BY ${sorted})`
  const numbered = `SELECT ${owner} AS owner, doc, shape, hidden, ${place} AS place FROM ${from}${where}${shards}${owner} ${isAmong(bind(ids), dialect)}`
  return `SELECT doc, shape, hidden, owner FROM (${numbered}) AS numbered WHERE place <= ${window.limit} ORDER BY owner, place`
}

/** As `numberedRows`, for rows that are paired with owners. The OFFSET keeps the subquery as it is when Citus sends it to the shards. */
function numberedPairs(collection: Collection, plan: ListRows, pairs: PairedRows, binding: StatementBinding): string {
  const { order, window } = plan
  const { bind, dialect, from } = binding
  const paired = pairs.owned ? `account = ${bind(account)} AND ` : ''
  const shards = pairs.from === 'parent' ? `home = ANY(CAST(${bind(homes)} AS integer[])) AND ` : ''
  const which = `${paired}${shards}${quoted(pairs.from)} ${isAmong(bind(ids), dialect)} OFFSET 0`
  const pair = `SELECT ${quoted(pairs.from)} AS owner, ${quoted(pairs.to)} AS other FROM ${quoted(pairs.collection)} WHERE ${which}`
  const where = whereClause(collection, { ...plan, parent: null }, [], binding)
  const place = `row_number() OVER (PARTITION BY owner ORDER BY ${order.map((one) => orderTerm(one, binding)).join(', ')})`
  const numbered = `SELECT owner, doc, shape, hidden, ${place} AS place FROM (${pair}) AS pair JOIN ${from} ON id = other${where}`
  return `SELECT doc, shape, hidden, owner FROM (${numbered}) AS numbered WHERE place <= ${window.limit} ORDER BY owner, place`
}
