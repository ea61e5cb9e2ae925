/** Behaviour steps: start transitions, timers and rules that nodes of the former declaration would bypass. The store. */
import { type Collection, isSameBehaviour, type Waiting, waitingParts } from '../rows/collection.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { TableLayout } from '../sql/layout.ts'
import { metaTable } from '../sql/statements.ts'
import type { SchemaStep } from './step.ts'

/** The row of `bylaw_meta` with the name of the layout that waits for its second phase; its value gets longer when that begins. */
export const unfinishedRow = 'unfinished'
export const begunMark = ' begun'

/** A step is needed even if no behaviour waits for old nodes to stop, as the database has to remember the new one. */
export function behaviourSteps(one: Collection, was: TableLayout, is: TableLayout, dialect: Dialect): SchemaStep[] {
  const waiting = waitingParts(one, was)
  if (waiting) return [beginStep(one, waiting, dialect)]
  if (isSameBehaviour(was.behaviour, is.behaviour)) return []
  const about = `record the states and events of ${one.name}`
  return [{ about, phase: 'expand', sql: [], note: 'Changes no table; nothing waits for it.' }]
}

function beginStep(
  { name }: Collection,
  { states, timers, guards, events, history, totals }: Waiting,
  dialect: Dialect,
): SchemaStep {
  const parts = [
    ...(states.size > 0 ? [`the transitions to ${[...states].join(', ')}`] : []),
    ...(timers ? ['the transitions by the clock'] : []),
    ...(guards.size > 0 ? ['the states that writes need'] : []),
    ...(events ? ['the events'] : []),
    ...(history ? ['the history'] : []),
    ...(totals.size > 0 ? [`the totals in ${[...totals].join(', ')}`] : []),
  ]
  // The lock waits for all writes that have read the row: they were decided without the new behaviour.
  const lock = dialect.online ? [`LOCK TABLE ${metaTable} IN ACCESS EXCLUSIVE MODE`] : []
  const begun = `UPDATE ${metaTable} SET value = value || '${begunMark}' WHERE name = '${unfinishedRow}' AND value NOT LIKE '%${begunMark}'`
  return {
    about: `begin ${parts.join(' and ')} of ${name}, which nodes of the former declaration would bypass`,
    phase: 'contract',
    sql: [...lock, begun, ...(timers ? [adoptAgain(name)] : [])],
    guards: true,
    ...(timers && { timers: name }),
    note: 'Waits for the writes under way. Transitions, events and totals open when all steps are done.',
  }
}

/** A prefix of the timing that a marker of adopted timers records: with it the timers are adopted again. */
export const adoptAgainMark = '~'

/** Marks the adopted timers of a collection: if this declaration was in use before, rows may lack their timers. */
const adoptAgain = (collection: string): string =>
  `UPDATE bylaw_timers SET failure = '${adoptAgainMark}' || failure WHERE collection = '${collection}' AND id = '' AND failure NOT LIKE '${adoptAgainMark}%'`
