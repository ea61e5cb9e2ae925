/** Copy: copies the database of a file while others write it, checks the copy, and puts it in its place. The store. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type RunStatement, runSteps } from '../catalog/steps.ts'
import { startError } from '../schema/hazard.ts'
import { foundText, otherTables } from '../schema/migration.ts'
import { recordRestore } from '../schema/restored.ts'
import type { StoredParts } from '../schema/state.ts'
import type { SchemaStep } from '../schema/step.ts'
import { literal, sqliteDialect } from '../sql/dialect.ts'
import { isBusy, isCorruptFile, maxLockWait, mendOf } from './failure.ts'
import { compareSqliteSchema } from './migrate.ts'
import { statementRunner } from './sqlite.ts'

interface SqliteCopy {
  readonly from: string
  /** The file to create. */
  readonly to: string
  readonly stored: StoredParts
  /** Whether the copy is restored, so that tags and cursors from before are refused. */
  readonly isRestore: boolean
}

/**
 * Copies a database in one read transaction, which blocks no writer, and checks the copy. Returns the steps from its schema
 * to the declared one.
 */
export function copySqlite({ from, to, stored, isRestore }: SqliteCopy): readonly SchemaStep[] {
  mkdirSync(dirname(to), { recursive: true })
  closeSync(openSync(to, 'wx', 0o600)) // it has the secret of the store
  try {
    const source = new DatabaseSync(from, { readOnly: isRestore, timeout: maxLockWait })
    try {
      source.exec(`VACUUM INTO ${literal(to)}`)
    } finally {
      source.close()
    }
    const copy = new DatabaseSync(to)
    try {
      copy.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON')
      const run = statementRunner(copy)
      const steps = checkCopy(run, stored)
      if (isRestore) runSteps(recordRestore(sqliteDialect), run)
      return steps
    } finally {
      copy.close()
    }
  } catch (error) {
    rmSync(to, { force: true })
    throw startError(from, error, mendOf(error))
  }
}

function checkCopy(run: RunStatement, stored: StoredParts): readonly SchemaStep[] {
  const faults = run({ text: 'PRAGMA integrity_check', values: [] }).map((row) => String(row.integrity_check))
  if (faults.join() !== 'ok') throw new Error(`It is damaged: ${faults.slice(0, 3).join('; ')}.`)
  const comparison = compareSqliteSchema({ ...stored, run })
  const others = otherTables(comparison, stored.collections)
  if (others) throw new Error(foundText(others))
  return comparison.change.steps
}

/** Throws if a process has a database open. Afterwards the file is complete without its log. */
export function requireUnused(file: string): void {
  try {
    const db = new DatabaseSync(file, { timeout: 1000 })
    try {
      db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      db.close()
    }
  } catch (error) {
    if (isBusy(error)) throw startError(file, new Error('A process has it open. Stop the service, and try again.'))
    if (!isCorruptFile(error)) throw startError(file, error, mendOf(error))
  }
}

/** The log file (WAL) of a database; it exists while the database is open, or if it was not closed. */
export const logOf = (file: string): string => `${file}-wal`

/** Replaces a file by another, and keeps the replaced file under the name `aside`; both survive a power loss. */
export function moveInto(part: string, file: string, aside: string | null): void {
  syncPath(part)
  if (aside !== null) {
    for (const end of ['-wal', '-shm']) if (existsSync(file + end)) renameSync(file + end, aside + end)
    renameSync(file, aside)
  }
  renameSync(part, file)
  syncPath(dirname(file))
}

function syncPath(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
