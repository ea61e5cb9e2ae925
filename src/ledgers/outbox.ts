/** Outbox: records an event in the transaction of each change, and gives committed events their positions. The store. */
// long because: the statements of one table belong together
/*
 * Readers of events remember the last position that they have read, so a position must never become visible after a higher
 * one. Numbers that are given inside a transaction would: a slow transaction commits a low number late. So a change only
 * records its event, and a later transaction (`numberEvents`) gives positions to all events that it sees. It locks one row,
 * so these transactions run one after the other, in every process.
 *
 * Events without a position are found by their mark. On PostgreSQL that is the number of the transaction that recorded it:
 * `horizon` is the oldest transaction that was still running when positions were last given, and what such a transaction
 * commits later has a mark from there on. A restored database may begin with lower numbers than it has marks; the horizon is
 * then ahead of all transactions, and all events are searched once. Positions themselves never depend on transactions.
 *
 * SQLite commits transactions in the order of their writes, so there the mark of an event is its position, and the table of
 * positions is a view. Files of earlier releases have a table, which gets its rows as on PostgreSQL.
 */

import {
  declaredName,
  type PreparedCollection,
  presentRecord,
  type StoreContext,
  storedName,
  type ViewedRow,
  viewRecord,
  viewStoredRow,
} from '../catalog/context.ts'
import { keptByEvent, readWaiting } from '../catalog/old-nodes.ts'
import type { ResultRow, Steps } from '../catalog/steps.ts'
import type { JoinedRow, RowKey, StoredEvent } from '../flow/found-row.ts'
import { type EventPage, eventRowName, type Outcome } from '../flow/outcome.ts'
import type { FindEvent, ReadEvents, SweepEvents } from '../flow/plan.ts'
import type { Table } from '../flow/table.ts'
import {
  type Collection,
  changeTime,
  completeDocument,
  eventIdOf,
  isRecorded,
  type Members,
  type StoredDocument,
  storedNameOf,
  type Waiting,
} from '../rows/collection.ts'
import { type Dialect, postgresDialect, sqliteDialect } from '../sql/dialect.ts'
import { collectionsRow, metaTable } from '../sql/statements.ts'

/** One row for each event. Only the sweep deletes rows, and only an erasure changes them: readers keep their positions elsewhere. */
const outboxTable: Table = {
  name: 'bylaw_outbox',
  columns: {
    ...{ id: 'text', type: 'text', resource: 'text', item: 'text', parent: 'text?', account: 'text?' },
    ...{ action: 'text', sequence: 'integer', shape: 'integer', at: 'integer', payload: 'text', mark: 'integer' },
  },
  key: ['id'],
  indexes: [{ name: 'mark', columns: ['mark'] }],
  onSqlite: { key: ['mark'], indexes: [{ name: 'id', columns: ['id'], unique: true }] },
}

/** The positions of events, from 1 on without gaps, and from its time on after each restore. */
export const positionTable: Table = {
  name: 'bylaw_positions',
  columns: { position: 'integer', event: 'text' },
  key: ['position'],
  indexes: [{ name: 'event', columns: ['event'], unique: true }],
  onSqlite: { view: `SELECT mark AS position, id AS event FROM ${outboxTable.name}` },
}

/** One row: the last position, and the horizon. */
export const relayTable: Table = {
  name: 'bylaw_relay',
  columns: { name: 'text', position: 'integer', horizon: 'integer' },
  key: ['name'],
}

/** Further rows of events: their own for nodes of other declarations, and those that older versions show values of. Most events have none. */
const eventRowsTable: Table = {
  name: 'bylaw_event_rows',
  columns: { event: 'text', documents: 'text' },
  key: ['event'],
}

export const outboxTables: readonly Table[] = [outboxTable, positionTable, relayTable, eventRowsTable]

/** The revisions of rows, which are recorded like events and in the same transactions. R237. */
const historyTable: Table = {
  name: 'bylaw_history',
  columns: {
    ...{ resource: 'text', account: 'text', parent: 'text', item: 'text', revision: 'integer', id: 'text' },
    ...{ action: 'text', caller: 'text?', at: 'integer', shape: 'integer', payload: 'text' },
  },
  key: ['resource', 'account', 'parent', 'item', 'revision'],
  indexes: [{ name: 'at', columns: ['resource', 'at'] }],
}

/** Further rows of revisions, as events have them. */
const historyRowsTable: Table = { ...eventRowsTable, name: 'bylaw_history_rows' }

export const historyTables: readonly Table[] = [historyTable, historyRowsTable]
export const [history, historyRows] = [historyTable.name, historyRowsTable.name]

const outbox = outboxTable.name
const positions = positionTable.name
const relay = relayTable.name
const eventRows = eventRowsTable.name

/** The tables that record changes of rows, each with that of the further rows of its records. */
const recordTables = [
  { counts: 'events', table: outbox, rows: eventRows },
  { counts: 'revisions', table: history, rows: historyRows },
] as const

export type RecordTable = (typeof recordTables)[number]

/** A service without events or history has no tables of them, unless it once had either. */
export function* presentTables({ dialect: { name, itemsOf, mark } }: StoreContext): Steps<readonly RecordTable[]> {
  const names = itemsOf(mark(1))
  const text =
    name === 'sqlite'
      ? `SELECT name FROM sqlite_schema WHERE name IN (${names})`
      : `SELECT name FROM (${names}) AS names (name) WHERE to_regclass(name) IS NOT NULL`
  const present = yield { text, values: [JSON.stringify(recordTables.map(({ table }) => table))] }
  return recordTables.filter(({ table }) => present.some((row) => row.name === table))
}

/** The action of a revision whose changes an erasure has emptied: an update that is shown without changes. No state has this name. */
export const emptiedAction = 'updated*'

/** A change of a row. */
interface RecordedChange {
  readonly key: RowKey
  readonly revision: number
  readonly action: string
  readonly doc: string
  readonly shape: number
  /** The time of a deletion; other changes have theirs in the document. */
  readonly time?: number
  readonly ledgers: Ledgers
}

/** Where a change is recorded. */
export interface Ledgers {
  readonly events: boolean
  readonly history: boolean
}

/**
 * The tables that record changes of a collection; null if there are none, or while old nodes write, as these would not
 * record their changes.
 */
export function* ledgersOf(context: StoreContext, { collection }: PreparedCollection): Steps<Ledgers | null> {
  return isRecorded(collection) ? ledgersIn(collection, yield* readWaiting(context, collection.name)) : null
}

/** As `ledgersOf`, given the behaviour that waits for old nodes to stop. */
export function ledgersIn(collection: Collection, waiting: Waiting | null): Ledgers | null {
  const events = collection.eventPrefix !== undefined && waiting?.events !== true
  const history = collection.history === true && waiting?.history !== true
  return events || history ? { events, history } : null
}

/** The values of an event: those of all columns but the mark, and of the history. */
export interface EventValues {
  readonly ledgers: Ledgers
  readonly caller: string | null
  readonly revision: number
  readonly id: string
  readonly type: string
  readonly resource: string
  readonly item: string
  readonly parent: string | null
  readonly account: string | null
  readonly action: string
  readonly sequence: number
  readonly shape: number
  readonly at: number
  readonly payload: string
}

type ValueName = Exclude<keyof EventValues, 'ledgers'>
const valueColumns = Object.keys(outboxTable.columns).slice(0, -1) as readonly ValueName[]
const historyColumns = Object.keys(historyTable.columns) as readonly ValueName[]

const insertIntoOutbox = `INSERT INTO ${outbox} (${valueColumns.join(', ')}, mark)`
const insertIntoHistory = `INSERT INTO ${history} (${historyColumns.join(', ')})`

/** The columns of the history's key that the outbox leaves null. */
const isKeyPart = (name: ValueName): boolean => name === 'account' || name === 'parent'

function recordTextsIn({ mark, outbox: { mark: own } }: Dialect) {
  const marks = (names: readonly ValueName[]) => names.map((_, i) => mark(i + 1)).join(', ')
  return {
    events: `${insertIntoOutbox} VALUES (${marks(valueColumns)}, ${own(mark(valueColumns.length + 1))})`,
    history: `${insertIntoHistory} VALUES (${marks(historyColumns)})`,
  }
}
/** The statements that record a change; they run with each one, so their texts are made once. */
const recordTexts = { sqlite: recordTextsIn(sqliteDialect), postgres: recordTextsIn(postgresDialect) }

/** Records an event, in the transaction of its change. R206, R237. */
export function* recordEvent({ dialect, restoredAt = 0 }: StoreContext, event: EventValues): Steps<void> {
  const texts = recordTexts[dialect.name]
  if (event.ledgers.events) {
    const values = valueColumns.map((name) => event[name])
    yield { text: texts.events, values: dialect.outbox.marksArePositions ? [...values, restoredAt] : values }
  }
  if (event.ledgers.history)
    yield {
      text: texts.history,
      values: historyColumns.map((name) => event[name] ?? (isKeyPart(name) ? '' : null)),
    }
}

/** The values of an event as expressions of a statement that writes its row. */
export type EventExpressions = Readonly<Record<ValueName, string>>

/** The parts of a statement that record the events of the rows that it writes; the clause `from` has a row for each. */
export function recordingParts(
  from: string,
  event: EventExpressions,
  { events, history: keeps }: Ledgers,
  dialect: Dialect,
): readonly string[] {
  const kept = historyColumns.map((name) => (isKeyPart(name) && event[name] === 'NULL' ? `''` : event[name]))
  return [
    ...(events
      ? [
          `event AS (${insertIntoOutbox} SELECT ${valueColumns.map((name) => event[name]).join(', ')}, ${dialect.outbox.mark('0')}${from})`,
        ]
      : []),
    ...(keeps ? [`revision AS (${insertIntoHistory} SELECT ${kept.join(', ')}${from})`] : []),
  ]
}

interface Deletion {
  readonly stored: StoredDocument
  readonly time: number
  readonly joined: EventRows
}

/** A row of an event, with its document in a shape and what it keeps for nodes of other shapes. */
export interface EventRow {
  /** The stored name of the collection of a joined row; null for the own row of the event. */
  readonly of: string | null
  readonly id: string
  readonly shape: number
  readonly revision: number
  readonly doc: string
  /** Missing in events of earlier releases. */
  readonly hidden?: string | null
}
type EventRows = readonly EventRow[]

/** The row of an event, if nodes of another declaration would not see its values in the event alone. */
export function* ownRowOfEvent(
  own: PreparedCollection,
  viewed: ViewedRow,
  { key: { id }, doc, revision }: Pick<RecordedChange, 'key' | 'doc' | 'revision'>,
): Steps<EventRows> {
  const hidden = yield* keptByEvent(own, viewed, doc)
  return hidden === null ? [] : [{ of: null, id, shape: own.shape, revision, doc, hidden }]
}

/** Stores the rows of an event, in the transaction of its change. */
export function* recordRowsOfEvent({ mark }: Dialect, { id, ledgers }: EventValues, rows: EventRows): Steps<void> {
  if (rows.length === 0) return
  for (const table of [...(ledgers.events ? [eventRows] : []), ...(ledgers.history ? [historyRows] : [])])
    yield {
      text: `INSERT INTO ${table} (event, documents) VALUES (${mark(1)}, ${mark(2)})`,
      values: [id, JSON.stringify(rows)],
    }
}

/** Records the event of a deletion, whose number follows the last revision; returns the last number of the row. */
export function* recordDeletion(
  context: StoreContext,
  own: PreparedCollection,
  { key, revision }: Pick<RecordedChange, 'key' | 'revision'>,
  { stored, time, joined }: Deletion,
): Steps<number> {
  const ledgers = yield* ledgersOf(context, own)
  if (!ledgers) return revision
  const viewed = viewStoredRow(own, { ...stored, revision })
  const { shape } = own
  const { doc } = viewed
  const change = { key, revision: revision + 1, action: 'deleted', doc, shape, time, ledgers }
  const event = eventValues(context, own.collection, change)
  yield* recordEvent(context, event)
  yield* recordRowsOfEvent(context.dialect, event, [...(yield* ownRowOfEvent(own, viewed, change)), ...joined])
  return revision + 1
}

/** The sequence is the revision of the row, counted from the last restore: consumers may have got higher ones before a restore. */
export function eventValues(
  { restoredAt = 0, caller = null }: StoreContext,
  collection: Collection,
  { key, revision, action, doc, shape, ledgers, time = 0 }: RecordedChange,
): EventValues {
  const name = storedNameOf(collection)
  const [account, parent] = [collection.account === null ? null : key.account, collection.composite ? key.parent : null]
  const at = changeTime(doc, time)
  const id = eventIdOf(at, [name, account, parent, key.id, revision])
  const type = `${collection.eventPrefix}.${action}`
  const sequence = restoredAt + revision
  const values = { ledgers, caller, revision, action, sequence, shape, at, payload: doc }
  return { ...values, id, type, resource: name, item: key.id, parent, account }
}

const mostNumbered = 1000

/** Gives positions to events that have none, up to a limit. */
export function* numberEvents({ dialect, restoredAt = 0 }: StoreContext): Steps<Outcome> {
  const { mark, outbox: marks } = dialect
  // The oldest transaction is read before the events, so that every event which this search misses has a mark from there on.
  const [state] = yield {
    text: `INSERT INTO ${relay} (name, position, horizon) VALUES ('events', 0, 0) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING position, horizon, ${marks.oldest} AS oldest`,
    values: [],
  }
  const [position, horizon] = [Math.max(Number(state?.position), restoredAt), Number(state?.horizon)]
  // Without parameters, PostgreSQL plans it each time: a plan that was made when the tables were small would read them as a
  // whole when they have grown.
  const fresh = `SELECT id, sequence, ${marks.moment} AS moment ${fromFresh(dialect, String(horizon))}`
  yield {
    text: `INSERT INTO ${positions} (position, event) SELECT ${position} + row_number() OVER (ORDER BY moment, sequence, id), id FROM (${fresh}) AS fresh ORDER BY moment, sequence, id LIMIT ${mostNumbered}`,
    values: [],
  }
  const [highest] = yield { text: `SELECT max(position) AS position FROM ${positions}`, values: [] }
  const last = Math.max(Number(state?.position), Number(highest?.position))
  const more = last === position + mostNumbered
  yield {
    text: `UPDATE ${relay} SET position = ${mark(1)}, horizon = ${mark(2)} WHERE name = 'events'`,
    values: [last, more ? horizon : Number(state?.oldest)],
  }
  return { is: 'numbered', position: last, more }
}

/** How far readers may go. */
const headPosition = `coalesce((SELECT position FROM ${relay} WHERE name = 'events'), 0)`

/** Above all marks. An upper bound makes PostgreSQL expect few rows, where it cannot estimate how many the lower bound leaves. */
const highestMark = Number.MAX_SAFE_INTEGER

/** The events without a position. For NOT EXISTS, PostgreSQL would read all positions, as it takes the index for slower. */
const fromFresh = ({ outbox: { next } }: Dialect, horizon: string): string =>
  `FROM ${outbox} AS own WHERE mark >= CASE WHEN ${horizon} > ${next} THEN 0 ELSE ${horizon} END AND mark < ${highestMark} AND (SELECT position FROM ${positions} WHERE event = own.id) IS NULL`

/**
 * The last position, and whether events wait for theirs. A horizon that is ahead of all transactions is set back at once: it
 * would hide events as soon as these reach it.
 */
export function* readHead({ dialect }: StoreContext): Steps<Outcome> {
  const horizon = `coalesce((SELECT horizon FROM ${relay} WHERE name = 'events'), 0)`
  // On SQLite events have their positions before readers are allowed to read them.
  const isBehind = `(SELECT max(position) FROM ${positions}) > ${headPosition}`
  const [row] = yield {
    text: `SELECT ${headPosition} AS position, ${isBehind} OR ${horizon} > ${dialect.outbox.next} OR EXISTS (SELECT 1 ${fromFresh(dialect, horizon)}) AS more`,
    values: [],
    autocommit: 'read',
  }
  return { is: 'numbered', position: Number(row?.position), more: Boolean(row?.more) }
}

/** How many events one statement looks through, so that rare ones do not make it slow. */
const mostScanned = 5000

export function* readEvents(context: StoreContext, plan: ReadEvents): Steps<EventPage> {
  const { dialect, restoredAt = 0 } = context
  const after = plan.upTo === undefined ? plan.after : plan.upTo - mostScanned
  const next =
    restoredAt === 0 ? '' : `, (SELECT min(position) - 1 FROM ${positions} WHERE position > ${dialect.mark(1)}) AS next`
  const [bounds] = yield {
    text: `SELECT coalesce((SELECT min(position) FROM ${positions}), 1) - 1 AS base, ${headPosition} AS head, (SELECT value FROM ${metaTable} WHERE name = '${collectionsRow}') AS names${next}`,
    values: restoredAt === 0 ? [] : [after],
    autocommit: 'read',
  }
  const [base, last] = [Number(bounds?.base), Number(bounds?.head)]
  const from = Math.max(after, Math.min(Number(bounds?.next ?? base), last))
  const unknown = plan.upTo === undefined ? yield* firstUnknownEvent(context, bounds?.names, from) : null
  const head = unknown === null ? last : unknown - 1
  const to = Math.min(head, plan.upTo ?? from + mostScanned)
  if (from >= to) return { is: 'events', events: [], position: from, head, base, stops: unknown !== null }
  const { events, position } = yield* eventsBetween(context, plan, from, to)
  return { is: 'events', events, position, head, base, stops: unknown !== null && position === head }
}

/** How many events are read at once to find those of rows that the caller sees. */
const mostTested = 500

/** The events of a plan between two positions, and the last position that was searched. */
function* eventsBetween(
  context: StoreContext,
  plan: ReadEvents,
  from: number,
  to: number,
): Steps<Pick<EventPage, 'events' | 'position'>> {
  const { visible, upTo } = plan
  const { text, values } = eventsWhere(context, plan)
  const { mark } = context.dialect
  const limit = Math.trunc(visible ? Math.max(plan.limit, mostTested) : plan.limit)
  const events: StoredEvent[] = []
  for (let [after, last] = [from, to]; ; ) {
    const rows = yield {
      text: `${selectEvents} WHERE position > ${mark(1)} AND position <= ${mark(2)}${text} ORDER BY position${upTo === undefined ? '' : ' DESC'} LIMIT ${limit}`,
      values: [after, last, ...values],
      autocommit: 'read',
    }
    const stored = yield* storedEvents(context, rows)
    events.push(...stored.filter(({ collection, doc }) => visible?.of(collection)?.matches(doc) ?? true))
    const position = Number(rows.at(-1)?.position)
    if (visible && events.length >= plan.limit) {
      const page = events.slice(0, plan.limit)
      return { events: page, position: page.at(-1)?.position ?? position }
    }
    if (rows.length < limit) return { events, position: to }
    if (!visible) return { events, position }
    if (upTo === undefined) after = position
    else last = position - 1
  }
}

/**
 * During a rolling upgrade: the position of the first event of a collection that only new nodes know. A reader, a webhook or a
 * reaction of an old node must not pass it, as it would be lost for them; new nodes go on from there.
 */
function* firstUnknownEvent(
  { dialect, knownNames }: StoreContext,
  names: unknown,
  after: number,
): Steps<number | null> {
  if (typeof names !== 'string' || names === knownNames) return null
  const known = new Set<string>(JSON.parse(knownNames))
  const unknown = (JSON.parse(names) as string[]).filter((name) => !known.has(name))
  if (unknown.length === 0) return null
  const { mark, itemsOf } = dialect
  const [row] = yield {
    text: `SELECT min(position) AS first FROM ${positions} JOIN ${outbox} ON id = event WHERE position > ${mark(1)} AND resource IN (${itemsOf(mark(2))})`,
    values: [after, JSON.stringify(unknown)],
    autocommit: 'read',
  }
  return row?.first == null ? null : Number(row.first)
}

const selectEvents = `SELECT position, ${valueColumns.map((name) => `own.${name}`).join(', ')} FROM ${positions} JOIN ${outbox} AS own ON own.id = event`

/** The conditions of a plan, after two other values. */
function eventsWhere(context: StoreContext, { open, owned, account, types, item, since }: ReadEvents) {
  const { mark, itemsOf } = context.dialect
  const values: (string | number | null)[] = []
  const next = (value: string | number | null) => mark(2 + values.push(value))
  const names = (all: readonly string[]) => itemsOf(next(JSON.stringify(all.map((name) => storedName(context, name)))))
  const own = `own.resource IN (${names(owned)}) AND own.account = ${next(account)}`
  const terms = [`(own.resource IN (${names(open)}) OR (${own}))`]
  if (types) {
    const pairs = types.map(([collection, action]) => `${storedName(context, collection)} ${action}`)
    terms.push(`own.resource || ' ' || own.action IN (${itemsOf(next(JSON.stringify(pairs)))})`)
  }
  if (item !== undefined) terms.push(`own.item = ${next(item)}`)
  if (since !== undefined) terms.push(`own.at >= ${next(since)}`)
  return { text: terms.map((term) => ` AND ${term}`).join(''), values }
}

export function* findEvent(context: StoreContext, { id }: FindEvent): Steps<EventPage> {
  const text = `${selectEvents} WHERE own.id = ${context.dialect.mark(1)}`
  const rows = yield { text, values: [id], autocommit: 'read' }
  const position = Number(rows[0]?.position ?? 0)
  const events = yield* storedEvents(context, rows)
  return { is: 'events', events, position, head: position, base: 0 }
}

/** A row of the outbox, and the resource of its event. */
interface EventOf {
  readonly row: ResultRow
  readonly own: PreparedCollection
}

/** The rows of events, by the ids of the events. */
function* readEventRows(
  { dialect }: StoreContext,
  all: readonly EventOf[],
  table: string,
): Steps<ReadonlyMap<unknown, EventRows>> {
  const ids = all
    .filter(({ row, own }) => own.eventJoins.length > 0 || !own.alike.has(Number(row.shape)))
    .map(({ row }) => row.id)
  if (ids.length === 0) return new Map()
  const { mark, itemsOf } = dialect
  const rows = yield {
    text: `SELECT event, documents FROM ${table} WHERE event IN (${itemsOf(mark(1))})`,
    values: [JSON.stringify(ids)],
    autocommit: 'read',
  }
  return new Map(rows.map(({ event, documents }) => [event, JSON.parse(String(documents)) as EventRows]))
}

/** Events with their documents in the current shape; without those of resources that are no longer declared. */
export function* storedEvents(
  context: StoreContext,
  rows: readonly ResultRow[],
  rowsIn = eventRows,
): Steps<StoredEvent[]> {
  const all = rows.flatMap((row): EventOf[] => {
    const own = context.collections.get(declaredName(context, String(row.resource)))
    return own ? [{ row, own }] : []
  })
  const joined = yield* readEventRows(context, all, rowsIn)
  return all.map((one) => storedEvent(context, one, joined.get(one.row.id) ?? []))
}

/** The joined rows of an event in the current shape; with the values that its own document had before they moved to other rows. */
function joinedRowsOf(
  context: StoreContext,
  { row, own: recorded }: EventOf,
  stored: EventRows,
): StoredEvent['joined'] {
  const { collection, eventJoins, alike } = recorded
  const joined = new Map<string, JoinedRow>()
  if (eventJoins.length === 0) return joined
  for (const { of, id, ...row } of stored) {
    if (of === null) continue
    const name = declaredName(context, of)
    const own = context.collections.get(name)
    if (own) joined.set(eventRowName(name, id), viewRecord(own, { ...row }))
  }
  const shape = Number(row.shape)
  const moved = alike.has(shape)
    ? []
    : collection.movedValues?.(shape, parsed(presentRecord(recorded, String(row.payload), shape)), true)
  for (const { collection: name, id, put } of moved ?? []) {
    const own = context.collections.get(name)
    const key = eventRowName(name, id)
    const joinedRow = parsed(joined.get(key)?.doc ?? '{}')
    const document = own && completeDocument(own.collection.fields, joinedRow)
    if (document) joined.set(key, { doc: JSON.stringify({ ...document, ...put(document) }), revision: 0 })
  }
  return joined
}

const parsed = (text: unknown): Members => JSON.parse(String(text)) as Members

function storedEvent(context: StoreContext, one: EventOf, joined: EventRows): StoredEvent {
  const { row, own } = one
  const sequence = Number(row.sequence)
  const kept = joined.find(({ of }) => of === null)
  const { doc } = viewRecord(own, kept ? { ...kept } : { doc: row.payload, shape: row.shape })
  const [id, parent, account] = [String(row.item), row.parent as string | null, row.account as string | null]
  return {
    ...{ id: String(row.id), position: Number(row.position), collection: own.collection.name },
    ...{ key: { id, parent, account }, item: JSON.stringify([row.resource, account, parent, id]) },
    ...{ action: String(row.action), sequence, time: Number(row.at), doc },
    joined: joinedRowsOf(context, one, joined),
  }
}

const mostSwept = 500

/**
 * Deletes the oldest events, up to the first that is younger than a time: readers detect by the lowest position that they
 * have missed events. The newest event stays, as the marks of SQLite are counted from it.
 */
export function* sweepEvents({ dialect }: StoreContext, { before }: SweepEvents): Steps<Outcome> {
  const { mark, itemsOf } = dialect
  const oldest = yield {
    text: `SELECT event, at FROM ${positions} JOIN ${outbox} ON id = event WHERE position < (SELECT position FROM ${relay} WHERE name = 'events') ORDER BY position LIMIT ${mostSwept}`,
    values: [],
  }
  const kept = oldest.findIndex(({ at }) => Number(at) >= before)
  const old = kept < 0 ? oldest : oldest.slice(0, kept)
  if (old.length === 0) return { is: 'swept', more: false }
  const values = [JSON.stringify(old.map(({ event }) => event))]
  yield { text: `DELETE FROM ${positions} WHERE event IN (${itemsOf(mark(1))})`, values }
  yield { text: `DELETE FROM ${outbox} WHERE id IN (${itemsOf(mark(1))})`, values }
  yield { text: `DELETE FROM ${eventRows} WHERE event IN (${itemsOf(mark(1))})`, values }
  return { is: 'swept', more: old.length === mostSwept }
}
