/**
 * `npm run soak -- --store sqlite --minutes 10 --orders 4`: runs a service with events, webhooks, timers and a reaction under a
 * steady load, and fails if its memory or a table grows between the middle and the end. On PostgreSQL dead rows count too.
 * Each order has 4 events and 8 deliveries; `--orders` a second must be less than the machine can do.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { serve } from '../../bench/server.ts'
import { followEvents } from '../../src/events/event-client.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { openStore } from '../../src/terminal/open.ts'
import { sourceCommand } from '../help/built.ts'
import { cluster } from '../help/cluster.ts'
import { keyFor } from '../help/door.ts'
import { freePort } from '../help/free-port.ts'
import { soakApi } from './soak-api.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    minutes: { type: 'string', default: '10' },
    orders: { type: 'string', default: '4' },
  },
})
const [minutes, rate] = [Number(values.minutes), Number(values.orders)]
const folder = mkdtempSync(join(tmpdir(), 'bylaw-soak-'))

/** Figures that must not grow, by name: rows and kB of each table, and megabytes of the process. */
type Sample = ReadonlyMap<string, number>

interface Database {
  readonly url: string
  readonly sample: () => Promise<readonly (readonly [name: string, value: number])[]>
  readonly close: () => Promise<void>
}

function sqlite(): Database {
  const path = join(folder, 'soak.db')
  const all = (database: DatabaseSync, text: string) =>
    database.prepare(text).all() as Record<string, string | number>[]
  return {
    url: `sqlite:${path}`,
    sample: async () => {
      const database = new DatabaseSync(path, { readOnly: true })
      const names = all(database, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
      const rows = names.map(({ name }) => {
        const [row] = all(database, `SELECT count(*) AS n FROM "${name}"`)
        return [`${name} rows`, Number(row?.n)] as const
      })
      const [file] = all(database, 'SELECT page_count * page_size / 1024 AS n FROM pragma_page_count, pragma_page_size')
      database.close()
      return [...rows, ['file kB', Number(file?.n)]]
    },
    close: async () => {},
  }
}

async function postgres(): Promise<Database> {
  const server = await cluster()
  const client = new pg.Client(server.url)
  await client.connect()
  return {
    url: server.url,
    sample: async () => {
      const { rows } = await client.query(
        'SELECT relname AS name, n_dead_tup AS dead, pg_total_relation_size(relid) / 1024 AS size FROM pg_stat_user_tables',
      )
      const found: [string, number][] = []
      for (const { name, dead, size } of rows) {
        const counted = await client.query(`SELECT count(*) AS n FROM "${name}"`)
        found.push([`${name} rows`, Number(counted.rows[0].n)], [`${name} dead rows`, Number(dead)])
        found.push([`${name} kB`, Number(size)])
      }
      return found
    },
    close: async () => {
      await client.end()
      await server.close()
    },
  }
}

/** Counts deliveries, and refuses one of fifty. */
async function hooks() {
  let received = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(++received % 50 === 0 ? 500 : 204).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${port}/`, received: () => received, close }
}

type Send = (method: string, path: string, json?: object) => Promise<{ readonly id: string }>

const sending =
  (url: string, key: Readonly<Record<string, string>>): Send =>
  async (method, path, json) => {
    const content = json && { 'content-type': 'application/json' }
    const headers = { ...key, ...content, ...(method === 'POST' && { 'idempotency-key': crypto.randomUUID() }) }
    const answer = await fetch(url + path, { method, headers, ...(json && { body: JSON.stringify(json) }) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }

const lifetime = 60_000

/** An order is created, changed, and placed or left to expire; it is removed after a minute. */
async function liveOrder(send: Send, number: number): Promise<void> {
  const { id } = await send('POST', '/orders', { note: `${number}` })
  await send('PATCH', `/orders/${id}`, { note: `${number} ${'x'.repeat(200)}` })
  if (number % 2 === 0) await send('POST', `/orders/${id}/placements`)
  await pause(lifetime)
  await send('DELETE', `/orders/${id}`)
}

/** Each figure's maximum around the middle and at the end: retention is swept once a minute, so that figures go up and down. */
function judge(samples: readonly Sample[]): boolean {
  const part = (from: number, to: number) => samples.slice(samples.length * from, samples.length * to)
  const [middle, end] = [part(0.375, 0.625), part(0.75, 1)]
  const most = (of: readonly Sample[], name: string) => Math.max(...of.map((one) => one.get(name) ?? 0))
  let isFlat = true
  for (const name of [...(samples.at(-1)?.keys() ?? [])].sort()) {
    const [before, after] = [most(middle, name), most(end, name)]
    const grows = after > before * 1.2 + (name.endsWith('MB') ? 0 : 300)
    if (after > 0) console.log(`${name}: ${before} around the middle, ${after} at the end${grows ? ': IT GROWS' : ''}`)
    isFlat &&= !grows
  }
  return isFlat
}

async function soak(database: Database): Promise<boolean> {
  const store = await openStore(soakApi, database.url, 'apply')
  const scopes = ['webhook-endpoints:read', 'webhook-endpoints:write']
  const key = await keyFor(store, 'soak', { account: 'acc_1', scopes }, Date.now())
  await store.close()
  const port = await freePort()
  const serving = ['serve', join(import.meta.dirname, 'soak-api.ts'), '--database', database.url]
  const words = [...sourceCommand, ...serving, '--port', String(port), '--webhooks-to-private']
  const served = await serve(words, port, join(folder, 'log'), { LOG_LEVEL: 'error' })
  const send = sending(served.url, key)
  const sink = await hooks()
  for (const ordered of [true, false])
    await send('POST', '/webhook-endpoints', { url: sink.url, eventTypes: ['order.*'], ordered })
  const ending = new AbortController()
  let streamed = 0
  const streams = Array.from({ length: 20 }, () =>
    followEvents({
      ...{ url: `${served.url}/events`, headers: {}, signal: ending.signal, world: realWorld },
      ...{ connected: () => {}, disconnected: () => {}, missed: () => {} },
      take: async () => void streamed++,
    }),
  )
  const [samples, failures, living]: [Sample[], unknown[], Promise<void>[]] = [[], [], []]
  const until = Date.now() + minutes * 60_000
  for (let [number, sampled] = [0, 0]; Date.now() < until; number++) {
    living.push(liveOrder(send, number).catch((error: unknown) => void failures.push(error)))
    if (Date.now() - sampled > 5000) {
      sampled = Date.now()
      samples.push(new Map([...(await database.sample()), ['process MB', served.memory()]]))
    }
    await pause(1000 / rate)
  }
  // Orders that are removed later find no service.
  const isGood = judge(samples) && failures.length === 0 && streamed > 0 && sink.received() > 0
  console.log(
    `${values.store}, ${minutes} min: ${living.length} orders, ${streamed} events streamed, ${sink.received()} deliveries, ${failures.length} failed requests`,
  )
  for (const failure of failures.slice(0, 5)) console.log(String(failure))
  ending.abort()
  await Promise.allSettled(streams)
  await served.stop()
  sink.close()
  return isGood
}

if (!['sqlite', 'postgres'].includes(values.store) || !(minutes >= 6 && rate > 0)) {
  console.error('--store takes sqlite or postgres, --minutes a number from 6 on, --orders a number above 0.')
  process.exit(2)
}
const database = values.store === 'sqlite' ? sqlite() : await postgres()
const isGood = await soak(database).finally(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})
process.exit(isGood ? 0 : 1)
