/** Perform: turns a plan into steps, which a synchronous or an asynchronous driver can run. The store. */

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
import { breadthStatement, summaryStatement } from '../sql/summary-statement.ts'
import { performApart, performCreations } from './creations.ts'
import { writeWithEffects } from './effects.ts'
import { withEmbeddedRows } from './embedded-outcome.ts'
import { joinsOf, withJoinedRows } from './joined.ts'
import { readFamily, readRows } from './read-family.ts'
import { readPage } from './read-page.ts'
import { absentOwner, lockAsRead, readVisibleRow, readWithJoined } from './read-row.ts'
import { findAccounts, findRemoved } from './remove-row.ts'
import { readRevisions, sweepRevisions } from './revisions.ts'

/** With `held`, which a retry after a conflict sets, rows are locked between being read and written. */
export function perform(given: StoreContext, plan: Plan, held = false): Steps<Outcome> {
  const named = 'by' in plan && plan.by !== undefined ? { ...given, caller: plan.by } : given
  const context = 'rights' in plan && plan.rights ? { ...named, rights: plan.rights } : named
  const steps = plan.do === 'read' ? readVisibleRow(context, plan) : performPlan(context, plan, held)
  const { joined, account } = joinsOf(plan)
  const all = joined.length === 0 ? steps : withJoinedRows(context, steps, joined, account)
  const embedding = 'embeds' in plan && plan.embeds ? withEmbeddedRows(context, all, plan.embeds, plan) : all
  if ('admitOutcome' in plan && plan.admitOutcome) return withoutAutocommit(admitted(embedding, plan.admitOutcome))
  return isDry(plan) || (embedding !== all && plan.do === 'decide') ? withoutAutocommit(embedding) : embedding
}

function* admitted(steps: Steps<Outcome>, admit: (outcome: Outcome) => void): Steps<Outcome> {
  const outcome = yield* steps
  admit(outcome)
  return outcome
}

// long because: one line for each kind of plan
function* performPlan(context: StoreContext, plan: Plan, held: boolean): Steps<Outcome> {
  switch (plan.do) {
    case 'read':
      return yield* readVisibleRow(context, plan)
    case 'list':
      return yield* readList(context, plan)
    case 'recall':
      return yield* recallClaim(context, plan)
    case 'create':
      return yield* performCreation(context, plan, held)
    case 'decide':
      return yield* performDecision(context, plan, held)
    case 'sequence':
      return yield* performSequence(context, plan, held)
    case 'creations':
      return yield* (plan.apart ? performApart : performCreations)(context, plan.plans, (one) =>
        perform(context, one, held),
      )
    case 'catchUp':
      return { is: 'caughtUp', more: context.backlog ? yield* context.backlog.catchUp() : false }
    case 'family':
      return yield* readFamily(context, plan)
    case 'rows':
      return yield* readRows(context, plan)
    case 'waiting':
      return { is: 'waiting', parts: yield* readWaiting(context, plan.collection) }
    case 'whose':
      return yield* findAccounts(context, plan)
    case 'removed':
      return yield* findRemoved(context, plan)
    case 'table':
      return yield* performTablePlan(context, plan, true)
    case 'number':
      return yield* numberEvents(context)
    case 'head':
      return yield* readHead(context)
    case 'events':
      return yield* readEvents(context, plan)
    case 'event':
      return yield* findEvent(context, plan)
    case 'expire':
      return yield* sweepEvents(context, plan)
    case 'revisions':
      return yield* readRevisions(context, plan)
    case 'forget':
      return yield* sweepRevisions(context, plan)
    case 'erase':
      return yield* eraseRecords(context, plan)
    case 'several':
      for (const one of plan.writes) yield* performTablePlan(context, one)
      return { is: 'rows', rows: [] }
  }
}

/** An idempotency key is checked before other rows may refuse the creation. The answer has the row after all effects. R99 */
function* performCreation(context: StoreContext, plan: Create, held: boolean): Steps<Outcome> {
  const { claim, consequences, key, parent, time } = plan
  if (claim === null || !consequences) return yield* writeWithEffects(context, plan, null, held)
  const absent = parent && (yield* absentOwner(context, parent, key.account, time))
  if (absent) return absent
  const taken = yield* takeClaim(context, plan, claim)
  if (taken) return taken
  const outcome = yield* withoutAutocommit(writeWithEffects(context, withoutClaim(plan), null, held))
  if (claim.keeps && outcome.is === 'created') yield* keepAnswer(context, claim, plan.collection, outcome)
  return outcome
}

/** The creation without its key, which has been claimed already. */
function withoutClaim(plan: Create): Create {
  const { consequences } = plan
  if (!consequences) return { ...plan, claim: null }
  const decide: Consequences['decide'] = (results) => withoutClaim(consequences.decide(results) as Create)
  return { ...plan, claim: null, consequences: { ...consequences, decide } }
}

/** An idempotency key is checked after the target and its preconditions, and before the fields. R99 */
function* performDecision(context: StoreContext, plan: Decide, held: boolean): Steps<Outcome> {
  const { read: target, claim = null } = plan
  const current = target.do === 'none' ? noRow(target) : yield* readWithJoined(context, target, held)
  context.rights?.admit(current)
  plan.admit?.(current)
  const taken = claim && (yield* takeClaim(context, target, claim))
  if (taken) return taken
  const write = plan.decide(current)
  const outcome = withAnswer(write, yield* writeWithEffects(context, write, current, held))
  if (outcome.is === 'kept' && current.is === 'found' && (claim || context.keepsAnswer))
    yield* lockAsRead(context, target, current)
  const answer = outcome.is === 'kept' ? current : outcome
  if (claim && (answer.is === 'found' || answer.is === 'changed' || answer.is === 'answered'))
    yield* keepAnswer(context, claim, target.collection, answer)
  return outcome
}

/** If one plan fails, `next` throws its refusal, and the whole transaction is rolled back. */
function* performSequence(given: StoreContext, plan: Sequence, held: boolean): Steps<Outcome> {
  const context: StoreContext = plan.claim?.keeps ? { ...given, keepsAnswer: true } : given
  const taken = plan.claim && (yield* takeClaim(context, plan, plan.claim))
  if (taken) return taken
  const run = plan.begin()
  let last: Outcome = { is: 'free' }
  for (let next = run.next(null); next; next = run.next(last))
    last = yield* withoutAutocommit(perform(context, next, held))
  const doc = run.answer()
  if (doc === null) return last
  const { claim, version } = plan
  if (claim?.keeps) yield* keepOther(context, claim, doc, version)
  return { is: 'answered', doc, revision: 0, ...(version !== undefined && { version }) }
}

const noRow = ({ collection, key }: NoRead): ReadResult => ({ is: 'missing', collection, id: key.id, revision: 0 })

const withAnswer = ({ answer }: RowWrite, outcome: Outcome): Outcome =>
  answer !== undefined && isCommitted(outcome) ? { is: 'answered', doc: answer, revision: 0 } : outcome

function* readList(context: StoreContext, list: ListRows): Steps<Outcome> {
  const own = preparedCollection(context, list.collection)
  const plan = resolveList(context, list)
  refuseJoinedOrder(context, plan)
  yield* refusePendingColumns(context, own, plan)
  if (plan.parent) {
    const owner = yield* absentOwner(context, plan.parent, plan.account, plan.time)
    if (owner) return owner
  }
  if (!plan.summary) return yield* readPage(context, plan)
  const breadth = breadthStatement(own.collection, plan, context.dialect)
  const [rows] = breadth ? yield breadth : []
  const isBroad = rows !== undefined && Number(rows.found) >= Number(rows.most)
  const { statement, read } = summaryStatement(own.collection, plan, plan.summary, context.dialect, isBroad)
  return { is: 'groups', groups: read(yield statement) }
}
