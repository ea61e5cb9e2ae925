/** The expert on SQLite: one table with one index for its list, every statement prepared, every write a durable transaction. */
import { DatabaseSync } from 'node:sqlite'
import type { Book } from './books.ts'
import { type ExpertBook, serve } from './expert-app.ts'

const columns = 'id, version, title, status, price, shelf, blurb, created_at AS createdAt, updated_at AS updatedAt'

/** Creates the expert's database file and fills it with the books. */
export function fillExpert(file: string, books: Iterable<Book>): void {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
    CREATE TABLE books (id TEXT PRIMARY KEY, version INTEGER NOT NULL, title TEXT NOT NULL, status TEXT NOT NULL,
      price INTEGER NOT NULL, shelf TEXT, blurb TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL) STRICT;
    BEGIN`)
  const insert = db.prepare('INSERT INTO books VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?)')
  for (const { id, title, status, price, shelf, blurb, createdAt, updatedAt } of books)
    insert.run(id, title, status, Math.round(Number(price) * 100), shelf, blurb, createdAt, updatedAt)
  db.exec('CREATE INDEX books_by_status ON books (status, price, id); COMMIT')
  db.close()
}

async function main(file: string, port: number): Promise<void> {
  const db = new DatabaseSync(file)
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000; PRAGMA cache_size = -65536',
  )
  const one = db.prepare(`SELECT ${columns} FROM books WHERE id = ?`)
  const after = db.prepare(
    `SELECT ${columns} FROM books WHERE status = ? AND (price, id) > (?, ?) ORDER BY price, id LIMIT ?`,
  )
  const page = db.prepare(`SELECT ${columns} FROM books WHERE status = ? ORDER BY price, id LIMIT ? OFFSET ?`)
  const count = db.prepare('SELECT count(*) AS total FROM books WHERE status = ?')
  const insert = db.prepare(`INSERT INTO books VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?) RETURNING ${columns}`)
  const retitle = db.prepare(
    `UPDATE books SET title = ?, updated_at = ?, version = version + 1 WHERE id = ? RETURNING ${columns}`,
  )
  const remove = db.prepare('DELETE FROM books WHERE id = ?')
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const write = <T>(act: () => T): T => {
    begin.run()
    try {
      const result = act()
      commit.run()
      return result
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
  }
  const rows = (found: unknown) => found as readonly ExpertBook[]
  const row = (found: unknown) => found as ExpertBook
  await serve(
    {
      one: (id) => row(one.get(id)),
      after: (status, price, id, limit) => rows(after.all(status, price, id, limit)),
      page: (status, limit, offset) => rows(page.all(status, limit, offset)),
      count: (status) => (count.get(status) as { total: number }).total,
      insert: (id, { title, status, price, shelf, blurb }, at) =>
        write(() => row(insert.get(id, title, status, price, shelf ?? null, blurb, at, at))),
      retitle: (id, title, at) => write(() => row(retitle.get(title, at, id))),
      remove: (id) => write(() => remove.run(id).changes > 0),
    },
    port,
  )
}

if (import.meta.main) await main(process.argv[2] as string, Number(process.argv[3]))
