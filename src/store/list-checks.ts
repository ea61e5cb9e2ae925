/** List checks: locks the lists that a handler has read and reads them again before a commit. R226. The store. */

import { preparedCollection, type StoreContext } from '../catalog/context.ts'
import { resolveList } from '../catalog/resolve-list.ts'
import type { Steps } from '../catalog/steps.ts'
import type { ListCheck, ListRows } from '../flow/plan.ts'
import type { Cell } from '../rows/collection.ts'
import { quoted, rowKeyValues, rowShardKey, shardCondition } from '../sql/dialect.ts'
import { distantReferences, lockReferrers } from './read-family.ts'
import { readPage } from './read-page.ts'

/**
 * Locks a list below an owner by locking the row of the owner, which each new child locks too, and the rows of its children.
 * Any other
 * list is locked by its table: that lock conflicts with the one that PostgreSQL takes for each write, so writers need no
 * further lock.
 */
export function* lockLists(context: StoreContext, checks: readonly ListCheck[]): Steps<void> {
  const { rowLocks } = context.dialect
  if (!rowLocks) return
  const tables = checks.flatMap(({ list }) => (list.parent ? [] : [tableOf(context, list)]))
  for (const table of [...new Set(tables)].sort())
    yield { text: `LOCK TABLE ${quoted(table)} IN SHARE ROW EXCLUSIVE MODE`, values: [] }
  for (const { list } of checks) if (list.parent) yield* lockFamily(context, list, list.parent)
}

const tableOf = (context: StoreContext, { collection }: ListRows): string =>
  preparedCollection(context, collection).collection.table

function* lockFamily(
  context: StoreContext,
  { collection: name, account, time }: ListRows,
  { collection: owner, id }: NonNullable<ListRows['parent']>,
): Steps<void> {
  const { dialect } = context
  const above = preparedCollection(context, owner)
  const { collection, columnName } = preparedCollection(context, name)
  const key = { id, parent: null, account }
  yield { text: above.texts.lock, values: rowKeyValues(above.collection, key, dialect) }
  const parent = columnName(collection.parent?.column as string)
  const distant = distantReferences(context, name, parent)
  if (distant) {
    yield* lockReferrers(context, distant, { key, time })
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
export function* performListCheck(context: StoreContext, { list, admit }: ListCheck): Steps<void> {
  const { data } = yield* readPage(context, resolveList(context, list))
  admit(data)
}
