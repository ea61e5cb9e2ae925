/** Cross-check: compares what a database stores twice with its rows: index columns, totals and idempotency keys. The store. */

import {
  type PreparedCollection,
  rowKeyOf,
  type StoreContext,
  storeContext,
  storedDocumentOf,
} from '../catalog/context.ts'
import type { ResultRow, Steps } from '../catalog/steps.ts'
import { claimTable } from '../ledgers/idempotency-claims.ts'
import { type Cell, type Collection, cellIn, type Members, viewRow } from '../rows/collection.ts'
import { type BatchEnd, type RowBatch, readBatch, rowLabel } from '../schema/declared-rows.ts'
import type { CrossFault } from '../schema/migration.ts'
import type { SchemaState } from '../schema/schema-change.ts'
import type { SchemaComparison } from '../schema/state.ts'
import { type Dialect, quoted, rowKeyValues } from '../sql/dialect.ts'
import { layoutOf } from '../sql/layout.ts'
import { tombstoneTable } from '../sql/statements.ts'
import { filledDocument } from './fill-aggregates.ts'

/** The faults; null if the database is not as declared, so that nothing can be compared. */
export function* crossCheck(
  { state }: SchemaComparison,
  collections: readonly Collection[],
  dialect: Dialect,
): Steps<readonly CrossFault[] | null> {
  if (state === null || !isAsDeclared(state, collections, dialect)) return null
  const context = storeContext(collections, state, dialect)
  const faults = new Map<string, CrossFault & { readonly rows: string[] }>()
  const say = (collection: string, says: string, row: string): void => {
    const key = `${collection} ${says}`
    const fault = faults.get(key) ?? { collection, says, rows: [] as string[] }
    faults.set(key, fault)
    fault.rows.push(row)
  }
  for (const prepared of context.collections.values()) {
    const { name } = prepared.collection
    yield* checkRows(context, prepared, (says, row) => say(name, says, row))
    for (const id of yield* orphanedKeys(context, prepared))
      say(name, 'an idempotency key belongs to an item that was never there', id)
  }
  return [...faults.values()]
}

/** Whether all rows are in the form of the declaration. Further tables do not matter. */
function isAsDeclared({ layout }: SchemaState, collections: readonly Collection[], dialect: Dialect): boolean {
  const { tables } = layoutOf(collections, layout, dialect, layout.shared)
  return (
    !layout.open &&
    collections.every(({ name }) => JSON.stringify(tables[name]) === JSON.stringify(layout.tables[name]))
  )
}

type Say = (says: string, row: string) => void

function* checkRows(context: StoreContext, prepared: PreparedCollection, say: Say): Steps<void> {
  const { collection } = prepared
  // Large integers are read as texts, since no JavaScript number has their value.
  const columns = collection.columns.map(({ name }) => `CAST(${quoted(name)} AS TEXT) AS ${quoted(name)}`)
  let after: BatchEnd = null
  do {
    const { rows, last }: RowBatch = yield* readBatch(collection, context.dialect, after, { columns })
    for (const row of rows) yield* checkRow(context, prepared, row, say)
    after = last
  } while (after)
}

function* checkRow(context: StoreContext, prepared: PreparedCollection, row: ResultRow, say: Say): Steps<void> {
  const { collection } = prepared
  const document = documentOf(prepared, row)
  if (document === null) return // the row is reported as one that cannot be converted
  const label = rowLabel({ key: rowKeyOf(row) })
  for (const column of collection.columns)
    if (!isSame(row[column.name], cellIn(column, document))) say(`${column.name} differs from the document`, label)
  const wrong = yield* wrongTotals(context, collection, document, row)
  if (wrong.length === 0) return
  // Other transactions may have changed rows between the reads; the revision then differs, as every change of a total raises
  // it.
  const [now] = yield { text: prepared.texts.read, values: rowKeyValues(collection, rowKeyOf(row), context.dialect) }
  if (now && Number(now.revision) === Number(row.revision))
    for (const field of wrong) say(`${field} is not what follows from the rows that it is made from`, label)
}

function documentOf({ collection, shape }: PreparedCollection, row: ResultRow): Members | null {
  try {
    return viewRow(collection, shape, storedDocumentOf(row)).document
  } catch {
    return null
  }
}

const isSame = (stored: unknown, cell: Cell): boolean =>
  stored === null || stored === undefined || cell === null ? (stored ?? null) === cell : String(stored) === String(cell)

function* wrongTotals(
  context: StoreContext,
  collection: Collection,
  document: Members,
  { account = null }: ResultRow,
): Steps<string[]> {
  if (collection.aggregates.length === 0) return []
  const filled = yield* filledDocument(context, collection, document, account as string | null)
  const isWrong = (field: string) => JSON.stringify(document[field] ?? null) !== JSON.stringify(filled[field] ?? null)
  return collection.aggregates.map(({ field }) => field).filter(isWrong)
}

/** The ids of items that keys belong to, but that are neither there nor deleted; only if tombstones are kept for ever. */
function* orphanedKeys({ dialect }: StoreContext, { collection }: PreparedCollection): Steps<readonly string[]> {
  const { account, composite, retention, table } = collection
  if (account !== null || composite || retention !== null || dialect.distribute) return []
  const rows = yield {
    text: `SELECT id FROM ${claimTable.name} AS own WHERE collection = ${dialect.mark(1)} AND id <> ''
      AND NOT EXISTS (SELECT 1 FROM ${quoted(table)} AS item WHERE item.id = own.id)
      AND NOT EXISTS (SELECT 1 FROM ${tombstoneTable} AS gone WHERE gone.collection = own.collection AND gone.id = own.id)
      ORDER BY id`,
    values: [collection.called ?? collection.name],
  }
  return rows.map(({ id }) => String(id))
}
