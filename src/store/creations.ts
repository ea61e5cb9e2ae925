/** Creations: writes new rows of one transaction, with one statement for all that differ only in their values. The store. */

import type { StoreContext } from '../catalog/context.ts'
import { hasWritten, type Steps, withoutAutocommit } from '../catalog/steps.ts'
import { Problem } from '../errors/problem.ts'
import { isCommitted, type Outcome, type SeveralOutcomes } from '../flow/outcome.ts'
import type { Create } from '../flow/plan.ts'
import { type CoalescedStatement, plainStatement, type Statement } from '../sql/statements.ts'
import { createAfterwards, createdAlone, loneCreation } from './write-row.ts'

/** A creation whose single statement has not run yet. */
interface LoneCreation {
  readonly plan: Create
  readonly values: Statement['values']
}

export function* performCreations(
  context: StoreContext,
  plans: readonly Create[],
  perform: (plan: Create) => Steps<Outcome>,
): Steps<Outcome> {
  const outcomes: Outcome[] = []
  let alike: LoneCreation[] = []
  let many: CoalescedStatement | undefined
  for (const plan of plans) {
    const lone = loneCreation(context, plan)
    if (many && lone?.many?.text !== many.text) {
      const refused = yield* writeAlike(context, alike, many, outcomes)
      if (refused) return refused
      alike = []
    }
    many = lone?.many
    if (lone && many) alike.push({ plan, values: lone.values })
    else {
      const refused = yield* finish(perform(plan), outcomes)
      if (refused) return refused
    }
  }
  const refused = many && (yield* writeAlike(context, alike, many, outcomes))
  return refused ?? { is: 'several', outcomes }
}

/** Combines the statements of lone creations into one, which returns the ids of new rows. Most creations need no other statement. */
function* writeAlike(
  context: StoreContext,
  alike: readonly LoneCreation[],
  { text, types }: CoalescedStatement,
  outcomes: Outcome[],
): Steps<Outcome | null> {
  const rows = yield { text, values: [], lists: { types, rows: alike.map(({ values }) => values) } }
  const written = rows.length < alike.length && new Set(rows.map((row) => row.at0))
  for (const { plan } of alike) {
    if (!written || written.has(plan.key.id)) outcomes.push(createdAlone(context, plan))
    else {
      const refused = yield* finish(createAfterwards(context, plan), outcomes)
      if (refused) return refused
    }
  }
  return null
}

/** Runs a creation; returns its outcome if the transaction cannot be committed with it. */
function* finish(steps: Steps<Outcome>, outcomes: Outcome[]): Steps<Outcome | null> {
  let wrote = false
  let step = steps.next()
  while (!step.done) {
    const { autocommit, many, ...statement } = step.value
    const rows = yield statement
    wrote ||= hasWritten(step.value, rows)
    step = steps.next(rows)
  }
  if (wrote && !isCommitted(step.value)) return step.value
  outcomes.push(step.value)
  return null
}

/** Performs each creation behind a savepoint, so that the writes of a refused one are undone. */
export function* performApart(
  context: StoreContext,
  plans: readonly Create[],
  perform: (plan: Create) => Steps<Outcome>,
): Steps<Outcome> {
  const outcomes: SeveralOutcomes['outcomes'][number][] = []
  for (const plan of plans) {
    yield savepoint
    let outcome: (typeof outcomes)[number]
    try {
      outcome = yield* withoutAutocommit(perform(plan))
    } catch (error) {
      const refused =
        error instanceof Problem ? ({ is: 'refused', error } as const) : context.duplicateOf?.(error, context)
      if (!refused) throw error
      outcome = refused
    }
    if (outcome.is === 'refused' || !isCommitted(outcome)) yield rollback
    yield release
    outcomes.push(outcome)
  }
  return { is: 'several', outcomes }
}

const savepoint = plainStatement('SAVEPOINT creation')
const rollback = plainStatement('ROLLBACK TO SAVEPOINT creation')
const release = plainStatement('RELEASE SAVEPOINT creation')
