/** Snapshot: one state of the file for reads that belong together, as a transaction costs three times what such a read does. The cellar. */
import type { DatabaseSync } from 'node:sqlite'
import type { Statement } from '../sql/compile.ts'
import type { RunStatement } from '../store/steps.ts'

export interface Snapshot {
  /** Keeps what is read from now on in one state, until `end`, which comes back. */
  readonly hold: () => () => void
  readonly end: () => void
  /** Reads in the state that is held or, where none is, in one for itself alone. */
  readonly within: <T>(read: () => T) => T
  /** Changes whenever another process has written, as far as the state that is held shows it. */
  readonly version: () => unknown
}

const begin: Statement = { text: 'BEGIN', values: [] }
const commit: Statement = { text: 'COMMIT', values: [] }
const dataVersion: Statement = { text: 'PRAGMA data_version', values: [] }

/** `moved` is told where another process has written since what was read before. */
export function sqliteSnapshot(db: DatabaseSync, run: RunStatement, moved: () => void): Snapshot {
  let held = false
  let open = false
  const watch = watchDataVersion(run, moved)

  /** A failure may have ended the transaction already, and is what has to be told. */
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
      open = true // only now: whoever reads next in this state trusts what is remembered
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

/** Looks whether others have written. */
function watchDataVersion(run: RunStatement, moved: () => void): { look: () => void; version: () => unknown } {
  let version: unknown
  const look = (): void => {
    const before = version
    version = run(dataVersion)[0]?.data_version
    if (version !== before) moved()
  }
  return { look, version: () => version }
}
