/** Proves from the plans that PostgreSQL logs that no statement of a service reads a large table as a whole. The store. */
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { serve } from '../../bench/server.ts'
import { openStore } from '../../src/terminal/open.ts'
import { sourceCommand } from '../help/built.ts'
import { cluster } from '../help/cluster.ts'
import { keyFor } from '../help/door.ts'
import { freePort } from '../help/free-port.ts'
import { until } from '../help/until.ts'
import { soakApi } from '../torture/soak-api.ts'

/** Expressions that make the key of a copied row unique, by table; `n` is a number from 1 on. */
const keys: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  bylaw_outbox: { id: "'evt_' || n || x.id", mark: '1' },
  bylaw_positions: { position: '-n * 100000 - x.position', event: "'evt_' || n || x.event" },
  bylaw_tombstones: { id: "'tom_' || n || x.id" },
  bylaw_keys: { hash: 'n || x.hash', id: 'n || x.id' },
  bylaw_timers: { id: "'ord_' || n || x.id", due: 'x.due + 1e12::bigint' },
  bylaw_webhook_sends: { id: "'whd_' || n || x.id", due: 'x.due + 1e12::bigint' },
  webhook_deliveries: { id: "'whd_' || n || x.id" },
  orders: { id: "'ord_' || n || x.id" },
  receipts: { id: "'rec_' || n || x.id", by_orderId: '\'ord_\' || n || x."by_orderId"' },
}

/** The statement that adds `count` copies of each row of a table. */
const copies = (table: string, count: number): string => {
  const object = Object.entries(keys[table] ?? {}).map(([name, value]) => `'${name}', ${value}`)
  return `INSERT INTO "${table}" SELECT (jsonb_populate_record(x, jsonb_build_object(${object.join(', ')}))).* FROM "${table}" AS x, generate_series(1, ${count}) AS n`
}

test('R230: with large tables, requests, events, deliveries, timers and reactions read rows by indexes alone', async (t) => {
  const { client, run, plansSince, url } = await explained(t)
  await run(async (send) => {
    for (const ordered of [true, false])
      await send('POST', '/webhook-endpoints', { url, eventTypes: ['order.*'], ordered })
    await live(send, 10)
    await pause(1500)
    // The first run of timers locks the rows whose timers it adds, 100 at once: of a table of this size the planner reads all.
    await until(async () => (await client.query("SELECT FROM bylaw_timers WHERE id = ''")).rowCount === 1)
  })
  for (const table of Object.keys(keys)) {
    const { rowCount } = await client.query(copies(table, 1000))
    assert.ok(Number(rowCount) >= 1000, table)
  }
  await client.query('ANALYZE')
  const plans = await plansSince(() =>
    run(async (send) => {
      await live(send, 30)
      await pause(3000)
    }),
  )
  assert.ok(plans.length > 100)
  const whole = plans.filter((plan) => !readsAll.test(plan) && scanned(plan).some((table) => table && keys[table]))
  assert.deepEqual(
    whole.map((plan) => plan.slice(0, 3000)),
    [],
  )
})

/** A service on a server that logs the plan of each statement, and a sink for its webhooks. */
async function explained(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-plans-'))
  chmodSync(folder, 0o777)
  const sink = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(Math.random() < 0.1 ? 500 : 204).end())
  })
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve))
  const server = await cluster([
    ...['logging_collector=on', `log_directory=${folder}`, 'autovacuum=off', 'jit=off'],
    ...['session_preload_libraries=auto_explain', 'auto_explain.log_min_duration=0', 'auto_explain.log_analyze=on'],
  ])
  const client = new pg.Client(server.url)
  await client.connect()
  t.after(async () => {
    sink.close()
    sink.closeAllConnections()
    await client.end()
    await server.close()
    rmSync(folder, { recursive: true })
  })
  const store = await openStore(soakApi, server.url, 'apply')
  const scopes = ['webhook-endpoints:read', 'webhook-endpoints:write']
  const key = await keyFor(store, 'plans', { account: 'acc_1', scopes }, Date.now())
  await store.close()

  const run = async (act: (send: Send) => Promise<void>): Promise<void> => {
    const port = await freePort()
    const serving = ['serve', join(import.meta.dirname, '../torture/soak-api.ts'), '--database', server.url]
    const words = [...sourceCommand, ...serving, '--port', String(port), '--webhooks-to-private']
    const served = await serve(words, port, join(folder, 'service'), { LOG_LEVEL: 'error' })
    await act(sending(served.url, key)).finally(served.stop)
  }
  const plansSince = async (act: () => Promise<void>): Promise<string[]> => {
    const before = logged(folder).length
    await act()
    return logged(folder).slice(before).split('Query Text: ').slice(1)
  }
  return { client, run, plansSince, url: `http://127.0.0.1:${(sink.address() as AddressInfo).port}/` }
}

test('plans that were made for small tables are made again when the tables have grown', async (t) => {
  const { client, run, plansSince } = await explained(t)
  await run(async (send) => {
    const { id } = await send('POST', '/orders', { note: 'the first' })
    const both = async (note: string) => {
      for (let i = 0; i < 20; i++) await Promise.all([send('GET', `/orders/${id}`), send('POST', '/orders', { note })])
      await send('PATCH', `/orders/${id}`, { note })
    }
    await both('few')
    await client.query(copies('orders', 2000))
    await pause(1200)
    await both('again')
    const plans = await plansSince(() => both('many'))
    const whole = plans.filter((plan) => /Seq Scan on orders/.test(plan))
    assert.ok(plans.some((plan) => plan.includes('"orders"')))
    assert.deepEqual(
      whole.map((plan) => plan.slice(0, 2000)),
      [],
    )
  })
})

/** A total counts the rows of a list, and a start looks for rows without a required value. */
const readsAll = /SELECT count\(\*\) AS total|^SELECT 1 AS found .* IS NULL LIMIT 1/

/** The tables of which a plan reads more than a thousand rows, or that it reads as a whole. */
const scanned = (plan: string): (string | undefined)[] =>
  plan
    .split('->')
    .filter((part) => /Seq Scan on/.test(part) || Number(/rows=(\d+) loops/.exec(part)?.[1]) > 1000)
    .map((part) => /(?:Scan on|Scan using \S+ on) "?(\w+)/.exec(part)?.[1])

const logged = (folder: string): string =>
  readdirSync(folder)
    .filter((name) => name.startsWith('postgresql'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('')

type Send = (method: string, path: string, json?: object) => Promise<{ readonly id: string }>

const sending =
  (url: string, key: Readonly<Record<string, string>>): Send =>
  async (method, path, json) => {
    const content = json && { 'content-type': 'application/json' }
    const headers = { ...key, ...content, ...(method === 'POST' && { 'idempotency-key': crypto.randomUUID() }) }
    const answer = await fetch(url + path, { method, headers, ...(json && { body: JSON.stringify(json) }) })
    const text = await answer.text()
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }

/** Orders are created, changed, placed, listed and removed, and receipts removed; the last order stays, with its timer. */
async function live(send: Send, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const { id } = await send('POST', '/orders', { note: `${i}` })
    await send('PATCH', `/orders/${id}`, { note: `${i} again` })
    if (i % 2 === 0) await send('POST', `/orders/${id}/placements`)
    await send('GET', `/orders/${id}`)
    await send('GET', '/orders?limit=5')
    await send('GET', '/events?limit=5')
    await send('GET', '/webhook-deliveries?limit=5')
    if (i % 4 < 2) await send('DELETE', `/orders/${id}`)
    else if (i % 4 === 3) await send('DELETE', `/receipts/${(await send('POST', '/receipts', { orderId: id })).id}`)
  }
}
