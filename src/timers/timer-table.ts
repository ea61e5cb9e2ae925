/** Timer table: when rows are due for a transition by the clock. Part 3, states. */
import { type Table, type TableOperation, type TablePlan, tablePlan } from '../flow/table.ts'

/** The row of an item and a transition. A key cannot contain null, so a missing account or parent is an empty text. */
export const timerTable: Table = {
  name: 'bylaw_timers',
  columns: {
    collection: 'text',
    account: 'text',
    parent: 'text',
    id: 'text',
    transition: 'text',
    due: 'integer',
    /** Until when a node holds it; other nodes do not take it. */
    taken: 'integer',
    /** How often it failed, and why it failed last. */
    tries: 'integer',
    failure: 'text?',
  },
  key: ['collection', 'account', 'parent', 'id', 'transition'],
  resource: 'collection',
  indexes: [{ name: 'due', columns: ['due'] }],
}

const table = timerTable
const row = { collection: 'collection', account: 'account', parent: 'parent', id: 'id' } as const
const timer = { ...row, transition: 'transition' } as const

/** Starts a timer, or restarts a running one. */
export const startTimer: TableOperation = { do: 'insert', table, replaces: { id: 'id' } }
/** Starts a timer unless it is running. */
export const startMissingTimer: TableOperation = { do: 'insert', table }
/** Stops all timers of an item. */
export const stopTimers: TableOperation = { do: 'sweep', table, where: row }
/** Stops a timer that was taken, unless it was restarted since. */
export const stopTimer: TableOperation = { do: 'sweep', table, where: { ...timer, due: 'due' } }
/** Takes due timers that no other node holds. */
export const takeDueTimers: TableOperation = {
  ...{ do: 'set', table, where: { due: { upTo: 'now' }, taken: { upTo: 'now' } } },
  ...{ order: ['due'], limit: 100, to: { taken: 'until' } },
}
/** Locks a timer that still has the time it was taken with: in the transaction of its transition, so that it fires once. */
export const holdTimer: TableOperation = { do: 'set', table, where: { ...timer, due: 'due' }, to: { taken: 'until' } }
/** Puts a timer off after a failure. */
export const putOffTimer: TableOperation = {
  ...{ do: 'set', table, where: { ...timer, due: 'due' } },
  to: { due: 'next', taken: 'none', tries: 'tries', failure: 'failure' },
}
/** The timers of an item. */
export const findTimersOf: TableOperation = { do: 'find', table, where: row }
/**
 * Empties the reason of a failure. Also changes the time at which it is due, so that a process that carries it out now
 * cannot store a reason that quotes the former item.
 */
export const emptyTimerPlan = (row: TimerRow, emptied: string): TablePlan =>
  tablePlan(setTimer, { ...row, failure: row.failure === null ? null : emptied, due: row.due - 1, taken: 0 })
const setTimer: TableOperation = {
  ...{ do: 'set', table, where: timer },
  to: { failure: 'failure', due: 'due', taken: 'taken' },
}
/** Makes timers that have failed due at once. */
export const retryTimers: TableOperation = {
  ...{ do: 'set', table, where: { tries: { above: 'none' } } },
  to: { due: 'now', taken: 'none', tries: 'none' },
}
const inTurn = { order: ['due', 'collection', 'id', 'transition'], limit: 1000 } as const
export const findTimers: TableOperation = { ...{ do: 'find', table, where: {} }, ...inTurn }
/** Timers that have failed. */
export const findFailedTimers: TableOperation = {
  ...{ do: 'find', table, where: { tries: { above: 'none' } } },
  ...inTurn,
}
export const findTimer: TableOperation = { do: 'find', table, where: timer }

export interface TimerRow {
  readonly collection: string
  readonly account: string
  readonly parent: string
  readonly id: string
  readonly transition: string
  readonly due: number
  readonly taken: number
  readonly tries: number
  readonly failure: string | null
}
