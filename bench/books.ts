/** Many books, the same in each run, and databases filled with them: the rows are those that the service would write. */
import { existsSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type pg from 'pg'
import { idSource } from '../src/formats/id.ts'
import { encodeRow } from '../src/resources/document.ts'
import type { Resource } from '../src/resources/resource.ts'
import { postgresDialect, sqliteDialect } from '../src/sql/dialect.ts'
import { statementTexts } from '../src/sql/statements.ts'
import { openStore as openAny } from '../src/terminal/open.ts'
import library from './library.ts'

export const collections = [...library.resources.values()].map(({ collection }) => collection)

export interface Book extends Record<string, unknown> {
  readonly id: string
  readonly title: string
  readonly status: string
  readonly price: string
  readonly shelf: string | null
  readonly blurb: string
  readonly createdAt: string
  readonly updatedAt: string
}

/** Generates `rows` books. */
export function* manyBooks(rows: number): Generator<Book> {
  let seed = 1
  const next = () => (seed = (seed * 48_271) % 2_147_483_647)
  let time = Date.parse('2026-01-01T00:00:00Z')
  const newId = idSource(
    () => time,
    (bytes) => {
      for (let i = 0; i < bytes.length; i++) bytes[i] = next() & 255
    },
  )
  for (let i = 0; i < rows; i++) {
    time += 10
    const at = new Date(time).toISOString()
    yield {
      id: newId('boo'),
      title: `Title ${next() % 100_000} of ${i}`,
      status: ['draft', 'listed', 'sold'][i % 3] as string,
      price: `${next() % 500}.${String(next() % 100).padStart(2, '0')}`,
      shelf: i % 10 === 0 ? null : `S${next() % 1000}`,
      blurb:
        'A book that somebody wrote, and that somebody else is going to read one day if nobody has lost it before.',
      createdAt: at,
      updatedAt: at,
    }
  }
}

/** The values of the statement that inserts a book. */
export function insertValues(book: Book): (string | number | bigint | null)[] {
  const { doc, hidden, cells } = encodeRow(library.resources.get('books') as Resource, { ...book })
  return [book.id, 1, 1, doc, hidden, ...cells]
}

/**
 * Whether row `i` is inserted with the indexes in place. The first two thirds of the rows are inserted without indexes, which is
 * fast, and the last third with them, so that the pages of the indexes are as full as those of a table that grew row by row.
 */
const isInsertedWithIndexes = (i: number, rows: number): boolean => i >= Math.floor((rows * 2) / 3)

/** Creates a file with `rows` books. */
export async function fill(file: string, rows: number, books: Iterable<Book> = manyBooks(rows)): Promise<void> {
  for (const end of ['', '-wal', '-shm']) if (existsSync(file + end)) rmSync(file + end)
  await (await openAny(library, `sqlite:${file}`, 'apply')).close()
  const db = new DatabaseSync(file)
  const { collection } = library.resources.get('books') as Resource
  const indexes = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'books'").all()
  const droppedIndexes = indexes.filter(({ sql }) => sql !== null)
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -524288; BEGIN')
  for (const { name } of droppedIndexes) db.exec(`DROP INDEX "${name}"`)
  const insert = db.prepare(statementTexts(collection, sqliteDialect).insert)
  let inserted = 0
  for (const book of books) {
    if (isInsertedWithIndexes(inserted++, rows)) for (const { sql } of droppedIndexes.splice(0)) db.exec(String(sql))
    insert.run(...insertValues(book))
  }
  for (const { sql } of droppedIndexes) db.exec(String(sql))
  db.exec('COMMIT; PRAGMA journal_mode = WAL')
  db.close()
}

const batchSize = 1000

/** Fills a PostgreSQL database with `rows` books. */
export async function fillPostgres(
  client: pg.Client,
  url: string,
  rows: number,
  books: Iterable<Book> = manyBooks(rows),
): Promise<void> {
  await (await openAny(library, url, 'apply')).close()
  const { collection } = library.resources.get('books') as Resource
  const [head = ''] = statementTexts(collection, postgresDialect).insert.split(' VALUES ')
  const found = await client.query(
    "SELECT indexname AS name, indexdef AS sql FROM pg_indexes WHERE tablename = 'books'",
  )
  const droppedIndexes = found.rows.filter(({ sql }) => !sql.startsWith('CREATE UNIQUE'))
  for (const { name } of droppedIndexes) await client.query(`DROP INDEX "${name}"`)
  let inserted = 0
  let batch: Book[] = []
  const insert = async () => {
    if (isInsertedWithIndexes(inserted, rows)) for (const { sql } of droppedIndexes.splice(0)) await client.query(sql)
    inserted += batch.length
    const cells = batch.map(insertValues)
    const width = cells[0]?.length ?? 0
    const marks = cells.map((row, i) => `(${row.map((_, k) => `$${i * width + k + 1}`).join(', ')})`)
    await client.query(`${head} VALUES ${marks.join(', ')}`, cells.flat())
    batch = []
  }
  for (const book of books) if (batch.push(book) === batchSize) await insert()
  if (batch.length > 0) await insert()
  for (const { sql } of droppedIndexes) await client.query(sql)
}
