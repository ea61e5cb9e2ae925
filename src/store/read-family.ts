/** Reads the rows that have a value in a column, that refer to a row, or that are embedded; checks lists again before a commit. R226. The cellar. */

import type { EmbeddedRows, FoundRow, RowKey, StoredRows } from '../flow/found-row.ts'
import { documentSeparator, type Outcome } from '../flow/outcome.ts'
import type { FamilyRead, FamilyRows, ListCheck, ListRows, Plan, RowEmbed, RowJoin } from '../flow/plan.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import { type Cell, type Collection, type Dependent, keyColumns, viewRow } from '../rows/collection.ts'
import { quoted, rowKeyValues, rowShardKey, shardCondition } from '../sql/dialect.ts'
import { idsValue, pairsStatement, rowsByIdStatement, rowsOfOwnersStatement } from '../sql/embedded-rows.ts'
import { arrayText, fillSlots } from '../sql/list-statements.ts'
import { slot, slotAt } from '../sql/ranges.ts'
import {
  type PreparedCollection,
  preparedCollection,
  rowKeyOf,
  type StoreContext,
  storedDocumentOf,
  viewStoredRow,
} from './context.ts'
import { joinsOf, withJoinedTexts } from './joined.ts'
import { refusePendingColumns } from './old-nodes.ts'
import { readPage } from './read-page.ts'
import { readAbsentRow } from './read-row.ts'
import { isColocatedDependent, type Referrer, readReferrers, refuseJoinedOrder } from './remote-entries.ts'
import { resolveList } from './resolve-list.ts'
import { type ResultRow, rowConflict, type Steps } from './steps.ts'

export function* readFamily(cellar: StoreContext, asked: Omit<FamilyRead, 'do'>): Steps<FamilyRows> {
  const { collection: name, column, value, account, time, page } = asked
  const { collection, shape, columnName } = preparedCollection(cellar, name)
  const head = distantReferences(cellar, name, columnName(column))
  if (head && time !== undefined) {
    const key = { id: value, parent: null, account: account ?? null }
    return { is: 'family', rows: yield* lockReferrers(cellar, head, { key, time }) }
  }
  const { mark } = cellar.dialect
  const keys = keyColumns(collection)
  const values: (string | number | null)[] = [value]
  const next = (one: string | number | null): string => {
    values.push(one)
    return mark(values.length)
  }
  const owned = collection.account !== null && account !== undefined ? ` AND account = ${next(account)}` : ''
  const after = page?.after ? keys.map((key) => next((page.after as never)[key] as string)) : []
  const home = collection.composite && column === collection.parent?.column && cellar.dialect.distribute
  const shard = home ? ` AND home = ${next(shardKeyOf(value))}` : ''
  const later = after.length > 0 ? ` AND (${keys.join(', ')}) > (${after.join(', ')})` : ''
  const part = page ? ` ORDER BY ${keys.join(', ')} LIMIT ${Math.trunc(page.limit)}` : ''
  const rows = yield {
    text: `SELECT ${keys.join(', ')}, shape, doc, hidden FROM ${quoted(collection.table)} WHERE ${quoted(columnName(column))} = ${mark(1)}${owned}${shard}${later}${part}`,
    values,
  }
  const found = rows.map((row) => ({
    key: rowKeyOf(row),
    document: viewRow(collection, shape, storedDocumentOf(row)).document,
  }))
  return { is: 'family', rows: found }
}

/** A row that others refer to, and how those of one collection do. */
interface ReferredTo {
  readonly target: Collection
  readonly dependent: Dependent
}

/** On a sharded database, what a column refers to, if the rows that have it may be on other shards. */
function distantReferences({ collections, dialect }: StoreContext, name: string, column: string): ReferredTo | null {
  if (!dialect.distribute) return null
  for (const { collection: target } of collections.values())
    for (const dependent of target.dependents)
      if (dependent.collection === name && dependent.column === column && !isColocatedDependent(dependent))
        return { target, dependent }
  return null
}

/**
 * On a sharded database, locks the rows that refer to a locked row, by its links: no statement locks rows of several shards,
 * and one without a lock would miss what is committed on one shard and not yet on another.
 */
function* lockReferrers(
  cellar: StoreContext,
  { target, dependent }: ReferredTo,
  { key, time }: { readonly key: RowKey; readonly time: number },
): Steps<FamilyRows['rows'][number][]> {
  const { collection, shape, texts } = preparedCollection(cellar, dependent.collection)
  const rows: FamilyRows['rows'][number][] = []
  for (const referrer of yield* readReferrers(cellar, target, { key, time }, dependent.collection)) {
    const values = rowKeyValues(collection, referrer.key, cellar.dialect)
    const [row] = yield { text: texts.readForShare, values }
    if (row === undefined) yield* requireAbsence(cellar, collection, referrer, time)
    else {
      const { document } = viewRow(collection, shape, storedDocumentOf(row))
      if (dependent.ids(document).includes(key.id)) rows.push({ key: referrer.key, document })
    }
  }
  return rows
}

/** Throws a conflict if a referring row may still be in the middle of its commit: the shard of its link committed first. */
export function* requireAbsence(
  cellar: StoreContext,
  collection: Collection,
  { key, old }: Referrer,
  time: number,
): Steps<void> {
  const gone = old || (yield* readAbsentRow(cellar, collection, key, time)).revision > 0
  if (!gone) throw rowConflict(collection.name)
}

/** An outcome with the rows that are embedded in its rows, or in the row that was written. R232. */
export function* withEmbeddedRows(
  cellar: StoreContext,
  steps: Steps<Outcome>,
  embeds: readonly RowEmbed[],
  plan: Plan,
): Steps<Outcome> {
  const outcome = yield* steps
  switch (outcome.is) {
    case 'page': {
      const owner = (plan.do === 'list' && plan.parent?.id) || ''
      return { ...outcome, embedded: yield* readEmbedded(cellar, embeds, outcome, () => owner) }
    }
    case 'found':
      return {
        ...outcome,
        embedded: yield* readEmbedded(cellar, embeds, rowsOfItem(outcome, joinsOf(plan).joined), noOwner),
      }
    case 'created':
    case 'changed':
      return { ...outcome, embedded: yield* readEmbedded(cellar, embeds, { data: outcome.doc }, noOwner) }
    case 'kept': {
      const { seen } = outcome
      if (seen.is !== 'found') return outcome
      const embedded = yield* readEmbedded(cellar, embeds, { data: seen.doc }, noOwner)
      return { ...outcome, seen: { ...seen, embedded } }
    }
    default:
      return outcome
  }
}

/** The id of the owner whose list has the row with an index. */
type OwnerOf = (row: number) => string
const noOwner: OwnerOf = () => ''

const rowsOfItem = ({ doc, document, joined = [] }: FoundRow, joins: readonly RowJoin[]): StoredRows => ({
  data: doc,
  joined: joined.map((row, i) => new Map(row ? [[String(document?.[joins[i]?.by as string]), row.doc]] : [])),
})

function* readEmbedded(
  cellar: StoreContext,
  embeds: readonly RowEmbed[],
  rows: StoredRows,
  ownerOf: OwnerOf,
): Steps<readonly EmbeddedRows[]> {
  const all: EmbeddedRows[] = []
  for (const one of embeds) {
    const given = rows.data === '' ? [] : one.ids(rows)
    const ids = one.pairsOf === undefined ? given : given.map((id, i) => id && pairName(ownerOf(i), id))
    const wanted = [...new Set(ids.filter((id) => id !== null))]
    const read = one.list
      ? readFirstRows(cellar, one, one.list, wanted)
      : one.pairsOf === undefined
        ? readRowsById(cellar, one, wanted)
        : readPairs(cellar, one, one.pairsOf, wanted)
    const { docs, parts } = wanted.length === 0 ? noRows : yield* read
    const data = { data: docs.join(documentSeparator) }
    const found = docs.length === 0 ? data : yield* withJoinedTexts(cellar, data, one.joined, one.account)
    const owners = [...parts].flatMap(([id, { count }]) => Array<string>(count).fill(id))
    const embedded = yield* readEmbedded(cellar, one.embeds, found, (row) => owners[row] as string)
    all.push({ ...found, parts: ids.map((id) => (id === null ? noPart : (parts.get(id) ?? noPart))), embedded })
  }
  return all
}

type RowsPart = EmbeddedRows['parts'][number]

interface RowsById {
  readonly docs: readonly string[]
  readonly parts: ReadonlyMap<string, RowsPart>
}

const noRows: RowsById = { docs: [], parts: new Map() }
const noPart: RowsPart = { from: 0, count: 0, hasMore: false }

function* readRowsById(
  cellar: StoreContext,
  { collection, account }: RowEmbed,
  ids: readonly string[],
): Steps<RowsById> {
  const own = preparedCollection(cellar, collection)
  const statement = own.prepared.form('embedded', () => rowsByIdStatement(own.collection, cellar.dialect))
  const rows = yield fillSlots(statement, embedValues(cellar, account, ids))
  const parts = rows.map(({ id }, from): [string, RowsPart] => [id as string, { from, count: 1, hasMore: false }])
  return { docs: documentsOf(own, rows), parts: new Map(parts) }
}

const pairName = (owner: string, id: string): string => `${encodeURIComponent(owner)}/${encodeURIComponent(id)}`

/** Finds pairs by their names, those of an owner and another row. */
function* readPairs(
  cellar: StoreContext,
  { collection, account }: RowEmbed,
  column: string,
  names: readonly string[],
): Steps<RowsById> {
  const own = preparedCollection(cellar, collection)
  const statement = own.prepared.form('pairs', () => pairsStatement(own.collection, cellar.dialect))
  const sides = names.map((name) => name.split('/').map(decodeURIComponent))
  const [owners, others] = [0, 1].map((side) => [...new Set(sides.map((one) => one[side] as string))])
  const isParent = column === 'parent'
  const [parents, ids] = (isParent ? [owners, others] : [others, owners]) as [string[], string[]]
  const rows = yield fillSlots(statement, [...embedValues(cellar, account, parents), idsValue(ids, cellar.dialect)])
  const parts = rows.map(({ parent, id }, from): [string, RowsPart] => [
    isParent ? pairName(parent as string, id as string) : pairName(id as string, parent as string),
    { from, count: 1, hasMore: false },
  ])
  return { docs: documentsOf(own, rows), parts: new Map(parts) }
}

/** The first page of a list for each of its owners. */
function* readFirstRows(
  cellar: StoreContext,
  { collection, account }: RowEmbed,
  list: ListRows,
  owners: readonly string[],
): Steps<RowsById> {
  const own = preparedCollection(cellar, collection)
  const plan = resolveList(cellar, list)
  refuseJoinedOrder(cellar, plan)
  yield* refusePendingColumns(cellar, own, plan)
  const { limit } = plan.window
  const statement = plan.prepared.form('embedded', () => {
    const parent = plan.parent && { ...plan.parent, id: slot<string>(slotAt.owner) }
    const window = { ...plan.window, limit: limit + 1 }
    const first = { ...plan, parent, window, account: slot<string>(slotAt.account) }
    return rowsOfOwnersStatement(own.collection, first, cellar.dialect)
  })
  const rows = yield fillSlots(statement, embedValues(cellar, account, owners))
  const parts = new Map<string, RowsPart>()
  const shown: ResultRow[] = []
  for (const [owner, its] of Map.groupBy(rows, (row) => row.owner as string)) {
    const count = Math.min(its.length, limit)
    parts.set(owner, { from: shown.length, count, hasMore: its.length > limit })
    shown.push(...its.slice(0, limit))
  }
  return { docs: documentsOf(own, shown), parts }
}

/** The values of the slots of both statements. */
const embedValues = ({ dialect }: StoreContext, account: string | null, ids: readonly string[]) => [
  account,
  idsValue(ids, dialect),
  dialect.distribute && arrayText(ids.map(shardKeyOf)),
]

const documentsOf = (own: PreparedCollection, rows: readonly ResultRow[]): string[] =>
  rows.map((row) => viewStoredRow(own, row).doc)

/**
 * Locks a list below an owner by the owner's row, which each new child locks too, and by the rows of its children. Any other
 * list is locked by its table: that lock conflicts with the one that PostgreSQL takes for each write, so writers need no
 * further lock.
 */
export function* lockLists(cellar: StoreContext, checks: readonly ListCheck[]): Steps<void> {
  const { rowLocks } = cellar.dialect
  if (!rowLocks) return
  const tables = checks.flatMap(({ list }) => (list.parent ? [] : [tableOf(cellar, list)]))
  for (const table of [...new Set(tables)].sort())
    yield { text: `LOCK TABLE ${quoted(table)} IN SHARE ROW EXCLUSIVE MODE`, values: [] }
  for (const { list } of checks) if (list.parent) yield* lockFamily(cellar, list, list.parent)
}

const tableOf = (cellar: StoreContext, { collection }: ListRows): string =>
  preparedCollection(cellar, collection).collection.table

function* lockFamily(
  cellar: StoreContext,
  { collection: name, account, time }: ListRows,
  { collection: owner, id }: NonNullable<ListRows['parent']>,
): Steps<void> {
  const { dialect } = cellar
  const above = preparedCollection(cellar, owner)
  const { collection, columnName } = preparedCollection(cellar, name)
  const key = { id, parent: null, account }
  yield { text: above.texts.lock, values: rowKeyValues(above.collection, key, dialect) }
  const parent = columnName(collection.parent?.column as string)
  const distant = distantReferences(cellar, name, parent)
  if (distant) {
    yield* lockReferrers(cellar, distant, { key, time })
    return
  }
  const values: Cell[] = [id]
  if (collection.account !== null) values.push(account)
  const column = quoted(parent)
  const own = collection.account === null ? '' : ` AND account = ${dialect.mark(2)}`
  const at = shardCondition(rowShardKey(collection, { id: '', parent: id }), values.length + 1, dialect)
  const text = `SELECT 1 FROM ${quoted(collection.table)} WHERE ${column} = ${dialect.mark(1)}${own}${at.text}${dialect.rowLocks?.steady}`
  yield { text, values: [...values, ...at.values] }
}

/** Reads the list again; `admit` throws if it has changed. */
export function* performListCheck(cellar: StoreContext, { list, admit }: ListCheck): Steps<void> {
  const { data } = yield* readPage(cellar, resolveList(cellar, list))
  admit(data)
}
