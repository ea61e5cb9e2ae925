/** Schema: the tables a declaration asks for, and the steps from those that are there. Pure. The cellar. */
import { type Collection, indexesOf, keyColumns } from '../resources/collection.ts'
import { credentials, keys, meta, quotas, tombstones } from './compile.ts'
import { type Dialect, quoted } from './dialect.ts'

/** What is stored of one collection, as far as its tables depend on it. */
interface TableLayout {
  readonly table: string
  readonly identity: string
  readonly composite: boolean
  /** What the account that rows belong to is called; missing where they belong to nobody. */
  readonly account?: string
  /** Columns by name: their type, and how their values are made. */
  readonly columns: Readonly<Record<string, { readonly type: string; readonly form: string }>>
  /** Index names and their columns; unique ones begin with `unique`. */
  readonly indexes: Readonly<Record<string, readonly string[]>>
  /** The kinds of fields by their path. */
  readonly kinds: Readonly<Record<string, string>>
  /** The statement that makes the view. */
  readonly view: string
  /** All shapes that were ever written; the number of one is its place, counted from 1. */
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
}

export const layoutVersion = 1

/** One step of a change of the schema. */
export interface Step {
  readonly about: string
  readonly sql: readonly string[]
  /** A collection whose rows are written again: in today's shape, with every index column. */
  readonly fill?: {
    readonly collection: string
    /** Whether the shape was written before, so that tags of that time must not name the new texts. R121 */
    readonly again: boolean
  }
  /** A table that has to be empty, or the step would lose its rows. */
  readonly empty?: string
}

/** The layout of today's collections, keeping the shapes that were written before. */
export function layoutOf(collections: Iterable<Collection>, before: Layout | null, dialect: Dialect): Layout {
  const tables: Record<string, TableLayout> = { ...before?.tables }
  for (const one of collections) tables[one.name] = tableLayout(one, before?.tables[one.name], dialect)
  return { layout: layoutVersion, shared: Object.keys(shared(dialect)), tables }
}

function tableLayout(one: Collection, before: TableLayout | undefined, dialect: Dialect): TableLayout {
  const written = before?.shapes ?? []
  const shapes = written.includes(one.shape) ? written : [...written, one.shape]
  return {
    table: one.table,
    identity: one.identity,
    composite: one.composite,
    ...(one.account === null ? {} : { account: one.account }),
    columns: Object.fromEntries(one.columns.map(({ name, type, form }) => [name, { type: dialect.type(type), form }])),
    indexes: namedIndexes(one),
    kinds: Object.fromEntries(sources(one.fields, {}).map(({ path, kind }) => [path, kind])),
    view: viewText(one, dialect),
    shapes,
    shape: shapes.indexOf(one.shape) + 1,
  }
}

/** Names cannot meet: no name of a table or a column has two underscores in a row. */
const indexName = (kind: string, { table }: Collection, names: readonly string[]): string =>
  [kind, table, ...names].join('__')

/** The name of the index that keeps values unique. */
export const uniqueName = (one: Collection, columns: readonly string[]): string => indexName('unique', one, columns)

function namedIndexes(one: Collection): Record<string, readonly string[]> {
  const unique = one.uniques.map(({ columns }) => columns)
  const free = indexesOf(one).filter(({ of }) => !unique.some((columns) => columns.join() === of.join()))
  return Object.fromEntries([
    ...unique.map((columns) => [uniqueName(one, columns), columns]),
    ...free.map(({ of, columns }) => [indexName('index', one, of), columns]),
  ])
}

/** What has to be done, in order; nothing where the tables are as they should be. */
export function stepsBetween(
  before: Layout | null,
  after: Layout,
  collections: Iterable<Collection>,
  dialect: Dialect,
): Step[] {
  const missing = Object.entries(shared(dialect)).filter(([name]) => !before?.shared.includes(name))
  const steps = missing.map(([name, sql]): Step => ({ about: `create ${name}, which all resources share`, sql }))
  for (const one of collections) {
    const [was, is] = [before?.tables[one.name], after.tables[one.name] as TableLayout]
    steps.push(...(was ? changed(one, was, is, dialect) : created(one, is, dialect)))
  }
  return steps
}

function shared(dialect: Dialect): Readonly<Record<string, readonly string[]>> {
  const [text, integer] = [dialect.type('text'), dialect.type('integer')]
  const table = (name: string, columns: string) => `CREATE TABLE ${name} (${columns})${dialect.tableOptions}`
  const byTime = (name: string) => `CREATE INDEX ${name}_time ON ${name} (collection, time)`
  const stones = `collection ${text}, id ${text}, time ${integer} NOT NULL, revision ${integer} NOT NULL, owner ${text}`
  const used = `hash ${text} PRIMARY KEY, collection ${text} NOT NULL, parent ${text}, id ${text} NOT NULL`
  const lives = `created ${integer} NOT NULL, expires ${integer}, revoked ${integer}, place ${text} NOT NULL`
  return {
    [meta]: [table(meta, `name ${text} PRIMARY KEY, value ${text} NOT NULL`)],
    [tombstones]: [table(tombstones, `${stones}, PRIMARY KEY (collection, id)`), byTime(tombstones)],
    [keys]: [
      table(keys, `${used}, fingerprint ${text} NOT NULL, time ${integer} NOT NULL, answer ${text}`),
      byTime(keys),
    ],
    [quotas]: [
      table(quotas, `name ${text} PRIMARY KEY, used ${integer} NOT NULL, until ${integer} NOT NULL`),
      `CREATE INDEX ${quotas}_until ON ${quotas} (until)`,
    ],
    [credentials]: [
      table(
        credentials,
        `hash ${text} PRIMARY KEY, id ${text} NOT NULL, name ${text} NOT NULL, holder ${text} NOT NULL, ${lives}`,
      ),
      `CREATE UNIQUE INDEX ${credentials}_place ON ${credentials} (name, place)`,
    ],
  }
}

function created(one: Collection, is: TableLayout, dialect: Dialect): Step[] {
  return [{ about: `create ${one.name}`, sql: creation(one, is, dialect) }]
}

function creation(one: Collection, is: TableLayout, dialect: Dialect): string[] {
  const [text, integer] = [dialect.type('text'), dialect.type('integer')]
  const key = keyColumns(one)
  const columns = [
    ...key.map((name) => `${name} ${text} NOT NULL`),
    `revision ${integer} NOT NULL`,
    `shape ${integer} NOT NULL`,
    `doc ${text} NOT NULL`,
    `hidden ${text}`,
    ...Object.entries(is.columns).map(([name, { type }]) => `${quoted(name)} ${type}`),
    `PRIMARY KEY (${key.join(', ')})`,
  ]
  const table = `CREATE TABLE ${quoted(is.table)} (${columns.join(', ')})${dialect.tableOptions}`
  const indexes = Object.entries(is.indexes).map(([name, names]) => indexText(is, name, names))
  return [table, ...indexes, is.view]
}

function indexText({ table }: TableLayout, name: string, columns: readonly string[]): string {
  const unique = name.startsWith('unique') ? 'UNIQUE ' : ''
  return `CREATE ${unique}INDEX ${quoted(name)} ON ${quoted(table)} (${columns.map(directed).join(', ')})`
}

const directed = (name: string): string => (name.startsWith('-') ? `${quoted(name.slice(1))} DESC` : quoted(name))

const viewName = ({ table }: { readonly table: string }): string => quoted(`${table}_view`)

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

function changed(one: Collection, was: TableLayout, is: TableLayout, dialect: Dialect): Step[] {
  const { unlike, lost } = compared(one, was)
  if (unlike !== null) return [anew(one, was, is, dialect, unlike)]
  const differ = (name: string) => JSON.stringify(was.columns[name]) !== JSON.stringify(is.columns[name])
  const gone = Object.keys(was.columns).filter(differ)
  const fresh = Object.keys(is.columns).filter(differ)
  const same = (name: string) =>
    JSON.stringify(was.indexes[name]) === JSON.stringify(is.indexes[name]) &&
    !was.indexes[name]?.some((column) => differ(column.replace(/^-/, '')))
  const dropped = Object.keys(was.indexes).filter((name) => !same(name))
  const added = Object.keys(is.indexes).filter((name) => !same(name))
  const viewed = was.view !== is.view
  const steps: Step[] = []
  if (dropped.length > 0 || gone.length > 0 || viewed) steps.push(taken(one, is, { dropped, gone, viewed }))
  if (fresh.length > 0) steps.push(columnsAdded(one, is, fresh))
  if (fresh.length > 0 || was.shape !== is.shape) steps.push(rewritten(one, was, is, lost))
  if (added.length > 0 || viewed) steps.push(indexed(one, is, added, viewed))
  return steps
}

interface Old {
  readonly dropped: readonly string[]
  readonly gone: readonly string[]
  readonly viewed: boolean
}

function taken({ name }: Collection, is: TableLayout, { dropped, gone, viewed }: Old): Step {
  const views = viewed ? [`DROP VIEW IF EXISTS ${viewName(is)}`] : []
  const indexes = dropped.map((one) => `DROP INDEX IF EXISTS ${quoted(one)}`)
  const columns = gone.map((one) => `ALTER TABLE ${quoted(is.table)} DROP COLUMN ${quoted(one)}`)
  return { about: `take out of ${name} what is indexed or shown no longer`, sql: [...views, ...indexes, ...columns] }
}

function columnsAdded({ name }: Collection, { table, columns }: TableLayout, fresh: readonly string[]): Step {
  const sql = fresh.map((one) => `ALTER TABLE ${quoted(table)} ADD COLUMN ${quoted(one)} ${columns[one]?.type}`)
  return { about: `add ${fresh.join(', ')} to ${name}`, sql }
}

function rewritten({ name }: Collection, was: TableLayout, is: TableLayout, lost: readonly string[]): Step {
  const again = was.shape !== is.shape && was.shapes.length === is.shapes.length
  const loss = lost.length === 0 ? '' : `; what stands in ${lost.join(', ')} is deleted`
  return { about: `write the rows of ${name} again${loss}`, sql: [], fill: { collection: name, again } }
}

function indexed({ name }: Collection, is: TableLayout, added: readonly string[], viewed: boolean): Step {
  const indexes = added.map((one) => indexText(is, one, is.indexes[one] as readonly string[]))
  return { about: `make the indexes and the view of ${name}`, sql: [...indexes, ...(viewed ? [is.view] : [])] }
}

/** What no step can do without losing rows is done only where there are none. */
function anew(one: Collection, was: TableLayout, is: TableLayout, dialect: Dialect, reason: string): Step {
  const sql = [`DROP VIEW IF EXISTS ${viewName(was)}`, `DROP TABLE ${quoted(was.table)}`, ...creation(one, is, dialect)]
  return { about: `make ${one.name} anew, as ${reason}`, sql, empty: was.table }
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

/** Why the rows of before cannot be brought to today's declaration, or else what they lose by it. */
function compared(one: Collection, was: TableLayout): { unlike: string | null; lost: string[] } {
  const all = sources(one.fields, was.kinds)
  const lost = Object.keys(was.kinds).filter((path) => !all.some(({ from }) => from === path))
  if (was.identity !== one.identity || was.composite !== one.composite)
    return { unlike: `its rows had ${was.identity} and are declared with ${one.identity} now`, lost }
  if ((was.account === undefined) !== (one.account === null))
    return { unlike: was.account ? 'its rows belonged to accounts' : 'its rows belong to accounts now', lost }
  const other = all.find(({ kind, from }) => from !== null && was.kinds[from] !== kind)
  if (!other) return { unlike: null, lost }
  const { path, kind, from } = other
  return { unlike: `${path} was stored as ${was.kinds[from as string]} and is declared as ${kind} now`, lost }
}
