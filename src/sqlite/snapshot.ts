/** Snapshot: one state of the file for reads that belong together, as a transaction costs three times what such a read does. The cellar. */
import type { DatabaseSync } from 'node:sqlite'
import type { Run } from '../store/cellar.ts'
import type { Statement } from '../store/compile.ts'

export interface Snapshot {
  /** Keeps what is read from now on in one state, until `end`, which comes back. */
  readonly hold: () => () => void
  readonly end: () => void
  /** Reads in the state that is held or, where none is, in one for itself alone. */
  readonly within: <T>(read: () => T) => T
}

const begin: Statement = { text: 'BEGIN', values: [] }
const commit: Statement = { text: 'COMMIT', values: [] }

export function snapshots(db: DatabaseSync, run: Run): Snapshot {
  let held = false
  let open = false

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

  return {
    hold: () => {
      held = true
      return end
    },
    end,
    within: (read) => {
      if (open && db.isTransaction) return read()
      run(begin)
      open = held
      try {
        return read()
      } finally {
        if (!held) close()
      }
    },
  }
}
