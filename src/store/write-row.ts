/** Writes one row, with everything that is kept about it: references, tombstones, entries on other shards, old nodes. The cellar. */
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

export function* writeRow(cellar: StoreContext, given: RowWrite, seen: ReadResult | null): Steps<Outcome> {
  if (given.do === 'keep') return { is: 'kept', seen: seen as ReadResult }
  if (given.do === 'remove') return yield* removeRow(cellar, given, seen)
  const plan = given.do === 'create' && cellar.backlog ? yield* withoutWaitingTotals(cellar, given) : given
  cellar.rights?.admitWritten(plan)
  const { collection, key } = plan
  cellar.onWrite?.({ collection, key, ...(plan.do === 'update' && changedColumns(cellar, plan, seen as ViewedRow)) })
  const steps = plan.do === 'create' ? createRow(cellar, plan, seen) : updateRow(cellar, plan, seen as ViewedRow)
  return yield* cellar.backlog ? writeForOldNodes(cellar, plan, steps) : steps
}

/** The columns whose values change; a row of another shape may lack the values of others. */
function changedColumns(cellar: StoreContext, { collection: name, changedCells }: Update, seen: ViewedRow) {
  const { collection, shape } = preparedCollection(cellar, name)
  return seen.shape === shape ? { changed: changedCells.map((i) => collection.columns[i]?.name as string) } : null
}

function* createRow(cellar: StoreContext, plan: Create, seen: ReadResult | null): Steps<Outcome> {
  const own = preparedCollection(cellar, plan.collection)
  const ledgers = yield* ledgersOf(cellar, own)
  const whole = wholeCreation(cellar, own, plan, ledgers)
  if (whole && (yield whole).length > 0) return created(plan, leastRevision(own, plan))
  return yield* createInSteps(cellar, own, plan, { seen, ledgers })
}

/** The statement of a creation that takes only this one, unless it returns no row; null for other creations. */
export function loneCreation(cellar: StoreContext, plan: Create): Statement | null {
  if (cellar.backlog || hasEffects(cellar, plan)) return null
  const own = preparedCollection(cellar, plan.collection)
  const whole = wholeCreation(cellar, own, plan, ledgersIn(own.collection, null))
  if (!whole) return null
  cellar.rights?.admitWritten(plan)
  cellar.onWrite?.(plan)
  return whole
}

const hasEffects = (cellar: StoreContext, write: RowWrite): boolean =>
  write.consequences !== undefined || Boolean(write.effects?.length) || hasEventRows(cellar, write, null)

/** The outcome of a lone creation whose statement returned a row. */
export const createdAlone = (cellar: StoreContext, plan: Create): Outcome =>
  created(plan, leastRevision(preparedCollection(cellar, plan.collection), plan))

/** Continues a lone creation whose statement returned no row. */
export function createAfterwards(cellar: StoreContext, plan: Create): Steps<Outcome> {
  const own = preparedCollection(cellar, plan.collection)
  return createInSteps(cellar, own, plan, { seen: null, ledgers: ledgersIn(own.collection, null) })
}

const created = ({ row: { doc } }: Create, revision: number): Outcome => ({ is: 'created', doc, revision })

/** The revision of a row whose id was never used. */
const leastRevision = ({ collection }: PreparedCollection, { time }: Create): number =>
  collection.retention === null ? 1 : time

/** Creates a row by one statement, which writes nothing and returns no row if it is not enough; null if it never is. */
function wholeCreation(
  cellar: StoreContext,
  own: PreparedCollection,
  plan: Create,
  ledgers: Ledgers | null,
): Statement | null {
  const revision = leastRevision(own, plan)
  const event = ledgers && eventOfCreation(cellar, own, plan, { revision, ledgers })
  return combinedCreate(cellar, own, plan, { revision, event, hidden: hiddenColumn(own, null, plan.row) })
}

const eventOfCreation = (
  cellar: StoreContext,
  { collection, shape }: PreparedCollection,
  { key, row: { doc } }: Create,
  { revision, ledgers }: { readonly revision: number; readonly ledgers: Ledgers },
): EventValues => eventValues(cellar, collection, { key, revision, action: 'created', doc, shape, ledgers })

function* createInSteps(
  cellar: StoreContext,
  own: PreparedCollection,
  plan: Create,
  { seen, ledgers }: { readonly seen: ReadResult | null; readonly ledgers: Ledgers | null },
): Steps<Outcome> {
  const { collection, texts, shape } = own
  const { doc, cells } = plan.row
  const hidden = hiddenColumn(own, null, plan.row)
  const known = isAbsenceOf(plan, seen) ? seen : null
  if (plan.parent && !(known && collection.composite)) {
    const owner = yield* absentOwner(cellar, plan.parent, plan.key.account, plan.time, 'existsShared')
    if (owner) return owner
  }
  const taken = plan.claim && (yield* takeClaim(cellar, plan, plan.claim))
  if (taken) return taken
  const references = yield* missingReferences(cellar, plan, plan.references)
  if (references.length > 0) return { is: 'unmet', references }
  const before = plan.id === 'fresh' ? null : yield* lookUpChosenId(cellar, plan, known)
  if (before && before.is !== 'missing') return yield* usedId(cellar, plan, before, seen !== null)
  const last = before && ledgers?.history ? yield* lastRevision(cellar, collection, plan.key) : 0
  const revision = Math.max(leastRevision(own, plan), (before?.revision ?? 0) + 1, last + 1)
  const clash = yield* updateRemoteEntries(cellar, own, plan, null, { doc, hidden, shape })
  if (clash) return clash
  const row = [...rowKeyValues(collection, plan.key, cellar.dialect), revision, shape, doc, hidden, ...cells]
  const event = ledgers && eventOfCreation(cellar, own, plan, { revision, ledgers })
  const isAlone = before === null && plan.claim === null && event === null
  yield { text: texts.insert, values: row, ...(isAlone && { autocommit: 'write' }) }
  if (event) yield* recordEvent(cellar, event)
  if (before && cellar.dialect.rowLocks) {
    // Another transaction may have created and deleted the row since the lookup: its tombstone must not be missed.
    const since = yield* readAbsentRow(cellar, collection, plan.key, plan.time)
    if (since.revision > 0) throw movedRow(plan.collection)
  }
  if (plan.claim?.keeps) yield* keepAnswer(cellar, plan.claim, plan.collection, { doc, revision })
  return created(plan, revision)
}

/**
 * The refusal of an id that has been used. If not all rows exist for the caller, it does not tell of deleted ones, and with PUT
 * the item of a hidden one does not exist, as if another account had it.
 */
function* usedId(
  cellar: StoreContext,
  { collection, key }: Create,
  before: AbsentRow | Duplicate,
  isPut: boolean,
): Steps<AbsentRow | Duplicate> {
  if (!cellar.rights?.visible.of(collection)) return before
  const isSeen = isPut && (yield* existsForCaller(cellar, collection, key, 'exists'))
  return { is: 'duplicate', fields: isPut && !isSeen ? [] : ['id'] }
}

/** Whether the creation was decided because this row itself was absent. */
const isAbsenceOf = ({ collection, key }: Create, seen: ReadResult | null): seen is AbsentRow =>
  seen !== null && seen.is !== 'found' && seen.collection === collection && isDeepStrictEqual(seen.key, key)

/** Whether a chosen id is in use, or was deleted. Deletes the tombstone if the id may be used again. R36, R91. */
function* lookUpChosenId(
  cellar: StoreContext,
  { collection: name, key, id, time }: Create,
  known: AbsentRow | null,
): Steps<AbsentRow | Duplicate> {
  const { collection, texts } = preparedCollection(cellar, name)
  if (!known) {
    const [row] = yield { text: texts.exists, values: rowKeyValues(collection, key, cellar.dialect) }
    if (row) return { is: 'duplicate', fields: ['id'] }
  }
  const before = known ?? (yield* readAbsentRow(cellar, collection, key, time))
  if (before.revision === 0 || (before.is === 'gone' && id === 'chosen')) return before
  yield* deleteTombstone(cellar, collection, key)
  return { ...before, is: 'missing' }
}

/** The references to rows that do not exist; a row may refer to itself. */
function* missingReferences(
  cellar: StoreContext,
  { collection, key }: Create | Update,
  references: readonly RequiredReference[],
): Steps<RequiredReference[]> {
  const missing: RequiredReference[] = []
  for (const reference of references) {
    if (reference.collection === collection && reference.id === key.id) continue
    const named = { id: reference.id, parent: null, account: key.account }
    if (!(yield* existsForCaller(cellar, reference.collection, named, 'existsShared'))) missing.push(reference)
  }
  return missing
}

function* updateRow(cellar: StoreContext, plan: Update, seen: ViewedRow): Steps<Outcome> {
  const own = preparedCollection(cellar, plan.collection)
  const { collection, shape } = own
  const references = yield* missingReferences(cellar, plan, plan.references)
  if (references.length > 0) return { is: 'unmet', references }
  const { doc, cells } = plan.row
  const hidden = hiddenColumn(own, seen, plan.row)
  const was = { doc: seen.doc, hidden: seen.hidden, shape }
  if (cellar.dropped) yield* markWrittenFields(cellar, collection, plan.key, [was, plan.row])
  const clash = yield* updateRemoteEntries(cellar, own, plan, was, { doc, hidden, shape })
  if (clash) return clash
  const which = seen.shape === shape ? plan.changedCells : [...cells.keys()] // another shape may lack the unchanged cells
  const moved = which.map((i) => cells[i] as RowCell)
  const event = yield* eventOfUpdate(cellar, own, plan)
  const combined = cellar.dialect.combines ? event : null
  const key = rowKeyValues(collection, plan.key, cellar.dialect)
  const [row] = yield {
    ...combinedUpdate(cellar, own, which, combined),
    values: [shape, doc, hidden, ...moved, ...key, plan.revision, ...(combined ? ownEventValues(combined) : [])],
    ...((event === null || combined) && { autocommit: 'write' }),
  }
  if (!row) throw movedRow(plan.collection)
  if (event && !combined) yield* recordEvent(cellar, event)
  return { is: 'changed', doc, revision: Number(row.revision) }
}

function* eventOfUpdate(
  cellar: StoreContext,
  own: PreparedCollection,
  { key, revision, entered = 'updated', row: { doc } }: Update,
): Steps<EventValues | null> {
  const ledgers = yield* ledgersOf(cellar, own)
  const change = { key, revision: revision + 1, action: entered, doc, shape: own.shape }
  return ledgers && eventValues(cellar, own.collection, { ...change, ledgers })
}
