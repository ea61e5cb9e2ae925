/** Batch: commits the writes of one turn of the event loop in one transaction. The store. */
import type { DatabaseSync } from 'node:sqlite'
import type { StoreContext, WriteNotice } from '../catalog/context.ts'
import { hasWritten, isRowConflict, type RunStatement, runSteps } from '../catalog/steps.ts'
import { isCommitted, type Outcome } from '../flow/outcome.ts'
import { isDry, type WritePlan } from '../flow/plan.ts'
import type { Statement } from '../sql/statements.ts'
import { perform } from '../store/perform.ts'
import {
  isBusy,
  isCorruptFile,
  isOutage,
  maxLockWait,
  sqliteCommitFailure,
  sqliteDuplicate,
  sqliteFailure,
} from './failure.ts'
import { rowName, type SqliteReadDeps } from './read-plan.ts'

const maxBatchSize = 500
const mostRetries = 4

interface QueuedWrite {
  readonly plan: WritePlan
  readonly until: number
  readonly done: (outcome: Outcome) => void
  readonly fail: (error: unknown) => void
  /** How often it was retried after a conflict. */
  retries: number
}

type BatchDeps = Omit<SqliteReadDeps, 'reader' | 'totals'> & { readonly db: DatabaseSync }

/** Collects the writes of one turn of the event loop and commits them together; each is answered after the commit. */
// long because: its functions share the queue of writes
export function batchedWrites({ db, run, snapshot, context: opened, patience, counts, rows, world }: BatchDeps) {
  const totals = { batches: 0, batched: 0 }
  let waiting: QueuedWrite[] = []
  let planned = false
  /** Whether each write gets a savepoint. Set after a write had to be undone, until a batch needs no undo. */
  let apart = false
  let undone = false
  /** Whether the current write has changed anything. */
  let wrote = false
  /** The write that hit an unreadable part of the file; SQLite cannot commit a transaction after that. */
  let unreadable: { readonly member: QueuedWrite; readonly cause: unknown } | null = null
  const idle: (() => void)[] = []
  /** The rows that were written since the last commit. */
  const written: WriteNotice[] = []
  const context: StoreContext = { ...opened, duplicateOf: sqliteDuplicate, onWrite: (row) => written.push(row) }

  function join(plan: WritePlan): Promise<Outcome> {
    return new Promise((done, fail) => {
      waiting.push({ plan, until: world.monotonic() + Math.min(maxLockWait, patience), done, fail, retries: 0 })
      if (!planned) schedule()
    })
  }

  function schedule(delay?: number): void {
    planned = true
    if (delay === undefined) world.nextTurn(flush)
    else world.after(delay, flush)
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

  /** If another process holds the lock, retries the writes whose deadline has not passed; fails all others. */
  function again(members: readonly QueuedWrite[], error: unknown): void {
    const now = world.monotonic()
    const patient = isBusy(error) ? members.filter(({ until }) => until > now) : []
    for (const member of members) if (!patient.includes(member)) member.fail(sqliteFailure(error))
    waiting = [...patient, ...waiting]
    rest(1 + world.random() * 10)
  }

  function settle(members: readonly QueuedWrite[]): void {
    const answers: (() => void)[] = []
    let tell = sqliteFailure
    undone = false
    try {
      for (const member of members) answers.push(attempt(member))
      tell = sqliteCommitFailure
      run(commit)
      forget()
      totals.batches++
      totals.batched += members.length
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
      forget() // a failed COMMIT may still have committed
      for (const { fail } of members) fail(tell(error))
      if (db.isTransaction) db.exec('ROLLBACK')
      return
    }
    apart = undone
    for (const answer of answers) answer()
  }

  /** Rolls the whole batch back and retries its members in the next batch, each in a savepoint. */
  function separately(members: readonly QueuedWrite[]): void {
    db.exec('ROLLBACK')
    written.length = 0
    apart = true
    waiting = [...members, ...waiting]
  }

  function forget(): void {
    for (const row of written) {
      if (row.key) rows.delete(rowName(context, { collection: row.collection, key: row.key }))
      counts.add(row)
    }
    written.length = 0
    if (!context.backlog) return
    rows.clear() // during a rolling upgrade a write may also change rows of other collections
    for (const collection of context.collections.keys()) counts.add({ collection, key: null })
  }

  /** Runs one write and returns a function that answers it; throws if the whole transaction failed. */
  function attempt(own: QueuedWrite): () => void {
    const { plan, done, fail } = own
    wrote = false
    if (apart) run(savepoint)
    try {
      const outcome = runSteps(perform(context, plan), noting)
      if (!isCommitted(outcome) || isDry(plan)) undo()
      if (apart) run(release)
      return () => done(outcome)
    } catch (error) {
      if (error === batchMustRestart || !db.isTransaction || isOutage(error)) throw error
      if (isCorruptFile(error)) {
        unreadable = { member: own, cause: error } // the other writes are retried without it
        throw error
      }
      undo()
      if (apart) run(release)
      if (isRowConflict(error) && own.retries++ < mostRetries) return attempt(own)
      const taken = sqliteDuplicate(error, context)
      return taken ? () => done(taken) : () => fail(sqliteFailure(error))
    }
  }

  const noting: RunStatement = (statement) => {
    const rows = run(statement)
    wrote ||= hasWritten(statement, rows)
    return rows
  }

  /** Undoes a refused write. Without a savepoint the whole batch must be rolled back and retried. */
  function undo(): void {
    if (!wrote) return
    if (!apart) throw batchMustRestart
    run(rollback)
    undone = true
  }

  const whenIdle = (): Promise<void> =>
    waiting.length === 0 && !planned ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))
  return { join, idle: whenIdle, totals }
}

const begin: Statement = { text: 'BEGIN IMMEDIATE', values: [] }
const commit: Statement = { text: 'COMMIT', values: [] }
/** Thrown if one write has to be undone and the batch has no savepoints. */
const batchMustRestart = new Error('A member of the batch has to be undone.')
const savepoint: Statement = { text: 'SAVEPOINT member', values: [] }
const release: Statement = { text: 'RELEASE member', values: [] }
const rollback: Statement = { text: 'ROLLBACK TO member', values: [] }
