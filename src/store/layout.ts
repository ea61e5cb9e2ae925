/** Layout: what the tables of a declaration look like, as it is remembered in the database. Pure. The cellar. */
import { type Collection, type Column, indexesOf, type Ladder, type Unique } from '../resources/collection.ts'
import { viewText } from './compile.ts'
import type { Dialect } from './dialect.ts'
import { dated, epochAt, isConverted } from './epoch.ts'
import { type Source, sources, unlike } from './kinds.ts'
import { type Layout, type TableLayout, versionOf } from './remembered.ts'
import { fitting } from './width.ts'

export { type Layout, merging, type TableLayout, versionOf } from './remembered.ts'

/** A collection with its columns as the database names them. */
interface Placed {
  readonly collection: Collection & Ladder
  readonly table: TableLayout
  readonly named: (column: string) => string
}

/** Collections as a layout holds them: a field that was renamed keeps its column, with its index and its values. */
export function placed(collections: Iterable<Collection>, { tables }: Pick<Layout, 'tables'>): Placed[] {
  const all = [...collections]
  const names = new Map(all.map((one) => [one.name, namesIn(one, tables[one.name] as TableLayout)]))
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
      ...ladder(one, tables[one.name] as TableLayout),
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
    return { collection, table: tables[one.name] as TableLayout, named: own }
  })
}

/** The way between the shapes of a table that different versions made. R196. */
function ladder(one: Collection, table: TableLayout): Ladder {
  const { epochs } = one
  const at = (shape: number) => epochAt(one, table, shape)
  if (!epochs) return { epochAt: at }
  const isSame = (shape: number) => !isConverted(one, { ...table, shape })
  return {
    epochAt: at,
    raised: (shape, document) => (isSame(shape) ? document : epochs.raised(at(shape), document)),
    lowered: (shape, document, rows) => (isSame(shape) ? null : epochs.lowered(at(shape), document, rows)),
    besides: (shape) => (isSame(shape) ? [] : epochs.besides(at(shape))),
    gives: (shape, document) => (isSame(shape) ? [] : epochs.gives(at(shape), document)),
  }
}

function namesIn({ columns }: Collection, table: TableLayout): ReadonlyMap<string, string> {
  const byField = new Map(Object.entries(table.columns).map(([name, { field = fieldIn(name) }]) => [field, name]))
  return new Map(columns.map(({ name, field }) => [name, byField.get(field) ?? name]))
}

/** Layouts that were written before columns named their fields. */
const fieldIn = (column: string): string => column.replace(/^by_/, '')

/** The layout of today's collections, keeping the shapes and the columns of before. */
export function layoutOf(
  collections: Iterable<Collection>,
  before: Layout | null,
  dialect: Dialect,
  shared: readonly string[],
): Layout {
  const all = [...collections]
  const heirs = heirsOf(all, before)
  const inherited = new Set(heirs.values())
  const kept = Object.entries(before?.tables ?? {}).filter(([name]) => !inherited.has(name) || heirs.get(name) === name)
  const tables: Record<string, TableLayout> = Object.fromEntries(kept)
  const taken = new Set(Object.values(before?.tables ?? {}).map(({ table }) => table))
  for (const one of all) {
    const heir = heirs.get(one.name)
    tables[one.name] = columnsOf(
      { ...one, ...placeIn(one, heir, before, taken) },
      before?.tables[heir ?? ''],
      before,
      dialect,
    )
  }
  for (const { collection, table } of placed(all, { tables }))
    tables[collection.name] = {
      ...table,
      indexes: namedIndexes(collection, dialect),
      ...(dialect.spread && { reserved: reservedIn(collection) }),
      view: viewText(collection, dialect),
    }
  const how = dialect.spread ? { spread: true as const } : {}
  return { layout: versionOf(how), shared, tables, open: before?.open ?? false, ...how }
}

/** The names that collections have in a layout: a renamed resource keeps its table, with all that is in it. R196. */
function heirsOf(all: readonly Collection[], before: Layout | null): ReadonlyMap<string, string> {
  const has = (name: string) => before !== null && Object.hasOwn(before.tables, name)
  const renamed = all.flatMap(({ name, formerly = [] }): [string, string][] => {
    const old = has(name) ? undefined : formerly.find(has)
    return old === undefined ? [] : [[name, old]]
  })
  const gone = new Set(renamed.map(([, old]) => old))
  const same = all.filter(({ name }) => has(name) && !gone.has(name)).map(({ name }): [string, string] => [name, name])
  return new Map([...renamed, ...same])
}

/** The former entry of a collection in a layout; undefined where it has none. */
export const heirOf = (one: Collection, all: readonly Collection[], before: Layout | null): TableLayout | undefined =>
  before?.tables[heirsOf(all, before).get(one.name) ?? '']

/** A new table takes no name that one of a renamed resource keeps. */
function placeIn(
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

function columnsOf(
  one: Collection,
  was: TableLayout | undefined,
  layout: Layout | null,
  dialect: Dialect,
): TableLayout {
  const before = was && unlike(one, was, layout) === null ? was : undefined
  const all = sources(one.fields, before?.kinds ?? {})
  const columns: Record<string, TableLayout['columns'][string]> = {}
  for (const column of one.columns) {
    const is = { type: dialect.type(column.type), form: column.form, field: column.field }
    columns[kept(is, before, fieldBefore(one, column, before, all)) ?? fresh(column, before, columns)] = is
  }
  const added = Object.keys(columns).filter((name) => before && !before.columns[name])
  const sameColumns = added.length === 0 && before && Object.keys(before.columns).every((name) => columns[name])
  const shapes = was?.shapes ?? []
  const { name, ...since } = dated(one, before)
  const same = sameColumns && shapes[before.shape - 1] === name
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
    ...(same ? { ...(before.since !== undefined && { since: before.since }) } : since),
  }
}

/** The field of before whose values a column of today has; null where they are made in another way, so that it is a column of its own. */
function fieldBefore(
  one: Collection,
  { field, of }: Column,
  before: TableLayout | undefined,
  all: readonly Source[],
): string | null {
  if (of || !before || !isConverted(one, before)) return all.find(({ path }) => path === field)?.from ?? field
  const [top, ...rest] = field.split('.')
  const from = one.epochs?.source(epochAt(one, before, before.shape), top as string) ?? null
  return from === null ? null : [from, ...rest].join('.')
}

/** The column that holds the values of a field of before. */
function kept(
  is: { readonly type: string; readonly form: string },
  before: TableLayout | undefined,
  from: string | null,
): string | undefined {
  const found = Object.entries(before?.columns ?? {}).find(([name, one]) => (one.field ?? fieldIn(name)) === from)
  return found && found[1].type === is.type && found[1].form === is.form ? found[0] : undefined
}

/** A name that no column has or had; none of a field ends in two underscores and a number. */
function fresh({ name }: Column, before: TableLayout | undefined, columns: object): string {
  const taken = { ...before?.columns, ...columns }
  for (let n = 1; ; n++) {
    const one = n === 1 ? name : `${name}__${n}`
    if (!Object.hasOwn(taken, one)) return one
  }
}

/** Names cannot meet: no name of a table or a field has two underscores in a row. */
function namedIndexes(one: Collection, dialect: Dialect): Record<string, readonly string[]> {
  const own = dialect.spread ? one.uniques.filter((unique) => isWithin(one, unique)) : one.uniques
  const unique = own.map(({ columns }) => columns)
  const at = (columns: readonly string[]) => (dialect.spread ? ['home', ...columns] : columns)
  const isWhole = (columns: readonly string[]) => fitting(one, columns, dialect, true).join() === columns.join()
  const free = indexesOf(one).filter(
    ({ of }) => !unique.some((columns) => columns.join() === of.join() && isWhole(columns)),
  )
  return Object.fromEntries([
    ...unique.map((columns) => [uniqueName(one, columns), at(fitting(one, columns, dialect, true))]),
    ...free.map(({ of, columns }) => [indexName('index', one, of), fitting(one, columns, dialect, false)]),
  ])
}

/** Whether what is unique can only meet on one machine: the home of a row follows from its id. */
export const isWithin = ({ composite }: Collection, { columns }: Unique): boolean =>
  !composite && columns.includes('id')

const reservedIn = (one: Collection): readonly string[] =>
  one.uniques.filter((unique) => !isWithin(one, unique)).map(({ columns }) => uniqueName(one, columns))

const indexName = (kind: string, { table }: Collection, columns: readonly string[]): string =>
  [kind, table, ...columns].join('__')

/** The name of the index that keeps values unique. */
export const uniqueName = (one: Collection, columns: readonly string[]): string => indexName('unique', one, columns)
