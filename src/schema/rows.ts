/** Rows: reads the rows of collections as a declaration has them, whether or not it was applied, some at a time. The cellar. */
import type { Key } from '../flow/plan.ts'
import { brought, type Collection, keyColumns, type Members, type Stored } from '../resources/collection.ts'
import { type Cellar, cellar, type Shelf, type Steps } from '../store/cellar.ts'
import { type Dialect, quoted } from '../store/dialect.ts'
import { unlike } from '../store/kinds.ts'
import { heirOf, type Layout, type TableLayout } from '../store/layout.ts'

/** A row as the declaration has it. */
export interface Row {
  readonly collection: Collection
  readonly key: Key
  readonly document: Members
  /** Why the changes of versions make no document of the row; `document` is then as it is stored. */
  readonly failure: Error | null
}

/** A collection that has a table already, and what that table was made for. */
export interface Standing {
  readonly shelf: Shelf
  readonly was: TableLayout
  /** The name that the collection had then. */
  readonly name: string
}

/** What a database is laid out for, and what it is to be laid out for. */
interface Layouts {
  readonly before: Layout
  readonly after: Layout
}

/** The collections whose rows can be read. One whose table is made anew has none. */
export function standingIn(
  collections: readonly Collection[],
  { before, after }: Layouts,
  dialect: Dialect,
): Standing[] {
  const { shelves }: Cellar = cellar(collections, { layout: after, former: null }, dialect, () => false)
  return collections.flatMap((one) => {
    const was = heirOf(one, collections, before)
    const shelf = shelves.get(one.name)
    if (!was || !shelf || unlike(one, was, before) !== null) return []
    const [name = one.name] = Object.entries(before.tables).find(([, table]) => table === was) ?? []
    return [{ shelf, was, name }]
  })
}

/** As many rows are read in one go. */
const most = 500

/** Hands all rows to `see`, until it says that it has seen enough; gives whether all of them were seen. */
export function* eachRow({ collection, shape }: Shelf, dialect: Dialect, see: (row: Row) => boolean): Steps<boolean> {
  const keys = keyColumns(collection)
  const [key, marks] = [keys.join(', '), keys.map((_, i) => dialect.mark(i + 1)).join(', ')]
  const text = `SELECT ${key}, shape, doc, hidden FROM ${quoted(collection.table)} WHERE (${key}) > (${marks}) ORDER BY ${key} LIMIT ${most}`
  let after = keys.map(() => '')
  for (;;) {
    const rows = yield { text, values: after }
    for (const row of rows) {
      const { account = null, parent = null, id } = row as Readonly<Record<string, string | null>>
      const stored = { doc: row.doc as string, hidden: (row.hidden ?? null) as string | null, shape: Number(row.shape) }
      const seen = asDeclared({ collection, shape }, stored)
      if (!see({ collection, key: { account, parent, id: id as string }, ...seen })) return false
    }
    const last = rows.at(-1)
    if (!last || rows.length < most) return true
    after = keys.map((name) => last[name] as string)
  }
}

function asDeclared({ collection, shape }: Pick<Shelf, 'collection' | 'shape'>, stored: Stored) {
  try {
    return { document: brought(collection, shape, stored).document, failure: null }
  } catch (error) {
    return { document: JSON.parse(stored.doc) as Members, failure: error as Error }
  }
}

/** A row as operators find it. */
export function nameOf({ key: { id, parent, account } }: Pick<Row, 'key'>): string {
  const own = parent === null ? id : `${parent}/${id}`
  return account === null ? own : `${own} of ${account}`
}
