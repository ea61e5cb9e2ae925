/** `npm run bench:embedded`: a list of 50 orders with their customers, against a join that an expert wrote, on both stores. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { idSource } from '../src/formats/id.ts'
import { encodeRow } from '../src/resources/document.ts'
import type { Resource } from '../src/resources/resource.ts'
import { postgresDialect, sqliteDialect } from '../src/sql/dialect.ts'
import { statementTexts } from '../src/sql/statements.ts'
import { openStore } from '../src/terminal/open.ts'
import { cluster } from '../test/help/cluster.ts'
import { freePort } from '../test/help/free-port.ts'
import { customerColumns, expertIndex, orderColumns } from './embedded-expert.ts'
import { load, loader } from './load.ts'
import { machine, median } from './report.ts'
import sales from './sales.ts'
import { type RunningServer, serve } from './server.ts'
import { pageRequests } from './workloads.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '30000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
  },
})
const [rows, rounds, seconds] = [Number(values.rows), Number(values.rounds), Number(values.seconds)]
const goal = 1.5
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
const here = import.meta.dirname

type Item = Readonly<Record<string, string | number>> & { readonly id: string }
type Write = (text: string, values: readonly (string | number | bigint | null)[]) => unknown

/** Generates customers, and ten times as many orders. */
function* items(): Generator<readonly ['customers' | 'orders', Item]> {
  let seed = 1
  const next = () => (seed = (seed * 48_271) % 2_147_483_647)
  let time = Date.parse('2026-01-01T00:00:00Z')
  const newId = idSource(
    () => time,
    (bytes) => {
      for (let i = 0; i < bytes.length; i++) bytes[i] = next() & 255
    },
  )
  const customers: string[] = []
  for (let i = 0; i < rows; i++) {
    time += 10
    const at = new Date(time).toISOString()
    const times = { createdAt: at, updatedAt: at }
    const note = 'What somebody wrote down once, and somebody else is going to read one day.'
    if (i % 10 === 0) {
      const id = newId('cus')
      customers.push(id)
      yield [
        'customers',
        { id, name: `Name ${i}`, email: `n${i}@example.com`, city: `City ${next() % 100}`, note, ...times },
      ]
    }
    const customerId = customers[next() % customers.length] as string
    yield [
      'orders',
      { id: newId('ord'), customerId, status: i % 3 === 0 ? 'open' : 'paid', total: next() % 100_000, note, ...times },
    ]
  }
}

async function fill(write: Write, dialect: typeof sqliteDialect): Promise<void> {
  await write(`CREATE TABLE expert_orders (${orderColumns})`, [])
  await write(`CREATE TABLE expert_customers (${customerColumns})`, [])
  const inserts = new Map(
    [...sales.resources].map(([name, one]) => [name, statementTexts(one.collection, dialect).insert]),
  )
  const marks = (count: number) => Array.from({ length: count }, (_, i) => dialect.mark(i + 1)).join(', ')
  for (const [name, item] of items()) {
    const { doc, hidden, cells } = encodeRow(sales.resources.get(name) as Resource, { ...item })
    await write(inserts.get(name) as string, [item.id, 1, 1, doc, hidden, ...cells])
    const { updatedAt: _, ...columns } = item
    await write(`INSERT INTO expert_${name} VALUES (${marks(6)})`, Object.values(columns))
  }
  await write(expertIndex, [])
}

async function onSqlite(): Promise<string> {
  const file = join(folder, 'sales.db')
  await (await openStore(sales as never, `sqlite:${file}`, 'apply')).close()
  const db = new DatabaseSync(file)
  db.exec('PRAGMA synchronous = OFF; BEGIN')
  const statements = new Map<string, ReturnType<DatabaseSync['prepare']>>()
  await fill((text, params) => {
    const statement = statements.get(text) ?? db.prepare(text)
    statements.set(text, statement)
    return statement.run(...params)
  }, sqliteDialect)
  db.exec('COMMIT; ANALYZE')
  db.close()
  return file
}

async function onPostgres(url: string): Promise<void> {
  await (await openStore(sales as never, url, 'apply')).close()
  const client = new pg.Client(url)
  await client.connect()
  await client.query('BEGIN')
  await fill(
    (text, params) =>
      client.query({ ...(params.length > 0 && { name: text.slice(0, 40) }), text, values: [...params] }),
    postgresDialect,
  )
  await client.query('COMMIT')
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
  const sides = [
    await startServer((port) => [
      main,
      'serve',
      join(here, 'sales.ts'),
      '--port',
      String(port),
      '--database',
      database,
    ]),
    await startServer((port) => [join(here, 'embedded-expert.ts'), expertDatabase, String(port)]),
  ] as const
  try {
    const [ours, expert] = sides
    const list = '/orders?status=paid&sort=total&limit=50&embed=customer'
    const pages = await pageRequests(ours.url, list, (page) => page.pagination.nextCursor, 350)
    const expertPages = await pageRequests(expert.url, '/orders?limit=50', (page) => page.next, 350)
    for (const [name, count] of [
      ['pages that are read again', 100],
      ['pages that are not', 350],
    ] as const) {
      const rates: [number[], number[]] = [[], []]
      for (let i = 0; i < rounds; i++) {
        rates[0].push(load(ours.url, pages.slice(0, count), seconds).rate)
        rates[1].push(load(expert.url, expertPages.slice(0, count), seconds).rate)
      }
      const [own, other] = [median(rates[0]), median(rates[1])]
      const ratio = own / other
      const met = count === 100 ? `; ${ratio >= goal ? 'met' : 'MISSED'}: at least ${goal}` : ''
      console.log(
        `${store}, ${name}: ${Math.round(own)} and ${Math.round(other)} a second, ${ratio.toFixed(2)} times the expert${met}`,
      )
    }
  } finally {
    await Promise.all(sides.map(({ stop }) => stop()))
  }
}

console.log(`${rows} orders, load by ${loader}; ${machine()}`)
const file = await onSqlite()
await compare('SQLite', `sqlite:${file}`, file)
const server = await cluster(['shared_buffers=256MB', 'log_min_messages=fatal'])
await onPostgres(server.url)
await compare('PostgreSQL', server.url, server.url)
await server.close()
rmSync(folder, { recursive: true })
