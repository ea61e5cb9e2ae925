/** Layout: the tables of a declaration, as the database remembers them. Pure. The store. */
import { type Collection, type Column, indexesOf, type ShapeConversions, type Unique } from '../rows/collection.ts'
import type { Dialect } from './dialect.ts'
import { type FieldSource, fieldSources, incompatibilityOf } from './field-sources.ts'
import { fitIndexColumns } from './index-width.ts'
import { formerPath, presentMembers, renamings } from './renamed-fields.ts'
import { searchIndexOf } from './search-index.ts'
import { viewText } from './statements.ts'
import { type Layout, layoutVersionOf, type TableLayout } from './stored-layout.ts'
import { isConverted, nameStructure, storedVersionAt } from './stored-version.ts'

export { type Layout, layoutVersionOf, mergingLayoutVersion, storedNamesIn, type TableLayout } from './stored-layout.ts'

/** A collection with the column names of the database. */
interface MappedCollection {
  readonly collection: Collection & ShapeConversions
  readonly table: TableLayout
  readonly columnName: (column: string) => string
}

/** Maps collections to a layout: a renamed field keeps its column, with its index and its values. */
export function mapCollections(
  collections: Iterable<Collection>,
  { tables }: Pick<Layout, 'tables'>,
): MappedCollection[] {
  const all = [...collections]
  const names = new Map(all.map((one) => [one.name, columnNamesIn(one, tables[one.name] as TableLayout)]))
  const named = (collection: string) => (column: string) => {
    const [sign, name] = column.startsWith('-') ? ['-', column.slice(1)] : ['', column]
    return sign + (names.get(collection)?.get(name) ?? name)
  }
  return all.map((one) => {
    const own = named(one.name)
    const { table, called } = tables[one.name] as TableLayout
    const collection = {
      ...one,
      table,
      ...(called === undefined ? {} : { called }),
      ...shapeConversions(one, tables[one.name] as TableLayout),
      parent: one.parent && { ...one.parent, column: own(one.parent.column) },
      columns: one.columns.map((column) => ({ ...column, name: own(column.name) })),
      uniques: one.uniques.map((unique) => ({ ...unique, columns: unique.columns.map(own) })),
      indexes: one.indexes.map((columns) => columns.map(own)),
      referring: one.referring.map((columns) => columns.map(own)),
      dependents: one.dependents.map((dependent) => ({
        ...dependent,
        column: dependent.column && named(dependent.collection)(dependent.column),
      })),
    }
    return { collection, table: tables[one.name] as TableLayout, columnName: own }
  })
}

/** The conversions between the shapes of a table that different versions made. R196. */
function shapeConversions(one: Collection, table: TableLayout): ShapeConversions {
  const { conversions } = one
  const at = (shape: number) => storedVersionAt(one, table, shape)
  const record = presentMembers(one, table)
  if (!conversions) return { versionAt: at, record }
  const isSame = (shape: number) => !isConverted(one, { ...table, shape })
  return {
    versionAt: at,
    record,
    toToday: (shape, document, recorded) =>
      isSame(shape) ? document : conversions.toToday(at(shape), document, recorded),
    toOlder: (shape, document, rows) => (isSame(shape) ? null : conversions.toOlder(at(shape), document, rows)),
    joined: (shape) => (isSame(shape) ? [] : conversions.joined(at(shape))),
    movedValues: (shape, document, recorded) =>
      isSame(shape) ? [] : conversions.movedValues(at(shape), document, recorded),
  }
}

function columnNamesIn({ columns }: Collection, table: TableLayout): ReadonlyMap<string, string> {
  const byField = new Map(Object.entries(table.columns).map(([name, { field = fieldOfColumn(name) }]) => [field, name]))
  return new Map(columns.map(({ name, field }) => [name, byField.get(field) ?? name]))
}

/** For layouts of early releases, whose columns do not name their fields. */
const fieldOfColumn = (column: string): string => column.replace(/^by_/, '')

/** The layout of the current collections; it keeps the shapes and the columns of the old layout. */
export function layoutOf(
  collections: Iterable<Collection>,
  before: Layout | null,
  dialect: Dialect,
  shared: readonly string[],
): Layout {
  const all = [...collections]
  const heirs = formerNamesOf(all, before)
  const inherited = new Set(heirs.values())
  const kept = Object.entries(before?.tables ?? {}).filter(([name]) => !inherited.has(name) || heirs.get(name) === name)
  const tables: Record<string, TableLayout> = Object.fromEntries(kept)
  const taken = new Set(Object.values(before?.tables ?? {}).map(({ table }) => table))
  for (const one of all) {
    const heir = heirs.get(one.name)
    tables[one.name] = tableLayoutOf(
      { ...one, ...tableNameFor(one, heir, before, taken) },
      before?.tables[heir ?? ''],
      before,
      dialect,
    )
  }
  for (const { collection, table } of mapCollections(all, { tables }))
    tables[collection.name] = {
      ...table,
      indexes: indexesByName(collection, dialect),
      ...(dialect.distribute && { reserved: reservedNames(collection) }),
      view: viewText(collection, dialect),
    }
  const how = dialect.distribute ? { spread: true as const } : {}
  return { layout: layoutVersionOf(how), shared, tables, open: before?.open ?? false, ...how }
}

/** The names of collections in the old layout: a renamed resource keeps its table and its rows. R196. */
function formerNamesOf(all: readonly Collection[], before: Layout | null): ReadonlyMap<string, string> {
  const has = (name: string) => before !== null && Object.hasOwn(before.tables, name)
  const renamed = all.flatMap(({ name, formerNames = [] }): [string, string][] => {
    const old = has(name) ? undefined : formerNames.find(has)
    return old === undefined ? [] : [[name, old]]
  })
  const gone = new Set(renamed.map(([, old]) => old))
  const same = all.filter(({ name }) => has(name) && !gone.has(name)).map(({ name }): [string, string] => [name, name])
  return new Map([...renamed, ...same])
}

/** Returns the old table layout of a collection; undefined if it is new. */
export function formerTables(
  all: readonly Collection[],
  before: Layout | null,
): (one: Pick<Collection, 'name'>) => TableLayout | undefined {
  const names = formerNamesOf(all, before)
  return ({ name }) => before?.tables[names.get(name) ?? '']
}

/** A renamed resource keeps its table; a new table does not take a name that is in use. */
function tableNameFor(
  { name, table, origin }: Collection,
  heir: string | undefined,
  before: Layout | null,
  taken: ReadonlySet<string>,
): { readonly table: string; readonly called?: string } {
  const was = heir === undefined ? undefined : before?.tables[heir]
  if (was)
    return heir === name && was.called === undefined
      ? { table: was.table }
      : { table: was.table, called: was.called ?? (heir as string) }
  if (taken.has(table)) return { table: `${table}__2`, called: `${name}__2` }
  return origin === undefined ? { table } : { table, called: origin }
}

function tableLayoutOf(
  one: Collection,
  was: TableLayout | undefined,
  layout: Layout | null,
  dialect: Dialect,
): TableLayout {
  const before = was && incompatibilityOf(one, was, layout) === null ? was : undefined
  const all = fieldSources(one.fields, before?.kinds ?? {})
  const columns: Record<string, TableLayout['columns'][string]> = {}
  for (const column of one.columns) {
    const is = { type: dialect.type(column.type), form: column.form, field: column.field }
    columns[
      keptColumn(is, before, formerFieldOf(one, column, before, all)) ?? freshColumnName(column, before, columns)
    ] = is
  }
  const added = Object.keys(columns).filter((name) => before && !before.columns[name])
  const sameColumns = added.length === 0 && before && Object.keys(before.columns).every((name) => columns[name])
  const shapes = was?.shapes ?? []
  const { name, ...since } = nameStructure(one, before)
  const same = sameColumns && shapes[before.shape - 1] === name
  const renamed = [...(was?.renamed ?? []), ...(before && !same ? renamings(one, before, all) : [])]
  return {
    table: one.table,
    ...(one.called === undefined ? {} : { called: one.called }),
    identity: one.identity,
    composite: one.composite,
    ...(one.account === null ? {} : { account: one.account }),
    columns,
    pending: same ? (before.pending ?? []) : added,
    indexes: {},
    kinds: Object.fromEntries(all.map(({ path, kind }) => [path, kind])),
    view: '',
    shapes: same ? shapes : [...shapes, name],
    shape: same ? before.shape : shapes.length + 1,
    ...(renamed.length > 0 && { renamed }),
    ...(same ? { ...(before.since !== undefined && { since: before.since }) } : since),
    ...(one.behaviour && { behaviour: one.behaviour }),
  }
}

/** The old field whose values a current column holds; null if its values are computed in another way, so that it needs a new column. */
function formerFieldOf(
  one: Collection,
  { field, of }: Column,
  before: TableLayout | undefined,
  all: readonly FieldSource[],
): string | null {
  return of || !before ? field : formerPath(one, field, before, all)
}

/** The existing column that holds the values of an old field in the same form. */
function keptColumn(
  is: { readonly type: string; readonly form: string },
  before: TableLayout | undefined,
  from: string | null,
): string | undefined {
  const former = Object.entries(before?.columns ?? {}).find(
    ([name, one]) => (one.field ?? fieldOfColumn(name)) === from,
  )
  return former && former[1].type === is.type && former[1].form === is.form ? former[0] : undefined
}

/** A name that no old or current column has; a field's name cannot end in two underscores and a number. */
function freshColumnName({ name }: Column, before: TableLayout | undefined, columns: object): string {
  const taken = { ...before?.columns, ...columns }
  for (let n = 1; ; n++) {
    const one = n === 1 ? name : `${name}__${n}`
    if (!Object.hasOwn(taken, one)) return one
  }
}

/** Index names cannot collide, as no declared name has two underscores in a row. */
function indexesByName(one: Collection, dialect: Dialect): Record<string, readonly string[]> {
  const own = dialect.distribute ? one.uniques.filter((unique) => isColocatedUnique(one, unique)) : one.uniques
  const unique = own.map(({ columns }) => columns)
  const at = (columns: readonly string[]) => (dialect.distribute ? ['home', ...columns] : columns)
  const isWhole = (columns: readonly string[]) => fitIndexColumns(one, columns, dialect, true).join() === columns.join()
  const free = indexesOf(one).filter(
    ({ of }) => !unique.some((columns) => columns.join() === of.join() && isWhole(columns)),
  )
  return Object.fromEntries([
    ...unique.map((columns) => [uniqueIndexName(one, columns), at(fitIndexColumns(one, columns, dialect, true))]),
    ...free.map(({ of, columns }) => [indexName('index', one, of), fitIndexColumns(one, columns, dialect, false)]),
    ...searchIndexOf(one),
  ])
}

/** Whether equal values can only be on one shard: the columns include the id, which the shard key is made from. */
export const isColocatedUnique = ({ composite }: Collection, { columns }: Unique): boolean =>
  !composite && columns.includes('id')

const reservedNames = (one: Collection): readonly string[] =>
  one.uniques.filter((unique) => !isColocatedUnique(one, unique)).map(({ columns }) => uniqueIndexName(one, columns))

const indexName = (kind: string, { table }: Collection, columns: readonly string[]): string =>
  [kind, table, ...columns].join('__')

/** The name of the index that keeps values unique. */
export const uniqueIndexName = (one: Collection, columns: readonly string[]): string =>
  indexName('unique', one, columns)
