/** Joined rows: reads the rows that documents refer to, and updates the copies of their values for old nodes. The store. */
// long because: all reads of joined rows share how their keys are found

import {
  hiddenColumn,
  type PreparedCollection,
  preparedCollection,
  rowKeyOf,
  type StoreContext,
  type ViewedRow,
  viewStoredRow,
} from '../catalog/context.ts'
import { checkBacklog, keptByEvent, oldNodesMayRead } from '../catalog/old-nodes.ts'
import { type ResultRow, type Steps, withoutAutocommit } from '../catalog/steps.ts'
import type { FoundRow, JoinedRow, ReadResult, RowKey, StoredRows } from '../flow/found-row.ts'
import type { Outcome, Page } from '../flow/outcome.ts'
import { isCommitted } from '../flow/outcome.ts'
import type { Create, Plan, RowJoin, RowWrite, Update } from '../flow/plan.ts'
import { type EventRow, eventValues, ledgersOf, ownRowOfEvent, recordRowsOfEvent } from '../ledgers/outbox.ts'
import {
  type Cell,
  type Collection,
  cellIn,
  isRecorded,
  keptForOthers,
  keyColumns,
  type Members,
  storedNameOf,
} from '../rows/collection.ts'
import { type Dialect, equations, quoted, rowKeyColumns, rowKeyValues } from '../sql/dialect.ts'
import type { Statement } from '../sql/statements.ts'

const noJoins = { joined: [], account: null }

/** The rows that a plan joins, and the account of its caller. */
export function joinsOf(plan: Plan): { joined: readonly RowJoin[]; account: string | null } {
  const read = plan.do === 'decide' ? plan.read : plan
  if (!('joined' in read) || read.joined === undefined) return noJoins
  return { joined: read.joined, account: read.do === 'list' ? read.account : read.key.account }
}

type ParsedDocument = Readonly<Record<string, unknown>>

/** An outcome with its joined rows. */
export function* withJoinedRows(
  context: StoreContext,
  steps: Steps<Outcome>,
  joins: readonly RowJoin[],
  account: string | null,
): Steps<Outcome> {
  const outcome = yield* steps
  const read = function* (document: ParsedDocument): Steps<readonly (JoinedRow | null)[]> {
    const all: (JoinedRow | null)[] = []
    for (const one of joins) all.push(yield* readJoinedRow(context, one, document, account))
    return all
  }
  const of = (doc: string) => read(JSON.parse(doc) as ParsedDocument)
  switch (outcome.is) {
    case 'page':
      return yield* withJoinedTexts(context, outcome, joins, account)
    case 'found': {
      const document = JSON.parse(outcome.doc) as ParsedDocument
      return { ...outcome, document, joined: yield* read(document) }
    }
    case 'created':
    case 'changed':
      return { ...outcome, joined: yield* of(outcome.doc) }
    case 'kept':
      return outcome.current.is === 'found'
        ? { ...outcome, current: { ...outcome.current, joined: yield* of(outcome.current.doc) } }
        : outcome
    case 'claimed':
      return outcome.answer
        ? { ...outcome, answer: { ...outcome.answer, joined: yield* of(outcome.answer.doc) } }
        : outcome
    default:
      return outcome
  }
}

/** Rows with the joined rows of their documents, by their ids. */
export function* withJoinedTexts<R extends StoredRows>(
  context: StoreContext,
  page: R,
  joins: readonly RowJoin[],
  account: string | null,
): Steps<R & Pick<Page, 'joined' | 'documents'>> {
  const documents = JSON.parse(`[${page.data}]`) as ParsedDocument[]
  const joined: Map<string, string>[] = []
  for (const one of joins) {
    const own = preparedCollection(context, one.collection)
    const keys = documents.flatMap((doc) => joinedKey(own, one, doc, account) ?? [])
    const rows = yield* readRowsByKey(context, own, [...new Map(keys.map((key) => [key.id, key])).values()])
    joined.push(new Map(rows.map(([id, row]) => [id, joinedText(one, viewStoredRow(own, row))])))
  }
  return { ...page, documents, joined }
}

/** Reads rows by key: in one query where round trips are expensive, else one by one with the prepared statement. */
function* readRowsByKey(
  { dialect }: StoreContext,
  { collection, texts }: PreparedCollection,
  keys: readonly RowKey[],
): Steps<[id: string, row: ResultRow][]> {
  const all: [string, ResultRow][] = []
  if (!dialect.combines || keys.length < 2) {
    for (const key of keys) {
      const values = rowKeyValues(collection, key, dialect)
      const [row] = yield { text: texts.read, values, autocommit: 'read' }
      if (row) all.push([key.id, row])
    }
    return all
  }
  const wanted = new Map(keys.map((key) => [key.id, key]))
  for (const row of yield rowsByKeyStatement(collection, keys, dialect)) {
    const id = row.id as string
    if ((row.parent ?? null) === (wanted.get(id)?.parent ?? null)) all.push([id, row])
  }
  return all
}

/** Pads the lists to a power of two with their last value, so that few different statements serve any number of rows. */
function rowsByKeyStatement(collection: Collection, keys: readonly RowKey[], { mark }: Dialect): Statement {
  const names = keyColumns(collection) as readonly (keyof RowKey)[]
  const values: Cell[] = []
  const where = names.map((name) => {
    const own = [...new Set(keys.map((key) => key[name]))]
    const padded = Array.from({ length: 2 ** Math.ceil(Math.log2(own.length)) }, (_, i) => own[i] ?? own.at(-1) ?? null)
    return `${name} IN (${padded.map((value) => mark(values.push(value))).join(', ')})`
  })
  const columns = [...names, 'revision', 'shape', 'doc', 'hidden'].join(', ')
  return {
    text: `SELECT ${columns} FROM ${quoted(collection.table)} WHERE ${where.join(' AND ')}`,
    values,
    autocommit: 'read',
  }
}

/** The row that a document refers to; null if there is none. */
function* readJoinedRow(
  context: StoreContext,
  one: RowJoin,
  doc: ParsedDocument,
  account: string | null,
): Steps<JoinedRow | null> {
  const viewed = yield* viewJoinedRow(context, one, doc, account)
  return viewed && { doc: joinedText(one, viewed), revision: viewed.revision }
}

/** With `isStored`, values of the row will be stored elsewhere: then the row is locked, so that an erasure of it finds them. */
function* viewJoinedRow(
  context: StoreContext,
  one: RowJoin,
  doc: ParsedDocument,
  account: string | null,
  isStored = context.keepsAnswer === true,
): Steps<ViewedRow | null> {
  const own = preparedCollection(context, one.collection)
  const key = joinedKey(own, one, doc, account)
  if (key === null) return null
  const values = rowKeyValues(own.collection, key, context.dialect)
  const { read, readForShare } = own.texts
  const [row] = yield isStored ? { text: readForShare, values } : { text: read, values, autocommit: 'read' }
  return row ? viewStoredRow(own, row) : null
}

/** The key of the row that a document refers to; null if it refers to none. */
export function joinedKey(
  { collection }: PreparedCollection,
  { by }: RowJoin,
  doc: ParsedDocument,
  account: string | null,
): RowKey | null {
  const id = doc[by]
  if (typeof id !== 'string') return null
  const { composite, fields } = collection
  const owner = composite ? doc[fields[1]?.name as string] : null // the owner's id is the second field
  return { id, parent: (owner ?? null) as string | null, account }
}

/** The document of a joined row, with its write-only fields if the plan asks for them. */
export const joinedText = ({ withWriteOnly }: RowJoin, { doc, hidden }: Pick<FoundRow, 'doc' | 'hidden'>): string =>
  withWriteOnly && hidden !== null ? JSON.stringify({ ...JSON.parse(hidden), ...JSON.parse(doc) }) : doc

/** The joined rows of an event: those that older versions show values of. */
function* joinedRowsOfEvent(
  context: StoreContext,
  { eventJoins }: PreparedCollection,
  key: RowKey,
  doc: string,
): Steps<readonly EventRow[]> {
  const rows: EventRow[] = []
  const document = JSON.parse(doc) as ParsedDocument
  for (const one of eventJoins) {
    const there = preparedCollection(context, one.collection)
    const viewed = yield* viewJoinedRow(context, one, document, key.account, true)
    if (!viewed) continue
    const [of, id] = [storedNameOf(there.collection), document[one.by] as string]
    const { doc, revision } = viewed
    rows.push({ of, id, shape: there.shape, revision, doc, hidden: yield* keptByEvent(there, viewed, doc) })
  }
  return rows
}

/** Stores the rows of the event of a write, so that the event reads the same later, and on nodes of other declarations. R207. */
export function* recordEventRows(
  context: StoreContext,
  plan: RowWrite,
  current: ReadResult | null,
  outcome: Outcome,
): Steps<void> {
  if (!hasEventRows(context, plan, current) || (outcome.is !== 'created' && outcome.is !== 'changed')) return
  const { collection, key } = plan
  const own = preparedCollection(context, collection)
  const ledgers = yield* ledgersOf(context, own)
  if (!ledgers) return
  const { doc, revision } = outcome
  const [row] = yield { text: own.texts.read, values: rowKeyValues(own.collection, key, context.dialect) }
  const kept = row ? yield* ownRowOfEvent(own, viewStoredRow(own, row), { key, doc, revision }) : []
  const rows = [...kept, ...(yield* joinedRowsOfEvent(context, own, key, doc))]
  const change = { key, revision, action: 'updated', doc, shape: own.shape, ledgers }
  yield* recordRowsOfEvent(context.dialect, eventValues(context, own.collection, change), rows)
}

/** The joined rows of the events of deletions, read before any of them is deleted. */
export function* joinedRowsOfDeletions<R extends { readonly collection: Collection; readonly key: RowKey }>(
  context: StoreContext,
  rows: Iterable<R>,
): Steps<ReadonlyMap<R, readonly EventRow[]>> {
  const all = new Map<R, readonly EventRow[]>()
  for (const one of rows) {
    const own = preparedCollection(context, one.collection.name)
    if (own.eventJoins.length === 0) continue
    const [row] = yield { text: own.texts.read, values: rowKeyValues(own.collection, one.key, context.dialect) }
    if (row) all.set(one, yield* joinedRowsOfEvent(context, own, one.key, viewStoredRow(own, row).doc))
  }
  return all
}

/** Whether the event of a write has rows: joined ones, or its own during a rolling upgrade. */
export function hasEventRows(context: StoreContext, plan: RowWrite, row: ReadResult | null): plan is Create | Update {
  if (plan.do !== 'create' && plan.do !== 'update') return false
  const { collection, eventJoins, former } = preparedCollection(context, plan.collection)
  if (!isRecorded(collection)) return false
  return eventJoins.length > 0 || former !== null || (row as ViewedRow | null)?.view != null
}

/** During a rolling upgrade, also writes the documents and columns that old nodes read, in the same transaction. */
export function* writeForOldNodes(context: StoreContext, plan: Create | Update, steps: Steps<Outcome>): Steps<Outcome> {
  const own = preparedCollection(context, plan.collection)
  if (oldNodesMayRead(context, own)) yield* checkBacklog(context) // the upgrade may have ended
  if (!oldNodesMayRead(context, own)) return yield* steps
  const outcome = yield* withoutAutocommit(steps)
  if (!isCommitted(outcome)) return outcome
  yield* writeOldNodeColumns(context, own, plan.key, false)
  if (plan.do === 'update') yield* refreshJoiningRows(context, plan.collection, plan.key)
  return outcome
}

/** Updates, for old nodes, the rows whose old documents show values of the changed row. */
export function* refreshJoiningRows(context: StoreContext, name: string, key: RowKey): Steps<void> {
  for (const own of context.collections.values()) {
    const { collection, former } = own
    const joins = former ? (collection.joined?.(former.shape) ?? []) : []
    for (const { by } of joins.filter((one) => one.collection === name && !one.withWriteOnly)) {
      const column = collection.columns.find(({ field }) => field === by)?.name ?? collection.parent?.column
      if (column === undefined) continue
      const shared = collection.account === null || key.account === null ? [] : [key.account]
      const whose = shared.length > 0 ? ` AND account = ${context.dialect.mark(2)}` : ''
      const text = `SELECT ${keyColumns(collection).join(', ')} FROM ${quoted(collection.table)} WHERE ${quoted(column)} = ${context.dialect.mark(1)}${whose}`
      const rows = yield { text, values: [key.id, ...shared] }
      for (const row of rows) yield* writeOldNodeColumns(context, own, rowKeyOf(row), true)
    }
  }
}

/** Writes the document and the columns that old nodes read of a row; with `counts` it also increments the revision. */
function* writeOldNodeColumns(
  context: StoreContext,
  own: PreparedCollection,
  key: RowKey,
  counts: boolean,
): Steps<void> {
  const { collection, former, shape } = own
  const keys = rowKeyValues(collection, key, context.dialect)
  const [row] = yield { text: own.texts.readForUpdate, values: keys }
  if (!row || !former || Number(row.shape) < shape) return
  const viewed = viewStoredRow(own, row)
  const document = { ...JSON.parse(viewed.hidden ?? '{}'), ...JSON.parse(viewed.doc) } as Members
  const rows: (Members | null)[] = []
  for (const one of collection.joined?.(former.shape) ?? []) {
    const other = one.withWriteOnly ? null : yield* readJoinedRow(context, one, document, key.account)
    rows.push(one.withWriteOnly ? document : other && JSON.parse(other.doc))
  }
  const hidden = hiddenColumn(own, viewed, viewed, rows)
  const formerView = { ...document, ...keptForOthers(hidden)[former.shape] } as Members
  const names = ['hidden', ...former.columns.map(({ name }) => quoted(name))]
  const set = equations(names, context.dialect)
  if (counts) set.push('revision = revision + 1')
  const where = equations(rowKeyColumns(collection, context.dialect), context.dialect, names.length + 1)
  const text = `UPDATE ${quoted(collection.table)} SET ${set.join(', ')} WHERE ${where.join(' AND ')}`
  const cells = former.columns.map((one) => cellIn(one, one.isDerived ? document : formerView))
  yield { text, values: [hidden, ...cells, ...keys] }
}
