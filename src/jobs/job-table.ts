/** Job table: the asynchronous operations that are due, and the results of their steps. R228. */
import type { EffectReadResult } from '../flow/plan.ts'
import type { Table, TableOperation } from '../flow/table.ts'

/** One row for each operation until its status is forgotten, and one for each schedule. */
export const jobTable: Table = {
  name: 'bylaw_jobs',
  columns: {
    id: 'text',
    /** When it is to be run; for an ended operation, when its status is forgotten. */
    due: 'integer',
    /** Until when a node holds it; other nodes do not take it. */
    taken: 'integer',
    /** A random text that names the node that holds it. */
    holder: 'text',
    /** How often it was started. */
    tries: 'integer',
    /** The calendar of a schedule. */
    calendar: 'text?',
  },
  key: ['id'],
  indexes: [{ name: 'due', columns: ['due'] }],
}

/** The results of steps, as JSON. A step with a result is not carried out again. */
export const stepTable: Table = {
  name: 'bylaw_steps',
  columns: { id: 'text', name: 'text', result: 'text' },
  key: ['id', 'name'],
}

const table = jobTable
const byId = { id: 'id' } as const

/** Adds a job unless it exists. */
export const addJob: TableOperation = { do: 'insert', table }
/** Adds a job, or replaces it. */
export const replaceJob: TableOperation = { do: 'insert', table, replaces: byId }
export const findJob: TableOperation = { do: 'find', table, where: byId }
export const removeJob: TableOperation = { do: 'sweep', table, where: byId }
/** Takes the first due job that no other node holds. */
export const takeDueJob: TableOperation = {
  ...{ do: 'set', table, where: { due: { upTo: 'now' }, taken: { upTo: 'now' } } },
  ...{ order: ['due'], limit: 1, to: { taken: 'until', holder: 'holder' } },
}
/** Changes a job that this node still holds. It locks the row: the transaction that runs it is the only one that does. */
export const keepJob: TableOperation = {
  ...{ do: 'set', table, where: { ...byId, holder: 'held' } },
  to: { due: 'due', taken: 'taken', holder: 'holder', tries: 'tries' },
}
/** Whether a job was changed by `keepJob`, so that this node still holds it. */
export const isKept = (kept: EffectReadResult | undefined): boolean => kept?.is === 'rows' && kept.rows.length === 1

/** Ends a job: from `due` on its status is forgotten. */
export const endJob: TableOperation = {
  ...{ do: 'set', table, where: byId },
  to: { due: 'due', taken: 'taken', holder: 'holder', tries: 'tries' },
}

export const addStep: TableOperation = { do: 'insert', table: stepTable }
export const findSteps: TableOperation = { do: 'find', table: stepTable, where: byId, order: ['name'], limit: 10_000 }
export const removeSteps: TableOperation = { do: 'sweep', table: stepTable, where: byId }

export interface JobRow {
  readonly id: string
  readonly due: number
  readonly taken: number
  readonly holder: string
  readonly tries: number
  readonly calendar: string | null
}

const hour = 3_600_000
/**
 * Whether a node leaves a job that it does not know to nodes of a newer declaration, which may run next to it during an upgrade.
 * Its lease gives them the time to take it.
 */
export const isLeftToOthers = ({ due }: JobRow, now: number): boolean => now - due < hour
