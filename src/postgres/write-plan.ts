/** Write plan: runs a write atomically, retries it after conflicts, never after an unknown outcome. The store. */

import type { StoreContext } from '../catalog/context.ts'
import { type ResultRow, rowConflict, runStepsAsync, type Steps, unknownOutcome } from '../catalog/steps.ts'
import { isCommitted, type Outcome } from '../flow/outcome.ts'
import { type Claim, isDry, type WritePlan } from '../flow/plan.ts'
import { pause, type World, within } from '../flow/world.ts'
import { claimTable } from '../ledgers/idempotency-claims.ts'
import type { Statement } from '../sql/statements.ts'
import { perform } from '../store/perform.ts'
import { coalesce, isCoalescable } from './coalesce.ts'
import { askAfter, type Connection, type DatabaseQuery } from './connect.ts'
import {
  isConnectionLost,
  isLockedNumber,
  isLockedRow,
  isOutcomeUnknown,
  isRetryable,
  isWorkerOutcomeUnknown,
  keyInProgress,
  postgresDuplicate,
  postgresFailure,
} from './failure.ts'
import type { ConnectionPool } from './pool.ts'
import { SharedCommits } from './shared-commits.ts'

export interface PostgresWriteDeps {
  readonly world: World
  readonly pool: ConnectionPool
  readonly context: StoreContext
  /** How long a plan may be retried, in milliseconds. */
  readonly patience: number
  readonly begin: Statement
  /** Whether Citus runs the statements on other servers. */
  readonly citus: boolean
  /** The statements that begin a batch beside other batches, and one that runs alone; null if the server cannot lock a number. */
  readonly beginBatch: { readonly beside: Statement; readonly alone: Statement } | null
  /** Runs statements that need no transaction; null if each write needs one to set its timeouts. */
  readonly lone: AutocommitRunner | null
  /** The last pending write of each row in this process. */
  readonly turns: Map<string, Promise<unknown>>
  readonly shared: SharedCommits
}

export function postgresWriting(base: Omit<PostgresWriteDeps, 'turns' | 'shared'>): PostgresWriteDeps {
  const deps = { ...base, context: { ...base.context, duplicateOf: postgresDuplicate } }
  const shared = new SharedCommits({
    ...deps,
    commit: (connection) => runFinalStatement(connection, commit, isOutcomeUnknown),
    rollBack: rollBackOrClose,
    failure: postgresFailure,
    isLost: isLostOutcome,
    recover: (plan, failure) => outcomeByKey(deps, plan, failure as LostOutcome),
  })
  return { ...deps, turns: new Map(), shared }
}

const commit: Statement = { text: 'COMMIT', values: [] }
const rollback: Statement = { text: 'ROLLBACK', values: [] }
const maxTries = 5
const ignore = (): void => {}

/** Thrown if it is unknown whether the final statement was executed. */
interface LostOutcome {
  readonly uncertain: true
  readonly cause: unknown
  /** Whether the server confirmed it, but perhaps without its standby. */
  readonly local: boolean
}

const lostOutcome = (cause: unknown, local = false): LostOutcome => ({ uncertain: true, cause, local })
const isBatch = (plan: WritePlan): boolean => plan.do === 'sequence' && plan.batch === true

const claimOf = (plan: WritePlan): Claim | null => ('claim' in plan ? (plan.claim ?? null) : null)

/** Writes of one row run one after the other within this process: concurrent ones would conflict and retry. */
export function runPostgresWrite(
  deps: PostgresWriteDeps,
  plan: WritePlan,
  follows?: Iterable<Promise<unknown>>,
): Promise<Outcome> {
  const until = deps.world.monotonic() + deps.patience
  const act = () => runWithRetries(deps, plan, until)
  const read = plan.do === 'decide' ? plan.read : null
  // Dry runs do not join, as they are rolled back. With Citus a failed transaction over shards would leave the outcome of
  // all members unknown.
  if (follows && read?.do !== 'read' && !isDry(plan) && !deps.citus) return deps.shared.execute(plan, follows, act)
  if (read?.do !== 'read') return act()
  const { collection, key } = read
  return serializeByRow(deps, JSON.stringify([collection, key.account, key.parent, key.id]), until, act)
}

async function serializeByRow(
  { turns, world }: PostgresWriteDeps,
  row: string,
  until: number,
  act: () => Promise<Outcome>,
): Promise<Outcome> {
  const before = turns.get(row)
  // At the deadline the write runs anyway, and the database detects conflicts.
  const own = before ? within(world, until - world.monotonic(), before.catch(ignore), ignore).then(act) : act()
  turns.set(row, own)
  try {
    return await own
  } finally {
    if (turns.get(row) === own) turns.delete(row)
  }
}

/** A plan is data, so after a conflict it is carried out again from its start; a batch as often as its time allows. */
async function runWithRetries(deps: PostgresWriteDeps, plan: WritePlan, until: number): Promise<Outcome> {
  const { world } = deps
  const most = isBatch(plan) ? Number.POSITIVE_INFINITY : maxTries
  for (let tries = 1, isAlone = false; ; tries++) {
    let failure: unknown
    try {
      return await tryWrite(deps, plan, { isFirst: tries === 1, isAlone })
    } catch (error) {
      failure = error
    }
    if (isLostOutcome(failure)) return await outcomeByKey(deps, plan, failure)
    const again = isRetryable(failure) ? tries < most : isConnectionLost(failure) && tries === 1
    if (!again || world.monotonic() > until) throw writeFailure(failure, plan)
    if (!isLockedNumber(failure)) isAlone = !(isAlone && isLockedRow(failure)) // other writes than batches can lock a row
    await pause(world, world.random() * 5 * 2 ** Math.min(tries, maxTries))
  }
}

const isLostOutcome = (failure: unknown): failure is LostOutcome => (failure as LostOutcome | null)?.uncertain === true

/** A lock timeout on the table of idempotency keys means that another node is still using the key. */
function writeFailure(failure: unknown, plan: WritePlan): unknown {
  const { code, where } = (failure ?? {}) as { readonly code?: string; readonly where?: string }
  return code === '55P03' && claimOf(plan) && where?.includes(claimTable.name)
    ? keyInProgress(failure)
    : postgresFailure(failure)
}

/**
 * One try. Most plans are a read and one atomic write: both need no transaction and are coalesced with those of other
 * requests, except when they are retried.
 */
async function tryWrite(
  deps: PostgresWriteDeps,
  plan: WritePlan,
  { isFirst, isAlone }: { readonly isFirst: boolean; readonly isAlone: boolean },
): Promise<Outcome> {
  const { context, pool, lone, citus } = deps
  const ask = isFirst ? lone?.coalesced : lone?.alone
  try {
    const steps = perform(context, plan, !isFirst)
    let step = steps.next()
    while (!step.done && step.value.autocommit && ask) step = steps.next(await ask(step.value))
    if (step.done) return rejectOvertaken(plan, step.value)
    const { value } = step
    const begin = (isBatch(plan) && deps.beginBatch?.[isAlone ? 'alone' : 'beside']) || deps.begin
    return await pool.use((connection) => inTransaction({ begin, citus }, plan, connection, steps, value), value)
  } catch (error) {
    const taken = postgresDuplicate(error, context)
    if (!taken) throw error
    return rejectOvertaken(plan, taken)
  }
}

/** Runs the rest of a plan, starting with a statement; the transaction begins at the first statement that needs one. */
async function inTransaction(
  { begin, citus }: Pick<PostgresWriteDeps, 'begin' | 'citus'>,
  plan: WritePlan,
  connection: Connection,
  steps: Steps<Outcome>,
  first: Statement,
): Promise<Outcome> {
  let inside = false
  const run = async (statement: Statement): Promise<readonly ResultRow[]> => {
    if (inside || statement.autocommit === 'read') return connection.ask(statement)
    inside = true
    return await askAfter(connection, connection.ask(begin), statement)
  }
  try {
    let step = steps.next(await run(first))
    while (!step.done) {
      const [rows, failure] = await run(step.value).then(
        (answer) => [answer, null] as const,
        (error: unknown) => [[], error ?? new Error()] as const,
      )
      step = failure === null ? steps.next(rows) : steps.throw(failure)
    }
    const outcome = rejectOvertaken(plan, step.value)
    const commits = isCommitted(outcome) && !isDry(plan)
    if (inside && commits) await runFinalStatement(connection, commit, (error) => citus || isOutcomeUnknown(error))
    else if (inside) await connection.ask(rollback)
    return outcome
  } catch (error) {
    if (inside) await rollBackOrClose(connection)
    throw error
  }
}

/** Runs statements that need no transaction: coalesced with those of other requests, or alone. */
export interface AutocommitRunner {
  readonly coalesced: (statement: Statement) => Promise<readonly ResultRow[]>
  readonly alone: (statement: Statement) => Promise<readonly ResultRow[]>
}

/** Atomic writes on connections of the pool, reads by `read`. */
export function autocommitRunner(
  { pool, citus, world }: Pick<PostgresWriteDeps, 'pool' | 'citus' | 'world'>,
  read: (statement: Statement) => Promise<readonly ResultRow[]>,
): AutocommitRunner {
  const isUnknown = citus ? isWorkerOutcomeUnknown : isOutcomeUnknown
  const send = (connection: Connection, statement: DatabaseQuery) => runFinalStatement(connection, statement, isUnknown)
  const write = (statement: Statement) => pool.use((connection) => send(connection, statement), statement)
  const isForAll = (error: unknown) => isLostOutcome(error) || isConnectionLost(error)
  const gathered = coalesce({
    lend: pool.useCoalesced,
    count: pool.countBatch,
    send,
    alone: write,
    isForAll,
    allowsSameRow: false,
    world,
  })
  return {
    coalesced: (statement) =>
      statement.autocommit === 'read'
        ? read(statement)
        : isCoalescable(statement)
          ? gathered(statement)
          : write(statement),
    alone: (statement) => (statement.autocommit === 'read' ? read(statement) : write(statement)),
  }
}

/** Runs the statement that completes a write. Some failures leave its outcome unknown; with Citus every one of COMMIT does. */
async function runFinalStatement(
  connection: Connection,
  statement: DatabaseQuery,
  isUnknown: (error: unknown) => boolean,
): Promise<readonly ResultRow[]> {
  const warned = connection.warnings()
  let rows: readonly ResultRow[]
  try {
    rows = await connection.ask(statement)
  } catch (error) {
    throw isUnknown(error) ? lostOutcome(error) : error
  }
  if (connection.warnings() > warned)
    throw lostOutcome('The server warned that this may not have reached its standby.', true)
  return rows
}

/** Throws a conflict if another writer has created the row since this plan decided to create it, so that it decides again. */
function rejectOvertaken(plan: WritePlan, outcome: Outcome): Outcome {
  const isOvertaken = plan.do === 'decide' && outcome.is === 'duplicate' && outcome.fields[0] === 'id'
  if (isOvertaken) throw rowConflict(plan.do)
  return outcome
}

/** Closes the connection if its transaction cannot be rolled back. */
async function rollBackOrClose(connection: Connection): Promise<void> {
  try {
    await connection.ask(rollback)
  } catch {
    connection.close()
  }
}

/** Pauses before each lookup of the key, in milliseconds: the write may still be pending. */
const lookupWaits = [20, 100, 400]

/** Looks up by the idempotency key whether the write was committed. Without a key that stays unknown, and it is not retried. */
async function outcomeByKey(
  { pool, context, world }: Pick<PostgresWriteDeps, 'pool' | 'context' | 'world'>,
  plan: WritePlan,
  { cause, local }: LostOutcome,
): Promise<Outcome> {
  const claim = claimOf(plan)
  if (claim === null || local) throw unknownOutcome(cause)
  for (const wait of lookupWaits) {
    await pause(world, wait)
    const recalled = await pool.use(({ ask }) => readKeyOutcome(context, plan, claim, ask)).catch(() => null)
    if (recalled) return recalled
  }
  throw unknownOutcome(cause)
}

/** The outcome stored for the key: of this plan, or of an earlier request. */
async function readKeyOutcome(
  context: StoreContext,
  plan: WritePlan,
  claim: Claim,
  ask: Connection['ask'],
): Promise<Outcome | null> {
  const prior = await runStepsAsync(perform(context, { do: 'recall', claim }), ask)
  if (prior.is !== 'claimed') return null
  if (plan.do !== 'create' || prior.id !== plan.key.id) return prior
  const { collection, key, time } = plan
  const row = await runStepsAsync(perform(context, { do: 'read', collection, key, time }), ask)
  return row.is === 'found' ? { is: 'created', doc: row.doc, revision: row.revision } : prior
}
