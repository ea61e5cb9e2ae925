/** Reaction tables: the position of each reaction, and the events that it could not handle yet. Part 6. R231. */

import { type Table, type TableOperation, type TablePlan, tablePlan } from '../flow/table.ts'
import { positionTable } from '../ledgers/outbox.ts'

/** One row for each reaction; its name is its identity. */
const reactionTable: Table = {
  name: 'bylaw_reactions',
  columns: {
    name: 'text',
    /** The position up to which its events were handled, or stored as failures. */
    position: 'integer',
    /** Until when a process has it, and a random text of that process. */
    taken: 'integer',
    holder: 'text',
  },
  key: ['name'],
}

/** The events that a reaction has failed at, and later events of the same items. Others are not stored here. */
const failureTable: Table = {
  name: 'bylaw_reaction_failures',
  columns: {
    ...{ reaction: 'text', event: 'text', position: 'integer', item: 'text' },
    /** `waiting` for its next try, or `parked` after the last one. Only the first event of an item is tried. */
    ...{ state: 'text', due: 'integer', tries: 'integer', failure: 'text?' },
  },
  key: ['reaction', 'event'],
  indexes: [{ name: 'item', columns: ['reaction', 'item', 'position'] }],
}

export const reactionTables: readonly Table[] = [reactionTable, failureTable]

const byName = { name: 'name' } as const

/** How many reactions are listed. */
const mostReactions = 1000
export const findReactions: TableOperation = {
  ...{ do: 'find', table: reactionTable, where: {} },
  ...{ order: ['name'], limit: mostReactions },
}
export const findReaction: TableOperation = { do: 'find', table: reactionTable, where: byName }
/** Adds a reaction unless it is there. */
export const addReaction: TableOperation = { do: 'insert', table: reactionTable }
/** Takes a reaction that no other process holds. */
export const takeReaction: TableOperation = {
  ...{ do: 'set', table: reactionTable, where: { name: 'name', taken: { upTo: 'now' } } },
  to: { taken: 'until', holder: 'holder' },
}
/** Extends the lease of a reaction that this process still holds. */
export const keepReaction: TableOperation = {
  ...{ do: 'set', table: reactionTable, where: { name: 'name', holder: 'holder' } },
  to: { taken: 'until', position: 'position' },
}

const failureKey = { reaction: 'reaction', event: 'event' } as const
/** Stores a failure, or replaces it. */
export const storeFailure: TableOperation = { do: 'insert', table: failureTable, replaces: { event: 'event' } }
/** How many failures a reaction may have; it reads no new events while it has more. */
export const mostFailures = 10_000
export const findFailures: TableOperation = {
  ...{ do: 'find', table: failureTable, where: { reaction: 'reaction' } },
  ...{ order: ['position'], limit: mostFailures },
}
const removeFailure: TableOperation = { do: 'sweep', table: failureTable, where: failureKey }
/** Stores that a failure has failed again, unless it was retried or skipped by hand meanwhile. */
export const keepFailure: TableOperation = {
  ...{ do: 'set', table: failureTable, where: { ...failureKey, tries: 'knownTries', due: 'knownDue' } },
  to: { state: 'state', due: 'due', tries: 'tries', failure: 'failure' },
}
/** The failures at events of an item, of all reactions. */
export const findFailuresOf: TableOperation = { do: 'find', table: failureTable, where: { item: 'item' } }
/**
 * Empties the reason of a failure. Also changes the time at which it is due, so that a process that is handling the event
 * now cannot store a reason that quotes the former event.
 */
export const emptyFailurePlan = ({ reaction, event, failure, due }: FailureRow, emptied: string): TablePlan =>
  tablePlan(setFailure, { reaction, event, failure: failure === null ? null : emptied, due: due - 1 })
const setFailure: TableOperation = {
  ...{ do: 'set', table: failureTable, where: failureKey },
  to: { failure: 'failure', due: 'due' },
}
const retryFailure: TableOperation = {
  ...{ do: 'set', table: failureTable, where: failureKey },
  to: { state: 'state', due: 'due', tries: 'tries' },
}
/** Makes a failure due with its tries reset, and returns the changed row. */
export const retryPlan = ({ reaction, event }: FailureRow, due: number): TablePlan =>
  tablePlan(retryFailure, { reaction, event, state: 'waiting', due, tries: 0 })
/** Removes a failure that was skipped or handled. */
export const removePlan = ({ reaction, event }: Pick<FailureRow, 'reaction' | 'event'>): TablePlan =>
  tablePlan(removeFailure, { reaction, event })
export const findFailure: TableOperation = { do: 'find', table: failureTable, where: failureKey }
/** Up to how many failures of a state are counted. */
export const countedFailures = 1000
export const findCountedFailures: TableOperation = {
  ...{ do: 'find', table: failureTable, where: { reaction: 'reaction', state: 'state' } },
  ...{ order: ['position'], limit: countedFailures },
}
/** The events after a position, as many as are counted. */
export const findPositionsAfter: TableOperation = {
  ...{ do: 'find', table: positionTable, where: { position: { above: 'after' } } },
  ...{ order: ['position'], limit: 10_000 },
}
/** The failures of a reaction behind a position. */
export const findFailuresAfter = (limit: number): TableOperation => ({
  ...{ do: 'find', table: failureTable, where: { reaction: 'reaction', position: { above: 'after' } } },
  ...{ order: ['position'], limit },
})

export interface ReactionRow {
  readonly name: string
  readonly position: number
  readonly taken: number
  readonly holder: string
}

export interface FailureRow {
  readonly reaction: string
  readonly event: string
  readonly position: number
  readonly item: string
  readonly state: 'waiting' | 'parked'
  readonly due: number
  readonly tries: number
  readonly failure: string | null
}

/** `behind` waits for an earlier event of its item; after a retry by hand a failure has no tries, but its reason. */
export const statusOf = ({ state, tries, failure }: FailureRow): FailureRow['state'] | 'behind' =>
  tries === 0 && failure === null ? 'behind' : state
