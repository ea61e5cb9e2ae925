/** Combined statements: several steps or requests as one statement, to save round trips. Pure. The cellar. */

import type { PreparedCollection, StoreContext } from '../catalog/context.ts'
import type { Create, ListRows } from '../flow/plan.ts'
import { type Cell, type Collection, keyColumns } from '../rows/collection.ts'
import { type Dialect, literal, quoted, rowKeyValues } from '../sql/dialect.ts'
import { countStatement, probeStatement } from '../sql/list-statements.ts'
import type { KeyRange } from '../sql/ranges.ts'
import { type CoalescedStatement, type Statement, updateText } from '../sql/statements.ts'
import { claimTable } from './idempotency-claims.ts'
import { type EventExpressions, type EventValues, recordingParts } from './outbox.ts'

const maxRequiredRows = 5
const claimColumns = Object.keys(claimTable.columns)

type StatementText = Pick<Statement, 'text' | 'many'>

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
export function coalescableUpdate(
  cellar: StoreContext,
  { collection, prepared }: PreparedCollection,
  moved: readonly number[],
  event: EventValues | null,
): StatementText {
  return prepared.form(`change ${moved.join(' ')}${event ? ` ${recordingName(event)} ${event.action}` : ''}`, () => {
    const { dialect } = cellar
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
    const places = { key: set.length, shape: 0, doc: 1, own: types.length }
    const recorded = recorder(cellar, { event, collection, places })
    const recordOne = recorded('written', one)
    const own = at.map((i, n) => `written.at${n} = one.c${i}`).join(' AND ')
    const recordAll = recorded(`one JOIN written ON ${own}`, each)
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

/** What a statement that records the events of its rows is made for. */
interface RecordedRows {
  /** One of the events: all have its type, resource and action, and differ in the rest. */
  readonly event: EventValues
  readonly collection: Collection
  /** The indexes of the first key value, the shape, the document, and the first of the event's own values. */
  readonly places: { readonly key: number; readonly shape: number; readonly doc: number; readonly own: number }
}

/** The values of an event that its row does not have. */
export const ownEventValues = ({ id, at, caller, ledgers }: EventValues): readonly Cell[] =>
  ledgers.history ? [id, at, caller] : [id, at]
const ownEventTypes = ({ ledgers }: EventValues): readonly ListType[] =>
  ledgers.history ? ['text', 'bigint', 'text'] : ['text', 'bigint']
/** The part of a statement's name that tells where it records. */
const recordingName = ({ ledgers: { events, history } }: EventValues): string =>
  `with its ${[events ? 'event' : '', history ? 'revision' : ''].join(' ')}`

/** Makes the parts of a statement that record its events; `from` has a row for each. */
function recorder(
  { dialect, restoredAt = 0 }: StoreContext,
  { event: { type, resource, action, ledgers }, collection, places }: RecordedRows,
) {
  return (from: string, value: (i: number) => string): readonly string[] => {
    const ofKey = (name: string): string => {
      const i = keyColumns(collection).indexOf(name)
      return i < 0 ? 'NULL' : value(places.key + i)
    }
    const event: EventExpressions = {
      ...{ id: value(places.own), at: value(places.own + 1), shape: value(places.shape), payload: value(places.doc) },
      ...{ item: ofKey('id'), parent: ofKey('parent'), account: ofKey('account') },
      ...{ type: literal(type), resource: literal(resource), action: literal(action) },
      ...{ revision: 'written.revision', caller: value(places.own + 2) },
      sequence: restoredAt === 0 ? 'written.revision' : `written.revision + ${restoredAt}`,
    }
    return recordingParts(from, event, ledgers, dialect)
  }
}

/**
 * A creation as one statement, which writes everything and returns a row, or writes nothing and returns none; null if it
 * needs more statements. It locks the rows that the new row requires, then takes the idempotency key, and inserts the row if
 * both succeeded.
 */
export function combinedCreate(
  cellar: StoreContext,
  own: PreparedCollection,
  plan: Create,
  [revision, event]: readonly [revision: number, event: EventValues | null],
): Statement | null {
  const { dialect } = cellar
  const held = requiredRows(plan)
  if (
    !dialect.combines ||
    plan.id !== 'fresh' ||
    (plan.claim?.expired ?? null) !== null ||
    held.length > maxRequiredRows
  )
    return null
  const { collection, shape } = own
  const { doc, hidden, cells } = plan.row
  const values: Cell[] = [...rowKeyValues(collection, plan.key, dialect), revision, shape, doc, hidden, ...cells]
  const targets = held.map(({ collection: name }) => (cellar.collections.get(name) as PreparedCollection).collection)
  for (const [i, { id }] of held.entries())
    values.push(...rowKeyValues(targets[i] as Collection, { id, parent: null, account: plan.key.account }, dialect))
  if (plan.claim) {
    const { hash, fingerprint, time, keeps } = plan.claim
    const answer = keeps ? JSON.stringify({ doc, revision }) : null
    values.push(hash, collection.called ?? plan.collection, plan.key.parent, plan.key.id, fingerprint, time, answer)
  }
  if (event) values.push(...ownEventValues(event))
  const name = `create ${event ? `${recordingName(event)} ` : ''}${plan.claim ? 'with a key ' : ''}${held.map(({ collection: one }) => one).join(' ')}`
  const birth = { collection, targets, claimed: plan.claim !== null, event }
  return { ...own.prepared.form(name, () => createTexts(birth, cellar)), values, autocommit: 'write' }
}

/** The collection of a new row, those of the rows that it requires, and whether it takes an idempotency key. */
interface NewRow {
  readonly collection: Collection
  readonly targets: readonly Collection[]
  readonly claimed: boolean
  /** One of the events that such statements record. */
  readonly event: EventValues | null
}

// long because: both texts are built from the same parts
function createTexts({ collection, targets, claimed, event }: NewRow, cellar: StoreContext): StatementText {
  const { dialect } = cellar
  const names = keyColumns(collection)
  const columns = [
    ...names,
    'revision',
    'shape',
    'doc',
    'hidden',
    ...collection.columns.map(({ name }) => quoted(name)),
  ]
  const types: ListType[] = [
    ...textTypes(names),
    'bigint',
    'bigint',
    'text',
    'text',
    ...collection.columns.map(listTypeOf),
  ]
  const [width, id] = [types.length, names.length - 1]
  const starts = targets.map((target) => types.push(...textTypes(keyColumns(target))) - keyColumns(target).length)
  const claim = types.length
  if (claimed) types.push('text', 'text', 'text', 'text', 'text', 'bigint', 'text')
  const places = { key: 0, shape: names.length + 1, doc: names.length + 2, own: types.length }
  if (event) types.push(...ownEventTypes(event))

  const [one, each] = valuesOf(types, dialect)
  const recorded = event ? recorder(cellar, { event, collection, places }) : () => []
  const range = (from: number, count: number, value: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => value(from + i)).join(', ')
  const into = `INSERT INTO ${quoted(collection.table)} (${columns.join(', ')})`
  const claiming = `INSERT INTO ${claimTable.name} (${claimColumns.join(', ')})`
  const free = 'ON CONFLICT (hash) DO NOTHING RETURNING hash, id'
  const holding = targets.map((target, i) => {
    const match = keyColumns(target).map((name, k) => `own.${name} = ${one((starts[i] as number) + k)}`)
    return `held${i} AS (SELECT 1 FROM ${quoted(target.table)} AS own WHERE ${match.join(' AND ')}${dialect.rowLocks?.shared})`
  })
  const held = targets.map((_, i) => `held${i}`)
  const from = (tables: readonly string[]) => (tables.length === 0 ? '' : ` FROM ${tables.join(', ')}`)
  const steps = claimed
    ? [...holding, `claim AS (${claiming} SELECT ${range(claim, claimColumns.length, one)}${from(held)} ${free})`]
    : holding
  const insert = `${into} SELECT ${range(0, width, one)}${from(claimed ? ['claim'] : held)} RETURNING revision`
  const text = event
    ? withClause([...steps, `written AS (${insert})`, ...recorded('written', one)]) + selectRow
    : withClause(steps) + insert
  if (!dialect.coalesces) return { text }

  const holdingAll = targets.map((target, i) => {
    const match = equalColumns('own', keyColumns(target), starts[i] as number)
    return `held${i} AS (SELECT one.c${id} AS of FROM one JOIN ${quoted(target.table)} AS own ON ${match}${dialect.rowLocks?.shared} OF own)`
  })
  const present = `one${held.map((name) => ` JOIN ${name} ON ${name}.of = one.c${id}`).join('')}`
  const claimAll = `claim AS (${claiming} SELECT ${range(claim, claimColumns.length, each)} FROM ${present} ORDER BY one.c${claim} ${free})`
  const stepsOfAll = [
    `one AS (SELECT * FROM ${valueRows(types, dialect)})`,
    ...holdingAll,
    ...(claimed ? [claimAll] : []),
  ]
  const ready = claimed ? `one JOIN claim ON claim.hash = one.c${claim} AND claim.id = one.c${id}` : present
  const insertAll = `${into} SELECT ${range(0, width, each)} FROM ${ready} RETURNING ${names[id]} AS at0, revision`
  const recordAll = recorded(`one JOIN written ON written.at0 = one.c${id}`, each)
  const all = event
    ? withClause([...stepsOfAll, `written AS (${insertAll})`, ...recordAll]) + selectRow
    : withClause(stepsOfAll) + insertAll
  return { text, many: { text: all, types, at: [id] } }
}

const withClause = (steps: readonly string[]): string => (steps.length === 0 ? '' : `WITH ${steps.join(', ')} `)
/** The rows that a statement has written, after their events are recorded. */
const selectRow = 'SELECT * FROM written'
/** Names a value of a statement: of one row, and of several that are coalesced. */
const valuesOf = (types: readonly ListType[], { mark }: Dialect) =>
  [(i: number): string => `${mark(i + 1)}::${types[i]}`, (i: number): string => `one.c${i}`] as const

type ListType = CoalescedStatement['types'][number]
const textTypes = (names: readonly string[]): ListType[] => names.map(() => 'text')
const listTypeOf = ({ type }: Pick<Collection['columns'][number], 'type'>): ListType =>
  type === 'integer' ? 'bigint' : 'text'
/** The key of each row of a table, as `at0`, `at1` and so on. */
const rowNameColumns = (names: readonly string[], table: string): string[] =>
  names.map((name, i) => `${table}.${name} AS at${i}`)
/** Compares columns with the values from an index on. */
const equalColumns = (table: string, names: readonly string[], from: number): string =>
  names.map((name, i) => `${table}.${name} = one.c${from + i}`).join(' AND ')

/** Arrays of values as the rows of a table `one`, whose columns `c0`, `c1` and so on are numbered like the values. */
const valueRows = (types: readonly string[], { mark }: Dialect): string =>
  `unnest(${types.map((type, i) => `${mark(i + 1)}::${type}[]`).join(', ')}) AS one (${types.map((_, i) => `c${i}`).join(', ')})`

/** The rows that must exist: the owner, and all references except one to the new row itself. */
function requiredRows({ parent, references, collection, key }: Create): readonly NonNullable<Create['parent']>[] {
  const others = references.filter((one) => one.collection !== collection || one.id !== key.id)
  const all = [...(parent ? [parent] : []), ...others]
  return [...new Map(all.map((one) => [`${one.collection}/${one.id}`, one])).values()]
}

/** Queries that are combined with that of a page's first rows. */
export interface PageExtras {
  /** Other key ranges, of which it only matters whether any has a row. */
  readonly ranges: readonly KeyRange[]
  /** Up to how many matching rows are counted; null if they are not counted. */
  readonly countTo: number | null
}

/** The result of a statement, and whether other key ranges have a row and how many rows match. */
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
