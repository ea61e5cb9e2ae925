/** SQLite: reads in the loop, and one durable commit for all writes of a turn. The cellar. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { Problem } from '../errors/problem.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Plan } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import type { Answer, Cellar, Steps } from './cellar.ts'
import { meta, type Statement } from './compile.ts'
import { perform } from './perform.ts'

/** Runs a statement and gives its rows. */
export type Run = (statement: Statement) => readonly Answer[]

const mostWait = 5000
const mostMembers = 500
const mostPrepared = 1000

export function openFile(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: mostWait, enableForeignKeyConstraints: false })
  const { version } = db.prepare('SELECT sqlite_version() AS version').get() as { version: string }
  try {
    admitVersion(version)
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;
      PRAGMA cell_size_check = ON; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864`)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

const oldest = '3.51.3'

/** Refuses an SQLite whose WAL file two connections can corrupt. */
export function admitVersion(version: string): void {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (major > 3 || (major === 3 && (minor > 51 || (minor === 51 && patch >= 3)))) return
  throw new Error(
    `SQLite ${version} can corrupt a file that two connections use. Run a Node.js that carries SQLite ${oldest} or newer.`,
  )
}

/** Runs statements on a connection, each prepared once; where they are too many, all are prepared anew. */
export function runner(db: DatabaseSync): Run {
  const prepared = new Map<string, StatementSync>()
  return ({ text, values }) => {
    let statement = prepared.get(text)
    if (!statement) {
      statement = db.prepare(text)
      if (prepared.size >= mostPrepared) prepared.clear()
      prepared.set(text, statement)
    }
    return statement.all(...values) as Answer[]
  }
}

function finish<T>(steps: Steps<T>, run: Run): T {
  let step = steps.next()
  while (!step.done) step = steps.next(run(step.value))
  return step.value
}

const codeOf = (error: unknown): number => (error as { errcode?: number }).errcode ?? 0
const isBusy = (error: unknown): boolean => [5, 6].includes(codeOf(error) & 0xff)
/** No memory, read-only, I/O, full, cannot open, protocol: nothing that the caller did, and it may pass. */
const isOutage = (error: unknown): boolean => [5, 6, 7, 8, 10, 13, 14, 15].includes(codeOf(error) & 0xff)

/** A failure of the database as what a caller is told. */
function told(error: unknown): unknown {
  if (!isOutage(error)) return error
  return new Problem(
    'dependency-unavailable',
    'The store cannot do this at the moment; nothing was changed. Try again later.',
    { cause: error },
  )
}

/** The values of which one is in use already, from the words of the database. */
function duplicate(error: unknown, cellar: Cellar): Outcome | null {
  if (codeOf(error) !== 2067 && codeOf(error) !== 1555) return null
  const columns = (error as Error).message.replace(/^.*failed: /, '').split(', ')
  for (const { collection } of cellar.shelves.values()) {
    const meets = (names: readonly string[]) =>
      names.map((name) => `${collection.table}.${name}`).join() === columns.join()
    if (meets(collection.composite ? ['parent', 'id'] : ['id'])) return { is: 'duplicate', fields: ['id'] }
    const unique = collection.uniques.find((one) => meets(one.columns))
    if (unique) return { is: 'duplicate', fields: unique.fields }
  }
  return null
}

interface Member {
  readonly plan: Plan
  readonly until: number
  readonly done: (outcome: Outcome) => void
  readonly fail: (error: unknown) => void
}

export function sqliteStore(db: DatabaseSync, cellar: Cellar, secret: string): Store {
  db.exec('PRAGMA busy_timeout = 0')
  const run = runner(db)
  const writes = batches(db, run, cellar)
  return {
    execute: (plan) => {
      if (plan.do === 'create' || plan.do === 'decide') return writes.join(plan)
      try {
        return look(plan)
      } catch (error) {
        if (!isBusy(error)) throw told(error)
        return patiently(() => look(plan))
      }
    },
    secret,
    ready: async () => {
      try {
        run({ text: `SELECT 1 AS found FROM ${meta} LIMIT 1`, values: [] })
        return null
      } catch (error) {
        return isBusy(error) ? null : String(error)
      }
    },
    close: async () => {
      await writes.idle()
      db.close()
    },
  }

  function look(plan: Plan): Outcome {
    if (plan.do !== 'list' || plan.countTo === null) return finish(perform(cellar, plan), run)
    run(snapshot) // rows and total from one state, R54
    try {
      return finish(perform(cellar, plan), run)
    } finally {
      run(commit)
    }
  }
}

/** Tries again while another process is in the way, without stopping the loop. */
async function patiently(look: () => Outcome): Promise<Outcome> {
  const until = performance.now() + mostWait
  for (;;) {
    await pause(1 + Math.random() * 10)
    try {
      return look()
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw told(error)
    }
  }
}

/** Collects the writes of a turn of the event loop and commits them together; each is answered after the commit. */
function batches(db: DatabaseSync, run: Run, cellar: Cellar) {
  let waiting: Member[] = []
  let planned = false
  const idle: (() => void)[] = []

  function join(plan: Plan): Promise<Outcome> {
    return new Promise((done, fail) => {
      waiting.push({ plan, until: performance.now() + mostWait, done, fail })
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
    try {
      for (const member of members) answers.push(attempt(member))
      run(commit)
    } catch (error) {
      for (const { fail } of members) fail(told(error))
      if (db.isTransaction) db.exec('ROLLBACK')
      return
    }
    for (const answer of answers) answer()
  }

  /** One member in a savepoint of its own; a failure of the whole transaction is thrown on. */
  function attempt({ plan, done, fail }: Member): () => void {
    run(savepoint)
    try {
      const outcome = finish(perform(cellar, plan), run)
      run(release)
      return () => done(outcome)
    } catch (error) {
      if (!db.isTransaction || isOutage(error)) throw error
      run(rollback)
      run(release)
      const taken = duplicate(error, cellar)
      return taken ? () => done(taken) : () => fail(error)
    }
  }

  const whenIdle = (): Promise<void> =>
    waiting.length === 0 && !planned ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))
  return { join, idle: whenIdle }
}

const snapshot: Statement = { text: 'BEGIN', values: [] }
const begin: Statement = { text: 'BEGIN IMMEDIATE', values: [] }
const commit: Statement = { text: 'COMMIT', values: [] }
const savepoint: Statement = { text: 'SAVEPOINT member', values: [] }
const release: Statement = { text: 'RELEASE member', values: [] }
const rollback: Statement = { text: 'ROLLBACK TO member', values: [] }
