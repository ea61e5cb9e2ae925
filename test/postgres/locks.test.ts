/** Another session locks or changes a table: requests for it wait without blocking others, and none gets a 500. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { nodeOn } from '../help/places.ts'
import { connected, freshPostgres, sql } from '../help/postgres.ts'
import { until } from '../help/until.ts'
import { node, serviceOnServer } from './service-on-server.ts'

const fields = { name: f.text({ max: 100 }) }
const api = service({
  name: 'two',
  resources: { things: { fields, access: 'public' }, others: { fields, access: 'public' } },
})

test('reads of a locked table do not block others, and are refused with 503 or answered', {
  timeout: 180_000,
}, async (t) => {
  const { server } = await serviceOnServer(t)
  const own = await node(server.url, api)
  t.after(own.close)
  const [thing, other] = await Promise.all(
    ['things', 'others'].map(async (name) => {
      const made = await own.call('POST', `/${name}`, { name: 'a' })
      return `/${name}/${made.json.id}`
    }),
  )
  const client = await connected(t, server.url)
  await client.query('BEGIN')
  await client.query('LOCK TABLE things IN ACCESS EXCLUSIVE MODE')
  const order: string[] = []
  const reads = Array.from({ length: 30 }, async () => {
    const answer = await own.call('GET', thing as string)
    order.push('thing')
    return answer
  })
  const read = await own.call('GET', other as string)
  order.push('other')
  assert.equal(read.status, 200)
  for (const { status, retryAfter, json } of await Promise.all(reads)) {
    assert.equal(status, 503, JSON.stringify(json))
    assert.equal(json.type, 'timeout')
    assert.ok(Number(retryAfter) > 0)
  }
  assert.equal(order[0], 'other')
  const held = Array.from({ length: 30 }, () => own.call('GET', thing as string))
  await own.call('GET', other as string)
  await client.query('COMMIT')
  for (const { status } of await Promise.all(held)) assert.equal(status, 200)
  assert.deepEqual(
    own.errors.filter((about) => /internal-error/.test(JSON.stringify(about))),
    [],
  )
})

test('statements that were prepared before a table changed are prepared again', { timeout: 180_000 }, async (t) => {
  const { call, server } = await serviceOnServer(t)
  const { json } = await call('POST', '/things', { name: 'a' })
  const path = `/things/${json.id}`
  for (const type of ['integer', 'bigint']) {
    assert.equal((await call('GET', path)).status, 200)
    server.psql(`ALTER TABLE things ALTER COLUMN revision TYPE ${type}`)
    const all = [
      ...Array.from({ length: 10 }, () => call('GET', path)),
      call('PUT', path, { name: `as ${type}` }),
      call('POST', '/things', { name: type }),
    ]
    assert.deepEqual(
      (await Promise.all(all)).map(({ status }) => status),
      [...Array(11).fill(200), 201],
    )
  }
})

test('R114: a deletion that waited for a change of its row is refused', { timeout: 180_000 }, async (t) => {
  const { server } = await serviceOnServer(t)
  const own = await node(server.url, api)
  t.after(own.close)
  const made = await own.call('POST', '/things', { name: 'a' })
  const path = `/things/${made.json.id}`
  const [client, watcher] = [await connected(t, server.url), await connected(t, server.url)]
  await client.query('BEGIN')
  await client.query('UPDATE things SET revision = revision + 1')
  const removed = own.call('DELETE', path, undefined, { 'if-match': String(made.etag) })
  // Not `until`: its first try waits for a few milliseconds only, and those after it read the row anew.
  const waits = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
  while ((await watcher.query(waits)).rowCount === 0);
  await client.query('COMMIT')
  assert.deepEqual([(await removed).status, (await own.call('GET', path)).status], [412, 200])
})

const paired = service({
  name: 'paired',
  resources: {
    cups: { prefix: 'cup', fields: { size: f.integer() }, access: 'public' },
    mugs: { prefix: 'mug', fields: { size: f.integer() }, access: 'public' },
    moves: {
      prefix: 'mov',
      fields: { cup: f.ref('cups'), one: f.ref('mugs'), other: f.ref('mugs') },
      access: 'public',
    },
  },
}).handlers({
  moves: {
    async create({ input: { cup, one, other }, change }) {
      change('mugs', one, ({ size }) => ({ size: size + 1 }))
      change('mugs', other, ({ size }) => ({ size: size + 1 }))
      change('cups', cup, ({ size }) => ({ size: size + 1 }))
    },
  },
})

test('R226: a write that waits for a row has not locked the rows that follow it', { timeout: 180_000 }, async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  const { ask, close } = nodeOn({ url }, paired as Service)
  t.after(close)
  const make = async (path: string): Promise<string> => (await ask('POST', path, { size: 0 })).json.id
  const [cup, one, other] = [await make('/cups'), await make('/mugs'), await make('/mugs')]
  const client = await connected(t, url)
  await client.query('BEGIN')
  const { rows } = await client.query('SELECT pg_backend_pid() AS own FROM cups WHERE id = $1 FOR UPDATE', [cup])
  const write = ask('POST', '/moves', { cup, one, other })
  const waits = `SELECT 1 FROM pg_stat_activity WHERE ${rows[0].own} = ANY(pg_blocking_pids(pid))`
  await until(async () => (await sql(url, waits)).length > 0)
  await client.query('SELECT 1 FROM mugs FOR UPDATE NOWAIT')
  await client.query('COMMIT')
  assert.equal((await write).status, 201)
})
