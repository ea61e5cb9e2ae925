/** Refill: rewrites rows of old shapes in batches, in the current shape and with all index columns. The store. */

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
  type Cell,
  type Collection,
  cellsIn,
  type DocumentTexts,
  encodeDocument,
  keptForOthersKey,
  type RowView,
  type StoredDocument,
  viewRow,
  withKeptForOthers,
} from '../rows/collection.ts'
import { type BatchEnd, type RowBatch, readBatch } from '../schema/declared-rows.ts'
import type { SurveyedChange } from '../schema/hazard.ts'
import { formerLayout, writableCollections } from '../schema/state.ts'
import type { Refill } from '../schema/step.ts'
import { type Dialect, quoted, rowKeyColumns } from '../sql/dialect.ts'
import { type TableLayout, uniqueIndexName } from '../sql/layout.ts'
import { linkTable, reservationTable, type Statement } from '../sql/statements.ts'
import { type ListType, listTypeOf, valueRows } from '../store/combined.ts'
import { type AllowedDrops, copyDroppedValues } from './drop.ts'
import { filledDocument } from './fill-aggregates.ts'
import { moveFields, namingRowInErrors } from './move-fields.ts'

interface RefillContext {
  /** Undefined if the current declaration is not the one that the rows are rewritten for. */
  readonly prepared: PreparedCollection | undefined
  readonly table: TableLayout | undefined
  readonly fill: Refill
  readonly dialect: Dialect
  readonly context: StoreContext
  /** The values that the change may drop; missing if it drops nothing yet, as old nodes still run. */
  readonly dropping?: AllowedDrops
}

export type RefillFor = (fill: Refill) => RefillContext

export function prepareRefills({ change, collections, dialect }: SurveyedChange, dropping: AllowedDrops): RefillFor {
  const { before, after: layout } = change
  const writable = writableCollections(collections, layout, dialect)
  const context = storeContext(writable, { layout, former: formerLayout(before) }, dialect, () => false)
  return (fill) => {
    const [prepared, table] = [preparedCollection(context, fill.collection), layout.tables[fill.collection]]
    return { prepared, table, fill, dialect, context, dropping }
  }
}

/** Whether the rows neither take values from other rows nor pass values to them, so that batches can be rewritten in any order. */
export const isIndependent = ({ prepared, fill }: RefillContext): boolean =>
  fill.reserves ||
  (prepared !== undefined && !prepared.collection.conversions?.receivers.length && !fillsAggregates(prepared))

const fillsAggregates = ({ collection }: PreparedCollection): boolean => collection.aggregates.length > 0

/** Rewrites one batch of rows after a key, or reserves their values; of one shard if its shard keys are given. */
export function* refill(
  refilling: RefillContext,
  after: BatchEnd,
  shardKeys: readonly number[] | null = null,
): Steps<BatchEnd> {
  const { prepared, table, fill, dialect, context } = refilling
  if (!prepared) return yield* requireNoOldRows(fill, table)
  const { collection } = prepared
  // As alternatives, not with IN: for a list the server would search its index once for each of the keys.
  const ofShard = shardKeys ? ` AND (${shardKeys.map((one) => `own.home = ${one}`).join(' OR ')})` : ''
  if (fill.reserves)
    return yield* reserveValues(context, prepared, yield* readBatch(collection, dialect, after, { where: ofShard }))
  const where = `${ofShard} AND ${rowsToRewrite(prepared, fill)}`
  const { rows, last } = yield* readBatch(collection, dialect, after, { where })
  const asOne = (dialect.distribute ? shardKeys !== null : dialect.online) && isIndependent(refilling)
  for (const group of asOne ? [rows] : rows.map((row) => [row])) {
    const rewritten: RewrittenRow[] = []
    for (const row of group) {
      yield* moveFields({ context, latest: fill.latest === true }, prepared, row)
      const one = yield* rewriteRow(refilling, prepared, row)
      if (one) rewritten.push(one)
    }
    if (rewritten.length > 0) yield rewriteStatement(collection, dialect, rewritten, asOne ? ofShard : null)
    for (const { copies } of rewritten) if (copies) yield* copies
  }
  return last
}

/** Aggregates are computed for all rows, as old nodes changed other rows without them. */
function rowsToRewrite(prepared: PreparedCollection, { ahead }: Refill): string {
  const { shape } = prepared
  if (ahead) return `shape < ${shape}`
  return fillsAggregates(prepared) ? '1 = 1' : `(shape < ${shape} OR hidden LIKE '%"*":%')`
}

/** Deletes the reservations and links of a sharded database, as they may be those of an interrupted run. */
export function* clearReservations({ prepared, dialect }: RefillContext): Steps<void> {
  if (!prepared)
    throw new Error(
      'the resource has another form in this declaration. Carry this plan out with the declaration that it was made for.',
    )
  const { collection } = prepared
  for (const { columns } of collection.uniques)
    yield {
      text: `DELETE FROM ${reservationTable} WHERE name = ${dialect.mark(1)}`,
      values: [uniqueIndexName(collection, columns)],
    }
  yield { text: `DELETE FROM ${linkTable} WHERE collection = ${dialect.mark(1)}`, values: [collection.name] }
}

/** Makes the reservations and links of a batch of rows; returns the key of the last one, or null if no rows are left. */
function* reserveValues(
  context: StoreContext,
  prepared: PreparedCollection,
  { rows, last }: RowBatch,
): Steps<BatchEnd> {
  for (const row of rows) {
    const written = { key: rowKeyOf(row), time: 0 }
    const clash = yield* updateRemoteEntries(context, prepared, written, null, storedDocumentOf(row))
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
  view: RowView,
  texts: DocumentTexts,
): string | null {
  if (again) return withKeptForOthers(collection, { own: shape, former }, view, texts)
  if (!ahead || former?.shape !== stored.shape) return texts.hidden
  const views = { [former.shape]: view.others[former.shape] }
  return JSON.stringify({ ...JSON.parse(texts.hidden ?? '{}'), [keptForOthersKey]: views })
}

interface RewrittenRow {
  /** The values of `rewriteStatement`. */
  readonly values: readonly Cell[]
  /** Copies the values that the row loses, once it is rewritten. */
  readonly copies: Steps<void> | null
}

/** Converts one row; null if it is gone. */
function* rewriteRow(
  { fill, dialect, dropping, context }: RefillContext,
  prepared: PreparedCollection,
  row: ResultRow,
): Steps<RewrittenRow | null> {
  const { collection, shape } = prepared
  const own = rowKeyColumns(collection, dialect).map((name) => row[name] as Cell)
  const fills = !fill.ahead && fillsAggregates(prepared)
  const [locked] = fills ? yield { text: prepared.texts.readForUpdate, values: own } : [row]
  if (!locked) return null
  const stored = storedDocumentOf(locked)
  const viewed = namingRowInErrors(own.join('/'), () => viewRow(collection, shape, stored))
  const account = (row.account ?? null) as string | null
  const view = fills
    ? { ...viewed, document: yield* filledDocument(context, collection, viewed.document, account) }
    : viewed
  const texts = encodeDocument(collection, view.document)
  // Nodes of this declaration may have answered the row unfilled, so its revision must go up.
  const moved = fills && texts.doc !== encodeDocument(collection, viewed.document).doc
  const hidden = hiddenText(prepared, fill, stored, view, texts)
  const raised = (fill.again && stored.shape < shape) || moved ? 1 : 0
  const lost = { document: view.document, hidden }
  return {
    values: [
      ...[texts.doc, hidden, shape, ...cellsIn(collection, view.document), raised],
      ...[...own, Number(locked.revision), stored.shape],
    ],
    copies: dropping ? copyDroppedValues(dropping, collection, { ...row, ...stored }, lost, dialect) : null,
  }
}

/**
 * Writes rows, except those that were written meanwhile; if an old node wrote one, a later pass finds it. `ofShard` is the
 * further condition of a statement that writes all of them: on Citus each one is a round trip from the coordinator to a worker.
 */
function rewriteStatement(
  collection: Collection,
  dialect: Dialect,
  rows: readonly RewrittenRow[],
  ofShard: string | null,
): Statement {
  const { table, columns } = collection
  const keys = rowKeyColumns(collection, dialect)
  const names = ['doc', 'hidden', 'shape', ...columns.map(({ name }) => quoted(name)), 'revision']
  const value = (i: number) => (ofShard === null ? dialect.mark(i + 1) : `one.c${i}`)
  const set = names.map((name, i) => `${name} = ${name === 'revision' ? 'own.revision + ' : ''}${value(i)}`)
  const where = [...keys, 'revision', 'shape']
    .map((name, i) => `own.${name} = ${value(names.length + i)}`)
    .join(' AND ')
  const update = `UPDATE ${quoted(table)} AS own SET ${set.join(', ')}`
  if (ofShard === null) return { text: `${update} WHERE ${where}`, values: rows[0]?.values ?? [], pipelined: true }
  const keyTypes = keys.map((name): ListType => (name === 'home' ? 'bigint' : 'text'))
  const start: ListType[] = ['text', 'text', 'bigint', ...columns.map(listTypeOf), 'bigint']
  const types = [...start, ...keyTypes, 'bigint' as const, 'bigint' as const]
  return {
    text: `${update} FROM ${valueRows(types, dialect)} WHERE ${where}${ofShard}`,
    values: [],
    lists: { types, rows: rows.map(({ values }) => values) },
  }
}
