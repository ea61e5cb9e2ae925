/** Restored: when a database was last restored from a backup, so that tags, cursors and numbers from before do not come again. The store. */

import type { Steps } from '../catalog/steps.ts'
import type { Dialect } from '../sql/dialect.ts'
import { nodeTable } from '../sql/statements.ts'
import { noTablesText } from './migration.ts'
import { readOtherNodes } from './presence.ts'
import { readMeta, writeMeta } from './shared-tables.ts'
import type { SchemaComparison } from './state.ts'

const restoredRow = 'restored'

/** When a database was last restored, in microseconds; 0 if never. */
export function* readRestoredAt(): Steps<number> {
  return Number((yield* readMeta(restoredRow)) ?? 0)
}

/**
 * Records a restore. Its time is in microseconds because sequences and positions of events are counted from it: they exceed
 * all earlier ones if there were fewer than a million per second.
 */
export function* recordRestore(dialect: Dialect): Steps<void> {
  const [row] = yield { text: `SELECT ${dialect.now} AS now`, values: [] }
  const before = yield* readRestoredAt()
  yield* writeMeta(dialect, restoredRow, String(Math.max(Number(row?.now) * 1000, before + 1)))
  yield { text: `DELETE FROM ${nodeTable}`, values: [] } // the rows are those of the nodes that ran at the time of the backup
}

/** Records that a database was restored by other means; throws while nodes serve, as they would not notice. */
export function* recordOtherRestore(dialect: Dialect, { state, others }: SchemaComparison): Steps<void> {
  if (state === null) throw new Error(noTablesText(others, 'Restore it first.'))
  const nodes = yield* readOtherNodes(dialect, '')
  if (nodes.length === 0) return yield* recordRestore(dialect)
  throw new Error(
    `These nodes use it: ${nodes.join(', ')}. Stop them, and run this command again; a node that was killed counts as stopped after half a minute.`,
  )
}
