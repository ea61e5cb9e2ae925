/** Execute decided: executes a plan that handlers decide on, and starts again if rows that they read have changed. R226. */
import { Problem } from '../errors/problem.ts'
import { Undecided } from '../flow/decision.ts'
import type { ReadResult } from '../flow/found-row.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Plan } from '../flow/plan.ts'
import type { HandledRun, HandlerSources } from './handled-run.ts'
import { ReadsChanged } from './handler-fault.ts'
import { takeTurn } from './turns.ts'

/** How often handlers run for one request if others keep changing what they read. */
const mostRuns = 5

/**
 * Executes a plan that handlers decide on; a batch has one run for each member. The plan is made again after each decision.
 * After a conflict all runs start again, and queue with other requests for the rows that they have read. After a second
 * conflict, which only other processes can cause, they also take the leases of these rows.
 */
export async function executeDecided(
  runs: readonly HandledRun[],
  { store, world, sharedTurns }: Pick<HandlerSources, 'store' | 'world' | 'sharedTurns'>,
  first: Plan,
  makePlan: () => Plan,
): Promise<Outcome> {
  const rest = () => Math.min(...runs.map((one) => one.rest()))
  const rows = new Set<string>()
  let [endTurn, leave] = [() => {}, () => {}]
  try {
    for (let [run, plan] = [1, first]; ; plan = makePlan()) {
      try {
        const outcome = await executeUntilDecided(runs, store, plan, makePlan)
        return runs.reduce((one, own) => own.checked(one), outcome)
      } catch (error) {
        if (!(error instanceof ReadsChanged)) throw error
        if (run === mostRuns || rest() < 0) throw busyProblem(error)
        leave()
        endTurn()
        for (const row of [error.row, ...runs.flatMap((one) => one.rowNames())]) rows.add(row)
        if (!error.queues) await sharedTurns.met(error.row, run > 1)
        endTurn = await takeTurn(world, [...rows], rest())
        leave = await sharedTurns.take(rows, rest())
        for (const one of runs) one.beginAnew(rows)
        if (!error.queues) run++
      }
    }
  } finally {
    leave()
    endTurn()
  }
}

async function executeUntilDecided(
  runs: readonly HandledRun[],
  store: HandlerSources['store'],
  first: Plan,
  makePlan: () => Plan,
): Promise<Outcome> {
  await decideBefore(runs, store, first)
  for (let plan = first; ; plan = makePlan()) {
    try {
      return await store.execute(plan)
    } catch (error) {
      if (!(error instanceof Undecided)) throw error
      await error.decide()
    }
  }
}

/**
 * Runs the handlers of most plans before the first transaction, which would only be rolled back: a read of the row is enough
 * to know which of them run. A plan with a key may be a repeat, for which no handler runs.
 */
async function decideBefore(runs: readonly HandledRun[], store: HandlerSources['store'], plan: Plan): Promise<void> {
  const mayDecide = (resource: string) => runs.some((one) => one.mayDecide(resource))
  try {
    if ('claim' in plan && plan.claim) return
    if (
      plan.do === 'create' &&
      mayDecide(plan.collection) &&
      plan.parent === null &&
      plan.consequences?.reads.length === 0
    )
      plan.consequences.decide([])
    if (plan.do !== 'decide' || plan.read.do !== 'read' || !mayDecide(plan.read.collection)) return
    const seen = (await store.execute(plan.read)) as ReadResult
    plan.admit?.(seen)
    plan.decide(seen)
  } catch (error) {
    // A refusal is left to the transaction, which reads the row again.
    if (error instanceof Undecided) await error.decide()
  }
}

const busyProblem = (cause: unknown): Problem =>
  new Problem('overloaded', 'Other requests keep changing the same rows; nothing was changed. Try again later.', {
    cause,
    headers: { 'Retry-After': '1' },
  })
