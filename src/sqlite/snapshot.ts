/** Snapshot: one read transaction for several reads, as a transaction costs as much as three short reads. The store. */
import type { DatabaseSync } from 'node:sqlite'
import type { RunStatement } from '../catalog/steps.ts'
import type { Statement } from '../sql/statements.ts'

export interface Snapshot {
  /** Makes all reads use one snapshot until `end`, which it returns, is called. */
  readonly hold: () => () => void
  readonly end: () => void
  /** Reads in the held snapshot or, if there is none, in one of its own. */
  readonly within: <T>(read: () => T) => T
  /** Changes when another process has written, as visible in the held snapshot. */
  readonly version: () => unknown
}

const begin: Statement = { text: 'BEGIN', values: [] }
const commit: Statement = { text: 'COMMIT', values: [] }
const dataVersion: Statement = { text: 'PRAGMA data_version', values: [] }

/** Calls `moved` if another process has written since the last snapshot. */
export function sqliteSnapshot(db: DatabaseSync, run: RunStatement, moved: () => void): Snapshot {
  let held = false
  let open = false
  const watch = watchDataVersion(run, moved)

  /** Ignores errors: a failure may already have ended the transaction, and that failure is the one to report. */
  function close(): void {
    open = false
    try {
      run(commit)
    } catch {}
  }

  function end(): void {
    held = false
    if (open) close()
  }

  function within<T>(read: () => T): T {
    if (open && db.isTransaction) return read()
    run(begin)
    try {
      watch.look()
      open = true // only after the check: later reads in this snapshot trust the caches
      return read()
    } finally {
      if (!held || !open) close()
    }
  }

  return {
    hold: () => {
      held = true
      return end
    },
    end,
    within,
    version: () => within(watch.version),
  }
}

/** Detects writes of other processes. */
function watchDataVersion(run: RunStatement, moved: () => void): { look: () => void; version: () => unknown } {
  let version: unknown
  const look = (): void => {
    const before = version
    version = run(dataVersion)[0]?.data_version
    if (version !== before) moved()
  }
  return { look, version: () => version }
}
