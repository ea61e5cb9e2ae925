/** Execute decided: executes a plan that handlers decide on, and starts again if rows that they read have changed. R226. */
import { Problem } from '../errors/problem.ts'
import { Undecided } from '../flow/decision.ts'
import type { ReadResult } from '../flow/found-row.ts'
import { isCommitted, type Outcome } from '../flow/outcome.ts'
import { type Plan, withRights } from '../flow/plan.ts'
import type { HandledRun } from './handled-run.ts'
import { ReadsChanged } from './handler-fault.ts'
import type { HandlerSources } from './handler-sources.ts'
import { announceRows, noteUnsure, type Turn, takeTurn } from './turns.ts'

/** How often handlers run for one request if other requests keep changing the rows that they read. */
const mostRuns = 5
/** After how many wrong guesses a request waits for the commits of earlier requests. */
const mostWrongGuesses = 3

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
  const place = new Place(runs, sources, first)
  try {
    for (let [run, plan] = [1, first]; ; plan = makePlan()) {
      try {
        const outcome = await executeUntilDecided(runs, sources.store, place, plan, makePlan)
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

/** The place of a request in the queues of rows, and the rows that it announces to handlers of other requests before its commit. */
class Place {
  readonly #runs: readonly HandledRun[]
  readonly #sources: Sources
  /** The rows that it waits for. */
  readonly #rows = new Set<string>()
  /** Whether its plan is decided from a committed row that the transaction reads. */
  readonly #readsItsRow: boolean
  /** Whether it waits for the commits of earlier requests. */
  #careful: boolean
  #wrongGuesses = 0
  #turn: Turn | null = null
  #leaveLeases = () => {}
  #withdraw = () => {}

  constructor(runs: readonly HandledRun[], sources: Sources, plan: Plan) {
    this.#runs = runs
    this.#sources = sources
    this.#readsItsRow = plan.do === 'decide' && plan.read.do !== 'none'
    this.#careful = this.#readsItsRow
  }

  rest(): number {
    return Math.min(...this.#runs.map((one) => one.rest()))
  }

  /**
   * Executes the plan. Meanwhile it announces its rows as they will be after its commit, and lets the next request begin, if
   * the store commits that one later.
   */
  execute(plan: Plan): Outcome | Promise<Outcome> {
    const { store, world } = this.#sources
    const run = this.#runs.length === 1 ? this.#runs[0] : undefined
    this.#withdraw()
    const isFollowed = store.keepsOrder === 'all' || (this.#turn !== null && !this.#readsItsRow)
    const outlook = isFollowed ? run?.outlook() : null
    if (!run || (!outlook && run.follows.size === 0)) return store.execute(plan)
    const outcome = store.execute(plan, run.follows)
    if (!outlook) return outcome
    this.#withdraw = announceRows(world, outlook, Promise.resolve(outcome))
    this.#turn?.pass()
    return outcome
  }

  /** Whether a run that has found changed rows counts towards the limit: not if it only has to queue, or has read announced rows. */
  counts({ queues }: ReadsChanged): boolean {
    return !queues && (this.#careful || !this.#runs.some(({ follows }) => follows.size > 0))
  }

  /** Waits for its turn at all rows that the runs have read, for a new run. `counted` is the number of the run if it counts. */
  async queue({ row, queues }: ReadsChanged, counted: number | false): Promise<void> {
    const { world, sharedTurns } = this.#sources
    this.leave()
    if (!queues && !counted) await this.#guessedWrong(row)
    for (const one of [row, ...this.#runs.flatMap((run) => run.rowNames())]) this.#rows.add(one)
    if (counted) await sharedTurns.met(row, counted > 1)
    this.#turn = await takeTurn(world, [...this.#rows], this.rest(), this.#careful)
    this.#leaveLeases = await sharedTurns.take(this.#rows, this.rest())
    for (const run of this.#runs) run.beginAnew(this.#rows)
  }

  /**
   * Records a wrong guess. If the followed writes were committed, the announced row was wrong, and this request waits for
   * commits from now on. If one of them failed, only several wrong guesses have this effect.
   */
  async #guessedWrong(row: string): Promise<void> {
    const before = await Promise.allSettled(this.#runs.flatMap(({ follows }) => [...follows]))
    this.#wrongGuesses++
    const unsure = before.every((one) => one.status === 'fulfilled' && isCommitted(one.value))
    if (unsure) noteUnsure(this.#sources.world, row)
    this.#careful ||= unsure || this.#wrongGuesses === mostWrongGuesses
  }

  leave(): void {
    this.#withdraw()
    this.#leaveLeases()
    this.#leaveLeases = () => {}
    this.#turn?.end()
  }
}

async function executeUntilDecided(
  runs: readonly HandledRun[],
  store: HandlerSources['store'],
  place: Place,
  first: Plan,
  makePlan: () => Plan,
): Promise<Outcome> {
  await decideBefore(runs, store, first)
  for (let plan = first; ; plan = makePlan()) {
    try {
      return await place.execute(plan)
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
    const current = (await store.execute(withRights(plan.read, plan.rights))) as ReadResult
    plan.rights?.admit(current)
    plan.admit?.(current)
    plan.decide(current)
  } catch (error) {
    // Other refusals are ignored here: the transaction reads the row again and makes them.
    if (error instanceof Undecided) await error.decide()
  }
}

const busyProblem = (cause: unknown): Problem =>
  new Problem('overloaded', 'Other requests keep changing the same rows; nothing was changed. Try again later.', {
    cause,
    headers: { 'Retry-After': '1' },
  })
