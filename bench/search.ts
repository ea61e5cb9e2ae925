/**
 * `npm run bench:search -- --rows 1000000 --stores sqlite,postgres`: searches for words of up to 1,000 rows, against a server
 * of a few lines with statements that an expert writes by hand (FTS5 with bm25, a generated tsvector with ts_rank), over sockets.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { f, service } from '../src/index.ts'
import { encodeRow } from '../src/resources/document.ts'
import type { Resource } from '../src/resources/resource.ts'
import { postgresDialect, sqliteDialect } from '../src/sql/dialect.ts'
import { statementTexts } from '../src/sql/statements.ts'
import { openStore } from '../src/terminal/open.ts'
import { cluster } from '../test/help/cluster.ts'
import { answerOf, endRequests, expertServer, type Side, servedFrom } from './over-http.ts'

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '100000' }, stores: { type: 'string', default: 'sqlite,postgres' } },
})
const rows = Number(values.rows)
const size = 50
const [mostMatches, leastMatches] = [1000, 5]
const [searches, warmUp] = [2000, 400]

const library = service({
  name: 'library',
  resources: {
    books: {
      prefix: 'boo',
      fields: {
        title: f.text({ max: 200, search: true }),
        note: f.text({ max: 2000, search: true }),
        year: f.integer({ sort: true }),
      },
      access: 'public',
    },
  },
})
const books = library.resources.get('books') as Resource

interface Book extends Record<string, unknown> {
  readonly id: string
  readonly title: string
  readonly note: string
  readonly year: number
}

let seed = 1
function random(): number {
  seed = (seed * 48_271) % 2_147_483_647
  return seed / 2_147_483_647
}
const vocabulary = 60_000
/** Common and rare words of the same length, so that no word is the beginning of another one. */
const wordAt = (n: number): string => `w${n.toString(36).padStart(5, 'x')}`
const anyWord = (): string => wordAt(Math.floor(vocabulary * random() ** 3))
const text = (count: number): string => Array.from({ length: count }, anyWord).join(' ')

const counts = new Map<string, number>()
const pairs: string[] = []
function* manyBooks(): Generator<Book> {
  for (let i = 0; i < rows; i++) {
    const at = new Date(Date.UTC(2026, 0, 1) + i).toISOString()
    const one = { title: text(4), note: text(20), year: Math.floor(random() * 10_000) }
    const words = [...new Set(`${one.title} ${one.note}`.split(' '))]
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
    if (i % 500 === 0) pairs.push(`${words[0]} ${words[5]}`)
    yield { id: `boo_${String(i).padStart(26, '0')}`, ...one, createdAt: at, updatedAt: at }
  }
}
const valuesOf = (book: Book) => {
  const { doc, hidden, cells } = encodeRow(books, { ...book })
  return [book.id, 1, 1, doc, hidden, ...cells]
}

/** Search texts that are unlikely to be cached: single words of 5 to 1,000 rows, and pairs of words of which one is that rare. */
function* manySearches(): Generator<string> {
  const isFit = (word: string) => {
    const count = counts.get(word) ?? 0
    return count >= leastMatches && count <= mostMatches
  }
  const single = [...counts.keys()].filter(isFit)
  const both = pairs.filter((pair) => pair.split(' ').some(isFit))
  for (let i = 0; ; i++) {
    const from = i % 4 === 3 ? both : single
    yield from[Math.floor(random() * from.length)] as string
  }
}

type Search = (text: string) => Promise<unknown>

const quantile = (times: readonly number[], part: number): number =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * part))] as number

async function compare(name: string, ours: Search, expert: Search): Promise<void> {
  const times: [number[], number[]] = [[], []]
  const busy: [number, number] = [0, 0]
  const searchTexts = manySearches()
  for (let i = 0; i < searches; i++) {
    const text = searchTexts.next().value as string
    for (const side of i % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const [started, cpu] = [performance.now(), process.cpuUsage()]
      await [ours, expert][side]?.(text)
      if (i < warmUp) continue
      times[side].push(performance.now() - started)
      const { user, system } = process.cpuUsage(cpu)
      busy[side] += (user + system) / 1000 / (searches - warmUp)
    }
  }
  const describeTimes = (all: readonly number[]) =>
    `${quantile(all, 0.5).toFixed(2)} (p99 ${quantile(all, 0.99).toFixed(2)})`
  const [mine, other] = times.map((all) => all.reduce((sum, one) => sum + one, 0) / all.length) as [number, number]
  const cpu = `processor time with clients, without a database server: ${busy.map((one) => one.toFixed(2)).join(' and ')} ms`
  console.log(
    `${name}: ours ${describeTimes(times[0])} ms, expert ${describeTimes(times[1])} ms; ${(other / mine).toFixed(2)} times as many (goal 1.0), p99 under 50 ms; ${cpu}`,
  )
}

async function compareAll(store: string, ours: Side, theirs: Side): Promise<void> {
  const own =
    (parameters: string): Search =>
    (text) =>
      answerOf(`${ours.url}/books?search=${encodeURIComponent(text)}&${parameters}`)
  const expert =
    (path: string): Search =>
    (text) =>
      answerOf(`${theirs.url}${path}?q=${encodeURIComponent(text)}`)
  await compare(`${store}, by relevance`, own(`cursor=&limit=${size}`), expert('/best'))
  await compare(`${store}, sorted`, own(`sort=year&cursor=&limit=${size}`), expert('/sorted'))
  await compare(`${store}, by relevance with total`, own(`page_size=${size}`), expert('/counted'))
  await ours.close()
  await theirs.close()
}

const took = (about: string, since: number) =>
  console.log(`${about}: ${Math.round(rows / ((performance.now() - since) / 1000))} rows a second`)

async function onSqlite(folder: string): Promise<void> {
  const [file, other] = [join(folder, 'ours.db'), join(folder, 'expert.db')]
  await (await openStore(library, `sqlite:${file}`, 'apply')).close()
  const [db, expert] = [new DatabaseSync(file), new DatabaseSync(other)]
  // The service gives the connection of its event loop up to 64 MiB.
  expert.exec(`PRAGMA journal_mode = WAL; PRAGMA cache_size = -65536;
    CREATE TABLE books (n INTEGER PRIMARY KEY, id TEXT UNIQUE, title TEXT, note TEXT, year INTEGER, created_at TEXT, updated_at TEXT);
    CREATE INDEX books_year ON books (year, id);
    CREATE VIRTUAL TABLE found USING fts5 (title, note, content = 'books', content_rowid = 'n', tokenize = 'unicode61 remove_diacritics 2');
    CREATE TRIGGER kept AFTER INSERT ON books BEGIN INSERT INTO found (rowid, title, note) VALUES (NEW.n, NEW.title, NEW.note); END`)
  const insert = db.prepare(statementTexts(books.collection, sqliteDialect).insert)
  const insertExpert = expert.prepare('INSERT INTO books VALUES (NULL, ?, ?, ?, ?, ?, ?)')
  const all = [...manyBooks()]
  for (const [about, target, write] of [
    ['sqlite, ours written', db, (one: Book) => insert.run(...(valuesOf(one) as string[]))],
    ['sqlite, expert written', expert, (one: Book) => insertExpert.run(...(Object.values(one) as string[]))],
  ] as const) {
    const since = performance.now()
    target.exec('PRAGMA synchronous = OFF')
    for (let from = 0; from < all.length; from += 10_000) {
      target.exec('BEGIN')
      for (const one of all.slice(from, from + 10_000)) write(one)
      target.exec('COMMIT')
    }
    took(about, since)
  }
  db.close()
  const ours = await servedFrom(library, `sqlite:${file}`)
  const match = (search: string) =>
    search
      .split(' ')
      .map((word) => `"${word}" *`)
      .join(' AND ')
  const from = 'FROM found JOIN books ON books.n = found.rowid WHERE found MATCH ?'
  const best = expert.prepare(`SELECT books.* ${from} ORDER BY rank LIMIT ${size + 1}`)
  const sorted = expert.prepare(`SELECT books.* ${from} ORDER BY year, id LIMIT ${size + 1}`)
  const count = expert.prepare('SELECT count(*) AS total FROM found WHERE found MATCH ?')
  const theirs = await expertServer({
    '/best': (one) => best.all(match(one)),
    '/sorted': (one) => sorted.all(match(one)),
    '/counted': (one) => [best.all(match(one)), count.all(match(one))],
  })
  await compareAll('sqlite', ours, theirs)
  expert.close()
}

async function onPostgres(): Promise<void> {
  const server = await cluster(['shared_buffers=1GB', 'synchronous_commit=off', 'max_wal_size=8GB'])
  await (await openStore(library, server.url, 'apply')).close()
  const client = new pg.Client(server.url)
  await client.connect()
  await client.query(`CREATE TABLE expert (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text UNIQUE, title text, note text, year int,
    created_at text, updated_at text, found tsvector GENERATED ALWAYS AS (setweight(to_tsvector('simple', title), 'A') || to_tsvector('simple', note)) STORED)`)
  await client.query('CREATE INDEX ON expert USING gin (found); CREATE INDEX ON expert (year, id)')
  const all = [...manyBooks()]
  const [head = ''] = statementTexts(books.collection, postgresDialect).insert.split(' VALUES ')
  for (const [about, into, cells] of [
    ['postgres, ours written', head, valuesOf],
    [
      'postgres, expert written',
      'INSERT INTO expert (id, title, note, year, created_at, updated_at)',
      (one: Book) => Object.values(one),
    ],
  ] as const) {
    const since = performance.now()
    for (let from = 0; from < all.length; from += 1000) {
      const some = all.slice(from, from + 1000).map(cells)
      const width = some[0]?.length as number
      const marks = some.map((row, i) => `(${row.map((_, k) => `$${i * width + k + 1}`).join(', ')})`)
      await client.query(`${into} VALUES ${marks.join(', ')}`, some.flat())
    }
    took(about, since)
  }
  await client.query('VACUUM ANALYZE')
  const ours = await servedFrom(library, server.url)
  const match = (search: string) =>
    search
      .split(' ')
      .map((word) => `'${word}':*`)
      .join(' & ')
  const columns = 'id, title, note, year, created_at, updated_at'
  const from = 'FROM expert WHERE found @@ $1::tsquery'
  const run = async (name: string, what: string, search: string) =>
    (await client.query({ name, text: what, values: [match(search)] })).rows
  const best = `SELECT ${columns} ${from} ORDER BY ts_rank(found, $1::tsquery) DESC, id LIMIT ${size + 1}`
  const sorted = `SELECT ${columns} ${from} ORDER BY year, id LIMIT ${size + 1}`
  const count = `SELECT count(*) ${from}`
  const theirs = await expertServer({
    '/best': (one) => run('best', best, one),
    '/sorted': (one) => run('sorted', sorted, one),
    '/counted': async (one) => [await run('best', best, one), await run('count', count, one)],
  })
  await compareAll('postgres', ours, theirs)
  await client.end()
  await server.stop('fast')
}

const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
console.log(`${rows} rows`)
if (values.stores.includes('sqlite')) await onSqlite(folder)
counts.clear()
if (values.stores.includes('postgres')) await onPostgres()
endRequests()
rmSync(folder, { recursive: true })
