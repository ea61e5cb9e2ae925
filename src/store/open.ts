/** Opens the store a URL names and brings its schema to what is declared, or says what is missing. The cellar. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Store } from '../flow/store.ts'
import { type Collection, cells, completedDocument } from '../resources/collection.ts'
import { meta } from './compile.ts'
import { quoted, sqlite } from './dialect.ts'
import { cellar } from './perform.ts'
import { type Layout, layoutOf, layoutVersion, type Step, shapeNumber, stepsBetween } from './schema.ts'
import { openFile, type Run, runner, sqliteStore } from './sqlite.ts'

/** What a store's schema is, what it should be, and the steps between. */
export interface Migration {
  readonly steps: readonly Step[]
  /** Runs the steps, all or none. */
  readonly apply: () => void
  readonly close: () => void
}

/** `apply` brings the schema up to date at start; `require` refuses where it is not. */
export type SchemaMode = 'apply' | 'require'

export function openStore(url: string, collections: readonly Collection[], mode: SchemaMode): Store {
  const { db, before } = opened(url)
  try {
    brought(db, before, collections, mode)
    const layout = stored(runner(db)) as Layout
    const shapes = Object.fromEntries(collections.map((one) => [one.name, shapeNumber(layout, one)]))
    return sqliteStore(db, cellar(collections, shapes, sqlite), secretOf(runner(db)))
  } catch (error) {
    db.close()
    throw error
  }
}

export function openMigration(url: string, collections: readonly Collection[]): Migration {
  const { db, before } = opened(url)
  return {
    steps: stepsBetween(before, layoutOf(collections, before, sqlite), collections, sqlite),
    apply: () => brought(db, before, collections, 'apply'),
    close: () => db.close(),
  }
}

function brought(db: DatabaseSync, before: Layout | null, collections: readonly Collection[], mode: SchemaMode): void {
  const run = runner(db)
  const steps = stepsBetween(before, layoutOf(collections, before, sqlite), collections, sqlite)
  if (mode === 'require' && steps.length > 0) {
    const list = steps.map(({ about }) => `  - ${about}`).join('\n')
    throw new Error(
      `The database is not as the declaration asks:\n${list}\nRun \`bylaw migrate plan\` to see the statements and \`bylaw migrate apply\` to carry them out.`,
    )
  }
  if (JSON.stringify(before) !== JSON.stringify(layoutOf(collections, before, sqlite))) migrate(db, run, collections)
}

function opened(url: string): { db: DatabaseSync; before: Layout | null } {
  const file = fileOf(url)
  let db: DatabaseSync | undefined
  try {
    if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true })
    db = openFile(file)
    return { db, before: stored(runner(db)) }
  } catch (error) {
    db?.close()
    throw new Error(`The database ${url} cannot be opened: ${(error as Error).message}`, { cause: error })
  }
}

function fileOf(url: string): string {
  const [scheme, ...rest] = url.split(':')
  const file = rest.join(':').replace(/^\/\/(?=\/|\.)/, '')
  if (scheme === 'sqlite' && file !== '') return file
  throw new Error(`The database ${JSON.stringify(url)} is not known. Give sqlite:./file.db or sqlite::memory:.`)
}

/** The layout as it was last applied; null for an empty database. */
function stored(run: Run): Layout | null {
  const [table] = run({ text: `SELECT 1 AS found FROM sqlite_schema WHERE name = ?1`, values: [meta] })
  if (!table) return null
  const [row] = run({ text: `SELECT value FROM ${meta} WHERE name = 'layout'`, values: [] })
  const layout = row ? (JSON.parse(row.value as string) as Layout) : null
  if (layout && layout.layout > layoutVersion)
    throw new Error('it was written by a newer release of bylaw. Run that release, or a newer one.')
  return layout
}

/** The secret of this store, made by whoever opens it first. */
function secretOf(run: Run): string {
  run({ text: `INSERT INTO ${meta} (name, value) VALUES ('secret', ?1) ON CONFLICT (name) DO NOTHING`, values: [randomBytes(32).toString('base64url')] })
  return run({ text: `SELECT value FROM ${meta} WHERE name = 'secret'`, values: [] })[0]?.value as string
}

/** All steps in one transaction; another process that starts at the same time waits and then finds nothing left to do. */
function migrate(db: DatabaseSync, run: Run, collections: readonly Collection[]): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    const before = stored(run)
    const layout = layoutOf(collections, before, sqlite)
    for (const step of stepsBetween(before, layout, collections, sqlite)) carryOut(db, run, step, collections, layout)
    const text = `INSERT INTO ${meta} (name, value) VALUES ('layout', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
    run({ text, values: [JSON.stringify(layout)] })
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

function carryOut(
  db: DatabaseSync,
  run: Run,
  { about, sql, fill }: Step,
  collections: readonly Collection[],
  layout: Layout,
): void {
  try {
    for (const text of sql) db.exec(text)
  } catch (error) {
    const message = (error as Error).message
    const mend = message.startsWith('UNIQUE') ? ' Several rows have the same value; make them differ first.' : ''
    throw new Error(`The step "${about}" failed: ${message}.${mend}`, { cause: error })
  }
  const collection = fill && collections.find(({ name }) => name === fill.collection)
  if (collection) refill(run, collection, shapeNumber(layout, collection))
}

/** Completes texts of older shapes and writes every index column again, in steps of a thousand rows. */
function refill(run: Run, collection: Collection, shape: number): void {
  const keys = collection.composite ? ['parent', 'id'] : ['id']
  const table = quoted(collection.table)
  const set = ['doc', 'shape', ...collection.columns.map(({ name }) => quoted(name))].map(
    (name, i) => `${name} = ?${i + 1}`,
  )
  const where = keys.map((name, i) => `${name} = ?${set.length + i + 1}`).join(' AND ')
  const marks = keys.map((_, i) => `?${i + 1}`).join(', ')
  let last: string[] = keys.map(() => '')
  for (;;) {
    const rows = run({
      text: `SELECT ${keys.join(', ')}, doc, hidden FROM ${table} WHERE (${keys.join(', ')}) > (${marks}) ORDER BY ${keys.join(', ')} LIMIT 1000`,
      values: last,
    })
    if (rows.length === 0) return
    for (const row of rows) {
      const document = completedDocument(collection, JSON.parse(row.doc as string))
      const whole = row.hidden === null ? document : { ...JSON.parse(row.hidden as string), ...document }
      last = keys.map((name) => row[name] as string)
      run({
        text: `UPDATE ${table} SET ${set.join(', ')} WHERE ${where}`,
        values: [JSON.stringify(document), shape, ...cells(collection, whole), ...last],
      })
    }
  }
}
