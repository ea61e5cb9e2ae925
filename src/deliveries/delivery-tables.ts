/** Delivery tables: the position of each endpoint in the events, and the deliveries that are due. Part 6. R210. */
import type { EffectReadResult } from '../flow/plan.ts'
import type { Table, TableOperation } from '../flow/table.ts'
import { relayTable } from '../ledgers/outbox.ts'

/** One row for each endpoint, and one for each replay until it has ended. */
const cursorTable: Table = {
  name: 'bylaw_webhook_cursors',
  columns: {
    /** The id of the endpoint, or one of the replay. */
    ...{ id: 'text', endpoint: 'text', account: 'text' },
    /** The position up to which events have become deliveries; a replay ends at `last`, which is 0 for endpoints. */
    ...{ position: 'integer', last: 'integer' },
    /** The terms of a replay, as JSON. */
    terms: 'text?',
    /** 1 while the endpoint is enabled. */
    enabled: 'integer',
    /** Until when a process has it, and a random text of that process. */
    ...{ taken: 'integer', holder: 'text' },
    /** Since when nothing has succeeded; 0 after a success. */
    failing: 'integer',
  },
  key: ['id'],
  indexes: [
    { name: 'behind', columns: ['enabled', 'position'] },
    { name: 'account', columns: ['account'] },
    { name: 'endpoint', columns: ['endpoint'] },
  ],
}

/** One row for each delivery, which outlives its last attempt until the delivery is forgotten. */
const sendTable: Table = {
  name: 'bylaw_webhook_sends',
  columns: {
    ...{ id: 'text', endpoint: 'text', account: 'text' },
    /** The position of the event, and its item if the endpoint is ordered, otherwise an empty text. */
    ...{ position: 'integer', item: 'text' },
    /** `pending`: it is sent when it is due; or `ended`: it is deleted when it is due. */
    ...{ state: 'text', due: 'integer' },
    ...{ taken: 'integer', holder: 'text', tries: 'integer' },
  },
  key: ['id'],
  indexes: [
    { name: 'endpoint', columns: ['endpoint', 'state', 'due'] },
    { name: 'position', columns: ['endpoint', 'state', 'position', 'id'] },
    { name: 'due', columns: ['state', 'due'] },
  ],
}

/** One row for each account that has made endpoints: creations lock it, so that concurrent ones cannot exceed the limit of endpoints. */
const accountTable: Table = {
  name: 'bylaw_webhook_accounts',
  columns: { account: 'text', creations: 'integer' },
  key: ['account'],
}

export const deliveryTables: readonly Table[] = [cursorTable, sendTable, accountTable]

const byId = { id: 'id' } as const
const byEndpoint = { endpoint: 'endpoint' } as const

/** Reads the position of the last event, in the transaction of a change. */
export const findHead: TableOperation = { do: 'find', table: relayTable, where: { name: 'name' } }

/** How many endpoints an account may have. */
export const mostEndpoints = 100
/** Locks the row of an account until the end of the transaction. */
export const lockAccount: TableOperation = { do: 'add', table: accountTable, sums: ['creations'] }
export const addCursor: TableOperation = { do: 'insert', table: cursorTable }
export const findCursor: TableOperation = { do: 'find', table: cursorTable, where: byId }
/** The endpoints of an account, without its replays. */
export const findCursorsOf: TableOperation = {
  ...{ do: 'find', table: cursorTable, where: { account: 'account', last: { upTo: 'none' } } },
  limit: mostEndpoints,
}
export const enableCursor: TableOperation = {
  ...{ do: 'set', table: cursorTable, where: byId },
  to: { position: 'position', enabled: 'enabled', failing: 'none' },
}
export const disableCursors: TableOperation = {
  ...{ do: 'set', table: cursorTable, where: byEndpoint },
  to: { enabled: 'none' },
}
export const removeCursors: TableOperation = { do: 'sweep', table: cursorTable, where: byEndpoint }
export const removeCursor: TableOperation = { do: 'sweep', table: cursorTable, where: byId }
/** Finds enabled endpoints and replays that are behind a position. */
export const findBehind: TableOperation = {
  ...{ do: 'find', table: cursorTable, where: { enabled: { above: 'none' }, position: { upTo: 'position' } } },
  ...{ order: ['position'], limit: 1000 },
}
/** Finds all endpoints and replays. */
export const findCursors: TableOperation = { do: 'find', table: cursorTable, where: {}, limit: 100_000 }
export const takeCursor: TableOperation = {
  ...{ do: 'set', table: cursorTable, where: { ...byId, enabled: { above: 'none' }, taken: { upTo: 'now' } } },
  to: { taken: 'until', holder: 'holder' },
}
/** Moves a cursor that this process still holds, and extends or ends its lease. */
export const moveCursor: TableOperation = {
  ...{ do: 'set', table: cursorTable, where: { ...byId, enabled: { above: 'none' }, holder: 'holder' } },
  to: { position: 'position', taken: 'until' },
}
/** Takes all endpoints and replays from the processes that hold them; these start again from the stored positions. */
export const takeBackCursors: TableOperation = {
  ...{ do: 'set', table: cursorTable, where: {} },
  to: { taken: 'free', holder: 'holder' },
}
export const markFailing: TableOperation = {
  ...{ do: 'set', table: cursorTable, where: { ...byId, failing: { upTo: 'none' } } },
  to: { failing: 'now' },
}
export const markWorking: TableOperation = {
  ...{ do: 'set', table: cursorTable, where: { ...byId, failing: { above: 'none' } } },
  to: { failing: 'none' },
}

export const addSend: TableOperation = { do: 'insert', table: sendTable, replaces: byId }
export const removeSend: TableOperation = { do: 'sweep', table: sendTable, where: byId }
/** Takes due deliveries of an endpoint that no other process holds, up to a limit. */
export const takeSends = (limit: number): TableOperation => ({
  ...{ do: 'set', table: sendTable, order: ['due', 'position'], limit, to: { taken: 'until', holder: 'holder' } },
  where: { ...byEndpoint, state: 'state', due: { upTo: 'now' }, taken: { upTo: 'now' } },
})
/** Takes deliveries by their ids, if they are due and no other process holds them. */
export const takeNamed: TableOperation = {
  ...{ do: 'set', table: sendTable, to: { taken: 'until', holder: 'holder' } },
  where: { id: { in: 'ids' }, state: 'state', due: { upTo: 'now' }, taken: { upTo: 'now' } },
}
/** Frees deliveries of some holders. */
export const releaseSends: TableOperation = {
  ...{ do: 'set', table: sendTable, where: { id: { in: 'ids' }, holder: { in: 'held' } }, to: { taken: 'free' } },
}
/** The holder of a delivery that was retried by hand while a process had it: that process releases it after its attempt. */
export const retriedHolder = ''
/** How many pending deliveries of an ordered endpoint are read at once. */
export const mostPending = 1000
/** Pending deliveries of an ordered endpoint, after a position. */
export const findPending: TableOperation = {
  ...{ do: 'find', table: sendTable, where: { ...byEndpoint, state: 'state', position: { above: 'after' } } },
  ...{ order: ['position', 'id'], limit: mostPending },
}
/** The next delivery of an endpoint. */
export const findNext: TableOperation = {
  ...{ do: 'find', table: sendTable, where: { ...byEndpoint, state: 'state' } },
  ...{ order: ['due'], limit: 1 },
}
/** Finds deliveries of all endpoints in one state that are due and that no process holds. */
export const findDue: TableOperation = {
  ...{ do: 'find', table: sendTable, where: { state: 'state', due: { upTo: 'now' }, taken: { upTo: 'now' } } },
  ...{ order: ['due'], limit: 500 },
}
/** How many deliveries one statement limits. */
export const mostLimited = 500
/** Limits how long some of the deliveries are kept that have ended. */
export const limitKept: TableOperation = {
  ...{ do: 'set', table: sendTable, where: { state: 'state', due: { above: 'most' } }, to: { due: 'due' } },
  ...{ order: ['due'], limit: mostLimited },
}
/** Ends deliveries that this process still holds. */
export const endSends: TableOperation = {
  ...{ do: 'set', table: sendTable, where: { id: { in: 'ids' }, holder: 'held' } },
  to: { state: 'state', due: 'due', taken: 'free' },
}
/** Changes a delivery that this process still holds. */
export const keepSend: TableOperation = {
  ...{ do: 'set', table: sendTable, where: { ...byId, holder: 'held' } },
  to: { state: 'state', due: 'due', taken: 'taken', tries: 'tries' },
}

/** Makes a delivery due again. A process that is sending it loses its lease, so that the end of its attempt does not end the delivery. */
export const retrySend: TableOperation = {
  ...{ do: 'set', table: sendTable, where: byId },
  to: { state: 'state', due: 'due', tries: 'tries', holder: 'holder' },
}

/** Whether a row was changed: this process still had it. */
export const isHeld = (kept: EffectReadResult | undefined): boolean => kept?.is === 'rows' && kept.rows.length === 1

export interface CursorRow {
  readonly id: string
  readonly endpoint: string
  readonly account: string
  readonly position: number
  readonly last: number
  readonly terms: string | null
  readonly holder: string
  readonly failing: number
}

export interface SendRow {
  readonly id: string
  readonly endpoint: string
  readonly account: string
  readonly position: number
  readonly item: string
  readonly due: number
  readonly taken: number
  readonly tries: number
}
