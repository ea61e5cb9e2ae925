/** Declared rows: reads stored rows in batches, converted to a declaration that may not be applied yet. The store. */

import { type PreparedCollection, rowKeyOf, storeContext, storedDocumentOf } from '../catalog/context.ts'
import type { ResultRow, Steps } from '../catalog/steps.ts'
import type { RowKey } from '../flow/found-row.ts'
import { type Cell, type Collection, type Members, type StoredDocument, viewRow } from '../rows/collection.ts'
import { type Dialect, quoted, rowKeyColumns } from '../sql/dialect.ts'
import { incompatibilityOf } from '../sql/field-sources.ts'
import { formerTables, type Layout, type TableLayout } from '../sql/layout.ts'

/** A row converted to the declaration. */
export interface DeclaredRow {
  readonly collection: Collection
  readonly key: RowKey
  readonly document: Members
  /** The error if the row cannot be converted; `document` is then as stored. */
  readonly failure: Error | null
}

/** A collection that has a table already, and the stored layout of that table. */
export interface ReadableCollection {
  readonly prepared: PreparedCollection
  readonly was: TableLayout
  /** The name of the collection in that layout. */
  readonly name: string
}

/** The collections with readable rows, given the layout of a database and the layout that it will have: not those whose table is new or recreated. */
export function readableCollections(
  collections: readonly Collection[],
  { before, after }: { readonly before: Layout; readonly after: Layout },
  dialect: Dialect,
): ReadableCollection[] {
  const layouts = { layout: after, former: null }
  const { collections: preparedCollections } = storeContext(collections, layouts, dialect, () => false)
  const formerTable = formerTables(collections, before)
  const names = new Map(Object.entries(before.tables).map(([name, table]) => [table, name]))
  return collections.flatMap((one) => {
    const was = formerTable(one)
    const prepared = preparedCollections.get(one.name)
    if (!was || !prepared || incompatibilityOf(one, was, before) !== null) return []
    return [{ prepared, was, name: names.get(was) ?? one.name }]
  })
}

/** How many rows are read at a time. */
const batchSize = 500

/** The primary key of the last row of a batch; null if no rows follow. */
export type BatchEnd = readonly Cell[] | null

export interface RowBatch {
  readonly rows: readonly ResultRow[]
  readonly last: BatchEnd
}

interface BatchScope {
  /** A further condition on the table `own`, with `AND` before it. */
  readonly where?: string
  /** Columns besides the key, the revision and the document. */
  readonly columns?: readonly string[]
}

/** Reads the rows after a primary key in the order of the primary key index; for null, from the first row. */
export function* readBatch(
  collection: Collection,
  dialect: Dialect,
  after: BatchEnd,
  { where = '', columns = [] }: BatchScope = {},
): Steps<RowBatch> {
  const keys = rowKeyColumns(collection, dialect)
  const [key, marks] = [keys.join(', '), keys.map((_, i) => dialect.mark(i + 1)).join(', ')]
  const what = [key, 'revision', 'shape', 'doc', 'hidden', ...columns].join(', ')
  const text = `SELECT ${what} FROM ${quoted(collection.table)} AS own WHERE (${key}) > (${marks})${where} ORDER BY ${key} LIMIT ${batchSize}`
  const rows = yield { text, values: after ?? keys.map((name) => (name === 'home' ? -1 : '')) }
  const last = rows.length < batchSize ? undefined : rows.at(-1)
  return { rows, last: last ? keys.map((name) => last[name] as Cell) : null }
}

/** Passes rows to `see` until it returns false; returns whether all rows were passed. */
export function* readEachRow(
  { collection, shape }: PreparedCollection,
  dialect: Dialect,
  see: (row: DeclaredRow) => boolean,
): Steps<boolean> {
  let after: BatchEnd = null
  do {
    const { rows, last }: RowBatch = yield* readBatch(collection, dialect, after)
    for (const row of rows) {
      const seen = viewAsDeclared({ collection, shape }, storedDocumentOf(row))
      if (!see({ collection, key: rowKeyOf(row), ...seen })) return false
    }
    after = last
  } while (after)
  return true
}

function viewAsDeclared(
  { collection, shape }: Pick<PreparedCollection, 'collection' | 'shape'>,
  stored: StoredDocument,
) {
  try {
    return { document: viewRow(collection, shape, stored).document, failure: null }
  } catch (error) {
    return { document: JSON.parse(stored.doc) as Members, failure: error as Error }
  }
}

/** The label of a row in messages to operators. */
export function rowLabel({ key: { id, parent, account } }: Pick<DeclaredRow, 'key'>): string {
  const own = parent === null ? id : `${parent}/${id}`
  return account === null ? own : `${own} of ${account}`
}
