/** Migrate: brings the tables of a file from what they are to what is declared, all steps or none. The cellar. */

import type { DatabaseSync } from 'node:sqlite'
import { type Collection, cells, documentIn, keyColumns, type Texts, textsOf } from '../resources/collection.ts'
import type { Run } from '../store/cellar.ts'
import { meta } from '../store/compile.ts'
import { quoted, sqlite } from '../store/dialect.ts'
import { type Layout, layoutOf, layoutVersion, type Step, stepsBetween } from '../store/schema.ts'
import { runner } from './sqlite.ts'

/** The layout as it was last applied; null for an empty database. */
export function stored(run: Run): Layout | null {
  const [table] = run({ text: `SELECT 1 AS found FROM sqlite_schema WHERE name = ?1`, values: [meta] })
  if (!table) return null
  const [row] = run({ text: `SELECT value FROM ${meta} WHERE name = 'layout'`, values: [] })
  const layout = row ? (JSON.parse(row.value as string) as Layout) : null
  if (layout && layout.layout > layoutVersion)
    throw new Error('It was written by a newer release of bylaw. Run that release, or a newer one.')
  return layout
}

export function missingSteps(before: Layout | null, collections: readonly Collection[]): readonly Step[] {
  return stepsBetween(before, layoutOf(collections, before, sqlite), collections, sqlite)
}

/** All steps in one transaction; another process that starts at the same time waits and then finds nothing left to do. */
export function migrate(db: DatabaseSync, collections: readonly Collection[]): void {
  const run = runner(db)
  db.exec('BEGIN IMMEDIATE')
  try {
    const before = stored(run)
    const layout = layoutOf(collections, before, sqlite)
    for (const step of missingSteps(before, collections)) carryOut(db, run, step, collections, layout)
    const text = `INSERT INTO ${meta} (name, value) VALUES ('layout', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
    run({ text, values: [JSON.stringify(layout)] })
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

function carryOut(db: DatabaseSync, run: Run, step: Step, collections: readonly Collection[], layout: Layout): void {
  try {
    if (step.empty) refuseRows(run, step.empty)
    for (const text of step.sql) db.exec(text)
    const collection = collections.find(({ name }) => name === step.fill?.collection)
    if (collection) refill(run, collection, layout.tables[collection.name]?.shape ?? 1, step.fill?.again ?? false)
  } catch (error) {
    throw new Error(`The step "${step.about}" cannot be done: ${reasonOf(error as Error)}`, { cause: error })
  }
}

function reasonOf({ message }: Error): string {
  const clash = /^UNIQUE constraint failed: (.*)$/.exec(message)?.[1]
  if (clash === undefined) return message
  const fields = clash.split(', ').map((column) => column.replace(/^.*?\.(by_)?/, ''))
  return `several rows have the same ${fields.join(' and ')}. Make them differ first.`
}

function refuseRows(run: Run, table: string): void {
  if (run({ text: `SELECT 1 AS found FROM ${quoted(table)} LIMIT 1`, values: [] }).length === 0) return
  throw new Error(
    'it has rows, which would be lost. Declare it beside the old one under a name of its own and move what is stored; in development a new file will do.',
  )
}

/** Brings the texts to today's shape and writes every index column again, in steps of a thousand rows. */
function refill(run: Run, collection: Collection, shape: number, again: boolean): void {
  const keys = keyColumns(collection)
  const names = ['doc', 'hidden', 'shape', ...collection.columns.map(({ name }) => quoted(name))]
  const set = names.map((name, i) => `${name} = ?${i + 1}`).join(', ')
  const where = keys.map((name, i) => `${name} = ?${names.length + i + 1}`).join(' AND ')
  const next = again ? ', revision = revision + 1' : ''
  const update = `UPDATE ${quoted(collection.table)} SET ${set}${next} WHERE ${where}`
  const [key, marks] = [keys.join(', '), keys.map((_, i) => `?${i + 1}`).join(', ')]
  const select = `SELECT ${key}, doc, hidden FROM ${quoted(collection.table)} WHERE (${key}) > (${marks}) ORDER BY ${key} LIMIT 1000`
  let last = keys.map(() => '')
  for (;;) {
    const rows = run({ text: select, values: last })
    if (rows.length === 0) return
    for (const row of rows) {
      last = keys.map((name) => row[name] as string)
      const document = documentOf(collection, row as unknown as Texts, last.join('/'))
      const { doc, hidden } = textsOf(collection, document)
      run({ text: update, values: [doc, hidden, shape, ...cells(collection, document), ...last] })
    }
  }
}

function documentOf(collection: Collection, texts: Texts, id: string): Record<string, unknown> {
  try {
    return documentIn(collection, texts)
  } catch (error) {
    throw new Error(`in ${id}, ${(error as Error).message}`, { cause: error })
  }
}
