/** Removes a row and its dependents, or returns which dependents prevent it, and leaves tombstones. The store. */

import { preparedCollection, rowKeyOf, type StoreContext, storedDocumentOf } from '../catalog/context.ts'
import { readWaiting } from '../catalog/old-nodes.ts'
import { type ResultRow, rowConflict, type Steps } from '../catalog/steps.ts'
import type { ReadResult, RowKey } from '../flow/found-row.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Consequences, FindAccounts, FindRemoved, Remove } from '../flow/plan.ts'
import { deleteCopiesStatement } from '../ledgers/dropped-copies.ts'
import { recordDeletion } from '../ledgers/outbox.ts'
import { forgetReferrers, isColocatedDependent, readReferrers, updateRemoteEntries } from '../ledgers/remote-entries.ts'
import { sweepTombstones, writeTombstone } from '../ledgers/tombstones.ts'
import { type Collection, type Dependent, keyColumns, viewRow } from '../rows/collection.ts'
import { equations, quoted, rowKeyValues, rowShardKey, shardCondition } from '../sql/dialect.ts'
import { type Statement, tombstoneId } from '../sql/statements.ts'
import { combinedRemove } from './combined-remove.ts'
import { joinedRowsOfDeletions } from './joined.ts'
import { readListed, requireAbsence } from './read-family.ts'
import { readRow } from './read-row.ts'

interface RowToRemove {
  readonly collection: Collection
  readonly key: RowKey
  readonly revision: number
}

export function* removeRow(context: StoreContext, plan: Remove, current: ReadResult | null): Steps<Outcome> {
  const { collection } = preparedCollection(context, plan.collection)
  const combined = yield* combinedRemove(context, plan, current)
  return combined && collection.dependents.length === 0
    ? yield* removeAtOnce(context, plan, combined)
    : yield* removeWithDependents(context, plan, combined)
}

function* removeAtOnce(context: StoreContext, plan: Remove, statement: Statement): Steps<Outcome> {
  context.onWrite?.(plan)
  if ((yield statement).length === 0) throw rowConflict(plan.collection)
  return { is: 'removed' }
}

/**
 * Nothing is deleted before all dependents are known, as a refusal must leave everything in place. They are looked for after
 * the row is locked: the snapshot of a single statement would miss those that are committed while it waits for the lock. R138.
 */
function* removeWithDependents(context: StoreContext, plan: Remove, combined: Statement | null): Steps<Outcome> {
  const { time } = plan
  const toRemove = yield* collectRows(context, plan, context.dialect.rowLocks !== null)
  if ('is' in toRemove) return toRemove
  const [first] = toRemove.values()
  if (combined && toRemove.size === 1) return yield* removeAtOnce(context, plan, combined)
  const consequences: Consequences[] = []
  const joined = yield* joinedRowsOfDeletions(context, toRemove.values())
  for (const row of toRemove.values()) {
    if (row !== first) consequences.push(...(yield* consequencesFor(context, row, plan)))
    const own = preparedCollection(context, row.collection.name)
    const values = [...rowKeyValues(row.collection, row.key, context.dialect), row.revision]
    const [gone] = yield { text: own.texts.remove, values }
    if (!gone) throw rowConflict(row.collection.name)
    const last = yield* recordDeletion(context, own, row, {
      stored: storedDocumentOf(gone),
      time,
      joined: joined.get(row) ?? [],
    })
    context.onWrite?.({ collection: row.collection.name, key: row.key })
    if (context.dialect.distribute)
      yield* updateRemoteEntries(context, own, { key: row.key, time }, storedDocumentOf(gone), null)
    if (context.dropped) yield deleteCopiesStatement(row.collection, row.key, null, context.dialect)
    yield* forgetReferrers(context, row.collection, row.key)
    if (row.collection.leavesTombstones)
      yield* writeTombstone(context, row.collection, row.key, { revision: last, time })
  }
  for (const row of sweepTargets(context, [...toRemove.values()])) yield* sweepTombstones(context, row, time)
  return consequences.length === 0 ? { is: 'removed' } : { is: 'removed', consequences }
}

/** How many rows of each collection a removal would delete, or why it would be refused. Locks nothing. */
export function* findRemoved(context: StoreContext, { remove }: FindRemoved): Steps<Outcome> {
  const toRemove = yield* collectRows(context, remove, false)
  if ('is' in toRemove) return toRemove
  const rows = Map.groupBy(toRemove.values(), (row) => row.collection.name)
  return { is: 'removable', rows: new Map([...rows].map(([name, all]) => [name, all.length])) }
}

/**
 * The rows that a removal deletes, by name, its own first; or the refusal. Without `locks`, other transactions may change
 * them meanwhile.
 */
function* collectRows(
  context: StoreContext,
  plan: Remove,
  locks: boolean,
): Steps<Outcome | ReadonlyMap<string, RowToRemove>> {
  const { key, revision, time } = plan
  const first: RowToRemove = { collection: preparedCollection(context, plan.collection).collection, key, revision }
  const toRemove = new Map([[rowNameOf(first), first]])
  const refusal = yield* collectCascade(context, plan, locks, toRemove)
  if (refusal) return refusal
  for (const row of toRemove.values()) {
    for (const dependent of dependentsOf(row, 'restrict')) {
      // Reads one row more than will be removed: if there are so many, at least one of them stays and prevents the removal.
      const rows = yield* findReferring(context, row, dependent, { most: toRemove.size + 1, time })
      if (rows.some((below) => !toRemove.has(rowNameOf(below)))) return { is: 'used', collection: dependent.collection }
    }
  }
  return toRemove
}

/** Adds the rows that a cascade removes to the rows to remove; returns the refusal if one of them has to stay. */
function* collectCascade(
  context: StoreContext,
  plan: Remove,
  locks: boolean,
  toRemove: Map<string, RowToRemove>,
): Steps<Outcome | null> {
  const { key, time, takes } = plan
  const owned = new Set(toRemove.keys())
  for (const row of toRemove.values()) {
    if (locks) yield* lockRow(context, row)
    for (const dependent of dependentsOf(row, 'cascade'))
      for (const below of yield* findReferring(context, row, dependent, { most: Number.MAX_SAFE_INTEGER, time })) {
        const { name, account } = below.collection
        if (!dependent.pairs && !takes.has(name)) return { is: 'withheld', collection: name }
        const isOthers = account !== null && below.key.account !== key.account
        if (isOthers && !dependent.pairs) return { is: 'used', collection: name } // R170
        if (!toRemove.has(rowNameOf(below))) toRemove.set(rowNameOf(below), below)
        if (dependent.column !== null && dependent.column === ownerColumn(below, row)) owned.add(rowNameOf(below))
      }
  }
  const others = [...toRemove].flatMap(([name, row]) => (owned.has(name) ? [] : [row]))
  const kept = yield* findHeld(context, others, plan)
  return kept ? { is: 'used', collection: kept.collection.name } : null
}

/** The column with the id of the owner, if the second row's collection owns the first one's; otherwise undefined. */
const ownerColumn = ({ collection: { parent } }: RowToRemove, { collection }: RowToRemove): string | undefined =>
  parent?.collection === collection.name ? parent.column : undefined

/** The first of the rows whose own state forbids its removal. */
function* findHeld(
  context: StoreContext,
  rows: readonly RowToRemove[],
  { held, time }: Remove,
): Steps<RowToRemove | undefined> {
  for (const row of rows) {
    const isHeld = held?.get(row.collection.name)
    if (isHeld && (yield* readWaiting(context, row.collection.name))?.guards.has('remove')) continue
    const current = isHeld && (yield* readRow(context, { collection: row.collection.name, key: row.key, time }))
    if (current?.is === 'found' && isHeld?.(current.doc)) return row
  }
  return undefined
}

/** The consequences of a row that a cascade removes. */
function* consequencesFor(
  context: StoreContext,
  { collection, key }: RowToRemove,
  { onRemove, time }: Remove,
): Steps<Consequences[]> {
  const follow = onRemove?.get(collection.name)
  if (!follow) return []
  const current = yield* readRow(context, { collection: collection.name, key, time })
  return current.is === 'found' ? [follow({ ...current, key, time })] : []
}

/** Locks a row: from here on no new row can refer to it. */
function* lockRow(context: StoreContext, { collection, key, revision }: RowToRemove): Steps<void> {
  const { texts } = preparedCollection(context, collection.name)
  const [row] = yield {
    text: texts.lockUnchanged,
    values: [...rowKeyValues(collection, key, context.dialect), revision],
  }
  if (!row) throw rowConflict(collection.name)
}

const rowNameOf = ({ collection, key }: RowToRemove): string => `${collection.name}/${tombstoneId(collection, key)}`

const dependentsOf = ({ collection }: RowToRemove, rule: Dependent['onDelete']): Dependent[] =>
  collection.dependents.filter(({ onDelete }) => onDelete === rule)

interface SearchLimits {
  /** The number of rows after which the search ends. */
  readonly most: number
  readonly time: number
}

/** The rows that refer to a row. */
function* findReferring(
  context: StoreContext,
  row: RowToRemove,
  dependent: Dependent,
  { most, time }: SearchLimits,
): Steps<RowToRemove[]> {
  const { collection } = preparedCollection(context, dependent.collection)
  const { mark, distribute } = context.dialect
  if (distribute && !isColocatedDependent(dependent))
    return yield* findReferringByLinks(context, row, dependent, { most, time })
  const whose = sharedAccount(row, collection)
  if (dependent.column === null) {
    const search = { ids: dependent.ids, id: row.key.id, account: whose[0], most }
    const rows = yield* readListed(context, dependent.collection, search)
    return rows.map(({ key, revision }) => ({ collection, key, revision }))
  }
  const also = whose.length > 0 ? ` AND account = ${mark(3)}` : ''
  const at = shardCondition(rowShardKey(collection, { id: '', parent: row.key.id }), 3 + whose.length, context.dialect)
  const where = `WHERE ${quoted(dependent.column)} = ${mark(1)}${also}${at.text} LIMIT ${mark(2)}`
  const values = [row.key.id, most, ...whose, ...at.values]
  const rows = yield { text: `${selectWithKey(collection, 'revision')} ${where}`, values }
  return rows.map((one) => rowToRemove(collection, one))
}

/**
 * On a sharded database, rows leave links on the shard of the row that they refer to; a lock on that row makes all earlier
 * links visible.
 */
function* findReferringByLinks(
  context: StoreContext,
  row: RowToRemove,
  dependent: Dependent,
  { most, time }: SearchLimits,
): Steps<RowToRemove[]> {
  const own = preparedCollection(context, dependent.collection)
  const rows: RowToRemove[] = []
  for (const { key, old } of yield* readReferrers(
    context,
    row.collection,
    { key: row.key, time },
    dependent.collection,
  )) {
    const [there] = yield { text: own.texts.read, values: rowKeyValues(own.collection, key, context.dialect) }
    if (!there) yield* requireAbsence(context, own.collection, { key, old }, time)
    else if (dependent.ids(viewRow(own.collection, own.shape, storedDocumentOf(there)).document).includes(row.key.id))
      rows.push({ collection: own.collection, key, revision: Number(there.revision) })
    if (rows.length >= most) break
  }
  return rows
}

/** The account that both rows must have, if both collections have accounts: the same id in another account is another row. */
const sharedAccount = ({ collection, key }: RowToRemove, { account }: Collection): readonly (string | null)[] =>
  collection.account === null || account === null ? [] : [key.account]

const selectWithKey = (collection: Collection, columns: string): string =>
  `SELECT ${keyColumns(collection).join(', ')}, ${columns} FROM ${quoted(collection.table)}`

const rowToRemove = (collection: Collection, row: ResultRow): RowToRemove => ({
  collection,
  key: rowKeyOf(row),
  revision: Number(row.revision),
})

const maxNamed = 10

/** The accounts that have a row with the given key, up to a limit. */
export function* findAccounts(context: StoreContext, { collection: name, key }: FindAccounts): Steps<Outcome> {
  const { collection } = preparedCollection(context, name)
  const { dialect } = context
  const names = keyColumns(collection).filter((one) => one !== 'account')
  const at = shardCondition(rowShardKey(collection, key), names.length + 1, dialect)
  const where = equations(names, dialect).join(' AND ') + at.text
  const text = `SELECT account FROM ${quoted(collection.table)} WHERE ${where} ORDER BY account LIMIT ${maxNamed}`
  const rows =
    collection.account === null ? [] : yield { text, values: [...names.map((one) => key[one as 'id']), ...at.values] }
  return { is: 'whose', accounts: rows.map(({ account }) => account as string) }
}

/** One row of each collection, and on a sharded database of each shard key. */
function sweepTargets({ dialect: { distribute } }: StoreContext, rows: readonly RowToRemove[]): Iterable<RowToRemove> {
  const place = ({ collection, key }: RowToRemove) =>
    `${collection.name} ${distribute ? rowShardKey(collection, key) : ''}`
  return new Map(rows.map((row) => [place(row), row])).values()
}
