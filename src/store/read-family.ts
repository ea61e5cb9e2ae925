/** Read family: reads the rows that have a value in a column, or that refer to a row. R226. The cellar. */

import { preparedCollection, rowKeyOf, type StoreContext, storedDocumentOf } from '../catalog/context.ts'
import { rowConflict, type Steps } from '../catalog/steps.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { FamilyRead, FamilyRows } from '../flow/plan.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import { isColocatedDependent, type Referrer, readReferrers } from '../ledgers/remote-entries.ts'
import { type Collection, type Dependent, keyColumns, viewRow } from '../rows/collection.ts'
import { quoted, rowKeyValues } from '../sql/dialect.ts'
import { readAbsentRow } from './read-row.ts'

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
export function distantReferences(
  { collections, dialect }: StoreContext,
  name: string,
  column: string,
): ReferredTo | null {
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
export function* lockReferrers(
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
