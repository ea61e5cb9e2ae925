/** Scrub: rewrites a file, so that neither it nor its log contains what was deleted or overwritten. The store. */
import type { DatabaseSync } from 'node:sqlite'
import type { World } from '../flow/world.ts'
import { startError } from '../schema/hazard.ts'
import { quoted } from '../sql/dialect.ts'
import { isBusy, maxLockWait } from './failure.ts'
import { fileOf } from './open.ts'
import { openFile } from './sqlite.ts'

/** Waits for locks of other processes as long as other writes do. */
export function scrubSqlite(url: string, world: World): void {
  const file = fileOf(url)
  if (file === ':memory:') return
  const db = openFile(file, world)
  try {
    mergeWords(db)
    db.exec('PRAGMA temp_store = FILE; VACUUM') // VACUUM makes a copy that may not fit into memory
    cutLog(db, world)
  } catch (cause) {
    const isHeld = isBusy(cause) || cause instanceof LogInUse
    throw isHeld
      ? startError(file, new Error('Other processes kept it busy, so it may still contain old values. Try again.'))
      : startError(file, cause)
  } finally {
    db.close()
  }
}

class LogInUse extends Error {}

/** Merges the parts of each index of words, as deleted words stay in them until then. */
function mergeWords(db: DatabaseSync): void {
  const indexes = db.prepare(`SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'`).all()
  for (const { name } of indexes) {
    const index = quoted(String(name))
    db.exec(`INSERT INTO ${index} (${index}) VALUES ('optimize')`)
  }
}

/** Empties the log (WAL). It cannot be emptied while a process reads an old state from it. */
function cutLog(db: DatabaseSync, { monotonic, block }: World): void {
  const cut = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
  for (const until = monotonic() + maxLockWait; ; block(50)) {
    if (Number(cut.get()?.busy) === 0) return
    if (monotonic() > until) throw new LogInUse()
  }
}
