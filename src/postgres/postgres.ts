/** PostgreSQL: what a store is, on a pool of connections. The cellar. */
import { hostname } from 'node:os'
import type { Misfits } from '../fields/bounds.ts'
import { isWritePlan, type Plan } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import {
  deletePresence,
  forgetLostNodes,
  presenceInterval,
  presenceRetryDelay,
  writePresence,
} from '../schema/presence.ts'
import { metaTable, type Statement } from '../sql/compile.ts'
import { postgresDialect } from '../sql/dialect.ts'
import { nodeName } from '../sql/merging.ts'
import type { StoreContext } from '../store/context.ts'
import { checkBacklog, needsBacklogCheck, sharedCatchUp } from '../store/old-nodes.ts'
import { runStepsAsync, type Steps } from '../store/steps.ts'
import type { PostgresClock } from './clock.ts'
import { oncePerTurn } from './coalesce.ts'
import { type ConnectionTimeouts, forceGenericPlan } from './connect.ts'
import { databaseStates } from './database-state.ts'
import type { ConnectionPool } from './pool.ts'
import { retryRead, runPostgresRead, sharedReads } from './read-plan.ts'
import { postgresTotals } from './totals.ts'
import { autocommitRunner, runPostgresWrite } from './write-plan.ts'

/** What a store is opened with. */
export interface PostgresStoreDeps {
  readonly pool: ConnectionPool
  readonly cellar: StoreContext
  readonly secret: string
  /** The rows that do not fit what is declared. */
  readonly misfits?: Misfits
  /** How long a plan may take, in milliseconds. */
  readonly patience: number
  readonly caches: boolean
  /** Times that each transaction has to be told, as the connection does not keep them; null where it does. */
  readonly times: ConnectionTimeouts | null
  /** Whether the database tells its state. */
  readonly tells: boolean
  readonly clock: PostgresClock
  /** Names the declaration that is served, to those who change the schema. */
  readonly name: string
  /** Takes copies of dropped values that were kept for long enough. */
  readonly expire?: ((due: null) => Steps<void>) | null | undefined
}

const plainStatement = (text: string): Statement => ({ text, values: [] })

// long because: its parts share the pool and what is known of it
export function postgresStore({
  pool,
  cellar,
  secret,
  patience,
  caches,
  times,
  name,
  tells,
  clock,
  misfits = {},
  expire,
}: PostgresStoreDeps): Store {
  const begin = (how: string, ...more: readonly string[]) =>
    plainStatement([`BEGIN${how}`, ...[...timeoutSettings(times), ...more].map((one) => `SET LOCAL ${one}`)].join('; '))
  const read = sharedReads(pool)
  const writing = {
    pool,
    cellar,
    patience,
    begin: begin(''),
    lone: times === null ? autocommitRunner(pool, read) : null,
    turns: new Map(),
  }
  const still = ' ISOLATION LEVEL REPEATABLE READ READ ONLY'
  const short = cellar.dialect.distribute ? begin(still) : begin(still, forceGenericPlan)
  const counts = tells ? { totals: postgresTotals(), states: databaseStates(pool) } : null
  const looking = { pool, read, cellar, snapshot: { short, long: begin(still) }, counts }
  const presence = nodePresence(pool, { name, expire })
  clock.follow(async () => pool.share())
  const execute = (plan: Plan) => (isWritePlan(plan) ? runPostgresWrite(writing, plan) : runPostgresRead(looking, plan))
  const lags = oncePerTurn(() => retryRead(async () => runStepsAsync(checkBacklog(cellar), (await pool.share()).ask)))
  const keepUp = sharedCatchUp(lags, () => runPostgresWrite(writing, { do: 'raise' }))
  return {
    execute: (plan) => (needsBacklogCheck(cellar, plan) ? keepUp().then(() => execute(plan)) : execute(plan)),
    secret,
    caches,
    clock,
    misfits,
    mark: () => null,
    ...(counts && { fetchMark: counts.states.now }),
    ready: () => unreadyReason(pool),
    attend: presence.begin,
    close: async () => {
      clock.stop()
      await presence.end()
      await pool.close()
    },
  }
}

/** Why it cannot answer; null where it can. */
async function unreadyReason(pool: ConnectionPool): Promise<string | null> {
  try {
    const { ask } = await pool.share()
    await ask(plainStatement(`SELECT 1 AS found FROM ${metaTable} LIMIT 1`))
    return null
  } catch (error) {
    return String(error)
  }
}

const timeoutSettings = (times: ConnectionTimeouts | null): readonly string[] =>
  times === null
    ? []
    : [
        `statement_timeout = ${times.statement}`,
        `lock_timeout = ${times.lock}`,
        `idle_in_transaction_session_timeout = ${times.idle}`,
      ]

/** A node that cannot say that it runs says so again soon. */
function nodePresence(
  pool: ConnectionPool,
  { name, expire }: Pick<PostgresStoreDeps, 'name' | 'expire'>,
): { begin: () => Promise<void>; end: () => Promise<void> } {
  const node = nodeName(hostname(), process.pid)
  let timer: NodeJS.Timeout | undefined
  let saying: Promise<boolean> | undefined
  let over = false
  const said = async (steps: Steps<void>): Promise<boolean> => {
    try {
      await runStepsAsync(steps, (await pool.share()).ask)
      return true
    } catch {
      return false
    }
  }
  const begin = async (): Promise<void> => {
    saying = said(writePresence(postgresDialect, node, name))
    if (expire) void said(expire(null))
    const rest = (await saying) ? presenceInterval : presenceRetryDelay
    if (!over) timer = setTimeout(begin, rest).unref()
  }
  const end = async (): Promise<void> => {
    over = true
    clearTimeout(timer)
    if (saying === undefined) return
    await saying // else what is on its way would come behind the farewell
    await said(deletePresence(postgresDialect, node))
    await said(forgetLostNodes(postgresDialect))
  }
  return { begin, end }
}
