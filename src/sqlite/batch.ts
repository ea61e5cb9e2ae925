/** Batch: the writes of a turn of the event loop, committed together. The cellar. */
import type { DatabaseSync } from 'node:sqlite'
import { isCommitted, type Outcome } from '../flow/outcome.ts'
import type { WritePlan } from '../flow/plan.ts'
import { credentialTable, type Statement } from '../sql/compile.ts'
import type { StoreContext } from '../store/context.ts'
import { perform } from '../store/perform.ts'
import { type RunStatement, runSteps } from '../store/steps.ts'
import {
  isBusy,
  isCorruptFile,
  isOutage,
  maxLockWait,
  sqliteCommitFailure,
  sqliteDuplicate,
  sqliteFailure,
} from './failure.ts'
import type { RowCache } from './row-cache.ts'
import type { Snapshot } from './snapshot.ts'
import type { SqliteTotals } from './totals.ts'

const maxBatchSize = 500

interface QueuedWrite {
  readonly plan: WritePlan
  readonly until: number
  readonly done: (outcome: Outcome) => void
  readonly fail: (error: unknown) => void
}

interface BatchDeps {
  readonly db: DatabaseSync
  readonly run: RunStatement
  readonly snapshot: Snapshot
  readonly cellar: StoreContext
  /** How long a write may wait, in milliseconds. */
  readonly patience: number
  /** Told of what was written, after the commit. */
  readonly totals: SqliteTotals
  readonly rows: RowCache
}

/** Collects the writes of a turn of the event loop and commits them together; each is answered after the commit. */
// long because: its steps share the queue of writes
export function batchedWrites({ db, run, snapshot, cellar, patience, totals, rows }: BatchDeps) {
  let waiting: QueuedWrite[] = []
  let planned = false
  /** Whether members are kept apart by savepoints, as one of those before had to be undone. */
  let apart = false
  let undone = false
  /** Whether the member at work has written. */
  let wrote = false
  /** The member that met a part of the file that cannot be read, after which nothing of its batch can be committed. */
  let unreadable: { readonly member: QueuedWrite; readonly cause: unknown } | null = null
  const idle: (() => void)[] = []

  function join(plan: WritePlan): Promise<Outcome> {
    return new Promise((done, fail) => {
      waiting.push({ plan, until: performance.now() + Math.min(maxLockWait, patience), done, fail })
      if (!planned) schedule()
    })
  }

  function schedule(delay?: number): void {
    planned = true
    if (delay === undefined) setImmediate(flush)
    else setTimeout(flush, delay)
  }

  function flush(): void {
    planned = false
    const members = waiting.splice(0, maxBatchSize)
    snapshot.end()
    try {
      run(begin)
    } catch (error) {
      again(members, error)
      return
    }
    settle(members)
    rest()
  }

  function rest(delay?: number): void {
    if (waiting.length > 0) schedule(delay)
    else for (const resolve of idle.splice(0)) resolve()
  }

  /** Another process writes: the batch waits its turn, but not longer than its members may. */
  function again(members: readonly QueuedWrite[], error: unknown): void {
    const now = performance.now()
    const patient = isBusy(error) ? members.filter(({ until }) => until > now) : []
    for (const member of members) if (!patient.includes(member)) member.fail(sqliteFailure(error))
    waiting = [...patient, ...waiting]
    rest(1 + Math.random() * 10)
  }

  function settle(members: readonly QueuedWrite[]): void {
    const answers: (() => void)[] = []
    let tell = sqliteFailure
    undone = false
    try {
      for (const member of members) answers.push(attempt(member))
      tell = sqliteCommitFailure
      run(commit)
      forget(members)
    } catch (error) {
      if (error === batchMustRestart) {
        separately(members)
        return
      }
      if (unreadable) {
        const { member, cause } = unreadable
        unreadable = null
        separately(members.filter((one) => one !== member))
        member.fail(sqliteFailure(cause))
        return
      }
      forget(members) // it may have been committed all the same
      for (const { fail } of members) fail(tell(error))
      if (db.isTransaction) db.exec('ROLLBACK')
      return
    }
    apart = undone
    for (const answer of answers) answer()
  }

  /** Nothing of it was written, and all are tried again in the next batch. */
  function separately(members: readonly QueuedWrite[]): void {
    db.exec('ROLLBACK')
    apart = true
    waiting = [...members, ...waiting]
  }

  function forget(members: readonly QueuedWrite[]): void {
    for (const { plan } of members) {
      if (cellar.backlog)
        rows.clear() // what others show of a row is told to them
      else rows.invalidate(plan)
      for (const one of cellar.backlog ? cellar.collections.keys() : collectionsWrittenBy(plan)) totals.invalidate(one)
    }
  }

  /** One member; a failure of the whole transaction is thrown on. */
  function attempt(own: QueuedWrite): () => void {
    const { plan, done, fail } = own
    wrote = false
    if (apart) run(savepoint)
    try {
      const outcome = runSteps(perform(cellar, plan), noting)
      if (!isCommitted(outcome)) undo()
      if (apart) run(release)
      return () => done(outcome)
    } catch (error) {
      if (error === batchMustRestart || !db.isTransaction || isOutage(error)) throw error
      if (isCorruptFile(error)) {
        unreadable = { member: own, cause: error } // the others are tried again without it
        throw error
      }
      undo()
      if (apart) run(release)
      const taken = sqliteDuplicate(error, cellar)
      return taken ? () => done(taken) : () => fail(sqliteFailure(error))
    }
  }

  /** What tells the rows that it wrote has written none where it tells none. */
  const noting: RunStatement = (statement) => {
    const rows = run(statement)
    wrote ||= !statement.text.startsWith('SELECT') && (rows.length > 0 || !statement.text.includes(' RETURNING '))
    return rows
  }

  /** What was refused leaves nothing behind. */
  function undo(): void {
    if (!wrote) return
    if (!apart) throw batchMustRestart
    run(rollback)
    undone = true
  }

  const whenIdle = (): Promise<void> =>
    waiting.length === 0 && !planned ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))
  return { join, idle: whenIdle }
}

/** The collections that a plan may have written to, what goes along with it included. */
function collectionsWrittenBy(plan: WritePlan): readonly string[] {
  if (plan.do === 'spend' || plan.do === 'tally' || plan.do === 'raise') return []
  if (plan.do === 'issue' || plan.do === 'revoke') return [credentialTable]
  const { collection, joined = [] } = plan.do === 'create' ? plan : (plan.do === 'once' ? plan.decide : plan).read
  return [collection, ...joined.map((one) => one.collection)]
}

const begin: Statement = { text: 'BEGIN IMMEDIATE', values: [] }
const commit: Statement = { text: 'COMMIT', values: [] }
/** Says that one member has to be undone while nothing keeps it apart from the others. */
const batchMustRestart = new Error('A member of the batch has to be undone.')
const savepoint: Statement = { text: 'SAVEPOINT member', values: [] }
const release: Statement = { text: 'RELEASE member', values: [] }
const rollback: Statement = { text: 'ROLLBACK TO member', values: [] }
