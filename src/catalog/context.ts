/** Store context: the collections, with their statements and layouts, that operations run on. The store. */

import type { FoundRow, RowKey } from '../flow/found-row.ts'
import { Memo } from '../flow/memo.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { ListRows, RowRights } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'
import type { TableOperation } from '../flow/table.ts'
import {
  type Collection,
  type Column,
  type DocumentJoin,
  encodeDocument,
  type FormerShape,
  hasKeptForOthers,
  isRecorded,
  type Members,
  type RowView,
  rememberedColumn,
  renamedStates,
  type ShapeConversions,
  type DocumentTexts as Stored,
  type StoredDocument,
  viewRow,
  type Waiting,
  waitingParts,
  withKeptForOthers,
  withUnknownTotals,
} from '../rows/collection.ts'
import type { Dialect } from '../sql/dialect.ts'
import { type Layout, mapCollections, storedNamesIn, type TableLayout } from '../sql/layout.ts'
import { type Statement, type StatementTexts, statementTexts } from '../sql/statements.ts'
import type { OperationText } from '../sql/table-statements.ts'
import type { ResultRow, Steps } from './steps.ts'

/** A column that only old nodes query. */
interface FormerColumn extends Column {
  /** Whether an older version derives its value from the current document; otherwise it is in the document that old nodes see. */
  readonly isDerived: boolean
}

/** A collection with the column names of the database, its statements, and its state in a rolling upgrade. */
export interface PreparedCollection {
  readonly collection: Collection & ShapeConversions
  readonly texts: StatementTexts
  /** The number of the current shape, which new writes have. */
  readonly shape: number
  /** The numbers of the shapes whose documents have the same structure as the current one. */
  readonly alike: ReadonlySet<number>
  /** The old declaration during a rolling upgrade, as long as old nodes may run. */
  readonly former: (FormerShape & { readonly columns: readonly FormerColumn[] }) | null
  /** The columns that have a value in every row. */
  readonly nonNullColumns: ReadonlySet<string>
  /** The columns that rows of the old declaration lack so far; lists cannot use them yet. */
  readonly pending: Set<string>
  /** The rows that older versions show values of, so that events keep them. */
  readonly eventJoins: readonly DocumentJoin[]
  /** The behaviour that waits for the second phase of a change; null if none waits. */
  readonly waiting: Waiting | null
  /** The states that old nodes know by another name, under which events record them as long as such nodes may run. */
  readonly renamedStates: ReadonlyMap<string, string>
  readonly columnName: (column: string) => string
  /** The columns whose values can be read from the document of a row. */
  readonly columnsInDocument: ReadonlySet<string>
  readonly prepared: Prepared
}

export interface StoreContext {
  readonly backlog?: Backlog
  /** Returns a row if all nodes that may write have the declaration of this node. Missing if the database was opened during a change. */
  readonly unchanged?: Statement
  /** How far the time of a plan may be ahead of the time that has certainly passed, in milliseconds. */
  readonly clockLead?: () => number
  readonly dropped?: ReadonlyMap<string, readonly { readonly field: string; readonly path: string }[]>
  readonly dialect: Dialect
  /** The id of the caller whose plan is carried out, for the history; missing if the service itself writes. */
  readonly caller?: string | null
  /** Set while the answer of a transaction is stored with a key: rows that it shows are locked, so that an erasure finds the answer. */
  readonly keepsAnswer?: true
  /** What the caller may do, where that depends on rows; missing for the service itself. */
  readonly rights?: RowRights | undefined
  /** When the database was last restored, if ever; events are numbered from there on. See `schema/restored.ts`. */
  readonly restoredAt?: number
  readonly collections: ReadonlyMap<string, PreparedCollection>
  /** The stored names of all collections that this node knows of, also of those that are no longer declared, as JSON. */
  readonly knownNames: string
  /** The texts of operations on tables. */
  readonly operations: Memo<TableOperation, OperationText>
  /** Whether compiled lists are cached. */
  readonly caches: boolean
  /** The outcome of a statement that failed because a value is in use; null if it failed otherwise. */
  readonly duplicateOf?: (error: unknown, context: StoreContext) => Outcome | null
  /** Called for each row that is written, those of tables included; the transaction may still be rolled back. */
  readonly onWrite?: (row: WriteNotice) => void
}

/** What caches have to know of a write. */
export interface WriteNotice {
  /** The name of a collection or of a table. */
  readonly collection: string
  /** Null for a table. */
  readonly key: RowKey | null
  /** The columns whose values an update changed; missing if the row is new or gone, or all of them may have changed. */
  readonly changed?: readonly string[]
}

/** The layout of the current declaration, and that of the old one as long as old nodes may run. */
export interface StoreLayouts {
  readonly layout: Layout
  readonly former: Layout | null
}

export function storeContext(
  collections: Iterable<Collection>,
  { layout, former }: StoreLayouts,
  dialect: Dialect,
  isFull: (collection: Collection, column: string) => boolean = () => true,
): StoreContext {
  const preparedCollections = new Map<string, PreparedCollection>()
  for (const { collection, table, columnName } of mapCollections(collections, layout)) {
    const pending = new Set(table.pending)
    const required = collection.columns.filter(({ name, required }) => required && !pending.has(name))
    const full = new Set(required.map(({ name }) => name).filter((column) => isFull(collection, column)))
    const { shape, shapes } = table
    const alike = shapes.flatMap((name, i) => (name === shapes[shape - 1] ? [i + 1] : []))
    const before = Object.values(former?.tables ?? {}).find((one) => one.table === collection.table)
    const behaviour = behaviourDuringUpgrade(collection, before)
    preparedCollections.set(collection.name, {
      collection: behaviour.waiting
        ? { ...collection, fields: withUnknownTotals(collection.fields, behaviour.waiting.totals) }
        : collection,
      ...behaviour,
      eventJoins: eventJoinsOf(collection),
      texts: statementTexts(collection, dialect),
      shape,
      alike: new Set(alike),
      former: before && before.shape !== shape ? formerOf(collection, table, before) : null,
      nonNullColumns: full,
      columnsInDocument: columnsInDocument(collection),
      prepared: new Prepared(),
      pending,
      columnName,
    })
  }
  return {
    dialect,
    collections: preparedCollections,
    knownNames: storedNamesIn(layout),
    operations: new Memo(100),
    caches: true,
  }
}

const behaviourDuringUpgrade = (collection: Collection, before: TableLayout | undefined) => ({
  waiting: before ? waitingParts(collection, before) : null,
  renamedStates: before ? renamedStates(collection, before) : new Map<string, string>(),
})

function eventJoinsOf(collection: Collection): readonly DocumentJoin[] {
  const { conversions, versions = [] } = collection
  if (!isRecorded(collection) || !conversions) return []
  const all = ['', ...versions].flatMap((version) => conversions.joined(version))
  const others = all.filter(({ withWriteOnly }) => !withWriteOnly) // write-only values are never in events
  return [...new Map(others.map((one) => [`${one.by} ${one.collection}`, one])).values()]
}

/** The former declaration, for whose nodes rows keep values. */
const formerOf = (collection: Collection, table: TableLayout, before: TableLayout): PreparedCollection['former'] => ({
  shape: before.shape,
  knows: (path) => Object.hasOwn(before.kinds, path),
  columns: Object.entries(before.columns)
    .filter(([name, { field }]) => field !== undefined && !Object.hasOwn(table.columns, name))
    .map(([name, one]) => formerColumn(name, { ...one, field: one.field as string }, collection)),
})

function formerColumn(
  name: string,
  was: Parameters<typeof rememberedColumn>[1],
  { olderColumns = [], kinds }: Collection,
): FormerColumn {
  const of = olderColumns.find(({ field }) => field === was.field)?.of
  return { ...rememberedColumn(name, was, kinds), ...(of && { of }), isDerived: of !== undefined }
}

function columnsInDocument({ columns, fields }: Collection): ReadonlySet<string> {
  const readable = new Set(fields.filter(({ writeOnly }) => !writeOnly).map(({ name }) => name))
  const isTold = ({ field, of }: Column) => !of && readable.has(field.split('.', 1)[0] as string)
  const own = columns.filter(isTold).map(({ name }) => name)
  return new Set(['id', ...own])
}

/**
 * Converts between the name of a collection and its name in tombstones and idempotency keys, which stays when it is renamed.
 */
export const storedName = ({ collections }: Pick<StoreContext, 'collections'>, name: string): string =>
  collections.get(name)?.collection.called ?? name
export const declaredName = ({ collections }: Pick<StoreContext, 'collections'>, called: string): string =>
  [...collections.values()].find(({ collection }) => collection.called === called)?.collection.name ?? called

export const preparedCollection = ({ collections }: StoreContext, name: string): PreparedCollection =>
  collections.get(name) as PreparedCollection

export type ResolvedList = Pick<ListRows, 'where' | 'order' | 'prepared' | 'shared'>

/** A row in the current shape, with the values that it keeps for nodes of other shapes, and the number of its stored shape. */
export interface ViewedRow extends FoundRow {
  readonly view: RowView | null
  readonly shape: number
}

/** The stored document of a result row. */
export const storedDocumentOf = ({ doc, hidden = null, shape }: ResultRow): StoredDocument => ({
  doc: doc as string,
  hidden: hidden as string | null,
  shape: Number(shape),
})

/** The key of a result row that has the columns of its key. */
export const rowKeyOf = ({ account = null, parent = null, id }: ResultRow): RowKey => ({
  account: account as string | null,
  parent: parent as string | null,
  id: id as string,
})

type ViewingCollection = Pick<PreparedCollection, 'collection' | 'shape' | 'alike'>

/** Converts the document of an event, a revision or a first answer to the current shape. */
export const viewRecord = (own: ViewingCollection, row: ResultRow): ViewedRow =>
  viewStoredRow(own, { ...row, doc: presentRecord(own, row.doc as string, Number(row.shape)) }, true)

/** The document of a record without fields that are no longer declared, by the present names of the others. */
export function presentRecord({ collection, shape: own }: ViewingCollection, doc: string, shape: number): string {
  const program = shape < own ? collection.record?.(shape) : null
  return program ? JSON.stringify(program(JSON.parse(doc) as Members)) : doc
}

/** Converts a stored row to the current shape. */
export function viewStoredRow(
  { collection, shape: own, alike }: ViewingCollection,
  row: ResultRow,
  recorded = false,
): ViewedRow {
  const stored = storedDocumentOf(row)
  const { shape } = stored
  const revision = Number(row.revision)
  const same = alike.has(shape)
  if (same && !hasKeptForOthers(stored.hidden)) return { is: 'found', ...stored, revision, view: null }
  const viewed = viewRow(collection, own, { ...stored, recorded, shape: same ? own : shape })
  return { is: 'found', ...encodeDocument(collection, viewed.document), revision, view: viewed, shape }
}

/** The hidden column of a row: its write-only fields, and the values that nodes of other declarations need. */
export function hiddenColumn(
  { collection, shape, former }: PreparedCollection,
  viewed: ViewedRow | null,
  row: Stored,
  rows: readonly (Members | null)[] = [],
): string | null {
  const view = viewed?.view ?? null
  return former || view ? withKeptForOthers(collection, { own: shape, former }, view, row, rows) : row.hidden
}

/** Finds out about rows written by old nodes, which lack values that the current declaration reads. */
export interface Backlog {
  /** Returns `behind`: 2 if there are such rows, 1 if there are none now, 0 if there can be none any more. */
  readonly probe: Statement
  /** Converts a batch of them; returns whether more were there. */
  readonly catchUp: () => Steps<boolean>
  /** Returns a row until the second phase begins. */
  readonly closed: Statement
  /** Set once there can be no more such rows. */
  isOver: boolean
}

/** The time of the database that expiry is judged by. */
export function* readDatabaseTime({ due }: Dialect): Steps<number> {
  const [row] = yield { text: `SELECT ${due} AS time`, values: [] }
  return Number(row?.time)
}
