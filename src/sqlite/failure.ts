/** Failure: classifies errors of SQLite and maps them to client errors. The store. */

import type { StoreContext } from '../catalog/context.ts'
import { outdatedNodeProblem } from '../catalog/old-nodes.ts'
import { conflictProblem, isRowConflict, unavailableProblem, unknownOutcome } from '../catalog/steps.ts'
import type { Outcome } from '../flow/outcome.ts'
import { keyColumns } from '../rows/collection.ts'

/** How long a write or a read waits for a lock of another process, in milliseconds. */
export const maxLockWait = 5000

const codeOf = (error: unknown): number => (error as { errcode?: number }).errcode ?? 0
export const isBusy = (error: unknown): boolean => [5, 6].includes(codeOf(error) & 0xff)
/** Busy, locked, no memory, read-only, I/O, full, cannot open, protocol: not the caller's fault, and may be temporary. */
export const isOutage = (error: unknown): boolean => [5, 6, 7, 8, 10, 13, 14, 15].includes(codeOf(error) & 0xff)

/** Part of the file cannot be read; a failing disk is also reported as a malformed file. SQLite cannot commit after this. */
export const isCorruptFile = (error: unknown): boolean => [11, 26].includes(codeOf(error) & 0xff)

/** Advice to operators for errors at start, by SQLite's code. */
const mendsByCode: Readonly<Record<number, string>> = {
  5: 'Another process has kept it locked for too long; wait for that one or end it.',
  8: 'Give this user the right to write the file and its folder.',
  11: 'Part of the file is lost; restore it from a backup.',
  13: 'Free space on the disk.',
  14: 'Give this user the right to write the file and its folder; it may not be a folder itself.',
  26: 'Choose the right file, or restore it from a backup.',
}

export const mendOf = (error: unknown): string | undefined => mendsByCode[codeOf(error) & 0xff]

/** Maps an error of the database to a client error. */
export function sqliteFailure(error: unknown): unknown {
  if (codeOf(error) === 1811) return outdatedNodeProblem(error) // raised by the trigger that refuses rows of an old shape
  if (isRowConflict(error)) return conflictProblem(error)
  return isOutage(error) || isCorruptFile(error) ? unavailableProblem(error) : error
}

/** Maps an error of the COMMIT itself. If the disk failed, the transaction may have been committed all the same. */
export function sqliteCommitFailure(error: unknown): unknown {
  return (codeOf(error) & 0xff) === 10 || isCorruptFile(error) ? unknownOutcome(error) : sqliteFailure(error)
}

/** The fields of a violated unique constraint, parsed from SQLite's message. */
export function sqliteDuplicate(error: unknown, context: StoreContext): Outcome | null {
  if (codeOf(error) !== 2067 && codeOf(error) !== 1555) return null
  const columns = (error as Error).message.replace(/^.*failed: /, '').split(', ')
  for (const { collection } of context.collections.values()) {
    const meets = (names: readonly string[]) =>
      names.map((name) => `${collection.table}.${name}`).join() === columns.join()
    if (meets(keyColumns(collection))) return { is: 'duplicate', fields: ['id'] }
    const unique = collection.uniques.find((one) => meets(one.columns))
    if (unique) return { is: 'duplicate', fields: unique.fields, collection: collection.name }
  }
  return null
}
