/**
 * `npm run bench:search -- --rows 1000000 --stores sqlite,postgres`: searches for words of up to 1,000 rows, against an expert's
 * Fastify with statements written by hand. Each server runs on one core, and 64 connections from another core ask for ever new words.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { encodeRow } from '../src/resources/document.ts'
import type { Resource } from '../src/resources/resource.ts'
import { postgresDialect, sqliteDialect } from '../src/sql/dialect.ts'
import { statementTexts } from '../src/sql/statements.ts'
import { openStore } from '../src/terminal/open.ts'
import { cluster } from '../test/help/cluster.ts'
import { freePort } from '../test/help/free-port.ts'
import { type BenchRequest, load, loader } from './load.ts'
import { machine, median } from './report.ts'
import { postgresTables, sqliteTables } from './search-expert.ts'
import library from './searched.ts'
import { type RunningServer, serve } from './server.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
    stores: { type: 'string', default: 'sqlite,postgres' },
  },
})
const [rows, rounds, seconds] = [Number(values.rows), Number(values.rounds), Number(values.seconds)]
const size = 50
const [mostMatches, leastMatches] = [1000, 5]
/** So many different searches that none is cached when it is requested again. */
const searches = 20_000
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
const here = import.meta.dirname
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
    if (i % 5 === 0) pairs.push(`${words[0]} ${words[5]}`)
    yield { id: `boo_${String(i).padStart(26, '0')}`, ...one, createdAt: at, updatedAt: at }
  }
}

/** Single words of 5 to 1,000 rows and, as each fourth, a pair of words of which one is that rare. */
function manySearches(): string[] {
  const isFit = (word: string) => {
    const count = counts.get(word) ?? 0
    return count >= leastMatches && count <= mostMatches
  }
  const single = [...counts.keys()].filter(isFit)
  const both = pairs.filter((pair) => pair.split(' ').some(isFit))
  const shuffled = (all: readonly string[]) => all.map((one) => [random(), one] as const).toSorted(([a], [b]) => a - b)
  const [singles, doubles] = [shuffled(single), shuffled(both)]
  return Array.from({ length: Math.min(searches, singles.length, 4 * doubles.length) }, (_, i) => {
    const [, found] = (i % 4 === 3 ? doubles[i >> 2] : singles[i]) as readonly [number, string]
    return found
  })
}

const took = (about: string, since: number) =>
  console.log(`${about}: ${Math.round(rows / ((performance.now() - since) / 1000))} rows a second`)

const cellsOf = (book: Book) => {
  const { doc, hidden, cells } = encodeRow(books, { ...book })
  return [book.id, 1, 1, doc, hidden, ...cells]
}

async function fillSqlite(file: string, other: string): Promise<void> {
  await (await openStore(library as never, `sqlite:${file}`, 'apply')).close()
  const [db, expert] = [new DatabaseSync(file), new DatabaseSync(other)]
  expert.exec(`PRAGMA journal_mode = WAL; ${sqliteTables}`)
  const insert = db.prepare(statementTexts(books.collection, sqliteDialect).insert)
  const insertExpert = expert.prepare('INSERT INTO books VALUES (NULL, ?, ?, ?, ?, ?, ?)')
  const all = [...manyBooks()]
  for (const [about, target, write] of [
    ['SQLite, ours written', db, (one: Book) => insert.run(...(cellsOf(one) as string[]))],
    ['SQLite, expert written', expert, (one: Book) => insertExpert.run(...(Object.values(one) as string[]))],
  ] as const) {
    const since = performance.now()
    target.exec('PRAGMA synchronous = OFF')
    for (let from = 0; from < all.length; from += 10_000) {
      target.exec('BEGIN')
      for (const one of all.slice(from, from + 10_000)) write(one)
      target.exec('COMMIT')
    }
    took(about, since)
    target.close()
  }
}

async function fillPostgres(url: string): Promise<void> {
  await (await openStore(library as never, url, 'apply')).close()
  const client = new pg.Client(url)
  await client.connect()
  await client.query(postgresTables)
  const all = [...manyBooks()]
  const [head = ''] = statementTexts(books.collection, postgresDialect).insert.split(' VALUES ')
  for (const [about, into, cells] of [
    ['PostgreSQL, ours written', head, cellsOf],
    [
      'PostgreSQL, expert written',
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
  await client.end()
}

async function startServer(args: (port: number) => readonly string[]): Promise<RunningServer> {
  const port = await freePort()
  return serve(args(port), port, join(folder, 'log'))
}

/** Compares the requests a second of both sides, in turn. */
async function compare(store: string, database: string, expertDatabase: string): Promise<void> {
  const main = join(here, '../bin/bylaw.js')
  const file = join(here, 'searched.ts')
  const sides = [
    await startServer((port) => [main, 'serve', file, '--port', String(port), '--database', database]),
    await startServer((port) => [join(here, 'search-expert.ts'), expertDatabase, String(port)]),
  ] as const
  const [ours, expert] = sides
  const found = manySearches()
  const requests = (path: string): BenchRequest[] => found.map((one) => ({ path: path + encodeURIComponent(one) }))
  try {
    for (const [name, own, other] of [
      ['by relevance', `/books?cursor=&limit=${size}&search=`, `/best?limit=${size}&q=`],
      ['sorted', `/books?sort=year&cursor=&limit=${size}&search=`, `/sorted?limit=${size}&q=`],
      ['by relevance with total', `/books?page_size=${size}&search=`, `/counted?limit=${size}&q=`],
    ] as const) {
      const all = [requests(own), requests(other)] as const
      const results = Array.from({ length: rounds }, () => ({
        ours: load(ours.url, all[0], seconds),
        expert: load(expert.url, all[1], seconds),
      }))
      const ratios = results.map((one) => one.ours.rate / one.expert.rate)
      const of = (side: 'ours' | 'expert') =>
        `${Math.round(median(results.map((one) => one[side].rate)))} a second (p99 ${median(results.map((one) => one[side].p99)).toFixed(0)} ms)`
      const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`
      const met = median(ratios) >= 1 ? 'met' : 'MISSED'
      console.log(
        `${store}, ${name}: ours ${of('ours')}, expert ${of('expert')}: ${median(ratios).toFixed(2)} times the expert (${spread}); ${met}: at least 1.0`,
      )
    }
  } finally {
    await Promise.all(sides.map(({ stop }) => stop()))
  }
}

console.log(`${rows} rows, load by ${loader}; ${machine()}`)
if (values.stores.includes('sqlite')) {
  const [file, other] = [join(folder, 'ours.db'), join(folder, 'expert.db')]
  await fillSqlite(file, other)
  await compare('SQLite', `sqlite:${file}`, other)
}
counts.clear()
pairs.length = 0
seed = 1
if (values.stores.includes('postgres')) {
  const server = await cluster(['shared_buffers=1GB', 'synchronous_commit=off', 'max_wal_size=8GB'])
  await fillPostgres(server.url)
  await compare('PostgreSQL', server.url, server.url)
  await server.close()
}
rmSync(folder, { recursive: true })
