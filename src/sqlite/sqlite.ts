/** SQLite: the store port on one file; reads run on the event loop, writes of a turn share a commit. The store. */
import { availableParallelism, totalmem } from 'node:os'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { storedName } from '../catalog/context.ts'
import { checkBacklog, needsBacklogCheck, sharedCatchUp, waitingIn } from '../catalog/old-nodes.ts'
import { type ResultRow, type RunStatement, runSteps } from '../catalog/steps.ts'
import type { FoundRow } from '../flow/found-row.ts'
import { Memo } from '../flow/memo.ts'
import type { Outcome } from '../flow/outcome.ts'
import { isWritePlan, type Plan } from '../flow/plan.ts'
import { Remembered } from '../flow/remembered.ts'
import type { Store } from '../flow/store.ts'
import { pause, type World } from '../flow/world.ts'
import { openReadings } from '../readings/page-stream.ts'
import type { PreparedStore } from '../rewrite/prepare-store.ts'
import { deletePresence, nodePresence } from '../schema/presence.ts'
import { sqliteDialect } from '../sql/dialect.ts'
import { metaTable } from '../sql/statements.ts'
import { mostTotals } from '../store/read-page.ts'
import { batchedWrites } from './batch.ts'
import { sqliteClock } from './clock.ts'
import { isBusy, maxLockWait, sqliteFailure } from './failure.ts'
import { runSqliteRead, type SqliteReadDeps } from './read-plan.ts'
import { sqliteSnapshot } from './snapshot.ts'
import { snapshotReader, threadReader } from './thread-reader.ts'
import { writeCounts } from './write-counts.ts'

const maxPrepared = 1000
/** The limit for the size of all cached rows together, in characters. */
const mostRows = 2_097_152
/**
 * How many pages of the file are kept in memory, in KiB: a 16th of the memory that the machine or the container has, divided by
 * its processors, as each may have a process that serves; at least 20 and at most 64 MiB.
 */
const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) // 0 without a limit
const share = memory / 16 / availableParallelism()
const pageCache = Math.floor(Math.min(Math.max(share / 1024, 20_480), 65_536))
/** How often the time is saved in the file, in milliseconds. */
const saveInterval = 20_000

export function openFile(file: string, world: World): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: maxLockWait, enableForeignKeyConstraints: false })
  try {
    const { version } = db.prepare('SELECT sqlite_version() AS version').get() as { version: string }
    admitVersion(version)
    retryWhileLocked(() => isOfService(db) && db.exec(walMode), world)
    db.exec(`PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;
      PRAGMA cell_size_check = ON; PRAGMA cache_size = -${pageCache}; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864;
      PRAGMA wal_autocheckpoint = 4000`)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Lets other connections read while a transaction writes. The mode is stored in the file, so files of other programs must not get it. */
const walMode = 'PRAGMA journal_mode = WAL'
export const useWal = (db: DatabaseSync, world: World): void => retryWhileLocked(() => db.exec(walMode), world)

const isOfService = (db: DatabaseSync): boolean =>
  db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(metaTable) !== undefined

/** If two processes create a file at once, SQLite does not wait for the change to WAL mode, so this retries. */
function retryWhileLocked(act: () => unknown, { monotonic, block }: World): void {
  const until = monotonic() + maxLockWait
  for (;;) {
    try {
      act()
      return
    } catch (error) {
      if (!isBusy(error) || monotonic() > until) throw error
      block(10)
    }
  }
}

const oldestVersion = '3.51.3'

/** Refuses a release of SQLite in which two connections can corrupt the WAL file. */
export function admitVersion(version: string): void {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (major > 3 || (major === 3 && (minor > 51 || (minor === 51 && patch >= 3)))) return
  throw new Error(
    `SQLite ${version} can corrupt a file that two connections use. Run a Node.js that carries SQLite ${oldestVersion} or newer.`,
  )
}

/** Runs statements on a connection, each prepared once. */
export function statementRunner(db: DatabaseSync): RunStatement {
  const prepared = new Memo<string, StatementSync>(maxPrepared)
  return ({ text, values }) => {
    const statement = prepared.get(text) ?? prepared.set(text, db.prepare(text))
    return statement.all(...values) as ResultRow[]
  }
}

interface SqliteStoreDeps extends PreparedStore {
  readonly db: DatabaseSync
  readonly world: World
  /** The file, which the reading thread opens too; null for a database in memory. */
  readonly file: string | null
  /** How long a plan may take, in milliseconds. */
  readonly patience: number
  readonly caches: boolean
}

// long because: its parts share the connection and the caches
export function sqliteStore(deps: SqliteStoreDeps): Store {
  const { db, world, file, patience, caches, name, expire } = deps
  db.exec('PRAGMA busy_timeout = 0')
  const run = statementRunner(db)
  const time = sqliteClock(run, world)
  const context = { ...deps.context, caches, clockLead: time.lead }
  const collections = [...context.collections.values()].map(({ collection }) => collection)
  const rows = new Remembered<FoundRow, null>(caches ? mostRows : 0)
  const totals = new Remembered<number | null, number>(caches ? mostTotals : 0)
  const counts = writeCounts(collections, () => snapshot.version())
  const thread = file === null ? null : threadReader(file, world)
  const readings = openReadings(context, world)
  const snapshot = sqliteSnapshot(db, run, () => {
    rows.clear()
    totals.clear()
  })
  const reading = {
    context,
    run,
    snapshot,
    reader: thread,
    ownReader: file === null ? null : () => snapshotReader(file, world),
    readings,
    totals,
    counts,
    rows,
    wide: new Set<string>(),
    patience,
    world,
  }
  const writes = batchedWrites({ ...reading, db })
  const presence = nodePresence({
    world,
    dialect: sqliteDialect,
    name,
    run: (steps) => {
      snapshot.end()
      runSteps(steps, run)
    },
    expire: expire && (() => expire(time.due())),
    leave: function* (node) {
      yield { text: `PRAGMA busy_timeout = ${maxLockWait}`, values: [] } // may block: no requests are served any more
      yield* deletePresence(sqliteDialect, node)
    },
  })
  const saveTime = (): void => {
    snapshot.end()
    try {
      time.save()
    } catch {} // locked: the next save stores the time
  }
  if (file !== null) saveTime()
  const stopSaving = file === null ? null : world.every(saveInterval, saveTime)
  const execute = (plan: Plan): Outcome | Promise<Outcome> => {
    if (isWritePlan(plan)) return writes.join(plan)
    try {
      const outcome = runSqliteRead(reading, plan)
      return outcome instanceof Promise ? outcome.catch(throwFailure) : outcome
    } catch (error) {
      if (!isBusy(error)) throw sqliteFailure(error)
      return retryWhileBusy(() => runSqliteRead(reading, plan), reading)
    }
  }
  const behind = (): boolean => {
    try {
      return snapshot.within(() => runSteps(checkBacklog(context), run))
    } catch (error) {
      throw sqliteFailure(error)
    }
  }
  /** If the file cannot be read, nothing is cached, and the next read fails with the cause. */
  const mark = (names: readonly string[]): string | null => {
    try {
      return counts.mark(names)
    } catch {
      return null
    }
  }
  const keepUp = sharedCatchUp(behind, () => writes.join({ do: 'catchUp' }))
  return {
    execute: (plan) => {
      if (!needsBacklogCheck(context, plan) || !behind()) return execute(plan)
      return keepUp().then(() => execute(plan))
    },
    keepsOrder: 'all',
    hold: snapshot.hold,
    secret: deps.secret,
    restoredAt: context.restoredAt ?? 0,
    caches,
    clock: time,
    misfits: deps.misfits,
    ...(context.backlog && { waiting: (name) => waitingIn(context, name) }),
    storedName: (name) => storedName(context, name),
    mark,
    isUnaffected: counts.leaveSince,
    usage: () => ({ connections: [], losses: 0, ...writes.totals }),
    ready: async () => unreadyReason(run),
    attend: file === null ? () => {} : presence.begin,
    close: async () => {
      await writes.idle()
      readings.close()
      await thread?.close()
      await presence.end()
      stopSaving?.()
      if (file !== null) saveTime()
      snapshot.end()
      db.close()
    },
  }
}

/** Why the file cannot be read; null if it can, or is only locked. */
function unreadyReason(run: RunStatement): string | null {
  try {
    run({ text: `SELECT 1 AS found FROM ${metaTable} LIMIT 1`, values: [] })
    return null
  } catch (error) {
    return isBusy(error) ? null : String(error)
  }
}

function throwFailure(error: unknown): never {
  throw sqliteFailure(error)
}

/** Retries while another process holds a lock, without blocking the event loop. */
async function retryWhileBusy(
  look: () => Outcome | Promise<Outcome>,
  { patience, world }: Pick<SqliteReadDeps, 'patience' | 'world'>,
): Promise<Outcome> {
  const until = world.monotonic() + Math.min(maxLockWait, patience)
  for (;;) {
    await pause(world, 1 + world.random() * 10)
    try {
      return await look()
    } catch (error) {
      if (!isBusy(error) || world.monotonic() > until) throw sqliteFailure(error)
    }
  }
}
