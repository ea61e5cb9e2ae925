/** Answers reads: short ones on shared connections, others on one of their own, in one snapshot where it takes several statements. The cellar. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Outcome } from '../flow/outcome.ts'
import type { Deed, List, Plan } from '../flow/plan.ts'
import { type Answer, type Cellar, finishLater, type Shelf, settled } from '../store/cellar.ts'
import type { Statement } from '../store/compile.ts'
import { perform } from '../store/perform.ts'
import { isBounded } from '../store/segments.ts'
import type { Connection } from './connect.ts'
import { isLost, isPassing, isWithheld, told } from './failure.ts'
import { gather, isGathered } from './gather.ts'
import type { Pool } from './pool.ts'
import { question, type States } from './state.ts'
import type { Totals } from './totals.ts'

/** A plan that changes nothing. */
type Glance = Exclude<Plan, Deed>

interface Looking {
  readonly pool: Pool
  /** Asks one short question. */
  readonly read: (statement: Statement) => Promise<readonly Answer[]>
  readonly cellar: Cellar
  /** Statements that begin a snapshot, for what an index bounds and for all else. */
  readonly snapshot: { readonly short: Statement; readonly long: Statement }
  /** Counted totals, and the states they hold in; null where states cannot be read. */
  readonly counts: { readonly totals: Totals; readonly states: States } | null
}

const commit: Statement = { text: 'COMMIT', values: [] }
/** How long a read is tried where something is in its way, and how long it rests between at most, in milliseconds. */
const [patience, longestRest] = [3000, 250]

export const look = (looking: Looking, plan: Glance): Promise<Outcome> =>
  patiently(() => (plan.do === 'list' ? listed(looking, plan) : shortly(looking, plan)))

/** A read can be asked again, where the connection was lost under it; while it rests it holds none. */
export async function patiently<T>(read: () => Promise<T>): Promise<T> {
  const until = performance.now() + patience
  for (let tries = 1; ; tries++) {
    try {
      return await read()
    } catch (error) {
      const again = isPassing(error) ? performance.now() < until : isLost(error) && tries === 1
      if (!again) throw told(error)
      if (isPassing(error)) await pause((0.5 + Math.random()) * Math.min(longestRest, 5 * 2 ** tries))
    }
  }
}

/** What one statement answers needs no snapshot. */
async function shortly(looking: Looking, plan: Glance): Promise<Outcome> {
  const steps = perform(looking.cellar, plan)
  const first = steps.next()
  if (first.done) return first.value
  const then = steps.next(await looking.read(first.value))
  return then.done ? then.value : within(looking, true, finishedBy(looking, plan))
}

/** Rows, their total, their owner and the rows beside them are from one state; only a list that is one statement needs no snapshot. R54 */
async function listed(looking: Looking, plan: List): Promise<Outcome> {
  const { cellar } = looking
  const own = cellar.shelves.get(plan.collection) as Shelf
  const short = isBounded(own.collection, settled(cellar, plan), cellar.dialect)
  if (plan.countTo !== null && looking.counts) return counted(looking, looking.counts, plan, short)
  const isLone = short && plan.countTo === null && plan.parent === null && plan.beside === undefined
  return isLone ? shortly(looking, plan) : within(looking, short, finishedBy(looking, plan))
}

type Asking = Connection['ask']

const finishedBy =
  ({ cellar }: Looking, plan: Glance) =>
  (ask: Asking): Promise<Outcome> =>
    finishLater(perform(cellar, plan), ask)

/** A total that was counted in the very state that the page is read from is not counted again. */
async function counted(
  looking: Looking,
  { totals, states }: NonNullable<Looking['counts']>,
  plan: List,
  short: boolean,
): Promise<Outcome> {
  let unreadable = false
  const answered = within(looking, short, async (ask) => {
    const likely = totals.likely(plan)
    const page = finishedBy(looking, likely ? { ...plan, countTo: null } : plan)
    const asked = ask(question).catch((error) => {
      unreadable = isWithheld(error)
      throw error
    })
    const [rows, first] = await Promise.all([asked, page(ask)])
    const state = states.read(rows)
    if (likely && likely.state === state) return first.is === 'page' ? { ...first, total: likely.total } : first
    if (likely) totals.failed()
    const outcome = likely ? await finishedBy(looking, plan)(ask) : first
    totals.learn(plan, state, outcome)
    return outcome
  })
  // The state may have become unreadable since the start, as when the right to read it was revoked; the list needs it no more than that.
  return answered.catch((error) => {
    if (!unreadable) throw error
    return within(looking, short, finishedBy(looking, plan))
  })
}

function within({ pool, snapshot }: Looking, short: boolean, act: (ask: Asking) => Promise<Outcome>): Promise<Outcome> {
  return pool.use(async (connection) => {
    const begun = connection.ask(short ? snapshot.short : snapshot.long)
    begun.catch(() => {}) // told below
    try {
      const outcome = await act(connection.ask)
      await begun
      return outcome
    } finally {
      ended(connection)
    }
  })
}

/** Asks short questions on shared connections, those in the same words as one. */
export function reads(pool: Pool): Looking['read'] {
  const alone = async (statement: Statement) => (await pool.share()).ask(statement)
  const gathered = gather({
    lend: async (act) => act(await pool.share()),
    send: ({ ask }, question) => ask(question),
    alone,
    isForAll: (error) => isLost(error) || isPassing(error), // they come again
    shares: true,
  })
  return (statement) => (isGathered(statement) ? gathered(statement) : alone(statement))
}

/** Nothing depends on the end of a snapshot, so it is not waited for; what is asked next comes behind it. */
function ended(connection: Connection): void {
  const end: Promise<readonly Answer[]> = connection.ask(commit)
  end.catch(() => connection.close())
}
