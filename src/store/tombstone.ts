/** What stays of deleted rows, so that they can be told from rows that never were. The cellar. */
import type { Absent, Key } from '../flow/plan.ts'
import type { Collection } from '../resources/collection.ts'
import type { Cellar, Steps } from './cellar.ts'
import { tombstoneId, tombstones } from './compile.ts'

/** What is known of a row that is not there. One whose deletion is no longer remembered was never there. R134. */
export function* departed({ dialect }: Cellar, collection: Collection, key: Key, now: number): Steps<Absent> {
  const text = `SELECT time, revision FROM ${tombstones} WHERE collection = ${dialect.mark(1)} AND id = ${dialect.mark(2)}`
  const [stone] = yield { text, values: [collection.name, tombstoneId(collection, key)] }
  const { name, retention } = collection
  const gone = stone !== undefined && (retention === null || now < Number(stone.time) + retention)
  return { is: gone ? 'gone' : 'missing', collection: name, id: key.id, revision: Number(stone?.revision ?? 0) }
}

export function* bury(
  { dialect: { mark } }: Cellar,
  collection: Collection,
  key: Key,
  { revision, time }: { readonly revision: number; readonly time: number },
): Steps<void> {
  const text = `INSERT INTO ${tombstones} (collection, id, time, revision) VALUES (${mark(1)}, ${mark(2)}, ${mark(3)}, ${mark(4)})`
  yield { text, values: [collection.name, tombstoneId(collection, key), time, revision] }
}

/** Takes the tombstone of a row that is made again. */
export function* exhume({ dialect }: Cellar, collection: Collection, key: Key): Steps<void> {
  const text = `DELETE FROM ${tombstones} WHERE collection = ${dialect.mark(1)} AND id = ${dialect.mark(2)}`
  yield { text, values: [collection.name, tombstoneId(collection, key)] }
}

const mostSwept = 10

/** Takes some tombstones that are no longer needed: more than one deletion adds, so that they cannot pile up. R134. */
export function* sweep({ dialect: { mark } }: Cellar, { name, retention }: Collection, now: number): Steps<void> {
  if (retention === null) return
  const old = `SELECT id FROM ${tombstones} WHERE collection = ${mark(1)} AND time <= ${mark(2)} ORDER BY time LIMIT ${mark(3)}`
  const text = `DELETE FROM ${tombstones} WHERE collection = ${mark(1)} AND id IN (${old})`
  yield { text, values: [name, now - retention, mostSwept] }
}
