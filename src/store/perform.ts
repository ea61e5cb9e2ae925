/** Performs a plan as steps, which yield the same statements whoever runs them, on every database. The cellar. */

import type { AbsentRow, ReadResult } from '../flow/found-row.ts'
import type { Duplicate, Outcome } from '../flow/outcome.ts'
import type { Create, Decide, ListRows, Plan, Read, RowWrite, Update } from '../flow/plan.ts'
import { updateText } from '../sql/compile.ts'
import { rowKeyValues } from '../sql/dialect.ts'
import {
  addToQuota,
  findCredentials,
  issueCredential,
  listCredentials,
  readUsage,
  recordUse,
  revokeCredentials,
} from './callers.ts'
import { coalescableRead, coalescableUpdate, combinedCreate } from './combined.ts'
import { hiddenColumn, preparedCollection, type StoreContext, type ViewedRow, viewStoredRow } from './context.ts'
import { markWrittenFields } from './dropped-copies.ts'
import { keepAnswer, recallClaim, takeClaim } from './idempotency-keys.ts'
import { joinsOf, runJoinedWrites, withJoinedRows, withoutAutocommit, writeForOldNodes } from './joined.ts'
import { refusePendingColumns } from './old-nodes.ts'
import { refuseJoinedOrder, updateRemoteEntries } from './placement.ts'
import { readPage } from './read-page.ts'
import { absentOwner, deleteTombstone, findAccounts, ownerOfKey, readAbsentRow, removeRow } from './remove-row.ts'
import { resolveList } from './resolve-list.ts'
import { rowConflict as movedRow, type Steps } from './steps.ts'

type RequiredReference = Create['references'][number]
type RowCell = Update['row']['cells'][number]

/** With `held`, which a retry after a conflict sets, rows are locked between being read and written. */
export function perform(cellar: StoreContext, plan: Plan, held = false): Steps<Outcome> {
  const steps = plan.do === 'read' ? readRow(cellar, plan) : performPlan(cellar, plan, held)
  const { joined, account } = joinsOf(plan)
  return joined.length === 0 ? steps : withJoinedRows(cellar, steps, joined, account)
}

function* performPlan(cellar: StoreContext, plan: Plan, held: boolean): Steps<Outcome> {
  switch (plan.do) {
    case 'read':
      return yield* readRow(cellar, plan)
    case 'list':
      return yield* readList(cellar, plan)
    case 'recall':
      return yield* recallClaim(cellar, plan)
    case 'create':
      return yield* performWrite(cellar, plan, null)
    case 'decide':
      return yield* performDecision(cellar, plan, held)
    case 'raise':
      if (cellar.backlog) yield* cellar.backlog.catchUp()
      return { is: 'raised' }
    case 'spend':
      return yield* addToQuota(cellar, plan)
    case 'tally':
      return yield* recordUse(cellar, plan)
    case 'usage':
      return yield* readUsage()
    case 'identify':
      return yield* findCredentials(cellar, plan)
    case 'keys':
      return yield* listCredentials(cellar, plan)
    case 'whose':
      return yield* findAccounts(cellar, plan)
    case 'issue':
      return yield* issueCredential(cellar, plan)
    case 'revoke':
      return yield* revokeCredentials(cellar, plan)
  }
}

/** An idempotency key is checked after the target and its preconditions, and before the fields. R99 */
function* performDecision(cellar: StoreContext, plan: Decide, held: boolean): Steps<Outcome> {
  const { read: target, claim = null } = plan
  const seen = yield* readWithJoined(cellar, target, held)
  plan.admit?.(seen)
  if (claim === null) return yield* performWrite(cellar, plan.decide(seen), seen)
  const taken = yield* takeClaim(cellar, target, claim)
  if (taken) return taken
  const outcome = yield* performWrite(cellar, plan.decide(seen), seen)
  const made = outcome.is === 'kept' ? seen : outcome
  if (made.is === 'found' || made.is === 'changed')
    yield* keepAnswer(cellar, claim, { doc: made.doc, revision: made.revision })
  return outcome
}

function* performWrite(cellar: StoreContext, plan: RowWrite, seen: ReadResult | null): Steps<Outcome> {
  if (plan.do === 'remove' || plan.along === undefined) return yield* writeRow(cellar, plan, seen)
  const decided = (one: Decide) => withoutAutocommit(performPlan(cellar, one, true))
  return yield* runJoinedWrites(plan, yield* withoutAutocommit(writeRow(cellar, plan, seen)), decided)
}

function* writeRow(cellar: StoreContext, plan: RowWrite, seen: ReadResult | null): Steps<Outcome> {
  switch (plan.do) {
    case 'create':
      return yield* cellar.backlog ? writeForOldNodes(cellar, plan, createRow(cellar, plan)) : createRow(cellar, plan)
    case 'update':
      return yield* cellar.backlog
        ? writeForOldNodes(cellar, plan, updateRow(cellar, plan, seen as ViewedRow))
        : updateRow(cellar, plan, seen as ViewedRow)
    case 'remove':
      return yield* removeRow(cellar, plan)
    case 'keep':
      return { is: 'kept', seen: seen as ReadResult }
  }
}

/** A row with its joined rows, which its tag depends on too. */
const readWithJoined = (cellar: StoreContext, plan: Read, held: boolean): Steps<ReadResult> => {
  const steps = readRow(cellar, plan, held)
  const { joined = [], key } = plan
  return joined.length === 0 ? steps : (withJoinedRows(cellar, steps, joined, key.account) as Steps<ReadResult>)
}

function* readRow(cellar: StoreContext, { collection, key, time }: Read, held = false): Steps<ReadResult> {
  const own = preparedCollection(cellar, collection)
  const values = rowKeyValues(own.collection, key, cellar.dialect)
  const [row] = yield held
    ? { text: own.texts.readForUpdate, values }
    : { ...coalescableRead(own.collection, own.texts.read, cellar.dialect), values, autocommit: 'read' }
  if (row) return viewStoredRow(own, row)
  if (own.collection.composite) {
    const owner = yield* absentOwner(cellar, ownerOfKey(own.collection, key), key.account, time)
    if (owner) return owner
  }
  return yield* readAbsentRow(cellar, own.collection, key, time)
}

function* readList(cellar: StoreContext, asked: ListRows): Steps<Outcome> {
  const own = preparedCollection(cellar, asked.collection)
  const plan = resolveList(cellar, asked)
  refuseJoinedOrder(cellar, plan)
  yield* refusePendingColumns(cellar, own, plan)
  if (plan.parent) {
    const owner = yield* absentOwner(cellar, plan.parent, plan.account, plan.time)
    if (owner) return owner
  }
  return yield* readPage(cellar, plan)
}

function* createRow(cellar: StoreContext, plan: Create): Steps<Outcome> {
  const own = preparedCollection(cellar, plan.collection)
  const { collection, texts, shape } = own
  const least = collection.retention === null ? 1 : plan.time
  const { doc, cells } = plan.row
  const hidden = hiddenColumn(own, null, plan.row)
  const fused = combinedCreate(cellar, own, { ...plan, row: { ...plan.row, hidden } }, least)
  if (fused && (yield fused).length > 0) return { is: 'created', doc, revision: least }
  if (plan.parent) {
    const owner = yield* absentOwner(cellar, plan.parent, plan.key.account, plan.time, 'existsShared')
    if (owner) return owner
  }
  const taken = plan.claim && (yield* takeClaim(cellar, plan, plan.claim))
  if (taken) return taken
  const references = yield* missingReferences(cellar, plan, plan.references)
  if (references.length > 0) return { is: 'unmet', references }
  const before = plan.id === 'fresh' ? null : yield* lookUpChosenId(cellar, plan)
  if (before && before.is !== 'missing') return before
  const revision = Math.max(least, (before?.revision ?? 0) + 1)
  const clash = yield* updateRemoteEntries(cellar, own, plan, null, { doc, hidden, shape })
  if (clash) return clash
  const row = [...rowKeyValues(collection, plan.key, cellar.dialect), revision, shape, doc, hidden, ...cells]
  const last = before === null && plan.claim === null
  yield { text: texts.insert, values: row, ...(last && { autocommit: 'write' }) }
  if (before && cellar.dialect.rowLocks) {
    // Another transaction may have created and deleted the row since the lookup: its tombstone must not be missed.
    const since = yield* readAbsentRow(cellar, collection, plan.key, plan.time)
    if (since.revision > 0) throw movedRow(plan.collection)
  }
  if (plan.claim?.keeps) yield* keepAnswer(cellar, plan.claim, { doc, revision })
  return { is: 'created', doc, revision }
}

/** Whether a chosen id is in use, or was and is remembered by a tombstone. R36, R91. */
function* lookUpChosenId(
  cellar: StoreContext,
  { collection: name, key, id, time }: Create,
): Steps<AbsentRow | Duplicate> {
  const { collection, texts } = preparedCollection(cellar, name)
  const [row] = yield { text: texts.exists, values: rowKeyValues(collection, key, cellar.dialect) }
  if (row) return { is: 'duplicate', fields: ['id'] }
  const before = yield* readAbsentRow(cellar, collection, key, time)
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
    const { collection: target, texts } = preparedCollection(cellar, reference.collection)
    const named = { id: reference.id, parent: null, account: key.account }
    const [row] = yield { text: texts.existsShared, values: rowKeyValues(target, named, cellar.dialect) }
    if (!row) missing.push(reference)
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
  const [row] = yield {
    ...coalescableUpdate(collection, which, updateText, cellar.dialect),
    values: [shape, doc, hidden, ...moved, ...rowKeyValues(collection, plan.key, cellar.dialect), plan.revision],
    autocommit: 'write',
  }
  if (!row) throw movedRow(plan.collection)
  return { is: 'changed', doc, revision: Number(row.revision) }
}
