/** Carries out what changes rows: whole or not at all, again where others were in the way, never again where the end is unknown. The cellar. */
import { setTimeout as pause } from 'node:timers/promises'
import { isCommitted, type Outcome } from '../flow/outcome.ts'
import type { Claim, WritePlan } from '../flow/plan.ts'
import { claimTable, type Statement } from '../sql/compile.ts'
import type { StoreContext } from '../store/context.ts'
import { perform } from '../store/perform.ts'
import { type ResultRow, rowConflict, runStepsAsync, type Steps } from '../store/steps.ts'
import { coalesce, isCoalescable } from './coalesce.ts'
import type { Connection, DatabaseQuery } from './connect.ts'
import {
  isConnectionLost,
  isOutcomeUnknown,
  isRetryable,
  keyInProgress,
  postgresDuplicate,
  postgresFailure,
  unknownOutcome,
} from './failure.ts'
import type { ConnectionPool } from './pool.ts'

export interface PostgresWriteDeps {
  readonly pool: ConnectionPool
  readonly cellar: StoreContext
  /** How long a plan may take, in milliseconds. */
  readonly patience: number
  /** Begins a transaction. */
  readonly begin: Statement
  /** Asks what needs no transaction; null where each write needs one that tells its time-outs. */
  readonly lone: AutocommitRunner | null
  /** The last change of a row that is under way in this process, by the row. */
  readonly turns: Map<string, Promise<unknown>>
}

const commit: Statement = { text: 'COMMIT', values: [] }
const rollback: Statement = { text: 'ROLLBACK', values: [] }
const maxTries = 5

/** Told where it is not known whether the last step was done. */
interface LostOutcome {
  readonly uncertain: true
  readonly cause: unknown
  /** Whether the server said that it was done, but perhaps not on all machines that should have it. */
  readonly local: boolean
}

const lostOutcome = (cause: unknown, local = false): LostOutcome => ({ uncertain: true, cause, local })
const claimOf = (plan: WritePlan): Claim | null => ('claim' in plan ? plan.claim : null)

/** Who changes a row waits for those of this process that do, as only one of them would find it as it was read. */
export function runPostgresWrite(writing: PostgresWriteDeps, plan: WritePlan): Promise<Outcome> {
  const until = performance.now() + writing.patience
  const act = () => runWithRetries(writing, plan, until)
  const read = plan.do === 'decide' ? plan.read : plan.do === 'once' ? plan.decide.read : null
  if (read === null) return act()
  const { collection, key } = read
  return serializeByRow(writing, JSON.stringify([collection, key.account, key.parent, key.id]), until, act)
}

async function serializeByRow(
  { turns }: PostgresWriteDeps,
  row: string,
  until: number,
  act: () => Promise<Outcome>,
): Promise<Outcome> {
  const before = turns.get(row)
  const own = before ? runAfter(before, until, act) : act()
  turns.set(row, own)
  try {
    return await own
  } finally {
    if (turns.get(row) === own) turns.delete(row)
  }
}

/** Not for longer than anything else takes; then it is tried all the same, and told what comes of it. */
async function runAfter(before: Promise<unknown>, until: number, act: () => Promise<Outcome>): Promise<Outcome> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, until - performance.now())
  await Promise.race([before.catch(() => {}), late.promise])
  clearTimeout(timer)
  return act()
}

/** A plan is data, so that one that others were in the way of is carried out again, whole. */
async function runWithRetries(writing: PostgresWriteDeps, plan: WritePlan, until: number): Promise<Outcome> {
  for (let tries = 1; ; tries++) {
    let failure: unknown
    try {
      return await tryWrite(writing, plan, tries === 1)
    } catch (error) {
      failure = error
    }
    if (isLostOutcome(failure)) return await outcomeByKey(writing, plan, failure)
    const again = isRetryable(failure) ? tries < maxTries : isConnectionLost(failure) && tries === 1
    if (!again || performance.now() > until) throw writeFailure(failure, plan)
    await pause(Math.random() * 5 * 2 ** tries)
  }
}

const isLostOutcome = (failure: unknown): failure is LostOutcome => (failure as LostOutcome | null)?.uncertain === true

/** Where the key was waited for in vain, another node is at it. */
function writeFailure(failure: unknown, plan: WritePlan): unknown {
  const { code, where } = (failure ?? {}) as { readonly code?: string; readonly where?: string }
  return code === '55P03' && claimOf(plan) && where?.includes(claimTable)
    ? keyInProgress(failure)
    : postgresFailure(failure)
}

/**
 * One try. What needs no transaction is asked with what others ask, as most plans are one read and one write that is whole by itself;
 * where that came to nothing it is asked alone.
 */
async function tryWrite(writing: PostgresWriteDeps, plan: WritePlan, isFirst: boolean): Promise<Outcome> {
  const { cellar, pool, lone } = writing
  const ask = isFirst ? lone?.coalesced : lone?.alone
  try {
    const steps = perform(cellar, plan, !isFirst)
    let step = steps.next()
    while (!step.done && step.value.autocommit && ask) step = steps.next(await ask(step.value))
    if (step.done) return rejectOvertaken(plan, step.value)
    const { value } = step
    return await pool.use((connection) => inTransaction(writing, plan, connection, { steps, first: value }))
  } catch (error) {
    const taken = postgresDuplicate(error, cellar)
    if (!taken) throw error
    return rejectOvertaken(plan, taken)
  }
}

/** A story from a statement on. */
interface RemainingSteps {
  readonly steps: Steps<Outcome>
  readonly first: Statement
}

/** The rest of a plan, in a transaction from the first statement on that needs one. */
async function inTransaction(
  { begin, cellar }: PostgresWriteDeps,
  plan: WritePlan,
  connection: Connection,
  { steps, first }: RemainingSteps,
): Promise<Outcome> {
  let inside = false
  const run = async (statement: Statement): Promise<readonly ResultRow[]> => {
    if (!inside && statement.autocommit !== 'read') {
      inside = true
      await connection.ask(begin)
    }
    return connection.ask(statement)
  }
  try {
    let step = steps.next(await run(first))
    while (!step.done) step = steps.next(await run(step.value))
    const outcome = rejectOvertaken(plan, step.value)
    if (inside && isCommitted(outcome)) await runFinalStatement(connection, commit, cellar.dialect.distribute !== null)
    else if (inside) await connection.ask(rollback)
    return outcome
  } catch (error) {
    if (inside) await rollBackOrClose(connection)
    throw error
  }
}

/** What asks for statements that need no transaction: with what others ask, or by themselves. */
export interface AutocommitRunner {
  readonly coalesced: (statement: Statement) => Promise<readonly ResultRow[]>
  readonly alone: (statement: Statement) => Promise<readonly ResultRow[]>
}

/** Writes that are whole by themselves, and reads by way of those who read. */
export function autocommitRunner(
  pool: ConnectionPool,
  read: (statement: Statement) => Promise<readonly ResultRow[]>,
): AutocommitRunner {
  const write = (statement: Statement) => pool.use((connection) => runFinalStatement(connection, statement))
  const isForAll = (error: unknown) => isLostOutcome(error) || isConnectionLost(error)
  const gathered = coalesce({
    lend: pool.useCoalesced,
    send: runFinalStatement,
    alone: write,
    isForAll,
    allowsSameRow: false,
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

/** A step after which all is done, so that its failure can mean both; where `many` machines have to do it, each failure does. */
async function runFinalStatement(
  connection: Connection,
  statement: DatabaseQuery,
  many = false,
): Promise<readonly ResultRow[]> {
  const warned = connection.warnings()
  let rows: readonly ResultRow[]
  try {
    rows = await connection.ask(statement)
  } catch (error) {
    throw many || isOutcomeUnknown(error) ? lostOutcome(error) : error
  }
  if (connection.warnings() > warned)
    throw lostOutcome('The server warned that this may not have reached its standby.', true)
  return rows
}

/** An outcome that says how things are; where somebody else made the row since it was decided to make it, that is to be decided on. */
function rejectOvertaken(plan: WritePlan, outcome: Outcome): Outcome {
  const isOvertaken =
    (plan.do === 'decide' || plan.do === 'once') && outcome.is === 'duplicate' && outcome.fields[0] === 'id'
  if (isOvertaken) throw rowConflict(plan.do)
  return outcome
}

/** A connection whose transaction cannot be ended is given up. */
async function rollBackOrClose(connection: Connection): Promise<void> {
  try {
    await connection.ask(rollback)
  } catch {
    connection.close()
  }
}

/** When the key is looked up, in milliseconds from one to the next: what was sent may still be on its way. */
const lookupWaits = [20, 100, 400]

/** What a key was used for tells whether the last step was done; without a key nobody knows, and nothing is done twice. */
async function outcomeByKey(
  { pool, cellar }: PostgresWriteDeps,
  plan: WritePlan,
  { cause, local }: LostOutcome,
): Promise<Outcome> {
  const claim = claimOf(plan)
  if (claim === null || local) throw unknownOutcome(cause)
  for (const wait of lookupWaits) {
    await pause(wait)
    const known = await pool.use(({ ask }) => readKeyOutcome(cellar, plan, claim, ask)).catch(() => null)
    if (known) return known
  }
  throw unknownOutcome(cause)
}

/** What was made with the key: by this very plan, or by another one before. */
async function readKeyOutcome(
  cellar: StoreContext,
  plan: WritePlan,
  claim: Claim,
  ask: Connection['ask'],
): Promise<Outcome | null> {
  const known = await runStepsAsync(perform(cellar, { do: 'recall', claim }), ask)
  if (known.is !== 'claimed') return null
  if (plan.do !== 'create' || known.id !== plan.key.id) return known
  const { collection, key, time } = plan
  const row = await runStepsAsync(perform(cellar, { do: 'read', collection, key, time }), ask)
  return row.is === 'found' ? { is: 'created', doc: row.doc, revision: row.revision } : known
}
