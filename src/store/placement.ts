/** Spread: what is kept of a row where others look for it, as no index sees rows on all machines: its unique values, and what it refers to. The cellar. */
import { createHash } from 'node:crypto'
import { Problem } from '../errors/problem.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { Duplicate } from '../flow/outcome.ts'
import type { ListRows } from '../flow/plan.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import {
  type Cell,
  type Collection,
  cellsIn,
  type Dependent,
  type StoredDocument,
  type Unique,
  viewRow,
} from '../rows/collection.ts'
import { linkTable, reservationTable, type Statement, tombstoneId } from '../sql/compile.ts'
import { insertStatement, rowShardKey } from '../sql/dialect.ts'
import { isColocatedUnique, uniqueIndexName } from '../sql/layout.ts'
import type { PreparedCollection, StoreContext } from './context.ts'
import { holderOf } from './dropped-copies.ts'
import { rowConflict, type Steps } from './steps.ts'

/** A row of a shared table that stands for something of a row elsewhere. */
interface RemoteEntry {
  readonly table: string
  readonly shardKey: number
  /** What it is found by; all of it is its primary key. */
  readonly key: Readonly<Record<string, string>>
  /** What its uniqueness is of; missing where it stands for a reference. */
  readonly unique?: Unique
}

/** A collection that another one refers to, from elsewhere. */
interface OutgoingReference {
  readonly target: Collection
  readonly dependent: Dependent
}

const outgoingByCollection = new WeakMap<Collection, readonly OutgoingReference[]>()

/** What rows of a collection refer to; an owner that they are told apart below lies beside them. */
function outgoingReferences({ collections }: StoreContext, own: Collection): readonly OutgoingReference[] {
  const found =
    outgoingByCollection.get(own) ??
    [...collections.values()].flatMap(({ collection: target }) =>
      target.dependents
        .filter((one) => one.collection === own.name && !isColocatedDependent(one))
        .map((dependent) => ({ target, dependent })),
    )
  outgoingByCollection.set(own, found)
  return found
}

/** Whether dependents lie beside what they depend on, where a look is enough. */
export const isColocatedDependent = ({ column }: Dependent): boolean => column === 'parent'

function remoteEntriesOf(
  cellar: StoreContext,
  { collection, shape }: PreparedCollection,
  key: RowKey,
  row: StoredDocument | null,
): ReadonlyMap<string, RemoteEntry> {
  if (row === null) return new Map()
  const outgoing = outgoingReferences(cellar, collection)
  const uniques = collection.uniques.filter((one) => !isColocatedUnique(collection, one))
  if (outgoing.length === 0 && uniques.length === 0) return new Map()
  const { document } = viewRow(collection, shape, row)
  const all = cellsIn(collection, document)
  const cellOf = (column: string): Cell =>
    column === 'account' || column === 'parent' || column === 'id'
      ? key[column]
      : (all[collection.columns.findIndex(({ name }) => name === column)] ?? null)
  const values = uniques.flatMap((unique) => {
    const own = unique.columns.map(cellOf)
    return own.includes(null) ? [] : [reservationOf(collection, unique, own)]
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

/** Whose row it is, and when it was written. */
interface KeyAndTime {
  readonly key: RowKey
  readonly time: number
}

/**
 * Brings what is kept elsewhere from what a row was to what it is to be, in the transaction of the row itself; the values of which one is
 * another row's already, if there is one. In one order, so that two that write at once wait for each other and not both.
 */
export function* updateRemoteEntries(
  cellar: StoreContext,
  own: PreparedCollection,
  { key, time }: KeyAndTime,
  was: StoredDocument | null,
  is: StoredDocument | null,
): Steps<Duplicate | null> {
  const { dialect } = cellar
  if (!dialect.distribute) return null
  const [before, after] = [remoteEntriesOf(cellar, own, key, was), remoteEntriesOf(cellar, own, key, is)]
  const gone = [...before].filter(([name]) => !after.has(name))
  const fresh = [...after].filter(([name]) => !before.has(name))
  const all = [...gone, ...fresh].sort(([a, one], [b, other]) => one.shardKey - other.shardKey || (a < b ? -1 : 1))
  for (const [name, mark] of all) {
    if (before.has(name)) {
      // What is on its way cannot be taken away yet.
      if ((yield deleteEntryStatement(cellar, mark)).length === 0 && mark.unique) throw rowConflict(own.collection.name)
    } else if ((yield insertEntryStatement(cellar, mark, { key, time })).length === 0 && mark.unique)
      return { is: 'duplicate', fields: mark.unique.fields }
  }
  return null
}

/** What is told again is told anew. */
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
  const where = ['home', ...Object.keys(key)].map((name, i) => `${name} = ${dialect.mark(i + 1)}`)
  return {
    text: `DELETE FROM ${table} WHERE ${where.join(' AND ')} RETURNING home`,
    values: [shardKey, ...Object.values(key)],
  }
}

const batchSize = 1000
/** After so long nothing is on its way any more, in milliseconds. */
const linkGracePeriod = 86_400_000

/** A row that may refer to another one, as it was told when that was written. */
export interface Referrer {
  readonly key: RowKey
  /** Whether it was told so long ago that a row which is not there is none that is on its way. */
  readonly old: boolean
}

/** Who said that it refers to a row; some may do so no longer. */
export function* readReferrers(
  { dialect: { mark } }: StoreContext,
  target: Collection,
  { key, time }: KeyAndTime,
  collection: string,
): Steps<Referrer[]> {
  const { target: name } = linkKey(target, key, collection)
  const where = `home = ${mark(1)} AND target = ${mark(2)} AND collection = ${mark(3)} AND holder > ${mark(4)}`
  const text = `SELECT holder, time FROM ${linkTable} WHERE ${where} ORDER BY holder LIMIT ${batchSize}`
  const found: Referrer[] = []
  for (let last = ''; ; ) {
    const rows = yield { text, values: [rowShardKey(target, key), name, collection, last] }
    for (const row of rows) {
      last = row.holder as string
      const [account, parent, id] = JSON.parse(last) as [string | null, string | null, string]
      found.push({ key: { account, parent, id }, old: Number(row.time) < time - linkGracePeriod })
    }
    if (rows.length < batchSize) return found
  }
}

/** Forgets who referred to a row that is deleted. */
export function* forgetReferrers(cellar: StoreContext, target: Collection, key: RowKey): Steps<void> {
  if (!cellar.dialect.distribute || target.dependents.every(isColocatedDependent)) return
  const { mark } = cellar.dialect
  const text = `DELETE FROM ${linkTable} WHERE home = ${mark(1)} AND target = ${mark(2)}`
  yield { text, values: [rowShardKey(target, key), linkKey(target, key, '').target] }
}

/** Rows are not put in an order of rows that lie elsewhere: for every page all of them would have to be brought together. */
export function refuseJoinedOrder({ dialect }: StoreContext, { order }: ListRows): void {
  if (!dialect.distribute || !order.some(({ reach }) => reach)) return
  throw new Problem(
    'not-implemented',
    'This version sorts by a field that another resource has now, and this service spreads its rows over machines, where that is not done. Sort by another field, or ask for a later version.',
  )
}
