/** Epoch: the time of the last restore, from which on tags, cursors and numbers of events are others than before. The cellar. */
import type { Dialect } from '../sql/dialect.ts'
import { nodeTable } from '../sql/statements.ts'
import type { Steps } from '../store/steps.ts'
import { readOtherNodes } from './presence.ts'
import type { SchemaState } from './schema-change.ts'
import { readMeta, writeMeta } from './shared-tables.ts'

const epochRow = 'epoch'

/** The epoch of a database; 0 if it was never restored. */
export function* readEpoch(): Steps<number> {
  return Number((yield* readMeta(epochRow)) ?? 0)
}

/**
 * Begins a new epoch. It is a time in microseconds: revisions and positions of events, which are counted from it, are then
 * above all that were given before, unless there were more than a million a second.
 */
export function* beginEpoch(dialect: Dialect): Steps<void> {
  const [row] = yield { text: `SELECT ${dialect.now} AS now`, values: [] }
  yield* writeMeta(dialect, epochRow, String(Math.max(Number(row?.now) * 1000, (yield* readEpoch()) + 1)))
  yield { text: `DELETE FROM ${nodeTable}`, values: [] }
}

/** Begins a new epoch of a database that was restored by other means; refuses it while nodes serve in the former one. */
export function* beginEpochInPlace(dialect: Dialect, state: SchemaState | null): Steps<void> {
  if (state === null) throw new Error('It has no tables of a service. Restore it first.')
  const nodes = yield* readOtherNodes(dialect, '')
  if (nodes.length === 0) return yield* beginEpoch(dialect)
  throw new Error(
    `These nodes use it: ${nodes.join(', ')}. Stop them, and run this command again; a node that was killed counts as stopped after half a minute.`,
  )
}
