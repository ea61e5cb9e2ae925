/** Layout: what the tables of a declaration look like, as it is remembered in the database. Pure. The cellar. */
import {
  type Collection,
  type Column,
  type Epochs,
  epochOf,
  indexesOf,
  type Ladder,
  type Unique,
} from '../resources/collection.ts'
import { type Dialect, quoted } from './dialect.ts'
import { fitting } from './width.ts'

/** What is stored of one collection, as far as its tables depend on it. */
export interface TableLayout {
  readonly table: string
  readonly identity: string
  readonly composite: boolean
  /** What the account that rows belong to is called; missing where they belong to nobody. */
  readonly account?: string
  /** Columns by their name in the database: their type, how their values are made, and the field that they repeat. */
  readonly columns: Readonly<Record<string, { readonly type: string; readonly form: string; readonly field?: string }>>
  /** The columns that rows of before do not have until the change is finished. */
  readonly pending: readonly string[]
  /** Index names and their columns; unique ones begin with `unique`. */
  readonly indexes: Readonly<Record<string, readonly string[]>>
  /** What no index can keep unique, as rows are spread; there are rows of their own for these values. */
  readonly reserved?: readonly string[]
  /** The kinds of fields by their path. */
  readonly kinds: Readonly<Record<string, string>>
  /** The statement that makes the view. */
  readonly view: string
  /** The structure of documents by the number of their shape, counted from 1: a new one for every change of documents or columns. */
  readonly shapes: readonly string[]
  /** The number of the shape that is written now. */
  readonly shape: number
}

export interface Layout {
  /** The version of this layout itself: a newer one is not understood. */
  readonly layout: number
  /** The tables that all collections share. */
  readonly shared: readonly string[]
  readonly tables: Readonly<Record<string, TableLayout>>
  /** Whether steps that wait for the nodes of before are still to be done. */
  readonly open: boolean
  /** Whether nodes of the declaration before can run no more, though steps are still to be done. */
  readonly alone?: true
  /** Whether rows are spread over machines by their home; missing where all lie together. */
  readonly spread?: true
}

/** Releases before that of rows that are spread know of no other version. */
export const versionOf = ({ spread }: Pick<Layout, 'spread'>): number => (spread ? 3 : 2)

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
    const collection = {
      ...one,
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
function ladder({ epochs, shape }: Collection, { shapes }: TableLayout): Ladder {
  if (!epochs) return {}
  const between = (way: Epochs['raised']) => (other: number, document: Parameters<typeof way>[1]) => {
    const epoch = epochOf(shapes[other - 1] ?? shape)
    return epoch === epochOf(shape) ? document : way(epoch, document)
  }
  const lowered = between(epochs.lowered)
  return { raised: between(epochs.raised), lowered }
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
  const tables: Record<string, TableLayout> = { ...before?.tables }
  for (const one of all) tables[one.name] = columnsOf(one, before?.tables[one.name], dialect)
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

function columnsOf(one: Collection, was: TableLayout | undefined, dialect: Dialect): TableLayout {
  const before = was && unlike(one, was) === null ? was : undefined
  const all = sources(one.fields, before?.kinds ?? {})
  const columns: Record<string, TableLayout['columns'][string]> = {}
  for (const column of one.columns) {
    const is = { type: dialect.type(column.type), form: column.form, field: column.field }
    columns[kept(column, is, before, all) ?? fresh(column, before, columns)] = is
  }
  const added = Object.keys(columns).filter((name) => before && !before.columns[name])
  const sameColumns = added.length === 0 && before && Object.keys(before.columns).every((name) => columns[name])
  const shapes = was?.shapes ?? []
  const same = sameColumns && shapes[before.shape - 1] === one.shape
  return {
    table: one.table,
    identity: one.identity,
    composite: one.composite,
    ...(one.account === null ? {} : { account: one.account }),
    columns,
    pending: same ? (before.pending ?? []) : added,
    indexes: {},
    kinds: Object.fromEntries(all.map(({ path, kind }) => [path, kind])),
    view: '',
    shapes: same ? shapes : [...shapes, one.shape],
    shape: same ? before.shape : shapes.length + 1,
  }
}

/** The column that holds what a field of today repeats, under whatever name the field had. */
function kept(
  { field }: Column,
  is: { readonly type: string; readonly form: string },
  before: TableLayout | undefined,
  all: readonly Source[],
): string | undefined {
  const from = all.find(({ path }) => path === field)?.from ?? field
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

const viewName = ({ table }: { readonly table: string }): string => quoted(`${table}_view`)
export const dropView = (one: { readonly table: string }): string => `DROP VIEW IF EXISTS ${viewName(one)}`

/** Every field under its own name, for people who ask with SQL. */
function viewText(one: Collection, dialect: Dialect): string {
  const columns = one.fields
    .filter(({ hidden }) => !hidden)
    .map(({ name, kind }) => `${dialect.member(name, viewType(kind))} AS ${quoted(name)}`)
  const whose = one.account === null ? [] : [`account AS ${quoted(one.account)}`]
  return `CREATE VIEW ${viewName(one)} AS SELECT ${[...whose, ...columns].join(', ')} FROM ${quoted(one.table)}`
}

function viewType(kind: string): 'text' | 'integer' | 'numeric' | 'boolean' | 'json' {
  if (kind === 'integer' || kind === 'bigint') return 'integer'
  if (kind === 'decimal') return 'numeric'
  if (kind === 'boolean') return 'boolean'
  return kind === 'list' || kind === 'object' || kind === 'metadata' ? 'json' : 'text'
}

/** A field of today with the path it was stored at before, if it was. */
interface Source {
  readonly path: string
  readonly kind: string
  readonly from: string | null
}

function sources(fields: Collection['fields'], kinds: TableLayout['kinds'], at = '', before = ''): Source[] {
  return fields.flatMap(({ name, was = name, kind, inner }) => {
    const path = at + name
    const from = [before + name, before + was].find((one) => Object.hasOwn(kinds, one)) ?? null
    return [{ path, kind, from }, ...sources(inner, kinds, `${path}.`, `${from ?? path}.`)]
  })
}

/** Why the rows of before cannot be brought to today's declaration; null where they can. */
export function unlike(one: Collection, was: TableLayout): string | null {
  if (was.identity !== one.identity || was.composite !== one.composite)
    return `its rows had ${was.identity} and are declared with ${one.identity} now`
  if ((was.account === undefined) !== (one.account === null))
    return was.account ? 'its rows belonged to accounts' : 'its rows belong to accounts now'
  if (isConverted(one, was)) return null
  const other = sources(one.fields, was.kinds).find(({ kind, from }) => from !== null && was.kinds[from] !== kind)
  if (!other) return null
  const { path, kind, from } = other
  return `${path} was stored as ${was.kinds[from as string]} and is declared as ${kind} now`
}

/** Whether the changes of versions say what becomes of the rows of before. */
export const isConverted = ({ epochs, shape }: Collection, was: TableLayout): boolean =>
  epochs !== undefined && epochOf(was.shapes[was.shape - 1] as string) !== epochOf(shape)

/** The fields whose values go, as nothing of today is made from them. */
export function lost(one: Collection, was: TableLayout): string[] {
  const all = sources(one.fields, was.kinds)
  return Object.keys(was.kinds).filter((path) => !all.some(({ from }) => from === path))
}

/** The table that has the rows of a collection under a name it had before; nobody would find them there. */
export const formerTable = ({ left }: Collection, layout: Layout | null): string | null =>
  left?.names.map((name) => layout?.tables[name]?.table).find((table) => table !== undefined) ?? null

/** Fields of rows that another resource has now, which nothing brings there. */
export const forsaken = (one: Collection, was: TableLayout): string[] =>
  isConverted(one, was) ? lost(one, was).filter((path) => one.left?.fields.includes(path)) : []
