/** Perform: turns a plan into steps, which a synchronous or an asynchronous driver can run. The cellar. */

import { preparedCollection, type StoreContext } from '../catalog/context.ts'
import { readWaiting, refusePendingColumns } from '../catalog/old-nodes.ts'
import { resolveList } from '../catalog/resolve-list.ts'
import { type Steps, withoutAutocommit } from '../catalog/steps.ts'
import { performTablePlan } from '../catalog/table-plans.ts'
import type { ReadResult } from '../flow/found-row.ts'
import { isCommitted, type Outcome } from '../flow/outcome.ts'
import {
  type Consequences,
  type Create,
  type Decide,
  isDry,
  type ListRows,
  type NoRead,
  type Plan,
  type RowWrite,
  type Sequence,
} from '../flow/plan.ts'
import { eraseRecords } from '../ledgers/erase-records.ts'
import { keepAnswer, keepOther, recallClaim, takeClaim } from '../ledgers/idempotency-claims.ts'
import { findEvent, numberEvents, readEvents, readHead, sweepEvents } from '../ledgers/outbox.ts'
import { refuseJoinedOrder } from '../ledgers/remote-entries.ts'
import { summaryStatement } from '../sql/summary-statement.ts'
import { performApart, performCreations } from './creations.ts'
import { writeWithEffects } from './effects.ts'
import { withEmbeddedRows } from './embedded-outcome.ts'
import { joinsOf, withJoinedRows } from './joined.ts'
import { readFamily } from './read-family.ts'
import { readPage } from './read-page.ts'
import { absentOwner, readVisibleRow, readWithJoined } from './read-row.ts'
import { findAccounts, findRemoved } from './remove-row.ts'
import { readRevisions, sweepRevisions } from './revisions.ts'

/** With `held`, which a retry after a conflict sets, rows are locked between being read and written. */
export function perform(given: StoreContext, plan: Plan, held = false): Steps<Outcome> {
  const named = 'by' in plan && plan.by !== undefined ? { ...given, caller: plan.by } : given
  const cellar = 'rights' in plan && plan.rights ? { ...named, rights: plan.rights } : named
  const steps = plan.do === 'read' ? readVisibleRow(cellar, plan) : performPlan(cellar, plan, held)
  const { joined, account } = joinsOf(plan)
  const all = joined.length === 0 ? steps : withJoinedRows(cellar, steps, joined, account)
  const embedding = 'embeds' in plan && plan.embeds ? withEmbeddedRows(cellar, all, plan.embeds, plan) : all
  return isDry(plan) || (embedding !== all && plan.do === 'decide') ? withoutAutocommit(embedding) : embedding
}

// long because: one line for each kind of plan
function* performPlan(cellar: StoreContext, plan: Plan, held: boolean): Steps<Outcome> {
  switch (plan.do) {
    case 'read':
      return yield* readVisibleRow(cellar, plan)
    case 'list':
      return yield* readList(cellar, plan)
    case 'recall':
      return yield* recallClaim(cellar, plan)
    case 'create':
      return yield* performCreation(cellar, plan, held)
    case 'decide':
      return yield* performDecision(cellar, plan, held)
    case 'sequence':
      return yield* performSequence(cellar, plan, held)
    case 'creations':
      return yield* (plan.apart ? performApart : performCreations)(cellar, plan.plans, (one) =>
        perform(cellar, one, held),
      )
    case 'catchUp':
      return { is: 'caughtUp', more: cellar.backlog ? yield* cellar.backlog.catchUp() : false }
    case 'family':
      return yield* readFamily(cellar, plan)
    case 'waiting':
      return { is: 'waiting', parts: yield* readWaiting(cellar, plan.collection) }
    case 'whose':
      return yield* findAccounts(cellar, plan)
    case 'removed':
      return yield* findRemoved(cellar, plan)
    case 'table':
      return yield* performTablePlan(cellar, plan, true)
    case 'number':
      return yield* numberEvents(cellar)
    case 'head':
      return yield* readHead(cellar)
    case 'events':
      return yield* readEvents(cellar, plan)
    case 'event':
      return yield* findEvent(cellar, plan)
    case 'expire':
      return yield* sweepEvents(cellar, plan)
    case 'revisions':
      return yield* readRevisions(cellar, plan)
    case 'forget':
      return yield* sweepRevisions(cellar, plan)
    case 'erase':
      return yield* eraseRecords(cellar, plan)
    case 'several':
      for (const one of plan.writes) yield* performTablePlan(cellar, one)
      return { is: 'rows', rows: [] }
  }
}

/** An idempotency key is checked before other rows may refuse the creation. The row is answered as effects left it. R99 */
function* performCreation(cellar: StoreContext, plan: Create, held: boolean): Steps<Outcome> {
  const { claim, consequences, key, parent, time } = plan
  if (claim === null || !consequences) return yield* writeWithEffects(cellar, plan, null, held)
  const absent = parent && (yield* absentOwner(cellar, parent, key.account, time))
  if (absent) return absent
  const taken = yield* takeClaim(cellar, plan, claim)
  if (taken) return taken
  const outcome = yield* withoutAutocommit(writeWithEffects(cellar, withoutClaim(plan), null, held))
  if (claim.keeps && outcome.is === 'created') yield* keepAnswer(cellar, claim, plan.collection, outcome)
  return outcome
}

/** The creation without its key, which was taken already. */
function withoutClaim(plan: Create): Create {
  const { consequences } = plan
  if (!consequences) return { ...plan, claim: null }
  const decide: Consequences['decide'] = (seen) => withoutClaim(consequences.decide(seen) as Create)
  return { ...plan, claim: null, consequences: { ...consequences, decide } }
}

/** An idempotency key is checked after the target and its preconditions, and before the fields. R99 */
function* performDecision(cellar: StoreContext, plan: Decide, held: boolean): Steps<Outcome> {
  const { read: target, claim = null } = plan
  const seen = target.do === 'none' ? noRow(target) : yield* readWithJoined(cellar, target, held)
  cellar.rights?.admit(seen)
  plan.admit?.(seen)
  const taken = claim && (yield* takeClaim(cellar, target, claim))
  if (taken) return taken
  const write = plan.decide(seen)
  const outcome = withAnswer(write, yield* writeWithEffects(cellar, write, seen, held))
  const made = outcome.is === 'kept' ? seen : outcome
  if (claim && (made.is === 'found' || made.is === 'changed' || made.is === 'answered'))
    yield* keepAnswer(cellar, claim, target.collection, made)
  return outcome
}

/** A failure of one plan is a refusal of all: `next` throws it, and the transaction is rolled back. */
function* performSequence(cellar: StoreContext, plan: Sequence, held: boolean): Steps<Outcome> {
  const taken = plan.claim && (yield* takeClaim(cellar, plan, plan.claim))
  if (taken) return taken
  const run = plan.begin()
  let last: Outcome = { is: 'free' }
  for (let next = run.next(null); next; next = run.next(last))
    last = yield* withoutAutocommit(perform(cellar, next, held))
  const doc = run.answer()
  if (doc === null) return last
  if (plan.claim?.keeps) yield* keepOther(cellar, plan.claim, doc)
  return { is: 'answered', doc, revision: 0 }
}

const noRow = ({ collection, key }: NoRead): ReadResult => ({ is: 'missing', collection, id: key.id, revision: 0 })

const withAnswer = ({ answer }: RowWrite, outcome: Outcome): Outcome =>
  answer !== undefined && isCommitted(outcome) ? { is: 'answered', doc: answer, revision: 0 } : outcome

function* readList(cellar: StoreContext, asked: ListRows): Steps<Outcome> {
  const own = preparedCollection(cellar, asked.collection)
  const plan = resolveList(cellar, asked)
  refuseJoinedOrder(cellar, plan)
  yield* refusePendingColumns(cellar, own, plan)
  if (plan.parent) {
    const owner = yield* absentOwner(cellar, plan.parent, plan.account, plan.time)
    if (owner) return owner
  }
  if (!plan.summary) return yield* readPage(cellar, plan)
  const { statement, read } = summaryStatement(own.collection, plan, plan.summary, cellar.dialect)
  return { is: 'groups', groups: read(yield statement) }
}
