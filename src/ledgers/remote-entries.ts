/** Remote entries: entries on other shards for a row's unique values and references, as no index covers all. The store. */
import { createHash } from 'node:crypto'
import type { PreparedCollection, StoreContext } from '../catalog/context.ts'
import { rowConflict, type Steps } from '../catalog/steps.ts'
import { Problem } from '../errors/problem.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { Duplicate } from '../flow/outcome.ts'
import type { ListRows } from '../flow/plan.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import { holderOf } from '../ledgers/dropped-copies.ts'
import {
  type Cell,
  type Collection,
  cellsIn,
  type Dependent,
  type StoredDocument,
  type Unique,
  viewRow,
} from '../rows/collection.ts'
import { equations, insertStatement, rowShardKey } from '../sql/dialect.ts'
import { isColocatedUnique, uniqueIndexName } from '../sql/layout.ts'
import { linkTable, reservationTable, type Statement, tombstoneId } from '../sql/statements.ts'

/** A row of a shared table for a unique value or a reference of a row, which may be on another shard. */
interface RemoteEntry {
  readonly table: string
  readonly shardKey: number
  /** Its primary key without the shard key. */
  readonly key: Readonly<Record<string, string>>
  /** The unique constraint that the value is reserved for; missing for a reference. */
  readonly unique?: Unique
}

/** A reference to a collection whose rows may be on other shards. */
interface OutgoingReference {
  readonly target: Collection
  readonly dependent: Dependent
}

/** The references of a collection, without the owner that its rows are identified below, as that is colocated. */
const outgoingReferences = (
  { collections }: StoreContext,
  { collection: own, prepared }: PreparedCollection,
): readonly OutgoingReference[] =>
  prepared.form('outgoing', () =>
    [...collections.values()].flatMap(({ collection: target }) =>
      target.dependents
        .filter((one) => one.collection === own.name && !isColocatedDependent(one))
        .map((dependent) => ({ target, dependent })),
    ),
  )

/** Whether dependents are on the shard of the row that they refer to, where a query finds them. */
export const isColocatedDependent = ({ column }: Dependent): boolean => column === 'parent'

function remoteEntriesOf(
  context: StoreContext,
  own: PreparedCollection,
  key: RowKey,
  row: StoredDocument | null,
): ReadonlyMap<string, RemoteEntry> {
  if (row === null) return new Map()
  const { collection, shape } = own
  const outgoing = outgoingReferences(context, own)
  const uniques = collection.uniques.filter((one) => !isColocatedUnique(collection, one))
  if (outgoing.length === 0 && uniques.length === 0) return new Map()
  const { document } = viewRow(collection, shape, row)
  const all = cellsIn(collection, document)
  const cellOf = (column: string): Cell =>
    column === 'account' || column === 'parent' || column === 'id'
      ? key[column]
      : (all[collection.columns.findIndex(({ name }) => name === column)] ?? null)
  const values = uniques.flatMap((unique) => {
    const cells = unique.columns.map(cellOf)
    return cells.includes(null) ? [] : [reservationOf(collection, unique, cells)]
  })
  const to = outgoing.flatMap(({ target, dependent }) =>
    dependent.ids(document).flatMap((id) => (typeof id === 'string' ? [linkEntryTo(target, id, collection, key)] : [])),
  )
  return new Map([...values, ...to].map((one) => [JSON.stringify([one.table, ...Object.values(one.key)]), one]))
}

function reservationOf(collection: Collection, unique: Unique, own: readonly Cell[]): RemoteEntry {
  const value = createHash('sha256')
    .update(JSON.stringify(own.map(String)))
    .digest('base64url')
  return {
    table: reservationTable,
    shardKey: shardKeyOf(value),
    key: { name: uniqueIndexName(collection, unique.columns), value },
    unique,
  }
}

function linkEntryTo(target: Collection, id: string, { name }: Collection, key: RowKey): RemoteEntry {
  const to = { id, parent: null, account: key.account }
  return {
    table: linkTable,
    shardKey: rowShardKey(target, to),
    key: { ...linkKey(target, to, name), holder: holderOf(key) },
  }
}

const linkKey = (target: Collection, key: RowKey, collection: string) => ({
  target: `${target.name}/${tombstoneId(target, key)}`,
  collection,
})

/** The key of a row, and when it is written. */
interface KeyAndTime {
  readonly key: RowKey
  readonly time: number
}

/**
 * Replaces the entries of a row's old document by those of the new one, in the transaction of the row itself. Returns a
 * duplicate if another row has reserved a unique value. Entries are written in a fixed order, so that concurrent writers
 * cannot deadlock.
 */
export function* updateRemoteEntries(
  context: StoreContext,
  own: PreparedCollection,
  { key, time }: KeyAndTime,
  was: StoredDocument | null,
  is: StoredDocument | null,
): Steps<Duplicate | null> {
  const { dialect } = context
  if (!dialect.distribute) return null
  const [before, after] = [remoteEntriesOf(context, own, key, was), remoteEntriesOf(context, own, key, is)]
  const gone = [...before].filter(([name]) => !after.has(name))
  const fresh = [...after].filter(([name]) => !before.has(name))
  const all = [...gone, ...fresh].sort(([a, one], [b, other]) => one.shardKey - other.shardKey || (a < b ? -1 : 1))
  for (const [name, mark] of all) {
    if (before.has(name)) {
      // The entry exists, but the transaction that wrote it is still being committed on that shard.
      if ((yield deleteEntryStatement(context, mark)).length === 0 && mark.unique)
        throw rowConflict(own.collection.name)
    } else if ((yield insertEntryStatement(context, mark, { key, time })).length === 0 && mark.unique)
      return { is: 'duplicate', fields: mark.unique.fields }
  }
  return null
}

/** Inserting a link again refreshes its timestamp. */
function insertEntryStatement(
  { dialect }: StoreContext,
  { table, shardKey, key: own, unique }: RemoteEntry,
  { key, time }: KeyAndTime,
): Statement {
  const row = { ...own, ...(unique ? { holder: holderOf(key) } : { time }) }
  const { text, values } = insertStatement(table, row, shardKey, dialect)
  const twice = unique ? 'DO NOTHING' : 'DO UPDATE SET time = excluded.time'
  return { text: `${text} ON CONFLICT (home, ${Object.keys(own).join(', ')}) ${twice} RETURNING home`, values }
}

function deleteEntryStatement({ dialect }: StoreContext, { table, shardKey, key }: RemoteEntry): Statement {
  const where = equations(['home', ...Object.keys(key)], dialect)
  return {
    text: `DELETE FROM ${table} WHERE ${where.join(' AND ')} RETURNING home`,
    values: [shardKey, ...Object.values(key)],
  }
}

const batchSize = 1000
/** No commit takes longer than this, in milliseconds. */
const linkGracePeriod = 86_400_000

/** A row that may refer to another one, according to a link. */
export interface Referrer {
  readonly key: RowKey
  /** Whether the link is so old that its transaction has ended: if the row is missing, it is not still being committed. */
  readonly old: boolean
}

/** The rows that have links to a row; some may no longer refer to it. */
export function* readReferrers(
  { dialect: { mark } }: StoreContext,
  target: Collection,
  { key, time }: KeyAndTime,
  collection: string,
): Steps<Referrer[]> {
  const { target: name } = linkKey(target, key, collection)
  const where = `home = ${mark(1)} AND target = ${mark(2)} AND collection = ${mark(3)} AND holder > ${mark(4)}`
  const text = `SELECT holder, time FROM ${linkTable} WHERE ${where} ORDER BY holder LIMIT ${batchSize}`
  const referrers: Referrer[] = []
  for (let last = ''; ; ) {
    const rows = yield { text, values: [rowShardKey(target, key), name, collection, last] }
    for (const row of rows) {
      last = row.holder as string
      const [account, parent, id] = JSON.parse(last) as [string | null, string | null, string]
      referrers.push({ key: { account, parent, id }, old: Number(row.time) < time - linkGracePeriod })
    }
    if (rows.length < batchSize) return referrers
  }
}

/** Deletes the links to a row that is deleted. */
export function* forgetReferrers(context: StoreContext, target: Collection, key: RowKey): Steps<void> {
  if (!context.dialect.distribute || target.dependents.every(isColocatedDependent)) return
  const { mark } = context.dialect
  const text = `DELETE FROM ${linkTable} WHERE home = ${mark(1)} AND target = ${mark(2)}`
  yield { text, values: [rowShardKey(target, key), linkKey(target, key, '').target] }
}

/** Refuses to sort by columns of rows on other shards: each page would have to collect all of them. */
export function refuseJoinedOrder({ dialect }: StoreContext, { order }: ListRows): void {
  if (!dialect.distribute || !order.some(({ reach }) => reach)) return
  throw new Problem(
    'not-implemented',
    'This version sorts by a field that has moved to another resource, which a service with sharded tables does not support. Sort by another field, or use a later version.',
  )
}
