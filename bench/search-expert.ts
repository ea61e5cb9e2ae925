/** The expert for searches: FTS5 with bm25, or a generated tsvector with ts_rank, and Fastify with a schema of the answer. */
import { DatabaseSync } from 'node:sqlite'
import Fastify from 'fastify'
import pg from 'pg'

interface FoundBook {
  readonly id: string
  readonly title: string
  readonly note: string
  readonly year: number
}
type Maybe<T> = T | Promise<T>

/** The expert's statements. Each takes the words and the most rows that it returns. */
interface Statements {
  readonly best: (words: readonly string[], most: number) => Maybe<readonly FoundBook[]>
  readonly sorted: (words: readonly string[], most: number) => Maybe<readonly FoundBook[]>
  readonly count: (words: readonly string[]) => Maybe<number>
}

export const sqliteTables = `CREATE TABLE books (n INTEGER PRIMARY KEY, id TEXT UNIQUE, title TEXT, note TEXT, year INTEGER, created_at TEXT, updated_at TEXT);
  CREATE INDEX books_year ON books (year, id);
  CREATE VIRTUAL TABLE found USING fts5 (title, note, content = 'books', content_rowid = 'n', tokenize = 'unicode61 remove_diacritics 2');
  CREATE TRIGGER kept AFTER INSERT ON books BEGIN INSERT INTO found (rowid, title, note) VALUES (NEW.n, NEW.title, NEW.note); END`

export const postgresTables = `CREATE TABLE expert (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text UNIQUE, title text, note text, year int,
    created_at text, updated_at text, found tsvector GENERATED ALWAYS AS (setweight(to_tsvector('simple', title), 'A') || to_tsvector('simple', note)) STORED);
  CREATE INDEX ON expert USING gin (found);
  CREATE INDEX ON expert (year, id)`

const columns = 'id, title, note, year, created_at AS "createdAt", updated_at AS "updatedAt"'

function onSqlite(file: string): Statements {
  const db = new DatabaseSync(file)
  // The service gives the connection of its event loop up to 64 MiB.
  db.exec('PRAGMA journal_mode = WAL; PRAGMA cache_size = -65536')
  const match = (words: readonly string[]) => words.map((word) => `"${word.replaceAll('"', '""')}" *`).join(' AND ')
  const from = 'FROM found JOIN books ON books.n = found.rowid WHERE found MATCH ?'
  const named = columns.replace('title, note', 'books.title, books.note')
  const best = db.prepare(`SELECT ${named} ${from} ORDER BY rank LIMIT ?`)
  const sorted = db.prepare(`SELECT ${named} ${from} ORDER BY year, id LIMIT ?`)
  const count = db.prepare('SELECT count(*) AS total FROM found WHERE found MATCH ?')
  return {
    best: (words, most) => best.all(match(words), most) as never,
    sorted: (words, most) => sorted.all(match(words), most) as never,
    count: (words) => (count.get(match(words)) as { total: number }).total,
  }
}

function onPostgres(url: string): Statements {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  const match = (words: readonly string[]) => words.map((word) => `'${word.replaceAll("'", "''")}':*`).join(' & ')
  const from = 'FROM expert WHERE found @@ $1::tsquery'
  const run = async (name: string, text: string, params: readonly unknown[]) =>
    (await pool.query({ name, text, values: [...params] })).rows
  const best = `SELECT ${columns} ${from} ORDER BY ts_rank(found, $1::tsquery) DESC, id LIMIT $2`
  const sorted = `SELECT ${columns} ${from} ORDER BY year, id LIMIT $2`
  return {
    best: (words, most) => run('best', best, [match(words), most]) as never,
    sorted: (words, most) => run('sorted', sorted, [match(words), most]) as never,
    count: async (words) => Number((await run('count', `SELECT count(*) ${from}`, [match(words)]))[0]?.count),
  }
}

const text = { type: 'string' }
const book = {
  type: 'object',
  properties: {
    ...{ id: text, title: text, note: text, year: { type: 'integer' } },
    ...{ createdAt: text, updatedAt: text },
  },
}
const data = { type: 'array', items: book }
const page = { type: 'object', properties: { data, next: { type: ['string', 'null'] } } }
const counted = { type: 'object', properties: { data, total: { type: 'integer' } } }
const query = {
  type: 'object',
  required: ['q'],
  properties: {
    q: { type: 'string', minLength: 1 },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  },
}
type Query = { readonly Querystring: { readonly q: string; readonly limit: number } }

async function main(database: string, port: number): Promise<void> {
  const statements = database.startsWith('postgres') ? onPostgres(database) : onSqlite(database)
  const app = Fastify({ logger: false })
  const wordsOf = (q: string): string[] => q.split(/\s+/).filter((word) => word !== '')
  for (const order of ['best', 'sorted'] as const)
    app.get<Query>(`/${order}`, { schema: { querystring: query, response: { 200: page } } }, async (request) => {
      const { q, limit } = request.query
      const rows = await statements[order](wordsOf(q), limit + 1)
      const shown = rows.slice(0, limit)
      const last = shown.at(-1)
      const next = rows.length > limit && last ? Buffer.from(`${last.year} ${last.id}`).toString('base64url') : null
      return { data: shown, next }
    })
  app.get<Query>('/counted', { schema: { querystring: query, response: { 200: counted } } }, async (request) => {
    const { q, limit } = request.query
    const words = wordsOf(q)
    const [rows, total] = await Promise.all([statements.best(words, limit), statements.count(words)])
    return { data: rows, total }
  })
  await app.listen({ port, host: '127.0.0.1' })
}

if (import.meta.main) await main(process.argv[2] as string, Number(process.argv[3]))
