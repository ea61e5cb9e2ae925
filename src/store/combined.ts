/** Combined statements: several steps or requests as one statement, to save round trips. Pure. The store. */

import type { PreparedCollection, StoreContext } from '../catalog/context.ts'
import type { ListRows } from '../flow/plan.ts'
import { type EventExpressions, type EventValues, recordingParts } from '../ledgers/outbox.ts'
import { type Cell, type Collection, keyColumns } from '../rows/collection.ts'
import { type Dialect, literal, quoted } from '../sql/dialect.ts'
import { countStatement, probeStatement } from '../sql/list-statements.ts'
import type { KeyRange } from '../sql/ranges.ts'
import { type CoalescedStatement, type Statement, updateText } from '../sql/statements.ts'

export type StatementText = Pick<Statement, 'text' | 'many'>

/** Reads a row; can be coalesced with other reads. */
export function coalescableRead({ collection, prepared, texts }: PreparedCollection, dialect: Dialect): StatementText {
  const text = texts.read
  if (!dialect.coalesces) return { text }
  return prepared.form('read', () => {
    const names = keyColumns(collection)
    const columns = [
      ...rowNameColumns(names, 'own'),
      ...['revision', 'shape', 'doc', 'hidden'].map((name) => `own.${name}`),
    ]
    const types = textTypes(names)
    const from = `${valueRows(types, dialect)} JOIN ${quoted(collection.table)} AS own ON ${equalColumns('own', names, 0)}`
    return { text, many: { text: `SELECT ${columns.join(', ')} FROM ${from}`, types, at: [...names.keys()] } }
  })
}

/** Updates a row at a revision; can be coalesced with updates of the same columns. */
// long because: both texts are built from the same parts
export function combinedUpdate(
  context: StoreContext,
  { collection, prepared }: PreparedCollection,
  moved: readonly number[],
  event: EventValues | null,
): StatementText {
  return prepared.form(`change ${moved.join(' ')}${event ? ` ${recordingName(event)} ${event.action}` : ''}`, () => {
    const { dialect } = context
    const single = updateText(collection, moved, dialect)
    if (!dialect.coalesces) return { text: single }
    const names = keyColumns(collection)
    const columns = moved.map((i) => collection.columns[i] as Collection['columns'][number])
    const set = ['shape', 'doc', 'hidden', ...columns.map(({ name }) => quoted(name))]
    const types: CoalescedStatement['types'] = [
      'bigint',
      'text',
      'text',
      ...columns.map(listTypeOf),
      ...textTypes(names),
      'bigint',
    ]
    const at = names.map((_, i) => set.length + i)
    const change = (from: string) =>
      `UPDATE ${quoted(collection.table)} AS own SET revision = own.revision + 1, ${set.map((name, i) => `${name} = one.c${i}`).join(', ')}
      FROM ${from} WHERE ${equalColumns('own', [...names, 'revision'], set.length)} RETURNING ${rowNameColumns(names, 'own').join(', ')}, own.revision`
    if (event === null) return { text: single, many: { text: change(valueRows(types, dialect)), types, at } }
    const typed = [...types, ...ownEventTypes(event)]
    const [one, each] = valuesOf(typed, dialect)
    const places = { key: set.length, revision: null, shape: 0, doc: 1, own: types.length }
    const recorded = recordedParts(context, { event, collection, places })
    const recordOne = recorded(' FROM written', one)
    const own = at.map((i, n) => `written.at${n} = one.c${i}`).join(' AND ')
    const recordAll = recorded(` FROM one JOIN written ON ${own}`, each)
    const rows = `one AS (SELECT * FROM ${valueRows(typed, dialect)})`
    return {
      text: withClause([`written AS (${single})`, ...recordOne]) + selectRow,
      many: {
        text: withClause([rows, `written AS (${change('one')})`, ...recordAll]) + selectRow,
        types: typed,
        at,
      },
    }
  })
}

/** The parameters of a statement that records the events of its rows. */
interface RecordedRows {
  /** One of the events, as a sample: all have the same type, resource and action. */
  readonly event: EventValues
  readonly collection: Collection
  /** The indexes of the first key value, the shape, the document, and the first of the event's own values. */
  readonly places: {
    readonly key: number
    /** The index of the revision; null if the statement makes it, and returns it in `written`. */
    readonly revision: number | null
    readonly shape: number
    readonly doc: number
    readonly own: number
  }
}

/** The values of an event that its row does not have. */
export const ownEventValues = ({ id, at, caller, ledgers }: EventValues): readonly Cell[] =>
  ledgers.history ? [id, at, caller] : [id, at]
export const ownEventTypes = ({ ledgers }: EventValues): readonly ListType[] =>
  ledgers.history ? ['text', 'bigint', 'text'] : ['text', 'bigint']
/** The part of a statement's name that identifies the tables that it records in. */
export const recordingName = ({ ledgers: { events, history } }: EventValues): string =>
  `with its${events ? ' event' : ''}${history ? ' revision' : ''}`

/** Makes the parts of a statement that record its events; the clause `from` has a row for each. */
export function recordedParts(
  { dialect, restoredAt = 0 }: StoreContext,
  { event: { type, resource, action, ledgers }, collection, places }: RecordedRows,
) {
  return (from: string, value: (i: number) => string): readonly string[] => {
    const ofKey = (name: string): string => {
      const i = keyColumns(collection).indexOf(name)
      return i < 0 ? 'NULL' : value(places.key + i)
    }
    const revision = places.revision === null ? 'written.revision' : value(places.revision)
    const event: EventExpressions = {
      ...{ id: value(places.own), at: value(places.own + 1), shape: value(places.shape), payload: value(places.doc) },
      ...{ item: ofKey('id'), parent: ofKey('parent'), account: ofKey('account') },
      ...{ type: literal(type), resource: literal(resource), action: literal(action) },
      ...{ revision, caller: value(places.own + 2) },
      sequence: restoredAt === 0 ? revision : `${revision} + ${restoredAt}`,
    }
    return recordingParts(from, event, ledgers, dialect)
  }
}

export const withClause = (steps: readonly string[]): string => (steps.length === 0 ? '' : `WITH ${steps.join(', ')} `)
/** The rows that a statement has written, after their events are recorded. */
export const selectRow = 'SELECT * FROM written'
/** Names a value of a statement: of one row, and of several that are coalesced. */
export const valuesOf = (types: readonly ListType[], { mark }: Dialect) =>
  [(i: number): string => `${mark(i + 1)}::${types[i]}`, (i: number): string => `one.c${i}`] as const

export type ListType = CoalescedStatement['types'][number]
export const textTypes = (names: readonly string[]): ListType[] => names.map(() => 'text')
export const listTypeOf = ({ type }: Pick<Collection['columns'][number], 'type'>): ListType =>
  type === 'integer' ? 'bigint' : 'text'
/** The key of each row of a table, as `at0`, `at1` and so on. */
export const rowNameColumns = (names: readonly string[], table: string): string[] =>
  names.map((name, i) => `${table}.${name} AS at${i}`)
/** Compares columns with the values from an index on. */
export const equalColumns = (table: string, names: readonly string[], from: number): string =>
  names.map((name, i) => `${table}.${name} = one.c${from + i}`).join(' AND ')

/** Arrays of values as the rows of a table `one`, whose columns `c0`, `c1` and so on are numbered like the values. */
export const valueRows = (types: readonly string[], { mark }: Dialect): string =>
  `unnest(${types.map((type, i) => `${mark(i + 1)}::${type}[]`).join(', ')}) AS one (${types.map((_, i) => `c${i}`).join(', ')})`

/** Queries that are combined with that of a page's first rows. */
export interface PageExtras {
  /** Other key ranges, of which it only matters whether any has a row. */
  readonly ranges: readonly KeyRange[]
  /** Up to how many matching rows are counted; null if they are not counted. */
  readonly countTo: number | null
}

/** Adds to the result of a statement whether other key ranges have a row, and how many rows match. */
export function pageWithExtras(
  { text, values }: Statement,
  collection: Collection,
  plan: ListRows,
  { ranges, countTo }: PageExtras,
  dialect: Dialect,
): Statement {
  const all = [...values]
  const columns = ['page.*']
  const asked = (make: (dialect: Dialect) => Statement): string => {
    const from = all.length
    const one = make({ ...dialect, mark: (n) => dialect.mark(from + n) })
    all.push(...one.values)
    return `(${one.text})`
  }
  const probes = ranges.map((range) => `EXISTS ${asked((own) => probeStatement(collection, plan, range, own))}`)
  if (probes.length > 0) columns.push(`${probes.join(' OR ')} AS other_side`)
  if (countTo !== null) columns.push(`${asked((own) => countStatement(collection, plan, null, countTo, own))} AS total`)
  return { text: `SELECT ${columns.join(', ')} FROM (${text}) AS page`, values: all }
}
