/**
 * `npm run bench:imports -- --rows 10000,100000`: the speed and the memory of imports of short and of long files, against what an expert
 * does by hand: COPY of a CSV file that has the ids already (PostgreSQL), prepared inserts in transactions (SQLite), into a table of
 * the same columns with the same indexes.
 */
import {
  createReadStream,
  createWriteStream,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { cluster } from '../test/help/cluster.ts'
import { startService } from '../test/help/process.ts'
import { childrenOf } from '../test/help/processes.ts'

const { values: options } = parseArgs({
  options: { rows: { type: 'string', default: '10000,100000' }, rounds: { type: 'string', default: '3' } },
})
const counts = options.rows.split(',').map(Number)
const rounds = Number(options.rounds)

const declaration = `import { f, service } from '${new URL('../src/index.ts', import.meta.url).href}'
export default service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        status: f.enum(['draft', 'paid', 'sent'], { filter: true }),
        number: f.integer({ filter: 'range', sort: true }),
        note: f.text({ max: 200 }),
        total: f.decimal({ scale: 2 }),
      },
      imports: true,
      access: 'public',
    },
  },
})
`
const note = 'Some words about an order as they are written by people who want to be sure.'
const item = (i: number) => ({
  ...{ status: ['draft', 'paid', 'sent'][i % 3], number: (i * 7919) % 1_000_000 },
  ...{ note: `${note} ${i}`, total: `${i % 1000}.50` },
})
const at = '2026-01-01T00:00:00.000Z'

async function writeFiles(rows: number): Promise<{ json: string; csv: string; copied: string }> {
  const [json, csv, copied] = ['ndjson', 'csv', 'copy.csv'].map((end) => join(folder, `${rows}.${end}`)) as [
    string,
    string,
    string,
  ]
  const files = [json, csv, copied].map((path) => createWriteStream(path)) as [FileStream, FileStream, FileStream]
  files[1].write('status,number,note,total\n')
  for (let i = 0; i < rows; i++) {
    const order = item(i)
    const cells = Object.values(order).join(',')
    const id = `ord_${String(i).padStart(26, '0')}`
    const texts = [`${JSON.stringify(order)}\n`, `${cells}\n`, `${id},${cells},${at},${at}\n`]
    if (texts.map((text, n) => files[n]?.write(text)).includes(false))
      await Promise.all(
        files.map((one) => one.writableNeedDrain && new Promise((resolve) => one.once('drain', resolve))),
      )
  }
  await Promise.all(files.map((one) => new Promise<void>((resolve) => one.end(resolve))))
  return { json, csv, copied }
}
type FileStream = ReturnType<typeof createWriteStream>

const statusOf = (pid: number): string => readFileSync(`/proc/${pid}/status`, 'utf8')
const memoryOf = (pid: number): number => Number(/^VmRSS:\s+(\d+)/m.exec(statusOf(pid))?.[1]) / 1024
/** Seconds of processor time so far, with those of children that have ended. */
function processorTime(pid: number): number {
  const parts = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return parts.slice(11, 15).reduce((sum, one) => sum + Number(one), 0) / 100
}
/** The processor time of a database server and its processes; 0 without a server. */
const serverTime = (pid: number): number =>
  pid === 0 ? 0 : [pid, ...childrenOf(pid)].reduce((sum, one) => sum + processorTime(one), 0)

interface Timing {
  readonly seconds: number
  /** Processor time of all processes that take part. */
  readonly cpuSeconds: number
}

async function measure(cpuTime: () => number, act: () => Promise<unknown>): Promise<Timing> {
  const [before, began] = [cpuTime(), performance.now()]
  await act()
  return { seconds: (performance.now() - began) / 1000, cpuSeconds: cpuTime() - before }
}

const describeTiming = ({ seconds, cpuSeconds: busy }: Timing, rows: number): string =>
  `${Math.round(rows / seconds)} a second, ${((busy * 1e6) / rows).toFixed(1)} µs of processors for each`

const bestOf = (all: readonly Timing[]): Timing => ({
  seconds: Math.min(...all.map(({ seconds }) => seconds)),
  cpuSeconds: Math.min(...all.map(({ cpuSeconds: busy }) => busy)),
})

interface Side {
  readonly name: string
  readonly database: string
  /** The process of the database; 0 if it has none. */
  readonly pid: number
  readonly empty: () => Promise<unknown>
  /** Fills the expert's table from a file. */
  readonly expert: (files: { json: string; copied: string }) => Promise<unknown>
}

async function run(side: Side): Promise<void> {
  for (const rows of counts) {
    const files = await writeFiles(rows)
    const running = await startService(file, { database: side.database })
    const cpuTime = () => processorTime(running.pid) + serverTime(side.pid)
    const ownCpuTime = () => process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6 + serverTime(side.pid)
    const [expert, fromJson, fromCsv]: [Timing[], Timing[], Timing[]] = [[], [], []]
    let peak = 0
    const idle = memoryOf(running.pid)
    for (let round = 0; round < rounds; round++) {
      await side.empty()
      const watch = setInterval(() => {
        peak = Math.max(peak, memoryOf(running.pid))
      }, 20)
      fromJson.push(await measure(cpuTime, () => post(running.url, files.json, 'application/x-ndjson', rows)))
      await side.empty()
      fromCsv.push(await measure(cpuTime, () => post(running.url, files.csv, 'text/csv', rows)))
      clearInterval(watch)
      expert.push(await measure(ownCpuTime, () => side.expert(files)))
    }
    const [byHand, asJson, asCsv] = [expert, fromJson, fromCsv].map(bestOf) as [Timing, Timing, Timing]
    console.log(`${side.name}, ${rows} rows of ${Math.round(statSync(files.json).size / rows)} bytes`)
    console.log(`  by hand:         ${describeTiming(byHand, rows)}`)
    for (const [name, one] of [
      ['lines of JSON', asJson],
      ['CSV', asCsv],
    ] as const)
      console.log(
        `  ${`${name}:`.padEnd(16)} ${describeTiming(one, rows)}; ${(byHand.seconds / one.seconds).toFixed(2)} of by hand (${(byHand.cpuSeconds / one.cpuSeconds).toFixed(2)} by processor time)`,
      )
    console.log(`  memory: ${Math.round(idle)} MB before, at most ${Math.round(peak)} MB`)
    await running.stop()
  }
}

async function post(url: string, path: string, type: string, rows: number): Promise<void> {
  const body = Readable.toWeb(createReadStream(path)) as ReadableStream
  const headers = { 'content-type': type, 'idempotency-key': `${Math.random()}` }
  const answer = await fetch(`${url}/orders/imports`, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
  const report = (await answer.json()) as { created?: number }
  if (report.created !== rows) throw new Error(JSON.stringify(report).slice(0, 500))
}

/** COPY of a file, as `psql \copy` does it. */
const copyFrom = (text: string, path: string) => {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const ended = { submit: (connection: { query: (text: string) => void }) => connection.query(text) }
  return {
    promise,
    query: Object.assign(ended, {
      handleCopyInResponse: async (connection: {
        sendCopyFromChunk: (chunk: Buffer) => void
        endCopyFrom: () => void
        stream: NodeJS.WritableStream & { writableNeedDrain: boolean }
      }) => {
        for await (const chunk of createReadStream(path, { highWaterMark: 65_536 })) {
          connection.sendCopyFromChunk(chunk)
          if (connection.stream.writableNeedDrain) await new Promise((go) => connection.stream.once('drain', go))
        }
        connection.endCopyFrom()
      },
      handleCommandComplete: () => {},
      handleReadyForQuery: () => resolve(),
      handleError: reject,
    }),
  }
}

const columns = 'id, status, number, note, total, created_at, updated_at'
const indexes = ['status', 'number', 'created_at', 'updated_at'].map(
  (name) => `CREATE INDEX expert_${name} ON expert (${name}, id)`,
)

const folder = mkdtempSync(join(tmpdir(), 'bylaw-imports-'))
const file = join(folder, 'api.ts')
writeFileSync(file, declaration)
try {
  const path = join(folder, 'shop.db')
  const byHand = join(folder, 'expert.db')
  await run({
    ...{ name: 'SQLite', database: `sqlite:${path}`, pid: 0 },
    empty: async () => {
      const db = new DatabaseSync(path)
      db.exec('DELETE FROM orders; DELETE FROM bylaw_keys')
      db.close()
    },
    expert: async ({ json }) => {
      rmSync(byHand, { force: true })
      const db = new DatabaseSync(byHand)
      db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
        CREATE TABLE expert (id TEXT PRIMARY KEY, status TEXT, number INTEGER, note TEXT, total TEXT, created_at TEXT, updated_at TEXT) WITHOUT ROWID;
        ${indexes.join(';')}`)
      const one = '(?, ?, ?, ?, ?, ?, ?)'
      const many = db.prepare(`INSERT INTO expert (${columns}) VALUES ${Array(50).fill(one).join(', ')}`)
      const single = db.prepare(`INSERT INTO expert (${columns}) VALUES ${one}`)
      let [i, values] = [0, [] as (string | number)[]]
      const flush = () => {
        if (values.length === 350) many.run(...values)
        else for (let n = 0; n < values.length; n += 7) single.run(...values.slice(n, n + 7))
        values = []
      }
      db.exec('BEGIN')
      for await (const line of createInterface({ input: createReadStream(json) })) {
        const { status, number, note, total } = JSON.parse(line)
        values.push(`ord_${String(i++).padStart(26, '0')}`, status, number, note, total, at, at)
        if (i % 50 === 0) flush()
        if (i % 500 === 0) db.exec('COMMIT; BEGIN')
      }
      flush()
      db.exec('COMMIT')
      db.close()
    },
  })
  const server = await cluster(['jit=off'])
  const client = new pg.Client(server.url)
  await client.connect()
  await run({
    ...{ name: 'PostgreSQL', database: server.url, pid: server.pid() },
    empty: () => client.query('TRUNCATE orders; TRUNCATE bylaw_keys'),
    expert: async ({ copied }) => {
      await client.query(`DROP TABLE IF EXISTS expert;
        CREATE TABLE expert (id text COLLATE "C" PRIMARY KEY, status text COLLATE "C", number bigint, note text, total numeric(18, 2),
          created_at timestamptz, updated_at timestamptz);
        ${indexes.join(';')}`)
      const { promise, query } = copyFrom(`COPY expert (${columns}) FROM STDIN CSV`, copied)
      client.query(query as never)
      await promise
    },
  })
  await client.end()
  await server.close()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)
