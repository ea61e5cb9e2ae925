/** Reads a row by its key; for an absent row, reads whether it was deleted. The store. */

import { preparedCollection, type StoreContext, viewStoredRow } from '../catalog/context.ts'
import { rowConflict, type Steps } from '../catalog/steps.ts'
import type { AbsentRow, FoundRow, ReadResult, RowKey } from '../flow/found-row.ts'
import type { ListRows, Read } from '../flow/plan.ts'
import { expiresBy } from '../ledgers/idempotency-claims.ts'
import { type Collection, storedNameOf } from '../rows/collection.ts'
import { quoted, rowKeyValues, rowShardKey, shardCondition } from '../sql/dialect.ts'
import { idsValue, isAmong } from '../sql/embedded-rows.ts'
import { tombstoneId, tombstoneTable } from '../sql/statements.ts'
import { coalescableRead } from './combined.ts'
import { withJoinedRows } from './joined.ts'

/**
 * Reads a row. With `held` or `lock`, it is locked until the transaction ends; others can share the lock of `lock`. With
 * `decides`, a write is decided from the row: then the owner of an absent row cannot be deleted meanwhile.
 */
export function* readRow(
  context: StoreContext,
  { collection, key, time, lock }: Omit<Read, 'do'>,
  held = false,
  decides = false,
): Steps<ReadResult> {
  const own = preparedCollection(context, collection)
  const values = rowKeyValues(own.collection, key, context.dialect)
  const { readForUpdate, readForShare } = own.texts
  const [row] = yield held || lock
    ? { text: held || lock === 'update' ? readForUpdate : readForShare, values }
    : { ...coalescableRead(own, context.dialect), values, autocommit: 'read' }
  if (row) return viewStoredRow(own, row)
  if (own.collection.composite) {
    const how = decides ? 'existsShared' : 'exists'
    const owner = yield* absentOwner(context, ownerOfKey(own.collection, key), key.account, time, how)
    if (owner) return owner
  }
  const absent = yield* readAbsentRow(context, own.collection, key, time)
  return decides ? { ...absent, key } : absent
}

/** Locks a row whose document is stored with a key, so that an erasure of the row finds it there. The row must be as it was read. */
export function* lockAsRead(
  context: StoreContext,
  { collection: name, key }: Pick<Read, 'collection' | 'key'>,
  { revision }: Pick<FoundRow, 'revision'>,
): Steps<void> {
  if (!context.dialect.rowLocks) return
  const { collection, texts } = preparedCollection(context, name)
  const [row] = yield { text: texts.readForShare, values: rowKeyValues(collection, key, context.dialect) }
  if (Number(row?.revision) !== revision) throw rowConflict(name)
}

/** A row as the caller sees it; one below an owner that does not exist for the caller does not exist either. */
export function* readVisibleRow(
  context: StoreContext,
  plan: Omit<Read, 'do'>,
  held = false,
  decides = false,
): Steps<ReadResult> {
  const { collection: name, key, time } = plan
  const visible = context.rights?.visible
  const current = yield* readRow(context, plan, held, decides)
  if (!visible) return current
  const { collection } = preparedCollection(context, name)
  const owner = collection.composite ? ownerOfKey(collection, key) : null
  const hidden = owner && visible.of(owner.collection) && (yield* absentOwner(context, owner, key.account, time))
  return hidden || visible.seenAs(name, current)
}

/** Rows of a collection that are locked in the same way. */
interface RowsToLock {
  readonly collection: string
  readonly account: string | null
  readonly ids: readonly string[]
  readonly lock: 'share' | 'update'
}

/** Reads and locks rows by one statement, in the order of their ids; absent ones are left out. */
export function* lockPresentRows(
  context: StoreContext,
  { collection: name, account, ids, lock }: RowsToLock,
): Steps<Map<string, ReadResult>> {
  const { dialect } = context
  const own = preparedCollection(context, name)
  const clause = lock === 'share' ? dialect.rowLocks?.steady : dialect.rowLocks?.update
  const head = own.collection.account === null ? [] : [account]
  const whose = head.length === 0 ? '' : `account = ${dialect.mark(1)} AND `
  const text = `SELECT id, revision, shape, doc, hidden FROM ${quoted(own.collection.table)} WHERE ${whose}id ${isAmong(dialect.mark(head.length + 1), dialect)} ORDER BY id${clause}`
  const rows = yield { text, values: [...head, idsValue(ids, dialect)] }
  return new Map(rows.map((row) => [String(row.id), viewStoredRow(own, row)]))
}

/** A row with its joined rows, which its ETag depends on too. */
export const readWithJoined = (context: StoreContext, plan: Read, held: boolean): Steps<ReadResult> => {
  const steps = readVisibleRow(context, plan, held, true)
  const { joined = [], key } = plan
  return joined.length === 0 ? steps : (withJoinedRows(context, steps, joined, key.account) as Steps<ReadResult>)
}

/** The owner of a row whose id is unique only within its owner. */
const ownerOfKey = ({ parent }: Collection, key: RowKey): NonNullable<ListRows['parent']> => ({
  collection: parent?.collection as string,
  id: key.parent as string,
})

/** The owner if it does not exist, else null. With `existsShared`, it cannot be deleted before the transaction ends. */
export function* absentOwner(
  context: StoreContext,
  { collection: name, id }: NonNullable<ListRows['parent']>,
  account: string | null,
  time: number,
  how: 'exists' | 'existsShared' = 'exists',
): Steps<AbsentRow | null> {
  const key = { id, parent: null, account }
  if (yield* existsForCaller(context, name, key, how)) return null
  const absent = yield* readAbsentRow(context, preparedCollection(context, name).collection, key, time)
  return (context.rights?.visible.seenAs(name, absent) ?? absent) as AbsentRow
}

/** Whether a row exists, for the caller too. */
export function* existsForCaller(
  context: StoreContext,
  name: string,
  key: RowKey,
  how: 'exists' | 'existsShared',
): Steps<boolean> {
  const own = preparedCollection(context, name)
  const values = rowKeyValues(own.collection, key, context.dialect)
  const test = context.rights?.visible.of(name)
  if (!test) return (yield { text: own.texts[how], values }).length > 0
  const [row] = yield { text: how === 'exists' ? own.texts.read : own.texts.readForShare, values }
  return row !== undefined && test.matches(viewStoredRow(own, row).doc)
}

/** Whether an absent row was deleted; without a tombstone within its retention, it counts as never created. R134. */
export function* readAbsentRow(
  context: StoreContext,
  collection: Collection,
  key: RowKey,
  now: number,
): Steps<AbsentRow> {
  const { dialect } = context
  const at = shardCondition(rowShardKey(collection, key), 3, dialect)
  const text = `SELECT time, revision FROM ${tombstoneTable} WHERE collection = ${dialect.mark(1)} AND id = ${dialect.mark(2)}${at.text}`
  const [stone] = yield { text, values: [storedNameOf(collection), tombstoneId(collection, key), ...at.values] }
  const { name, retention } = collection
  const isKept = (time: number) => retention === null || expiresBy(context, now) < time + retention
  const gone = stone !== undefined && retention !== 0 && isKept(Number(stone.time))
  return { is: gone ? 'gone' : 'missing', collection: name, id: key.id, revision: Number(stone?.revision ?? 0) }
}
