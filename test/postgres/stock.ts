/** Two declarations of one resource, where the second one renames, adds, indexes and drops fields, and rows of the first one. */
import { type Field, f } from 'bylaw'
import { things } from '../help/file.ts'
import { sql } from '../help/postgres.ts'

const collections = (fields: Record<string, Field>) =>
  [...things(fields).resources.values()].map(({ collection }) => collection)

export const before = collections({
  name: f.text({ filter: true }),
  note: f.text({ filter: true, default: '' }),
})
export const after = collections({
  label: f.text({ was: 'name', filter: true }),
  size: f.integer({ default: 7, filter: 'range', sort: true }),
  code: f.text({ was: 'note', unique: true }),
})

const idOf = `'thg_' || lpad(i::text, 26, '0')`

/** Inserts `count` rows in the form of the first declaration. */
export const filled = (url: string, count: number, note = 'i::text') =>
  sql(
    url,
    `INSERT INTO things (id, revision, shape, doc, "by_name", "by_note", "by_createdAt", "by_updatedAt")
    SELECT ${idOf}, 1, 1, json_build_object('id', ${idOf}, 'name', 'n' || i, 'note', ${note},
      'createdAt', '2026-01-01T00:00:00.000Z', 'updatedAt', '2026-01-01T00:00:00.000Z')::text,
      'n' || i, ${note}, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' FROM generate_series(1, ${count}) AS i`,
  )
