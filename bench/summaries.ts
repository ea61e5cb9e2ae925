/** `npm run bench:summaries -- --rows 200000`: summaries over HTTP against hand-written SQL over HTTP on tables of typed columns. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { f, service } from '../src/index.ts'
import { cluster } from '../test/help/cluster.ts'
import { answerOf, endRequests, expertServer, type Side, servedFrom } from './over-http.ts'

const { values: options } = parseArgs({
  options: { rows: { type: 'string', default: '200000' }, rounds: { type: 'string', default: '30' } },
})
const [rows, rounds] = [Number(options.rows), Number(options.rounds)]

const shop = service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        status: f.enum(['draft', 'paid', 'sent', 'lost', 'back'], { filter: true }),
        total: f.decimal({ scale: 2, filter: 'range' }),
        note: f.text(),
      },
      summaries: {
        byStatus: { group: ['status'], sum: ['total'], average: ['total'], max: ['total'] },
        byMonth: { group: [{ month: 'createdAt' }], sum: ['total'] },
      },
      indexes: [
        ['status', 'total'],
        ['createdAt', 'total'],
      ],
      access: 'public',
    },
  },
})

/** SQL for the values of a row, from its number; the same in both tables. */
const parts = {
  status: (n: string) =>
    `CASE ${n} % 5 WHEN 0 THEN 'draft' WHEN 1 THEN 'paid' WHEN 2 THEN 'sent' WHEN 3 THEN 'lost' ELSE 'back' END`,
  total: (n: string) => `(${n} * 7919) % 1000000`,
  note: `'Some words about an order, as they are written by people who want to be sure that nothing is forgotten.'`,
}
const created = {
  sqlite: `strftime('%Y-%m-%dT%H:%M:%S.000Z', '2026-01-01', '+' || (n % 365) || ' days')`,
  postgres: `to_char(timestamp '2026-01-01' + (n % 365) * interval '1 day', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"')`,
}
const fillText = (kind: 'sqlite' | 'postgres', numbers: string): string => {
  const at = created[kind]
  const doc = `'{"id":"ord_' || n || '","note":' || '"' || ${parts.note} || '"}'`
  return `INSERT INTO orders (id, revision, shape, doc, "by_status", "by_total", "by_createdAt", "by_updatedAt")
    SELECT 'ord_' || n, 1, 1, ${doc}, ${parts.status('n')}, ${parts.total('n')}, ${at}, ${at} FROM ${numbers}`
}
const expertTable = `CREATE TABLE expert_orders (id text PRIMARY KEY, status text NOT NULL, total bigint NOT NULL, note text NOT NULL, created_at text NOT NULL)`
const expertFill = (kind: 'sqlite' | 'postgres', numbers: string): string =>
  `INSERT INTO expert_orders SELECT 'ord_' || n, ${parts.status('n')}, ${parts.total('n')}, ${parts.note}, ${created[kind]} FROM ${numbers}`
const expertIndexes = [
  'CREATE INDEX expert_by_status ON expert_orders (status, total, id)',
  'CREATE INDEX expert_by_created ON expert_orders (created_at, total, id)',
]

/** Pairs of a summary's URL and the expert's statement with the same result; each request has another value in its filter. */
const queries = [
  [
    'by status',
    '/orders/summaries/by-status',
    'SELECT status, count(*) AS count, sum(total) AS sum, avg(total) AS average, max(total) AS max FROM expert_orders WHERE total >= $1 GROUP BY status ORDER BY status',
  ],
  [
    'by month',
    '/orders/summaries/by-month',
    'SELECT substr(created_at, 1, 7) AS month, count(*) AS count, sum(total) AS sum FROM expert_orders WHERE total >= $1 GROUP BY 1 ORDER BY 1',
  ],
] as const

type Query = (least: number) => Promise<unknown>

/** Runs both in turn, and prints the median times and the fastest ones, which depend less on other programs. */
async function measure(name: string, own: Query, expert: Query): Promise<void> {
  const times: [number[], number[]] = [[], []]
  for (let i = 0; i < rounds + 3; i++)
    for (const [side, query] of [own, expert].entries()) {
      const started = performance.now()
      await query(i + 1)
      if (i >= 3) times[side as 0 | 1].push(performance.now() - started)
    }
  const at = (share: number) =>
    times.map((all) => all.toSorted((x, y) => x - y)[Math.floor(all.length * share)] as number)
  const [a = 0, b = 0] = at(0.5)
  const [least = 0, other = 0] = at(0)
  console.log(
    `${name}: ${a.toFixed(1)} ms, hand-written ${b.toFixed(1)} ms: ${(b / a).toFixed(2)} (goal 1.0); the fastest ${least.toFixed(1)} and ${other.toFixed(1)} ms: ${(other / least).toFixed(2)}`,
  )
}

type Statement = (values: readonly [number]) => unknown

/** Compares each summary with the statement of an expert, which `prepare` makes runnable. */
async function compareAll(store: string, own: Side, prepare: (text: string) => Statement): Promise<void> {
  for (const [name, path, text] of queries) {
    const run = prepare(text)
    const expert = await expertServer({ '/': (q) => run([Number(q)]) })
    await measure(
      `${store}, ${rows} rows ${name}`,
      (least) =>
        answerOf(`${own.url}${path}?total[gte]=${Math.floor(least / 100)}.${String(least % 100).padStart(2, '0')}`),
      (least) => answerOf(`${expert.url}/?q=${least}`),
    )
    await expert.close()
  }
}

async function onSqlite(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
  const url = `sqlite:${join(folder, 'shop.db')}`
  await (await servedFrom(shop, url)).close()
  const db = new DatabaseSync(join(folder, 'shop.db'))
  const numbers = `(WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${rows}) SELECT n FROM counted)`
  db.exec(fillText('sqlite', numbers))
  db.exec(expertTable)
  db.exec(expertFill('sqlite', numbers))
  for (const text of expertIndexes) db.exec(text)
  db.exec('ANALYZE')
  const own = await servedFrom(shop, url)
  await compareAll('SQLite', own, (text) => {
    const statement = db.prepare(text.replace('$1', '?'))
    return ([least]) => statement.all(least)
  })
  await own.close()
  db.close()
  rmSync(folder, { recursive: true })
}

async function onPostgres(): Promise<void> {
  const { url, close } = await cluster(['jit=off', 'shared_buffers=256MB'])
  await (await servedFrom(shop, url)).close()
  const client = new pg.Client(url)
  await client.connect()
  const numbers = `generate_series(1, ${rows}) AS n`
  for (const text of [fillText('postgres', numbers), expertTable, expertFill('postgres', numbers), ...expertIndexes])
    await client.query(text)
  await client.query('VACUUM ANALYZE')
  const own = await servedFrom(shop, url)
  await compareAll('PostgreSQL', own, (text) => async (values) => {
    return (await client.query({ name: text.slice(0, 40), text, values: [...values] })).rows
  })
  await own.close()
  await client.end()
  await close()
}

await onSqlite()
await onPostgres()
endRequests()
