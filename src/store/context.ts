/** Context: the collections with what was prepared for them, and their layouts in the database. The cellar. */

import type { FoundRow } from '../flow/found-row.ts'
import type { ListRows } from '../flow/plan.ts'
import {
  type Collection,
  type Column,
  encodeDocument,
  type FormerShape,
  hasKeptForOthers,
  type Members,
  type RowView,
  rememberedColumn,
  type ShapeConversions,
  type DocumentTexts as Stored,
  viewRow,
  withKeptForOthers,
} from '../rows/collection.ts'
import { type Statement, type StatementTexts, statementTexts } from '../sql/compile.ts'
import type { Dialect } from '../sql/dialect.ts'
import { type Layout, mapCollections } from '../sql/layout.ts'
import type { ResultRow, Steps } from './steps.ts'

/** A collection, its columns named as in the database, with what was prepared for it. */
export interface PreparedCollection {
  readonly collection: Collection & ShapeConversions
  readonly texts: StatementTexts
  /** The number of the shape that is written today. */
  readonly shape: number
  /** The numbers of the shapes whose documents are made like those of today. */
  readonly alike: ReadonlySet<number>
  /** What is served beside this declaration until all nodes are of today. */
  readonly former: (FormerShape & { readonly columns: readonly Column[] }) | null
  /** The columns in which no row is without a value. */
  readonly nonNullColumns: ReadonlySet<string>
  /** The columns that rows of before do not have yet; they cannot be asked for. */
  readonly pending: Set<string>
  readonly columnName: (column: string) => string
  /** The columns whose values the text of a row tells. */
  readonly columnsInDocument: ReadonlySet<string>
}

export interface StoreContext {
  readonly backlog?: Backlog
  /** By how much the time of plans may be ahead of the time that has certainly come, in milliseconds. */
  readonly clockLead?: () => number
  readonly dropped?: ReadonlyMap<string, readonly { readonly field: string; readonly path: string }[]>
  readonly dialect: Dialect
  readonly collections: ReadonlyMap<string, PreparedCollection>
}

/** What the database is laid out for: the declaration that is opened, and the one of before, as long as it may run too. */
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
  const shelves = new Map<string, PreparedCollection>()
  for (const { collection, table, columnName } of mapCollections(collections, layout)) {
    const pending = new Set(table.pending)
    const required = collection.columns.filter(({ name, required }) => required && !pending.has(name))
    const full = new Set(required.map(({ name }) => name).filter((column) => isFull(collection, column)))
    const { shape, shapes } = table
    const alike = shapes.flatMap((name, i) => (name === shapes[shape - 1] ? [i + 1] : []))
    const before = Object.values(former?.tables ?? {}).find((one) => one.table === collection.table)
    shelves.set(collection.name, {
      collection,
      texts: statementTexts(collection, dialect),
      shape,
      alike: new Set(alike),
      former:
        before && before.shape !== shape
          ? {
              shape: before.shape,
              knows: (path) => Object.hasOwn(before.kinds, path),
              columns: Object.entries(before.columns)
                .filter(([name, { field }]) => field !== undefined && !Object.hasOwn(table.columns, name))
                .map(([name, one]) => formerColumn(name, { ...one, field: one.field as string }, collection)),
            }
          : null,
      nonNullColumns: full,
      columnsInDocument: columnsInDocument(collection),
      pending,
      columnName,
    })
  }
  return { dialect, collections: shelves }
}

/** A column that only nodes of the declaration before ask; what versions make of a document, they make of one of today. */
function formerColumn(
  name: string,
  was: Parameters<typeof rememberedColumn>[1],
  { olderColumns = [] }: Collection,
): Column {
  const of = olderColumns.find(({ field }) => field === was.field)?.of
  return { ...rememberedColumn(name, was), ...(of && { of }) }
}

function columnsInDocument({ columns, fields }: Collection): ReadonlySet<string> {
  const shown = new Set(fields.filter(({ writeOnly }) => !writeOnly).map(({ name }) => name))
  const isTold = ({ field, of }: Column) => !of && shown.has(field.split('.', 1)[0] as string)
  const own = columns.filter(isTold).map(({ name }) => name)
  return new Set(['id', ...own])
}

/** What a collection is called in what is remembered of its rows, and which one is called so. */
export const storedName = ({ collections }: StoreContext, name: string): string =>
  collections.get(name)?.collection.called ?? name
export const declaredName = ({ collections }: StoreContext, called: string): string =>
  [...collections.values()].find(({ collection }) => collection.called === called)?.collection.name ?? called

export const preparedCollection = ({ collections }: StoreContext, name: string): PreparedCollection =>
  collections.get(name) as PreparedCollection

export type ResolvedList = Pick<ListRows, 'where' | 'order'>

/** A row, and what it holds for nodes of other shapes. */
export interface ViewedRow extends FoundRow {
  readonly view: RowView | null
  readonly shape: number
}

/** A row of a collection as it is stored, brought to the shape of today. */
export function viewStoredRow(
  { collection, shape: own, alike }: Pick<PreparedCollection, 'collection' | 'shape' | 'alike'>,
  row: ResultRow,
): ViewedRow {
  const stored = { doc: row.doc as string, hidden: (row.hidden ?? null) as string | null }
  const [shape, revision] = [Number(row.shape), Number(row.revision)]
  const same = alike.has(shape)
  if (same && !hasKeptForOthers(stored.hidden)) return { is: 'found', ...stored, revision, view: null, shape }
  const seen = viewRow(collection, own, { ...stored, shape: same ? own : shape })
  return { is: 'found', ...encodeDocument(collection, seen.document), revision, view: seen, shape }
}

/** What is stored beside a document, with what nodes of other declarations need of it. */
export function hiddenColumn(
  { collection, shape, former }: PreparedCollection,
  seen: ViewedRow | null,
  row: Stored,
  rows: readonly (Members | null)[] = [],
): string | null {
  const brought = seen?.view ?? null
  return former || brought ? withKeptForOthers(collection, { own: shape, former }, brought, row, rows) : row.hidden
}

/** Rows that nodes of the declaration before have written, which lack what is asked for today. */
export interface Backlog {
  /** Tells as `behind` whether there are some (2), none (1), or can be no more (0). */
  readonly probe: Statement
  readonly catchUp: () => Steps<void>
  /** Set when there can be no more. */
  isOver: boolean
}
