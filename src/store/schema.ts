/** Schema: the tables a declaration asks for, and the steps from those that are there. Pure. The cellar. */
import type { Collection } from '../resources/collection.ts'
import { meta, tombstones } from './compile.ts'
import { type Dialect, literal, quoted } from './dialect.ts'

/** What is stored of one collection, as far as its tables depend on it. */
export interface TableLayout {
  readonly table: string
  readonly composite: boolean
  /** Column names and their types. */
  readonly columns: Readonly<Record<string, string>>
  /** Index names and their columns; unique ones begin with `unique`. */
  readonly indexes: Readonly<Record<string, readonly string[]>>
  /** Field names and their kinds. */
  readonly fields: Readonly<Record<string, string>>
  /** All shapes that were ever written; the number of one is its place, counted from 1. */
  readonly shapes: readonly string[]
}

export interface Layout {
  /** The version of this layout itself: a newer one is not understood. */
  readonly layout: number
  readonly tables: Readonly<Record<string, TableLayout>>
}

export const layoutVersion = 1

/** One step of a change of the schema. */
export interface Step {
  readonly about: string
  readonly sql: readonly string[]
  /** Columns to be filled from the documents, and texts of older shapes to be completed. */
  readonly fill?: { readonly collection: string; readonly columns: readonly string[] }
}

/** The layout of today's collections, keeping the shapes that were written before. */
export function layoutOf(collections: Iterable<Collection>, before: Layout | null, dialect: Dialect): Layout {
  const tables: Record<string, TableLayout> = { ...before?.tables }
  for (const one of collections) tables[one.name] = tableLayout(one, before?.tables[one.name], dialect)
  return { layout: layoutVersion, tables }
}

function tableLayout(one: Collection, before: TableLayout | undefined, dialect: Dialect): TableLayout {
  const shapes = before?.shapes ?? []
  return {
    table: one.table,
    composite: one.composite,
    columns: Object.fromEntries(one.columns.map(({ name, type }) => [name, dialect.type(type)])),
    indexes: indexesOf(one),
    fields: Object.fromEntries(one.fields.map(({ name, kind }) => [name, kind])),
    shapes: shapes.includes(one.shape) ? shapes : [...shapes, one.shape],
  }
}

/** The number of the shape that is written today. */
export const shapeNumber = (layout: Layout, collection: Collection): number =>
  (layout.tables[collection.name]?.shapes.indexOf(collection.shape) ?? -1) + 1

function indexesOf({ table, columns, uniques, indexes }: Collection): Record<string, readonly string[]> {
  const unique = Object.fromEntries(uniques.map((one) => [`unique_${table}_${one.name}`, one.columns]))
  const alone = new Set(uniques.filter((one) => one.columns.length === 1).map((one) => one.columns[0]))
  const single = columns
    .filter(({ name }) => !alone.has(name))
    .map(({ name }) => [`index_${table}_${name.slice(3)}`, [name]] as const)
  const composite = indexes
    .filter((names) => names.length > 1)
    .map((names) => [`index_${table}_${names.map((name) => name.replace(/^by_/, '')).join('_')}`, names] as const)
  return { ...Object.fromEntries([...single, ...composite]), ...unique }
}

/** What has to be done, in order; nothing where the tables are as they should be. */
export function stepsBetween(
  before: Layout | null,
  after: Layout,
  collections: Iterable<Collection>,
  dialect: Dialect,
): Step[] {
  const steps: Step[] = before ? [] : [{ about: 'create the tables that all resources share', sql: shared(dialect) }]
  for (const one of collections) {
    const [was, is] = [before?.tables[one.name], after.tables[one.name] as TableLayout]
    steps.push(...(was ? changed(one, was, is, dialect) : created(one, is, dialect)))
  }
  return steps
}

function shared(dialect: Dialect): string[] {
  const [text, integer] = [dialect.type('text'), dialect.type('integer')]
  const options = dialect.tableOptions
  return [
    `CREATE TABLE IF NOT EXISTS ${meta} (name ${text} PRIMARY KEY, value ${text} NOT NULL)${options}`,
    `CREATE TABLE ${tombstones} (collection ${text}, id ${text}, time ${integer} NOT NULL, revision ${integer} NOT NULL, owner ${text}, PRIMARY KEY (collection, id))${options}`,
  ]
}

function created(one: Collection, is: TableLayout, dialect: Dialect): Step[] {
  const [text, integer] = [dialect.type('text'), dialect.type('integer')]
  const key = one.composite ? ['parent', 'id'] : ['id']
  const columns = [
    ...key.map((name) => `${name} ${text} NOT NULL`),
    `revision ${integer} NOT NULL`,
    `shape ${integer} NOT NULL`,
    `doc ${text} NOT NULL`,
    `hidden ${text}`,
    ...Object.entries(is.columns).map(([name, type]) => `${quoted(name)} ${type}`),
    `PRIMARY KEY (${key.join(', ')})`,
  ]
  const table = `CREATE TABLE ${quoted(is.table)} (${columns.join(', ')})${dialect.tableOptions}`
  const indexes = Object.entries(is.indexes).map(([name, names]) => indexText(is, name, names))
  return [{ about: `create ${one.name}`, sql: [table, ...indexes, viewText(one, dialect)] }]
}

function indexText({ table }: TableLayout, name: string, columns: readonly string[]): string {
  const unique = name.startsWith('unique') ? 'UNIQUE ' : ''
  return `CREATE ${unique}INDEX ${quoted(name)} ON ${quoted(table)} (${columns.map(quoted).join(', ')})`
}

const viewName = ({ table }: { readonly table: string }): string => quoted(`${table}_view`)

/** Every field under its own name, for people who ask with SQL. */
function viewText(one: Collection, dialect: Dialect): string {
  const columns = one.fields
    .filter(({ hidden }) => !hidden)
    .map(({ name, kind }) => `${dialect.member(name, viewType(kind))} AS ${quoted(name)}`)
  return `CREATE VIEW ${viewName(one)} AS SELECT ${columns.join(', ')} FROM ${quoted(one.table)}`
}

function viewType(kind: string): 'text' | 'integer' | 'numeric' | 'boolean' | 'json' {
  if (kind === 'integer' || kind === 'bigint') return 'integer'
  if (kind === 'decimal') return 'numeric'
  if (kind === 'boolean') return 'boolean'
  return kind === 'list' || kind === 'object' || kind === 'metadata' ? 'json' : 'text'
}

function changed(one: Collection, was: TableLayout, is: TableLayout, dialect: Dialect): Step[] {
  refuseUnlike(one, was, is)
  const table = quoted(is.table)
  const steps: Step[] = []
  const gone = Object.keys(was.columns).filter((name) => was.columns[name] !== is.columns[name])
  const fresh = Object.keys(is.columns).filter((name) => was.columns[name] !== is.columns[name])
  const same = (name: string) => JSON.stringify(was.indexes[name]) === JSON.stringify(is.indexes[name])
  const dropped = Object.keys(was.indexes).filter((name) => !same(name))
  const added = Object.entries(is.indexes).filter(([name]) => !same(name))
  const reshaped = was.shapes.length !== is.shapes.length || was.shapes.at(-1) !== one.shape
  const viewed = JSON.stringify(was.fields) !== JSON.stringify(is.fields)
  if (dropped.length > 0 || gone.length > 0 || viewed) {
    const views = viewed ? [`DROP VIEW IF EXISTS ${viewName(one)}`] : []
    const sql = [
      ...views,
      ...dropped.map((name) => `DROP INDEX IF EXISTS ${quoted(name)}`),
      ...gone.map((name) => `ALTER TABLE ${table} DROP COLUMN ${quoted(name)}`),
    ]
    steps.push({ about: `take what is no longer declared from ${one.name}`, sql })
  }
  if (fresh.length > 0)
    steps.push({
      about: `add ${fresh.join(', ')} to ${one.name}`,
      sql: fresh.map((name) => `ALTER TABLE ${table} ADD COLUMN ${quoted(name)} ${is.columns[name]}`),
    })
  if (fresh.length > 0 || reshaped)
    steps.push({
      about: `bring the documents of ${one.name} up to date`,
      sql: [],
      fill: { collection: one.name, columns: fresh },
    })
  if (added.length > 0 || viewed) {
    const views = viewed ? [viewText(one, dialect)] : []
    steps.push({
      about: `index ${one.name}`,
      sql: [...added.map(([name, names]) => indexText(is, name, names)), ...views],
    })
  }
  return steps
}

/** What no step can do without losing something. */
function refuseUnlike(one: Collection, was: TableLayout, is: TableLayout): void {
  if (was.composite !== is.composite)
    throw new Error(
      `${one.name}: its key changed, and its rows are stored by the old one. Declare a new resource and move the rows.`,
    )
  for (const [name, kind] of Object.entries(is.fields)) {
    const before = was.fields[name]
    if (before === undefined || before === kind) continue
    throw new Error(
      `${one.name}.${name}: was stored as ${literal(before)} and is declared as ${literal(kind)} now. Declare a new field and fill it from the old one.`,
    )
  }
}
