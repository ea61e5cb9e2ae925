/** Combined remove: a deletion with its tombstone and its event as one statement. The store. */

import { type PreparedCollection, preparedCollection, type StoreContext, type ViewedRow } from '../catalog/context.ts'
import type { Steps } from '../catalog/steps.ts'
import type { FoundRow, ReadResult } from '../flow/found-row.ts'
import type { Remove } from '../flow/plan.ts'
import { type EventValues, eventValues, ledgersOf } from '../ledgers/outbox.ts'
import { oldestTombstone, sweepingPart } from '../ledgers/tombstones.ts'
import { type Cell, type Collection, keyColumns, storedNameOf } from '../rows/collection.ts'
import { literal, quoted, rowKeyValues } from '../sql/dialect.ts'
import { type Statement, tombstoneId, tombstoneTable } from '../sql/statements.ts'
import {
  equalColumns,
  type ListType,
  ownEventTypes,
  ownEventValues,
  recordedParts,
  recordingName,
  rowNameColumns,
  type StatementText,
  selectRow,
  textTypes,
  valueRows,
  valuesOf,
  withClause,
} from './combined.ts'

/**
 * The deletion of a row to which no other row refers, as one statement; it deletes nothing and returns no row if the row has
 * another revision. Null if it needs more statements, because the row has values for nodes of another declaration.
 */
export function* combinedRemove(
  context: StoreContext,
  plan: Remove,
  current: ReadResult | null,
): Steps<Statement | null> {
  const own = preparedCollection(context, plan.collection)
  const { collection, former, shape } = own
  const { dialect, dropped, backlog } = context
  if (!dialect.combines || dropped || backlog || former) return null
  const ledgers = yield* ledgersOf(context, own)
  if (ledgers && !(current?.is === 'found' && current.revision === plan.revision && isCompleteEvent(own, current)))
    return null
  const { key, revision, time } = plan
  const doc = current?.is === 'found' ? current.doc : ''
  const change = { key, revision: revision + 1, action: 'deleted', doc, shape, time }
  const event = ledgers && eventValues(context, collection, { ...change, ledgers })
  const last = event ? revision + 1 : revision
  const owner = collection.account === null ? null : key.account
  const values: Cell[] = [...rowKeyValues(collection, key, dialect), revision]
  if (isRemembered(collection, event)) values.push(last)
  if (collection.leavesTombstones) values.push(tombstoneId(collection, key), time, owner)
  if (collection.retention !== null) values.push(oldestTombstone(context, collection.retention, time))
  if (event) values.push(shape, doc, ...ownEventValues(event))
  const texts = own.prepared.form(`remove${event ? ` ${recordingName(event)}` : ''}`, () =>
    removeTexts(own, event, context),
  )
  return { ...texts, values, autocommit: 'write' }
}

/** Whether a statement uses the last revision of the row: it leaves a tombstone, or records the deletion. */
const isRemembered = ({ leavesTombstones }: Collection, event: EventValues | null): boolean =>
  leavesTombstones || event !== null

/** Whether the event of a deletion has no further rows: no joined rows, and no row of its own for nodes of other declarations. */
const isCompleteEvent = ({ eventJoins }: PreparedCollection, current: FoundRow): boolean =>
  eventJoins.length === 0 && (current as Partial<ViewedRow>).view == null

// long because: both texts are built from the same parts
function removeTexts(
  { collection }: PreparedCollection,
  event: EventValues | null,
  context: StoreContext,
): StatementText {
  const { dialect } = context
  const { retention, leavesTombstones } = collection
  const names = keyColumns(collection)
  const types: ListType[] = [...textTypes(names), 'bigint']
  const last = types.length
  if (isRemembered(collection, event)) types.push('bigint')
  const stone = types.length
  if (leavesTombstones) types.push('text', 'bigint', 'text')
  const expiry = types.length
  if (retention !== null) types.push('bigint')
  const shape = types.length
  if (event) types.push('bigint', 'text', ...ownEventTypes(event))
  const places = { key: 0, revision: last, shape, doc: shape + 1, own: shape + 2 }
  const recorded = event ? recordedParts(context, { event, collection, places }) : () => []
  const name = literal(storedNameOf(collection))

  const parts = (from: string, value: (i: number) => string, oldest: string, isBatch: boolean): readonly string[] => [
    ...(leavesTombstones
      ? [
          `stone AS (INSERT INTO ${tombstoneTable} (collection, id, time, revision, owner) SELECT ${[name, value(stone), value(stone + 1), value(last), value(stone + 2)].join(', ')}${from})`,
        ]
      : []),
    ...(retention === null ? [] : [sweepingPart(name, oldest, isBatch, dialect)]),
    ...recorded(from, value),
  ]
  const returned = rowNameColumns(names, 'own').join(', ')
  const [one, each] = valuesOf(types, dialect)
  const row = names.map((key, i) => `own.${key} = ${one(i)}`).join(' AND ')
  const removed = `written AS (DELETE FROM ${quoted(collection.table)} AS own WHERE ${row} AND own.revision = ${one(names.length)} RETURNING ${returned})`
  const text = withClause([removed, ...parts(' FROM written', one, one(expiry), false)]) + selectRow
  if (!dialect.coalesces) return { text }
  const removedAll = `written AS (DELETE FROM ${quoted(collection.table)} AS own USING one WHERE ${equalColumns('own', [...names, 'revision'], 0)} RETURNING ${returned})`
  const from = ` FROM one JOIN written ON ${names.map((_, i) => `written.at${i} = one.c${i}`).join(' AND ')}`
  const oldest = `(SELECT min(one.c${expiry}) FROM one)`
  const valuesText = `one AS (SELECT * FROM ${valueRows(types, dialect)})`
  const all = withClause([valuesText, removedAll, ...parts(from, each, oldest, true)]) + selectRow
  return { text, many: { text: all, types, at: [...names.keys()] } }
}
