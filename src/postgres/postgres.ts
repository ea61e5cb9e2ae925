/** PostgreSQL: the store port, implemented on a pool of connections. The store. */

import { storedName } from '../catalog/context.ts'
import { checkBacklog, needsBacklogCheck, sharedCatchUp, waitingIn } from '../catalog/old-nodes.ts'
import { runStepsAsync } from '../catalog/steps.ts'
import { isWritePlan } from '../flow/plan.ts'
import { Remembered } from '../flow/remembered.ts'
import type { Store } from '../flow/store.ts'
import type { World } from '../flow/world.ts'
import { openReadings } from '../readings/page-stream.ts'
import type { PreparedStore } from '../rewrite/prepare-store.ts'
import { deletePresence, forgetLostNodes, nodePresence } from '../schema/presence.ts'
import { postgresDialect } from '../sql/dialect.ts'
import { metaTable, plainStatement, type Statement } from '../sql/statements.ts'
import { mostTotals } from '../store/read-page.ts'
import type { PostgresClock } from './clock.ts'
import { oncePerTurn } from './coalesce.ts'
import { type Connection, type ConnectionTimeouts, forceGenericPlan } from './connect.ts'
import { databaseStates } from './database-state.ts'
import type { Engine } from './engine.ts'
import type { ConnectionPool } from './pool.ts'
import { retryRead, runPostgresRead, sharedReads } from './read-plan.ts'
import { autocommitRunner, postgresWriting, runPostgresWrite } from './write-plan.ts'

export interface PostgresStoreDeps extends PreparedStore {
  readonly world: World
  readonly pool: ConnectionPool
  /** Opens a connection outside of the pool. */
  readonly connect: () => Promise<Connection>
  /** How long a plan may be retried, in milliseconds. */
  readonly patience: number
  readonly caches: boolean
  /** Timeouts to set in each transaction, for pooled connections, which do not keep them; null otherwise. */
  readonly times: ConnectionTimeouts | null
  /** Whether the state of the database can be read. */
  readonly readsState: boolean
  readonly engine: Engine
  readonly clock: PostgresClock
}

// long because: its parts share the pool and its state
export function postgresStore(deps: PostgresStoreDeps): Store {
  const { world, pool, connect, patience, caches, times, name, clock, expire, engine } = deps
  const context = { ...deps.context, caches }
  const begin = (how: string, ...more: readonly string[]) =>
    plainStatement([`BEGIN${how}`, ...[...timeoutSettings(times), ...more].map((one) => `SET LOCAL ${one}`)].join('; '))
  const read = sharedReads(pool, world)
  const { citus, locksNumbers } = engine
  const beginBatch = locksNumbers
    ? { beside: withBatchLock(begin(''), '_shared'), alone: withBatchLock(begin(''), '') }
    : null
  const lone = times === null ? autocommitRunner({ pool, citus, world }, read) : null
  const writing = postgresWriting({ world, pool, context, patience, begin: begin(''), beginBatch, citus, lone })
  const still = ' ISOLATION LEVEL REPEATABLE READ READ ONLY'
  const long = context.dialect.distribute ? begin(still, 'citus.max_adaptive_executor_pool_size = 1') : begin(still)
  const short = engine.plansOnce ? begin(still, forceGenericPlan) : long
  const counts = deps.readsState
    ? { totals: new Remembered<number | null>(mostTotals), states: databaseStates(pool, world), until: 0 }
    : null
  const readings = openReadings(context, world)
  const readLong = times === null ? (one: Statement) => pool.use(({ ask }) => ask(one)) : null
  const reading = { world, pool, read, readLong, context, snapshot: { short, long }, counts, connect, readings }
  const presence = nodePresence({
    world,
    dialect: postgresDialect,
    name,
    run: (steps) => runStepsAsync(steps, async (statement) => (await pool.share(statement)).ask(statement)),
    expire: expire && (() => expire(null)),
    leave: function* (node) {
      yield* deletePresence(postgresDialect, node)
      yield* forgetLostNodes(postgresDialect)
    },
  })
  clock.follow(async () => pool.share())
  const execute: Store['execute'] = (plan, follows) =>
    isWritePlan(plan) ? runPostgresWrite(writing, plan, follows) : runPostgresRead(reading, plan)
  const isBehind = () => runStepsAsync(checkBacklog(context), read)
  const hasBacklog = oncePerTurn(() => retryRead(isBehind, world), world)
  const keepUp = sharedCatchUp(hasBacklog, () => runPostgresWrite(writing, { do: 'catchUp' }))
  return {
    execute: (plan, follows) =>
      needsBacklogCheck(context, plan) ? keepUp().then(() => execute(plan)) : execute(plan, follows),
    keepsOrder: 'following',
    secret: deps.secret,
    restoredAt: context.restoredAt ?? 0,
    caches,
    clock,
    misfits: deps.misfits,
    ...(context.backlog && { waiting: (name) => waitingIn(context, name) }),
    storedName: (name) => storedName(context, name),
    mark: () => null,
    ...(counts && { fetchMark: counts.states.now }),
    usage: pool.usage,
    ready: () => unreadyReason(pool),
    attend: presence.begin,
    close: async () => {
      clock.stop()
      readings.close()
      await presence.end()
      await pool.close()
    },
  }
}

/** Why the database cannot answer; null if it can. */
async function unreadyReason(pool: ConnectionPool): Promise<string | null> {
  try {
    const { ask } = await pool.share()
    await ask(plainStatement(`SELECT 1 AS found FROM ${metaTable} LIMIT 1`))
    return null
  } catch (error) {
    return String(error)
  }
}

/**
 * Batches lock rows in the order of their operations, so that parallel ones can deadlock. After a conflict one runs while no other
 * batch of the schema does, on any node. The first number has no meaning.
 */
const withBatchLock = ({ text }: Statement, how: '' | '_shared'): Statement =>
  plainStatement(`${text}; SELECT pg_advisory_xact_lock${how}(7203117, hashtext(current_schema()))`)

const timeoutSettings = (times: ConnectionTimeouts | null): readonly string[] =>
  times === null
    ? []
    : [
        `statement_timeout = ${times.statement}`,
        `lock_timeout = ${times.lock}`,
        `idle_in_transaction_session_timeout = ${times.idle}`,
      ]
