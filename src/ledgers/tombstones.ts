/** Tombstones: what is kept of a deleted row, so that its id is answered with 410 and not used again. R133 to R137. The store. */

import type { StoreContext } from '../catalog/context.ts'
import type { Steps } from '../catalog/steps.ts'
import type { RowKey } from '../flow/found-row.ts'
import { expiresBy } from '../ledgers/idempotency-claims.ts'
import { type Collection, storedNameOf } from '../rows/collection.ts'
import { type Dialect, insertStatement, rowShardKey, shardCondition } from '../sql/dialect.ts'
import { tombstoneId, tombstoneTable } from '../sql/statements.ts'

/**
 * The least time that the last revision of a deleted row is kept, in milliseconds, even if its id may be used again at once: a
 * row that is created again in the same moment, or by a node whose clock is behind, must get a higher one.
 */
const shortestMemory = 10 * 60_000

/** Tombstones with an earlier time are no longer needed. */
export const oldestTombstone = (context: StoreContext, retention: number, now: number): number =>
  expiresBy(context, now) - Math.max(retention, shortestMemory)

/** Leaves a tombstone for a row that is deleted. */
export function* writeTombstone(
  { dialect }: StoreContext,
  collection: Collection,
  key: RowKey,
  { revision, time }: { readonly revision: number; readonly time: number },
): Steps<void> {
  const owner = collection.account === null ? null : key.account
  const stone = { collection: storedNameOf(collection), id: tombstoneId(collection, key), time, revision, owner }
  yield insertStatement(tombstoneTable, stone, rowShardKey(collection, key), dialect)
}

/** Deletes the tombstone of a row that is created again. */
export function* deleteTombstone({ dialect }: StoreContext, collection: Collection, key: RowKey): Steps<void> {
  const at = shardCondition(rowShardKey(collection, key), 3, dialect)
  const text = `DELETE FROM ${tombstoneTable} WHERE collection = ${dialect.mark(1)} AND id = ${dialect.mark(2)}${at.text}`
  yield { text, values: [storedNameOf(collection), tombstoneId(collection, key), ...at.values] }
}

/** How many tombstones one deletion, or one batch of deletions, deletes: more than it adds, so that they cannot pile up. R134. */
const [maxSwept, maxSweptByBatch] = [10, 200]

/** Deletes some tombstones that are no longer needed. */
export function* sweepTombstones(
  context: StoreContext,
  { collection, key }: { readonly collection: Collection; readonly key: RowKey },
  now: number,
): Steps<void> {
  const { dialect } = context
  const { retention } = collection
  if (retention === null) return
  const { mark } = dialect
  const at = shardCondition(rowShardKey(collection, key), 3, dialect)
  // The limit is a literal: for a bound one, PostgreSQL expects a tenth of the tombstones, and may read all of them.
  const old = `SELECT id FROM ${tombstoneTable} WHERE collection = ${mark(1)} AND time <= ${mark(2)}${at.text} ORDER BY time LIMIT ${maxSwept}`
  const text = `DELETE FROM ${tombstoneTable} WHERE collection = ${mark(1)} AND id IN (${old})${at.text}`
  yield { text, values: [storedNameOf(collection), oldestTombstone(context, retention, now), ...at.values] }
}

/**
 * The part of a deletion, or of a batch of deletions, that deletes some tombstones of a collection with an earlier time. It
 * leaves those that another statement is deleting, as two such statements that waited for each other would be a deadlock.
 */
export function sweepingPart(name: string, time: string, isBatch: boolean, { rowLocks }: Dialect): string {
  const limit = `LIMIT ${isBatch ? maxSweptByBatch : maxSwept}${rowLocks?.exclusive} SKIP LOCKED`
  const old = `SELECT id FROM ${tombstoneTable} WHERE collection = ${name} AND time <= ${time} ORDER BY time ${limit}`
  return `swept AS (DELETE FROM ${tombstoneTable} WHERE collection = ${name} AND id = ANY (ARRAY(${old})))`
}
