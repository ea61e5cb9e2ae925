/** Carries out what changes rows: whole or not at all, again where others were in the way, never again where the end is unknown. The cellar. */
import { setTimeout as pause } from 'node:timers/promises'
import { isLasting, type Outcome } from '../flow/outcome.ts'
import type { Claim, Deed } from '../flow/plan.ts'
import { type Answer, type Cellar, finishLater, moved, type Steps } from '../store/cellar.ts'
import { keys, type Statement } from '../store/compile.ts'
import { perform } from '../store/perform.ts'
import type { Connection, Question } from './connect.ts'
import { duplicate, inProgress, isLost, isPassing, isUncertain, told, unknownOutcome } from './failure.ts'
import { gather, isGathered } from './gather.ts'
import type { Pool } from './pool.ts'

export interface Writing {
  readonly pool: Pool
  readonly cellar: Cellar
  /** How long a plan may take, in milliseconds. */
  readonly patience: number
  /** Begins a transaction. */
  readonly begin: Statement
  /** Asks what needs no transaction; null where each write needs one that tells its time-outs. */
  readonly lone: Lone | null
  /** The last change of a row that is under way in this process, by the row. */
  readonly turns: Map<string, Promise<unknown>>
}

const commit: Statement = { text: 'COMMIT', values: [] }
const rollback: Statement = { text: 'ROLLBACK', values: [] }
const mostTries = 5

/** Told where it is not known whether the last step was done. */
interface Uncertain {
  readonly uncertain: true
  readonly cause: unknown
  /** Whether the server said that it was done, but perhaps not on all machines that should have it. */
  readonly local: boolean
}

const uncertain = (cause: unknown, local = false): Uncertain => ({ uncertain: true, cause, local })
const claimOf = (plan: Deed): Claim | null => ('claim' in plan ? plan.claim : null)

/** Who changes a row waits for those of this process that do, as only one of them would find it as it was read. */
export function write(writing: Writing, plan: Deed): Promise<Outcome> {
  const until = performance.now() + writing.patience
  const act = () => written(writing, plan, until)
  const read = plan.do === 'decide' ? plan.read : plan.do === 'once' ? plan.decide.read : null
  if (read === null) return act()
  const { collection, key } = read
  return inTurn(writing, JSON.stringify([collection, key.account, key.parent, key.id]), until, act)
}

async function inTurn({ turns }: Writing, row: string, until: number, act: () => Promise<Outcome>): Promise<Outcome> {
  const before = turns.get(row)
  const own = before ? behind(before, until, act) : act()
  turns.set(row, own)
  try {
    return await own
  } finally {
    if (turns.get(row) === own) turns.delete(row)
  }
}

/** Not for longer than anything else takes; then it is tried all the same, and told what comes of it. */
async function behind(before: Promise<unknown>, until: number, act: () => Promise<Outcome>): Promise<Outcome> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, until - performance.now())
  await Promise.race([before.catch(() => {}), late.promise])
  clearTimeout(timer)
  return act()
}

/** A plan is data, so that one that others were in the way of is carried out again, whole. */
async function written(writing: Writing, plan: Deed, until: number): Promise<Outcome> {
  for (let tries = 1; ; tries++) {
    let failure: unknown
    try {
      return await attempt(writing, plan, tries === 1)
    } catch (error) {
      failure = error
    }
    if (isUncertainty(failure)) return await settled(writing, plan, failure)
    const again = isPassing(failure) ? tries < mostTries : isLost(failure) && tries === 1
    if (!again || performance.now() > until) throw refusal(failure, plan)
    await pause(Math.random() * 5 * 2 ** tries)
  }
}

const isUncertainty = (failure: unknown): failure is Uncertain => (failure as Uncertain | null)?.uncertain === true

/** Where the key was waited for in vain, another node is at it. */
function refusal(failure: unknown, plan: Deed): unknown {
  const { code, where } = (failure ?? {}) as { readonly code?: string; readonly where?: string }
  return code === '55P03' && claimOf(plan) && where?.includes(keys) ? inProgress(failure) : told(failure)
}

/**
 * One try. What needs no transaction is asked with what others ask, as most plans are one read and one write that is whole by itself;
 * where that came to nothing it is asked alone.
 */
async function attempt(writing: Writing, plan: Deed, isFirst: boolean): Promise<Outcome> {
  const { cellar, pool, lone } = writing
  const ask = isFirst ? lone?.together : lone?.alone
  try {
    const steps = perform(cellar, plan, !isFirst)
    let step = steps.next()
    while (!step.done && step.value.lone && ask) step = steps.next(await ask(step.value))
    if (step.done) return current(plan, step.value)
    const { value } = step
    return await pool.use((connection) => within(writing, plan, connection, { steps, first: value }))
  } catch (error) {
    const taken = duplicate(error, cellar)
    if (!taken) throw error
    return current(plan, taken)
  }
}

/** A story from a statement on. */
interface Rest {
  readonly steps: Steps<Outcome>
  readonly first: Statement
}

/** The rest of a plan, in a transaction from the first statement on that needs one. */
async function within(
  { begin, cellar }: Writing,
  plan: Deed,
  connection: Connection,
  { steps, first }: Rest,
): Promise<Outcome> {
  let inside = false
  const run = async (statement: Statement): Promise<readonly Answer[]> => {
    if (!inside && statement.lone !== 'read') {
      inside = true
      await connection.ask(begin)
    }
    return connection.ask(statement)
  }
  try {
    let step = steps.next(await run(first))
    while (!step.done) step = steps.next(await run(step.value))
    const outcome = current(plan, step.value)
    if (inside && isLasting(outcome)) await lastly(connection, commit, cellar.dialect.spread !== null)
    else if (inside) await connection.ask(rollback)
    return outcome
  } catch (error) {
    if (inside) await undone(connection)
    throw error
  }
}

/** What asks for statements that need no transaction: with what others ask, or by themselves. */
export interface Lone {
  readonly together: (statement: Statement) => Promise<readonly Answer[]>
  readonly alone: (statement: Statement) => Promise<readonly Answer[]>
}

/** Writes that are whole by themselves, and reads by way of those who read. */
export function lonely(pool: Pool, read: (statement: Statement) => Promise<readonly Answer[]>): Lone {
  const write = (statement: Statement) => pool.use((connection) => lastly(connection, statement))
  const isForAll = (error: unknown) => isUncertainty(error) || isLost(error)
  const gathered = gather({ lend: pool.join, send: lastly, alone: write, isForAll, shares: false })
  return {
    together: (statement) =>
      statement.lone === 'read' ? read(statement) : isGathered(statement) ? gathered(statement) : write(statement),
    alone: (statement) => (statement.lone === 'read' ? read(statement) : write(statement)),
  }
}

/** A step after which all is done, so that its failure can mean both; where `many` machines have to do it, each failure does. */
async function lastly(connection: Connection, statement: Question, many = false): Promise<readonly Answer[]> {
  const warned = connection.warnings()
  let rows: readonly Answer[]
  try {
    rows = await connection.ask(statement)
  } catch (error) {
    throw many || isUncertain(error) ? uncertain(error) : error
  }
  if (connection.warnings() > warned)
    throw uncertain('The server warned that this may not have reached its standby.', true)
  return rows
}

/** An outcome that says how things are; where somebody else made the row since it was decided to make it, that is to be decided on. */
function current(plan: Deed, outcome: Outcome): Outcome {
  const isOvertaken =
    (plan.do === 'decide' || plan.do === 'once') && outcome.is === 'duplicate' && outcome.fields[0] === 'id'
  if (isOvertaken) throw moved(plan.do)
  return outcome
}

/** A connection whose transaction cannot be ended is given up. */
async function undone(connection: Connection): Promise<void> {
  try {
    await connection.ask(rollback)
  } catch {
    connection.close()
  }
}

/** When the key is looked up, in milliseconds from one to the next: what was sent may still be on its way. */
const lookups = [20, 100, 400]

/** What a key was used for tells whether the last step was done; without a key nobody knows, and nothing is done twice. */
async function settled({ pool, cellar }: Writing, plan: Deed, { cause, local }: Uncertain): Promise<Outcome> {
  const claim = claimOf(plan)
  if (claim === null || local) throw unknownOutcome(cause)
  for (const wait of lookups) {
    await pause(wait)
    const known = await pool.use(({ ask }) => madeWith(cellar, plan, claim, ask)).catch(() => null)
    if (known) return known
  }
  throw unknownOutcome(cause)
}

/** What was made with the key: by this very plan, or by another one before. */
async function madeWith(cellar: Cellar, plan: Deed, claim: Claim, ask: Connection['ask']): Promise<Outcome | null> {
  const known = await finishLater(perform(cellar, { do: 'recall', claim }), ask)
  if (known.is !== 'claimed') return null
  if (plan.do !== 'create' || known.id !== plan.key.id) return known
  const { collection, key, time } = plan
  const row = await finishLater(perform(cellar, { do: 'read', collection, key, time }), ask)
  return row.is === 'found' ? { is: 'created', doc: row.doc, revision: row.revision } : known
}
