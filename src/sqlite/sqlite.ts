/** SQLite: reads in the loop, and one durable commit for all writes of a turn. The cellar. */
import { hostname } from 'node:os'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { Outcome } from '../flow/outcome.ts'
import { isDeed, type Plan } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import type { Misfits } from '../resources/bounds.ts'
import { attend, attendance, depart, insistence } from '../schema/state.ts'
import { type Answer, abreast, type Cellar, finish, isBehind, minds, type Run, type Steps } from '../store/cellar.ts'
import { meta } from '../store/compile.ts'
import { sqlite } from '../store/dialect.ts'
import { nodeName } from '../store/merging.ts'
import { batches } from './batch.ts'
import { clock, type Kept } from './clock.ts'
import { isBusy, mostWait, told } from './failure.ts'
import { look } from './look.ts'
import { reader } from './reader.ts'
import { rows } from './rows.ts'
import { type Snapshot, snapshots } from './snapshot.ts'
import { totals } from './totals.ts'

const mostPrepared = 1000

export function openFile(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: mostWait, enableForeignKeyConstraints: false })
  try {
    const { version } = db.prepare('SELECT sqlite_version() AS version').get() as { version: string }
    admitVersion(version)
    insist(() => db.exec('PRAGMA journal_mode = WAL'))
    db.exec(`PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;
      PRAGMA cell_size_check = ON; PRAGMA cache_size = -20480; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864;
      PRAGMA wal_autocheckpoint = 4000`)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Where two processes make a file at once, SQLite does not wait for the other by itself. */
function insist(act: () => void): void {
  const until = performance.now() + mostWait
  for (;;) {
    try {
      act()
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
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

/** What a store is opened with. */
export interface Opened {
  readonly db: DatabaseSync
  readonly cellar: Cellar
  readonly secret: string
  /** The rows that do not fit what is declared. */
  readonly misfits?: Misfits
  /** The file, for a thread that reads; null where it is in memory. */
  readonly file: string | null
  /** How long a plan may take, in milliseconds. */
  readonly patience: number
  /** Names the declaration that is served, to those who change the schema. */
  readonly name: string
  /** Takes copies of dropped values that were kept for long enough. */
  readonly expire?: ((due: number) => Steps<void>) | null | undefined
}

// long because: its parts share the file and what is known of it
export function sqliteStore({
  db,
  cellar: shelves,
  secret,
  misfits = {},
  file,
  patience,
  name,
  expire,
}: Opened): Store {
  db.exec('PRAGMA busy_timeout = 0')
  const run = runner(db)
  const time = clock(run)
  const cellar = { ...shelves, lead: time.lead }
  const collections = [...cellar.shelves.values()].map(({ collection }) => collection)
  const lately = rows(new Map(collections.map((one) => [one.name, one])))
  const known = totals(collections, () => snapshot.version())
  const thread = file === null ? null : reader(file)
  const snapshot = snapshots(db, run, () => {
    lately.forget()
    known.forget()
  })
  const looking = { cellar, run, snapshot, reader: thread, totals: known, rows: lately, patience }
  const writes = batches({ db, run, snapshot, cellar, patience, totals: known, rows: lately })
  const presence = attending(run, snapshot, { name, expire: expire && (() => expire(time.due())) })
  const keeping = file === null ? null : keptTime(time, snapshot)
  const execute = (plan: Plan): Outcome | Promise<Outcome> => {
    if (isDeed(plan)) return writes.join(plan)
    try {
      const outcome = look(looking, plan)
      return outcome instanceof Promise ? outcome.catch(toldOn) : outcome
    } catch (error) {
      if (!isBusy(error)) throw told(error)
      return patiently(() => look(looking, plan), patience)
    }
  }
  const behind = (): boolean => {
    try {
      return snapshot.within(() => finish(isBehind(cellar), run))
    } catch (error) {
      throw told(error)
    }
  }
  /** Where the file cannot be looked at, nothing is remembered, and the read that follows fails with the cause. */
  const mark = (names: readonly string[]): string | null => {
    try {
      return known.mark(names)
    } catch {
      return null
    }
  }
  const keepUp = abreast(behind, () => writes.join({ do: 'raise' }))
  return {
    execute: (plan) => {
      if (!minds(cellar, plan) || !behind()) return execute(plan)
      return keepUp().then(() => execute(plan))
    },
    hold: snapshot.hold,
    secret,
    clock: time,
    misfits,
    mark,
    ready: async () => unreadyFor(run),
    attend: file === null ? () => {} : presence.begin,
    close: async () => {
      await writes.idle()
      await thread?.close()
      presence.end()
      keeping?.end()
      snapshot.end()
      db.close()
    },
  }
}

/** A node that cannot say that it runs, as another process is in the way, says so again soon. */
function attending(
  run: Run,
  snapshot: Snapshot,
  { name, expire }: { readonly name: string; readonly expire: (() => Steps<void>) | null | undefined },
): { begin: () => void; end: () => void } {
  const node = nodeName(hostname(), process.pid)
  let timer: NodeJS.Timeout | undefined
  const said = (steps: Steps<void>): boolean => {
    try {
      snapshot.end()
      finish(steps, run)
      return true
    } catch {
      return false
    }
  }
  const begin = (): void => {
    const rest = said(attend(sqlite, node, name)) ? attendance : insistence
    if (expire) said(expire())
    timer = setTimeout(begin, rest).unref()
  }
  const end = (): void => {
    clearTimeout(timer)
    if (!timer) return
    run({ text: 'PRAGMA busy_timeout = 1000', values: [] }) // nobody is served any more who would wait
    said(depart(sqlite, node))
  }
  return { begin, end }
}

/** How often the time is written into the file, in milliseconds; what another process is in the way of is done the next time. */
const keepingPace = 20_000

function keptTime({ keep }: Kept, snapshot: Snapshot): { end: () => void } {
  const kept = (): void => {
    snapshot.end()
    try {
      keep()
    } catch {}
  }
  kept()
  const timer = setInterval(kept, keepingPace).unref()
  return {
    end: () => {
      clearInterval(timer)
      kept()
    },
  }
}

/** Why the file cannot be read; null where it can, or where another process is only in the way. */
function unreadyFor(run: Run): string | null {
  try {
    run({ text: `SELECT 1 AS found FROM ${meta} LIMIT 1`, values: [] })
    return null
  } catch (error) {
    return isBusy(error) ? null : String(error)
  }
}

function toldOn(error: unknown): never {
  throw told(error)
}

/** Tries again while another process is in the way, without stopping the loop. */
async function patiently(look: () => Outcome | Promise<Outcome>, patience: number): Promise<Outcome> {
  const until = performance.now() + Math.min(mostWait, patience)
  for (;;) {
    await pause(1 + Math.random() * 10)
    try {
      return await look()
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw told(error)
    }
  }
}
