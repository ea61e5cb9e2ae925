/** Read plan: runs short reads on shared connections, and others on exclusive ones in a snapshot. The store. */

import type { PreparedCollection, StoreContext } from '../catalog/context.ts'
import { resolveList } from '../catalog/resolve-list.ts'
import { type ResultRow, runStepsAsync } from '../catalog/steps.ts'
import type { Outcome } from '../flow/outcome.ts'
import { countKey, type ListRows, type Plan, type WritePlan } from '../flow/plan.ts'
import type { Remembered } from '../flow/remembered.ts'
import { pause, type World } from '../flow/world.ts'
import type { Readings } from '../readings/page-stream.ts'
import { isBounded } from '../sql/ranges.ts'
import type { Statement } from '../sql/statements.ts'
import { perform } from '../store/perform.ts'
import { coalesce, isCoalescable } from './coalesce.ts'
import type { AskDatabase, Connection } from './connect.ts'
import { type DatabaseStates, databaseStateQuery } from './database-state.ts'
import { isConnectionLost, isDenied, isRetryable, postgresFailure } from './failure.ts'
import type { ConnectionPool } from './pool.ts'

/** A plan that changes nothing. */
type ReadOnlyPlan = Exclude<Plan, WritePlan>

interface PostgresReadDeps {
  readonly world: World
  readonly pool: ConnectionPool
  /** Runs a short statement on a shared connection. */
  readonly read: (statement: Statement) => Promise<readonly ResultRow[]>
  /** Runs a long statement on an exclusive connection; null if its timeouts must be set in a transaction. */
  readonly readLong: ((statement: Statement) => Promise<readonly ResultRow[]>) | null
  readonly context: StoreContext
  /** Begin a snapshot, for reads that an index bounds and for all others. */
  readonly snapshot: { readonly short: Statement; readonly long: Statement }
  /** Opens a connection for one reading. */
  readonly connect: () => Promise<Connection>
  readonly readings: Readings
  /** Null if the state of the database cannot be read, so that no totals are cached. */
  readonly counts: CountedLists | null
}

interface CountedLists {
  /** Totals, each with the state of the database that it was counted in. */
  readonly totals: Remembered<number | null>
  readonly states: DatabaseStates
  /** Until this time cached totals are not tried, as one was outdated a moment ago. */
  until: number
}

/** How long cached totals are not tried after one was outdated, in milliseconds. */
const restAfterFailure = 200

const commit: Statement = { text: 'COMMIT', values: [] }
/** How long a read is retried after conflicts, and the longest pause between tries, in milliseconds. */
const [patience, longestRest] = [3000, 250]

export const runPostgresRead = (deps: PostgresReadDeps, plan: ReadOnlyPlan): Promise<Outcome> =>
  retryRead(() => {
    if (plan.do === 'list' && plan.whole) return readWhole(deps, plan)
    if (plan.do === 'list') return readList(deps, plan)
    const isLone = plan.do !== 'read' || plan.embeds === undefined
    return isLone ? readInOneStatement(deps, plan, true) : inSnapshot(deps, true, performWith(deps, plan))
  }, deps.world)

/** Reads all rows in a snapshot on a connection of its own, as its reader may be slow, and requests need those of the pool. */
const readWhole = (deps: PostgresReadDeps, plan: ListRows): Promise<Outcome> =>
  deps.readings.open(plan, async () => {
    const connection = await deps.connect()
    const begun = connection.ask(deps.snapshot.long)
    begun.catch(() => {}) // the first page fails too
    return {
      read: (page) => performWith(deps, page)(connection.ask).catch((error) => Promise.reject(postgresFailure(error))),
      close: () => connection.close(),
    }
  })

/** Retries a read: after conflicts for a while, after a lost connection once. It holds no connection during a pause. */
export async function retryRead<T>(read: () => Promise<T>, world: World): Promise<T> {
  const until = world.monotonic() + patience
  for (let tries = 1; ; tries++) {
    try {
      return await read()
    } catch (error) {
      const again = isRetryable(error) ? world.monotonic() < until : isConnectionLost(error) && tries === 1
      if (!again) throw postgresFailure(error)
      if (isRetryable(error)) await pause(world, (0.5 + world.random()) * Math.min(longestRest, 5 * 2 ** tries))
    }
  }
}

/** Runs a plan of one statement without a snapshot; one that needs more statements starts again in a snapshot. */
async function readInOneStatement(deps: PostgresReadDeps, plan: ReadOnlyPlan, short: boolean): Promise<Outcome> {
  const read = short ? deps.read : deps.readLong
  if (read === null) return inSnapshot(deps, short, performWith(deps, plan))
  const steps = perform(deps.context, plan)
  const first = steps.next()
  if (first.done) return first.value
  const then = steps.next(await read(first.value))
  return then.done ? then.value : inSnapshot(deps, short, performWith(deps, plan))
}

/** Rows, total, parent and joined rows are read in one snapshot, except for a list that is a single statement. R54 */
async function readList(deps: PostgresReadDeps, plan: ListRows): Promise<Outcome> {
  const { context } = deps
  const own = context.collections.get(plan.collection) as PreparedCollection
  const short = isBounded(own.collection, resolveList(context, plan), context.dialect)
  if (plan.countTo !== null && deps.counts) return readCountedList(deps, deps.counts, plan, short)
  const isLone =
    !context.dialect.distribute &&
    plan.countTo === null &&
    plan.parent === null &&
    plan.joined === undefined &&
    plan.embeds === undefined
  return isLone ? readInOneStatement(deps, plan, short) : inSnapshot(deps, short, performWith(deps, plan))
}

const performWith =
  ({ context }: PostgresReadDeps, plan: ReadOnlyPlan) =>
  (ask: AskDatabase): Promise<Outcome> =>
    runStepsAsync(perform(context, plan), ask)

/** Reuses a cached total if it was counted in the same database state that the page is read from. */
async function readCountedList(
  deps: PostgresReadDeps,
  counts: CountedLists,
  plan: ListRows,
  short: boolean,
): Promise<Outcome> {
  const { totals, states } = counts
  const { monotonic } = deps.world
  const key = countKey(plan)
  let unreadable = false
  const answered = inSnapshot(deps, short, async (ask) => {
    const expected = monotonic() < counts.until ? null : states.last()
    const likely = expected === null ? undefined : totals.get(key, expected)
    const page = performWith(deps, likely === undefined ? plan : { ...plan, countTo: null })
    const asked = ask(databaseStateQuery).catch((error) => {
      unreadable = isDenied(error)
      throw error
    })
    const [rows, first] = await Promise.all([asked, page(ask)])
    const state = states.read(rows)
    if (likely !== undefined && expected === state) return first.is === 'page' ? { ...first, total: likely } : first
    if (likely !== undefined) counts.until = monotonic() + restAfterFailure
    const outcome = likely === undefined ? first : await performWith(deps, plan)(ask)
    if (state !== null && outcome.is === 'page') totals.put(key, state, outcome.total, key.length)
    return outcome
  })
  // The state may have become unreadable, for example if the right to read it was revoked; the list does not depend on it.
  return answered.catch((error) => {
    if (!unreadable) throw error
    return inSnapshot(deps, short, performWith(deps, plan))
  })
}

function inSnapshot(
  { pool, snapshot }: PostgresReadDeps,
  short: boolean,
  act: (ask: AskDatabase) => Promise<Outcome>,
): Promise<Outcome> {
  return pool.use(async (connection) => {
    const begun = connection.ask(short ? snapshot.short : snapshot.long)
    begun.catch(() => {}) // awaited below
    try {
      const outcome = await act(connection.ask)
      await begun
      return outcome
    } finally {
      endSnapshot(connection)
    }
  }, snapshot.long)
}

/** Runs short statements on shared connections, equal ones coalesced. */
export function sharedReads(pool: ConnectionPool, world: World): PostgresReadDeps['read'] {
  const alone = async (statement: Statement) => (await pool.share(statement)).ask(statement)
  const gathered = coalesce({
    lend: async (act) => act(await pool.share()),
    count: pool.countBatch,
    send: ({ ask }, question) => ask(question),
    alone,
    isForAll: (error) => isConnectionLost(error) || isRetryable(error), // callers retry
    allowsSameRow: true,
    world,
  })
  return (statement) => (isCoalescable(statement) ? gathered(statement) : alone(statement))
}

/** Not awaited, as nothing depends on it; the next statement of the connection queues behind it. */
function endSnapshot(connection: Connection): void {
  const end: Promise<readonly ResultRow[]> = connection.ask(commit)
  end.catch(() => connection.close())
}
