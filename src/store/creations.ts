/** Creations: writes new rows of one transaction, with one statement for all that differ only in their values. The cellar. */

import type { StoreContext } from '../catalog/context.ts'
import { hasWritten, type Steps, withoutAutocommit } from '../catalog/steps.ts'
import { Problem } from '../errors/problem.ts'
import { isCommitted, type Outcome, type SeveralOutcomes } from '../flow/outcome.ts'
import type { Create } from '../flow/plan.ts'
import { type CoalescedStatement, plainStatement, type Statement } from '../sql/statements.ts'

/** A creation that waits for its first statement. */
interface BegunCreation {
  readonly steps: Steps<Outcome>
  readonly first: Statement & { readonly many: CoalescedStatement }
}

export function* performCreations(
  _: StoreContext,
  plans: readonly Create[],
  perform: (plan: Create) => Steps<Outcome>,
): Steps<Outcome> {
  const outcomes: Outcome[] = []
  let alike: BegunCreation[] = []
  for (const plan of plans) {
    const steps = perform(plan)
    const step = steps.next()
    const first = step.done || step.value.autocommit !== 'write' ? null : step.value // others decide from what they read
    if (alike[0] && first?.many?.text !== alike[0].first.many.text) {
      const refused = yield* writeAlike(alike, outcomes)
      if (refused) return refused
      alike = []
    }
    if (first?.many) alike.push({ steps, first: { ...first, many: first.many } })
    else {
      const refused = yield* finish(steps, step, outcomes)
      if (refused) return refused
    }
  }
  const refused = yield* writeAlike(alike, outcomes)
  return refused ?? { is: 'several', outcomes }
}

/** Runs the first statements as one; most creations are done then. */
function* writeAlike(begun: readonly BegunCreation[], outcomes: Outcome[]): Steps<Outcome | null> {
  const [one] = begun
  if (!one) return null
  const { text, types, at } = one.first.many
  const rows = yield { text, values: [], lists: { types, rows: begun.map(({ first }) => first.values) } }
  const written = Map.groupBy(rows, (row) => JSON.stringify(at.map((_, i) => row[`at${i}`])))
  for (const { steps, first } of begun) {
    const name = JSON.stringify(at.map((i) => first.values[i]))
    const refused = yield* finish(steps, steps.next(written.get(name) ?? []), outcomes)
    if (refused) return refused
  }
  return null
}

/** Runs the rest of a creation; returns its outcome if the transaction cannot be committed with it. */
function* finish(
  steps: Steps<Outcome>,
  begun: IteratorResult<Statement, Outcome>,
  outcomes: Outcome[],
): Steps<Outcome | null> {
  let wrote = false
  let step = begun
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

/** Each creation behind a savepoint, so that what a refused one has written is undone. */
export function* performApart(
  cellar: StoreContext,
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
        error instanceof Problem ? ({ is: 'refused', error } as const) : cellar.duplicateOf?.(error, cellar)
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
