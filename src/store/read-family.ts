/** Read family: reads the rows that have a value in a column or in a list, or that refer to a row. R226. The store. */

import { preparedCollection, rowKeyOf, type StoreContext, storedDocumentOf } from '../catalog/context.ts'
import { rowConflict, type Steps } from '../catalog/steps.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { FamilyRead, FamilyRows, ReadRows } from '../flow/plan.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import { isColocatedDependent, type Referrer, readReferrers } from '../ledgers/remote-entries.ts'
import { type Collection, type Dependent, keyColumns, viewRow } from '../rows/collection.ts'
import { quoted, rowKeyValues } from '../sql/dialect.ts'
import { readAbsentRow } from './read-row.ts'

export function* readFamily(context: StoreContext, read: Omit<FamilyRead, 'do'>): Steps<FamilyRows> {
  const { collection: name, column, ids = () => [], value, account, time, page } = read
  if (column === null) return { is: 'family', rows: yield* readListed(context, name, { ids, id: value, account }) }
  const { collection, columnName } = preparedCollection(context, name)
  const head = distantReferences(context, name, columnName(column))
  if (head && time !== undefined) {
    const key = { id: value, parent: null, account: account ?? null }
    return { is: 'family', rows: yield* lockReferrers(context, head, { key, time }) }
  }
  const home = collection.composite && column === collection.parent?.column && context.dialect.distribute
  return yield* selectRows(context, { collection: name, account, page }, (bind) => [
    `${quoted(columnName(column))} = ${bind(value)}`,
    ...(home ? [`home = ${bind(shardKeyOf(value))}`] : []),
  ])
}

export const readRows = (context: StoreContext, read: Omit<ReadRows, 'do'>): Steps<FamilyRows> =>
  selectRows(context, read, () => [])

/** The rows of a collection that meet conditions. */
function* selectRows(
  context: StoreContext,
  { collection: name, account, page }: Pick<FamilyRead, 'collection' | 'account' | 'page'>,
  conditions: (bind: (value: string | number) => string) => readonly string[],
): Steps<FamilyRows> {
  const { collection, shape } = preparedCollection(context, name)
  const keys = keyColumns(collection)
  const values: (string | number | null)[] = []
  const bind = (one: string | number | null): string => {
    values.push(one)
    return context.dialect.mark(values.length)
  }
  const isOwned = collection.account !== null && account !== undefined
  const after = page?.after
  const all = [
    ...conditions(bind),
    ...(isOwned ? [`account = ${bind(account)}`] : []),
    ...(after ? [`(${keys.join(', ')}) > (${keys.map((key) => bind(after[key as keyof RowKey])).join(', ')})`] : []),
  ]
  const where = all.length > 0 ? ` WHERE ${all.join(' AND ')}` : ''
  const part = page ? ` ORDER BY ${keys.join(', ')} LIMIT ${Math.trunc(page.limit)}` : ''
  const rows = yield {
    text: `SELECT ${keys.join(', ')}, shape, doc, hidden FROM ${quoted(collection.table)}${where}${part}`,
    values,
  }
  const members = rows.map((row) => ({
    key: rowKeyOf(row),
    document: viewRow(collection, shape, storedDocumentOf(row)).document,
  }))
  return { is: 'family', rows: members }
}

const batchSize = 1000

interface ListedSearch extends Pick<Dependent, 'ids'> {
  readonly id: string
  readonly account: FamilyRead['account']
  /** The number of rows after which the search ends. */
  readonly most?: number
}

/** The rows with an id in a list, for which there is no column: searches the text of the documents, batch by batch. */
export function* readListed(
  context: StoreContext,
  name: string,
  { ids, id, account, most = Number.MAX_SAFE_INTEGER }: ListedSearch,
): Steps<(FamilyRows['rows'][number] & { readonly revision: number })[]> {
  const { collection, shape } = preparedCollection(context, name)
  const { like, mark, pattern } = context.dialect
  const whose = collection.account === null || account === undefined ? [] : [account]
  const also = whose.length > 0 ? ` AND account = ${mark(3)}` : ''
  const within = `(${like('doc', mark(1))} OR ${like('hidden', mark(1))})${also}`
  const keys = keyColumns(collection).join(', ')
  const text = `SELECT ${keys}, revision, shape, doc, hidden FROM ${quoted(collection.table)} WHERE ${within} ORDER BY ${keys} LIMIT ${batchSize} OFFSET ${mark(2)}`
  const members: (FamilyRows['rows'][number] & { readonly revision: number })[] = []
  for (let offset = 0; ; offset += batchSize) {
    const rows = yield { text, values: [pattern(['', JSON.stringify(id), '']), offset, ...whose] }
    for (const row of rows) {
      const { document } = viewRow(collection, shape, storedDocumentOf(row))
      if (ids(document).includes(id)) members.push({ key: rowKeyOf(row), document, revision: Number(row.revision) })
    }
    if (rows.length < batchSize || members.length >= most) return members
  }
}

/** A row that others refer to, and how rows of one collection refer to it. */
interface ReferredTo {
  readonly target: Collection
  readonly dependent: Dependent
}

/** On a sharded database, the reference of a column, if the rows with that value may be on other shards. */
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
  context: StoreContext,
  { target, dependent }: ReferredTo,
  { key, time }: { readonly key: RowKey; readonly time: number },
): Steps<FamilyRows['rows'][number][]> {
  const { collection, shape, texts } = preparedCollection(context, dependent.collection)
  const rows: FamilyRows['rows'][number][] = []
  for (const referrer of yield* readReferrers(context, target, { key, time }, dependent.collection)) {
    const values = rowKeyValues(collection, referrer.key, context.dialect)
    const [row] = yield { text: texts.readForShare, values }
    if (row === undefined) yield* requireAbsence(context, collection, referrer, time)
    else {
      const { document } = viewRow(collection, shape, storedDocumentOf(row))
      if (dependent.ids(document).includes(key.id)) rows.push({ key: referrer.key, document })
    }
  }
  return rows
}

/** Throws a conflict if a referring row may still be in the middle of its commit: the shard of its link committed first. */
export function* requireAbsence(
  context: StoreContext,
  collection: Collection,
  { key, old }: Referrer,
  time: number,
): Steps<void> {
  const gone = old || (yield* readAbsentRow(context, collection, key, time)).revision > 0
  if (!gone) throw rowConflict(collection.name)
}
