/** Writes one row, with everything that is kept about it: references, tombstones, entries on other shards, old nodes. The store. */
import { isDeepStrictEqual } from 'node:util'
import {
  hiddenColumn,
  type PreparedCollection,
  preparedCollection,
  type StoreContext,
  type ViewedRow,
} from '../catalog/context.ts'
import { withoutWaitingTotals } from '../catalog/old-nodes.ts'
import { rowConflict as movedRow, type Steps } from '../catalog/steps.ts'
import type { AbsentRow, ReadResult } from '../flow/found-row.ts'
import type { Duplicate, Outcome } from '../flow/outcome.ts'
import type { Create, RowWrite, Update } from '../flow/plan.ts'
import { markWrittenFields } from '../ledgers/dropped-copies.ts'
import { keepAnswer, takeClaim } from '../ledgers/idempotency-claims.ts'
import { type EventValues, eventValues, type Ledgers, ledgersIn, ledgersOf, recordEvent } from '../ledgers/outbox.ts'
import { updateRemoteEntries } from '../ledgers/remote-entries.ts'
import { deleteTombstone } from '../ledgers/tombstones.ts'
import { rowKeyValues } from '../sql/dialect.ts'
import type { Statement } from '../sql/statements.ts'
import { combinedUpdate, ownEventValues } from './combined.ts'
import { combinedCreate } from './combined-create.ts'
import { hasEventRows, writeForOldNodes } from './joined.ts'
import { absentOwner, existsForCaller, readAbsentRow } from './read-row.ts'
import { removeRow } from './remove-row.ts'
import { lastRevision } from './revisions.ts'

type RequiredReference = Create['references'][number]
type RowCell = Update['row']['cells'][number]

export function* writeRow(context: StoreContext, write: RowWrite, current: ReadResult | null): Steps<Outcome> {
  if (write.do === 'keep') return { is: 'kept', current: current as ReadResult }
  if (write.do === 'remove') return yield* removeRow(context, write, current)
  const plan = write.do === 'create' && context.backlog ? yield* withoutWaitingTotals(context, write) : write
  context.rights?.admitWritten(plan)
  const { collection, key } = plan
  context.onWrite?.({
    collection,
    key,
    ...(plan.do === 'update' && changedColumns(context, plan, current as ViewedRow)),
  })
  const steps =
    plan.do === 'create' ? createRow(context, plan, current) : updateRow(context, plan, current as ViewedRow)
  return yield* context.backlog ? writeForOldNodes(context, plan, steps) : steps
}

/** The columns whose values change; a row of another shape may lack the values of others. */
function changedColumns(context: StoreContext, { collection: name, changedCells }: Update, viewed: ViewedRow) {
  const { collection, shape } = preparedCollection(context, name)
  return viewed.shape === shape ? { changed: changedCells.map((i) => collection.columns[i]?.name as string) } : null
}

function* createRow(context: StoreContext, plan: Create, current: ReadResult | null): Steps<Outcome> {
  const own = preparedCollection(context, plan.collection)
  const ledgers = yield* ledgersOf(context, own)
  const whole = wholeCreation(context, own, plan, ledgers)
  if (whole && (yield whole).length > 0) return created(plan, leastRevision(own, plan))
  return yield* createInSteps(context, own, plan, { current, ledgers })
}

/** The statement of a creation that needs only this one, unless it returns no row; null for other creations. */
export function loneCreation(context: StoreContext, plan: Create): Statement | null {
  if (context.backlog || hasEffects(context, plan)) return null
  const own = preparedCollection(context, plan.collection)
  const whole = wholeCreation(context, own, plan, ledgersIn(own.collection, null))
  if (!whole) return null
  context.rights?.admitWritten(plan)
  context.onWrite?.(plan)
  return whole
}

const hasEffects = (context: StoreContext, write: RowWrite): boolean =>
  write.consequences !== undefined || Boolean(write.effects?.length) || hasEventRows(context, write, null)

/** The outcome of a lone creation whose statement returned a row. */
export const createdAlone = (context: StoreContext, plan: Create): Outcome =>
  created(plan, leastRevision(preparedCollection(context, plan.collection), plan))

/** Continues a lone creation whose statement returned no row. */
export function createAfterwards(context: StoreContext, plan: Create): Steps<Outcome> {
  const own = preparedCollection(context, plan.collection)
  return createInSteps(context, own, plan, { current: null, ledgers: ledgersIn(own.collection, null) })
}

const created = ({ row: { doc } }: Create, revision: number): Outcome => ({ is: 'created', doc, revision })

/** The revision of a row whose id was never used. */
const leastRevision = ({ collection }: PreparedCollection, { time }: Create): number =>
  collection.retention === null ? 1 : time

/** Creates a row by one statement, which writes nothing and returns no row if further statements are needed; null if they always are. */
function wholeCreation(
  context: StoreContext,
  own: PreparedCollection,
  plan: Create,
  ledgers: Ledgers | null,
): Statement | null {
  const revision = leastRevision(own, plan)
  const event = ledgers && eventOfCreation(context, own, plan, { revision, ledgers })
  return combinedCreate(context, own, plan, { revision, event, hidden: hiddenColumn(own, null, plan.row) })
}

const eventOfCreation = (
  context: StoreContext,
  { collection, shape }: PreparedCollection,
  { key, row: { doc } }: Create,
  { revision, ledgers }: { readonly revision: number; readonly ledgers: Ledgers },
): EventValues => eventValues(context, collection, { key, revision, action: 'created', doc, shape, ledgers })

function* createInSteps(
  context: StoreContext,
  own: PreparedCollection,
  plan: Create,
  { current, ledgers }: { readonly current: ReadResult | null; readonly ledgers: Ledgers | null },
): Steps<Outcome> {
  const { collection, texts, shape } = own
  const { doc, cells } = plan.row
  const hidden = hiddenColumn(own, null, plan.row)
  const absent = isAbsenceOf(plan, current) ? current : null
  if (plan.parent && !(absent && collection.composite)) {
    const owner = yield* absentOwner(context, plan.parent, plan.key.account, plan.time, 'existsShared')
    if (owner) return owner
  }
  const taken = plan.claim && (yield* takeClaim(context, plan, plan.claim))
  if (taken) return taken
  const references = yield* missingReferences(context, plan, plan.references)
  if (references.length > 0) return { is: 'unmet', references }
  const before = plan.id === 'fresh' ? null : yield* lookUpChosenId(context, plan, absent)
  if (before && before.is !== 'missing') return yield* usedId(context, plan, before, current !== null)
  const last = before && ledgers?.history ? yield* lastRevision(context, collection, plan.key) : 0
  const revision = Math.max(leastRevision(own, plan), (before?.revision ?? 0) + 1, last + 1)
  const clash = yield* updateRemoteEntries(context, own, plan, null, { doc, hidden, shape })
  if (clash) return clash
  const row = [...rowKeyValues(collection, plan.key, context.dialect), revision, shape, doc, hidden, ...cells]
  const event = ledgers && eventOfCreation(context, own, plan, { revision, ledgers })
  const isAlone = before === null && plan.claim === null && event === null
  yield { text: texts.insert, values: row, ...(isAlone && { autocommit: 'write' }) }
  if (event) yield* recordEvent(context, event)
  if (before && context.dialect.rowLocks) {
    // Another transaction may have created and deleted the row since the lookup: its tombstone must not be missed.
    const since = yield* readAbsentRow(context, collection, plan.key, plan.time)
    if (since.revision > 0) throw movedRow(plan.collection)
  }
  if (plan.claim?.keeps) yield* keepAnswer(context, plan.claim, plan.collection, { doc, revision })
  return created(plan, revision)
}

/**
 * The refusal of an id that has been used. If not all rows exist for the caller, it does not reveal deleted ones, and a PUT
 * on a hidden row is answered as if another account had the item.
 */
function* usedId(
  context: StoreContext,
  { collection, key }: Create,
  before: AbsentRow | Duplicate,
  isPut: boolean,
): Steps<AbsentRow | Duplicate> {
  if (!context.rights?.visible.of(collection)) return before
  const isSeen = isPut && (yield* existsForCaller(context, collection, key, 'exists'))
  return { is: 'duplicate', fields: isPut && !isSeen ? [] : ['id'] }
}

/** Whether the creation was decided because this row itself was absent. */
const isAbsenceOf = ({ collection, key }: Create, current: ReadResult | null): current is AbsentRow =>
  current !== null && current.is !== 'found' && current.collection === collection && isDeepStrictEqual(current.key, key)

/** Whether a chosen id is in use, or was deleted. Deletes the tombstone if the id may be used again. R36, R91. */
function* lookUpChosenId(
  context: StoreContext,
  { collection: name, key, id, time }: Create,
  absent: AbsentRow | null,
): Steps<AbsentRow | Duplicate> {
  const { collection, texts } = preparedCollection(context, name)
  if (!absent) {
    const [row] = yield { text: texts.exists, values: rowKeyValues(collection, key, context.dialect) }
    if (row) return { is: 'duplicate', fields: ['id'] }
  }
  const before = absent ?? (yield* readAbsentRow(context, collection, key, time))
  if (before.revision === 0 || (before.is === 'gone' && id === 'chosen')) return before
  yield* deleteTombstone(context, collection, key)
  return { ...before, is: 'missing' }
}

/** The references to rows that do not exist; a row may refer to itself. */
function* missingReferences(
  context: StoreContext,
  { collection, key }: Create | Update,
  references: readonly RequiredReference[],
): Steps<RequiredReference[]> {
  const missing: RequiredReference[] = []
  for (const reference of references) {
    if (reference.collection === collection && reference.id === key.id) continue
    const named = { id: reference.id, parent: null, account: key.account }
    if (!(yield* existsForCaller(context, reference.collection, named, 'existsShared'))) missing.push(reference)
  }
  return missing
}

function* updateRow(context: StoreContext, plan: Update, viewed: ViewedRow): Steps<Outcome> {
  const own = preparedCollection(context, plan.collection)
  const { collection, shape } = own
  const references = yield* missingReferences(context, plan, plan.references)
  if (references.length > 0) return { is: 'unmet', references }
  const { doc, cells } = plan.row
  const hidden = hiddenColumn(own, viewed, plan.row)
  const was = { doc: viewed.doc, hidden: viewed.hidden, shape }
  if (context.dropped) yield* markWrittenFields(context, collection, plan.key, [was, plan.row])
  const clash = yield* updateRemoteEntries(context, own, plan, was, { doc, hidden, shape })
  if (clash) return clash
  const which = viewed.shape === shape ? plan.changedCells : [...cells.keys()] // another shape may lack the unchanged cells
  const moved = which.map((i) => cells[i] as RowCell)
  const event = yield* eventOfUpdate(context, own, plan)
  const combined = context.dialect.combines ? event : null
  const key = rowKeyValues(collection, plan.key, context.dialect)
  const [row] = yield {
    ...combinedUpdate(context, own, which, combined),
    values: [shape, doc, hidden, ...moved, ...key, plan.revision, ...(combined ? ownEventValues(combined) : [])],
    ...((event === null || combined) && { autocommit: 'write' }),
  }
  if (!row) throw movedRow(plan.collection)
  if (event && !combined) yield* recordEvent(context, event)
  return { is: 'changed', doc, revision: Number(row.revision) }
}

function* eventOfUpdate(
  context: StoreContext,
  own: PreparedCollection,
  { key, revision, entered = 'updated', row: { doc } }: Update,
): Steps<EventValues | null> {
  const ledgers = yield* ledgersOf(context, own)
  const action = own.renamedStates.get(entered) ?? entered
  const change = { key, revision: revision + 1, action, doc, shape: own.shape }
  return ledgers && eventValues(context, own.collection, { ...change, ledgers })
}
