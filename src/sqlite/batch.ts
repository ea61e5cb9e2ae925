/** Batch: the writes of a turn of the event loop, committed together. The cellar. */
import type { DatabaseSync } from 'node:sqlite'
import { isLasting, type Outcome } from '../flow/outcome.ts'
import type { Deed } from '../flow/plan.ts'
import { type Cellar, finish, type Run } from '../store/cellar.ts'
import { credentials, type Statement } from '../store/compile.ts'
import { perform } from '../store/perform.ts'
import { duplicate, isBusy, isOutage, isUnreadable, mostWait, told, toldOfCommit } from './failure.ts'
import type { Rows } from './rows.ts'
import type { Snapshot } from './snapshot.ts'
import type { Totals } from './totals.ts'

const mostMembers = 500

interface Member {
  readonly plan: Deed
  readonly until: number
  readonly done: (outcome: Outcome) => void
  readonly fail: (error: unknown) => void
}

interface Batching {
  readonly db: DatabaseSync
  readonly run: Run
  readonly snapshot: Snapshot
  readonly cellar: Cellar
  /** How long a write may wait, in milliseconds. */
  readonly patience: number
  /** Told of what was written, after the commit. */
  readonly totals: Totals
  readonly rows: Rows
}

/** Collects the writes of a turn of the event loop and commits them together; each is answered after the commit. */
// long because: its steps share the queue of writes
export function batches({ db, run, snapshot, cellar, patience, totals, rows }: Batching) {
  let waiting: Member[] = []
  let planned = false
  /** Whether members are kept apart by savepoints, as one of those before had to be undone. */
  let apart = false
  let undone = false
  /** Whether the member at work has written. */
  let wrote = false
  /** The member that met a part of the file that cannot be read, after which nothing of its batch can be committed. */
  let unreadable: { readonly member: Member; readonly cause: unknown } | null = null
  const idle: (() => void)[] = []

  function join(plan: Deed): Promise<Outcome> {
    return new Promise((done, fail) => {
      waiting.push({ plan, until: performance.now() + Math.min(mostWait, patience), done, fail })
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
    const members = waiting.splice(0, mostMembers)
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
  function again(members: readonly Member[], error: unknown): void {
    const now = performance.now()
    const patient = isBusy(error) ? members.filter(({ until }) => until > now) : []
    for (const member of members) if (!patient.includes(member)) member.fail(told(error))
    waiting = [...patient, ...waiting]
    rest(1 + Math.random() * 10)
  }

  function settle(members: readonly Member[]): void {
    const answers: (() => void)[] = []
    let tell = told
    undone = false
    try {
      for (const member of members) answers.push(attempt(member))
      tell = toldOfCommit
      run(commit)
      forget(members)
    } catch (error) {
      if (error === spoilt) {
        separately(members)
        return
      }
      if (unreadable) {
        const { member, cause } = unreadable
        unreadable = null
        separately(members.filter((one) => one !== member))
        member.fail(told(cause))
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
  function separately(members: readonly Member[]): void {
    db.exec('ROLLBACK')
    apart = true
    waiting = [...members, ...waiting]
  }

  function forget(members: readonly Member[]): void {
    for (const { plan } of members) {
      if (cellar.lag)
        rows.forget() // what others show of a row is told to them
      else rows.written(plan)
      for (const one of cellar.lag ? cellar.shelves.keys() : collectionsOf(plan)) totals.written(one)
    }
  }

  /** One member; a failure of the whole transaction is thrown on. */
  function attempt(own: Member): () => void {
    const { plan, done, fail } = own
    wrote = false
    if (apart) run(savepoint)
    try {
      const outcome = finish(perform(cellar, plan), noting)
      if (!isLasting(outcome)) undo()
      if (apart) run(release)
      return () => done(outcome)
    } catch (error) {
      if (error === spoilt || !db.isTransaction || isOutage(error)) throw error
      if (isUnreadable(error)) {
        unreadable = { member: own, cause: error } // the others are tried again without it
        throw error
      }
      undo()
      if (apart) run(release)
      const taken = duplicate(error, cellar)
      return taken ? () => done(taken) : () => fail(told(error))
    }
  }

  /** What tells the rows that it wrote has written none where it tells none. */
  const noting: Run = (statement) => {
    const rows = run(statement)
    wrote ||= !statement.text.startsWith('SELECT') && (rows.length > 0 || !statement.text.includes(' RETURNING '))
    return rows
  }

  /** What was refused leaves nothing behind. */
  function undo(): void {
    if (!wrote) return
    if (!apart) throw spoilt
    run(rollback)
    undone = true
  }

  const whenIdle = (): Promise<void> =>
    waiting.length === 0 && !planned ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))
  return { join, idle: whenIdle }
}

/** The collections that a plan may have written to, what goes along with it included. */
function collectionsOf(plan: Deed): readonly string[] {
  if (plan.do === 'spend' || plan.do === 'tally' || plan.do === 'raise') return []
  if (plan.do === 'issue' || plan.do === 'revoke') return [credentials]
  const { collection, beside = [] } = plan.do === 'create' ? plan : (plan.do === 'once' ? plan.decide : plan).read
  return [collection, ...beside.map((one) => one.collection)]
}

const begin: Statement = { text: 'BEGIN IMMEDIATE', values: [] }
const commit: Statement = { text: 'COMMIT', values: [] }
/** Says that one member has to be undone while nothing keeps it apart from the others. */
const spoilt = new Error('A member of the batch has to be undone.')
const savepoint: Statement = { text: 'SAVEPOINT member', values: [] }
const release: Statement = { text: 'RELEASE member', values: [] }
const rollback: Statement = { text: 'ROLLBACK TO member', values: [] }
