/** Refill: rewrites rows of old shapes in batches, in the current shape and with all index columns. The cellar. */

import {
  type PreparedCollection,
  preparedCollection,
  rowKeyOf,
  type StoreContext,
  storeContext,
  storedDocumentOf,
} from '../catalog/context.ts'
import type { ResultRow, Steps } from '../catalog/steps.ts'
import { updateRemoteEntries } from '../ledgers/remote-entries.ts'
import {
  cellsIn,
  type DocumentTexts,
  encodeDocument,
  keptForOthersKey,
  keyColumns,
  type RowView,
  type StoredDocument,
  viewRow,
  withKeptForOthers,
} from '../rows/collection.ts'
import { readBatch } from '../schema/declared-rows.ts'
import type { SurveyedChange } from '../schema/hazard.ts'
import { formerLayout, writableCollections } from '../schema/state.ts'
import type { Refill } from '../schema/step.ts'
import { type Dialect, equations, quoted, rowKeyColumns } from '../sql/dialect.ts'
import { type TableLayout, uniqueIndexName } from '../sql/layout.ts'
import { linkTable, reservationTable } from '../sql/statements.ts'
import { type AllowedDrops, copyDroppedValues } from './drop.ts'
import { filledDocument } from './fill-aggregates.ts'
import { moveFields, namingRowInErrors } from './move-fields.ts'

/** How many rows are rewritten at a time. */
const batchSize = 500

interface RefillContext {
  /** Undefined if the current declaration is not the one that the rows are rewritten for. */
  readonly prepared: PreparedCollection | undefined
  readonly table: TableLayout | undefined
  readonly fill: Refill
  readonly dialect: Dialect
  readonly cellar: StoreContext
  /** The values that the change may drop; missing if it drops nothing yet, as old nodes still run. */
  readonly dropping?: AllowedDrops
}

export type RefillFor = (fill: Refill) => RefillContext

export function prepareRefills({ change, collections, dialect }: SurveyedChange, dropping: AllowedDrops): RefillFor {
  const { before, after: layout } = change
  const known = writableCollections(collections, layout, dialect)
  const cellar = storeContext(known, { layout, former: formerLayout(before) }, dialect, () => false)
  return (fill) => {
    const [prepared, table] = [preparedCollection(cellar, fill.collection), layout.tables[fill.collection]]
    return { prepared, table, fill, dialect, cellar, dropping }
  }
}

/** Rewrites one batch of rows after a key; returns the last key, or null if no rows are left. */
export function* refill(refilling: RefillContext, after: readonly string[] | null): Steps<readonly string[] | null> {
  const { prepared, table, fill, dialect, cellar } = refilling
  if (!prepared) return yield* requireNoOldRows(fill, table)
  const { collection } = prepared
  const keys = keyColumns(collection)
  const columns = rowKeyColumns(collection, dialect)
  const [key, marks] = [keys.join(', '), keys.map((_, i) => dialect.mark(i + 1)).join(', ')]
  const rows = yield {
    text: `SELECT ${columns.join(', ')}, revision, shape, doc, hidden FROM ${quoted(collection.table)} WHERE (${key}) > (${marks})
      AND ${rowsToRewrite(prepared, fill)} ORDER BY ${key} LIMIT ${batchSize}`,
    values: after ?? keys.map(() => ''),
  }
  for (const row of rows) {
    yield* moveFields({ cellar, latest: fill.latest === true }, prepared, row)
    yield* rewriteRow(refilling, prepared, columns, row)
  }
  const last = rows.at(-1)
  return last && rows.length === batchSize ? keys.map((name) => last[name] as string) : null
}

/** Aggregates are computed for all rows, as old nodes changed other rows without them. */
function rowsToRewrite({ collection, shape }: PreparedCollection, { ahead }: Refill): string {
  if (ahead) return `shape < ${shape}`
  return collection.aggregates.length > 0 ? '1 = 1' : `(shape < ${shape} OR hidden LIKE '%"*":%')`
}

/** Rebuilds the reservations and links of one batch of rows of a sharded database; returns the key of the last one, or null if no rows are left. */
export function* reserveValues(
  { prepared, dialect, cellar }: RefillContext,
  after: readonly string[] | null,
): Steps<readonly string[] | null> {
  if (!prepared)
    throw new Error(
      'the resource has another form in this declaration. Carry this plan out with the declaration that it was made for.',
    )
  const { collection } = prepared
  if (after === null) {
    // Starts again from nothing, as an earlier run may have been interrupted.
    for (const { columns } of collection.uniques)
      yield {
        text: `DELETE FROM ${reservationTable} WHERE name = ${dialect.mark(1)}`,
        values: [uniqueIndexName(collection, columns)],
      }
    yield { text: `DELETE FROM ${linkTable} WHERE collection = ${dialect.mark(1)}`, values: [collection.name] }
  }
  const { rows, last } = yield* readBatch(collection, dialect, after)
  for (const row of rows) {
    const written = { key: rowKeyOf(row), time: 0 }
    const clash = yield* updateRemoteEntries(cellar, prepared, written, null, storedDocumentOf(row))
    if (clash) throw new Error(`several rows have the same ${clash.fields.join(' and ')}. Change them first.`)
  }
  return last
}

/** Without rows of old shapes, as in a new database, the plan can run with any declaration. */
function* requireNoOldRows({ collection }: Refill, table: TableLayout | undefined): Steps<null> {
  const { table: name, shape } = table as TableLayout
  const [row] = yield { text: `SELECT 1 AS found FROM ${quoted(name)} WHERE shape < ${shape} LIMIT 1`, values: [] }
  if (!row) return null
  throw new Error(
    `the rows of ${collection} have to be rewritten for an earlier declaration, from which this one differs. Carry this plan out with the declaration that it was made for.`,
  )
}

/** The hidden column of a rewritten row; while old nodes may run, it keeps the exact document that they wrote. */
function hiddenText(
  { collection, shape, former }: PreparedCollection,
  { again, ahead }: Refill,
  stored: StoredDocument,
  seen: RowView,
  texts: DocumentTexts,
): string | null {
  if (again) return withKeptForOthers(collection, { own: shape, former }, seen, texts)
  if (!ahead || former?.shape !== stored.shape) return texts.hidden
  const known = { [former.shape]: seen.others[former.shape] }
  return JSON.stringify({ ...JSON.parse(texts.hidden ?? '{}'), [keptForOthersKey]: known })
}

/** Rewrites one row, unless it was written meanwhile; if an old node wrote it, a later pass finds it. */
function* rewriteRow(
  { fill, dialect, dropping, cellar }: RefillContext,
  prepared: PreparedCollection,
  keys: readonly string[],
  row: ResultRow,
): Steps<void> {
  const { collection, shape } = prepared
  const own = keys.map((name) => row[name] as string)
  const fills = !fill.ahead && collection.aggregates.length > 0
  const [locked] = fills ? yield { text: prepared.texts.readForUpdate, values: own } : [row]
  if (!locked) return
  const stored = storedDocumentOf(locked)
  const viewed = namingRowInErrors(own.join('/'), () => viewRow(collection, shape, stored))
  const account = (row.account ?? null) as string | null
  const seen = fills
    ? { ...viewed, document: yield* filledDocument(cellar, collection, viewed.document, account) }
    : viewed
  const texts = encodeDocument(collection, seen.document)
  // Nodes of this declaration may have answered the row before it was filled.
  const moved = fills && texts.doc !== encodeDocument(collection, viewed.document).doc
  const hidden = hiddenText(prepared, fill, stored, seen, texts)
  const names = ['doc', 'hidden', 'shape', ...collection.columns.map(({ name }) => quoted(name))]
  const set = equations(names, dialect)
  if ((fill.again && stored.shape < shape) || moved) set.push('revision = revision + 1')
  const where = equations([...keys, 'revision', 'shape'], dialect, names.length + 1)
  yield {
    text: `UPDATE ${quoted(collection.table)} SET ${set.join(', ')} WHERE ${where.join(' AND ')}`,
    values: [
      ...[texts.doc, hidden, shape, ...cellsIn(collection, seen.document)],
      ...own,
      ...[Number(locked.revision), stored.shape],
    ],
    pipelined: true,
  }
  if (dropping)
    yield* copyDroppedValues(dropping, collection, { ...row, ...stored }, { document: seen.document, hidden }, dialect)
}
