/** Execute decided: executes a plan that handlers decide on, and starts again if rows that they read have changed. R226. */
import { Problem } from '../errors/problem.ts'
import { Undecided } from '../flow/decision.ts'
import type { ReadResult } from '../flow/found-row.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Plan } from '../flow/plan.ts'
import type { HandledRun } from './handled-run.ts'
import { ReadsChanged } from './handler-fault.ts'
import type { HandlerSources } from './handler-sources.ts'
import { announceRows, noteUnsure, type Turn, takeTurn } from './turns.ts'

/** How often handlers run for one request if others keep changing what they read. */
const mostRuns = 5

type Sources = Pick<HandlerSources, 'store' | 'world' | 'sharedTurns'>

/**
 * Executes a plan that handlers decide on; a batch has one run for each member. The plan is made again after each decision.
 * After a conflict all runs start again, and queue with other requests for the rows that they have read. After a second
 * conflict, which only other processes can cause, they also take the leases of these rows.
 */
export async function executeDecided(
  runs: readonly HandledRun[],
  sources: Sources,
  first: Plan,
  makePlan: () => Plan,
): Promise<Outcome> {
  const place = new Place(runs, sources, readsItsRow(first))
  try {
    for (let [run, plan] = [1, first]; ; plan = makePlan()) {
      try {
        const outcome = await executeUntilDecided(runs, sources.store, plan, { makePlan, announce: place.announce })
        for (const one of runs) await one.check(outcome)
        return outcome
      } catch (error) {
        if (!(error instanceof ReadsChanged)) throw error
        const counts = place.counts(error)
        if ((counts && run === mostRuns) || place.rest() < 0) throw busyProblem(error)
        await place.queue(error, counts && run)
        if (counts) run++
      }
    }
  } finally {
    place.leave()
  }
}

/** The place of a request among others: its turn at rows, and the rows that it shows to handlers of others before its commit. */
class Place {
  readonly #runs: readonly HandledRun[]
  readonly #sources: Sources
  /** The rows that it queues for. */
  readonly #rows = new Set<string>()
  /** Whether it waits for the commits of those before it. */
  #careful: boolean
  #turn: Turn | null = null
  #leaveLeases = () => {}
  #withdraw = () => {}

  constructor(runs: readonly HandledRun[], sources: Sources, careful: boolean) {
    this.#runs = runs
    this.#sources = sources
    this.#careful = careful
  }

  rest(): number {
    return Math.min(...this.#runs.map((one) => one.rest()))
  }

  /** Shows its rows as they will be after its commit, and lets the next request begin, which will be committed later. */
  readonly announce = (): void => {
    this.#withdraw()
    const outlook = this.#runs.length === 1 ? this.#runs[0]?.outlook() : null
    if (!outlook) return
    this.#withdraw = announceRows(this.#sources.world, outlook)
    this.#turn?.pass()
  }

  /** Whether a run counts that has met changed rows: not if it only queues now, nor the first one that has read announced rows. */
  counts({ queues }: ReadsChanged): boolean {
    return !queues && (this.#careful || !this.#runs.some(({ guesses }) => guesses))
  }

  /** Waits for its turn at all rows that the runs have read, for a new run. `counted` is the number of the run if it counts. */
  async queue({ row, queues }: ReadsChanged, counted: number | false): Promise<void> {
    const { world, sharedTurns } = this.#sources
    this.leave()
    if (!queues && !counted) {
      this.#careful = true
      noteUnsure(world, row)
    }
    for (const one of [row, ...this.#runs.flatMap((run) => run.rowNames())]) this.#rows.add(one)
    if (counted) await sharedTurns.met(row, counted > 1)
    this.#turn = await takeTurn(world, [...this.#rows], this.rest(), this.#careful)
    this.#leaveLeases = await sharedTurns.take(this.#rows, this.rest())
    for (const run of this.#runs) run.beginAnew(this.#rows)
  }

  leave(): void {
    this.#withdraw()
    this.#leaveLeases()
    this.#leaveLeases = () => {}
    this.#turn?.end()
  }
}

/** Whether a plan is decided from a row that the transaction reads, as it was committed. */
const readsItsRow = (plan: Plan): boolean => plan.do === 'decide' && plan.read.do !== 'none'

async function executeUntilDecided(
  runs: readonly HandledRun[],
  store: HandlerSources['store'],
  first: Plan,
  { makePlan, announce }: { readonly makePlan: () => Plan; readonly announce: () => void },
): Promise<Outcome> {
  await decideBefore(runs, store, first)
  for (let plan = first; ; plan = makePlan()) {
    try {
      const outcome = store.execute(plan)
      announce()
      return await outcome
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
