/** Proves that a dry run answers what the write would and leaves the whole database as it was, on both stores. R239. The cellar. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { count, f, type Service, service, sum } from 'bylaw'
import { testing } from 'bylaw/testing'
import { alive, type Place, places } from '../help/places.ts'

const api = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
  settings: { versions: { carriers: ['path'] } },
  errors: { 'order-blocked': { parents: ['conflict'], status: 409 } },
  resources: {
    customers: {
      prefix: 'cus',
      fields: { name: f.text({ unique: true }), orders: f.integer({ derived: count('orders') }) },
      access: 'public',
    },
    orders: {
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers', { optional: true, onDelete: 'cascade' }),
        note: f.text({ default: '' }),
        total: f.integer({ derived: sum('lines', 'amount') }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          expiries: { from: ['draft'], to: 'expired', after: 'PT1H' },
        },
      },
      access: 'public',
    },
    lines: {
      prefix: 'lin',
      parent: { resource: 'orders', while: ['draft'], onDelete: 'cascade' },
      fields: { amount: f.integer() },
      access: 'public',
    },
    places: { key: 'code', fields: { code: f.text(), name: f.text({ default: '' }) }, access: 'public' },
    notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' },
  },
}).change('v2', 'orders', { about: '`note` was called `text`.', renamed: { text: 'note' } })

const text = f.text({ filter: true })
const former = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' } },
  resources: { notes: { prefix: 'not', fields: { text }, access: 'public' } },
})
const upgraded = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
  resources: { notes: { prefix: 'not', fields: { body: text }, access: 'public' } },
}).change('v2', 'notes', { about: '`body` was called `text`.', renamed: { text: 'body' } })

interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at as they are
  readonly json: any
}

type Ask = (method: string, path: string, json?: unknown, headers?: Record<string, string>) => Promise<Answer>

function nodeOn(t: TestContext, { url }: Place, served: Service = api): Ask {
  const { call, close } = testing(served, { database: url })
  t.after(close)
  return async (method, path, json, headers = {}) => {
    const answer = await call(path, { method, headers, ...(json !== undefined && { json }) })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, json: text === '' ? null : JSON.parse(text) }
  }
}

/** All rows of all tables, without the presence of nodes and the time that SQLite saves. */
async function contents({ url, rows }: Place): Promise<Record<string, string[]>> {
  const tables = url.startsWith('sqlite')
    ? "SELECT name FROM sqlite_master WHERE type = 'table'"
    : "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'"
  const found: Record<string, string[]> = {}
  for (const { name } of await rows(tables)) {
    if (/^(?:bylaw_nodes|bylaw_meta|sqlite_.*)$/.test(String(name))) continue
    const all = await rows(`SELECT * FROM "${name}"`)
    found[String(name)] = all
      .map((row) => JSON.stringify(row, (_, one) => (typeof one === 'bigint' ? `${one}` : one)))
      .sort()
  }
  return found
}

/** An answer without what differs between two writes: generated ids, times and tags. */
const comparable = ({ status, headers, json }: Answer): unknown => {
  const own = [...headers].filter(([name]) => !/^(?:date|request-id|dry-run|etag|content-length)$/.test(name))
  const text = JSON.stringify([status, own, json, headers.has('etag')])
  return text.replace(/\b(cus|ord|lin|not)_\w+/g, '$1').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
}

interface Written {
  readonly about: string
  readonly method: string
  readonly path: string
  readonly json?: unknown
  readonly headers?: Record<string, string>
  readonly status: number
}

/** Writes, in an order in which each can be carried out, and refusals. */
function writes(customer: string, order: string, line: string, stale: string): Written[] {
  const key = { 'idempotency-key': 'one' }
  const [orders, lines] = [`/v2/orders/${order}`, `/v2/lines/${line}`]
  return [
    { about: 'a creation', method: 'POST', path: '/v2/notes', json: { text: 'x' }, status: 201 },
    {
      about: 'a creation with a key',
      method: 'POST',
      path: '/v2/notes',
      json: { text: 'x' },
      headers: key,
      status: 201,
    },
    {
      about: 'a creation with effects and a key',
      method: 'POST',
      path: '/v2/orders',
      json: { customerId: customer },
      headers: { 'idempotency-key': 'two' },
      status: 201,
    },
    { about: 'a used key', method: 'POST', path: '/v2/notes', json: { text: 'x' }, headers: key, status: 409 },
    { about: 'a unique value', method: 'POST', path: '/v2/customers', json: { name: 'Ann' }, status: 409 },
    {
      about: 'a missing reference',
      method: 'POST',
      path: '/v2/orders',
      json: { customerId: 'cus_00000000000000000000000000' },
      status: 400,
    },
    { about: 'wrong fields', method: 'POST', path: '/v2/notes', json: { text: 7 }, status: 400 },
    { about: 'an older version', method: 'POST', path: '/v1/orders', json: { text: 'x' }, status: 201 },
    {
      about: 'a change by an older version',
      method: 'PATCH',
      path: `/v1/orders/${order}`,
      json: { text: 'y' },
      status: 200,
    },
    { about: 'a creating PUT', method: 'PUT', path: '/v2/places/a', json: { name: 'A' }, status: 201 },
    { about: 'a replacing PUT', method: 'PUT', path: '/v2/places/a', json: { name: 'B' }, status: 200 },
    { about: 'a child that counts', method: 'POST', path: `${orders}/lines`, json: { amount: 3 }, status: 201 },
    { about: 'a change that counts', method: 'PATCH', path: lines, json: { amount: 4 }, status: 200 },
    { about: 'a change of nothing', method: 'PATCH', path: lines, json: { amount: 4 }, status: 200 },
    {
      about: 'an outdated tag',
      method: 'PATCH',
      path: lines,
      json: { amount: 5 },
      headers: { 'if-match': stale },
      status: 412,
    },
    {
      about: 'a transition',
      method: 'POST',
      path: `${orders}/placements`,
      headers: { 'idempotency-key': 'three' },
      status: 200,
    },
    { about: 'a state', method: 'POST', path: `${orders}/placements`, status: 409 },
    { about: 'a removal', method: 'DELETE', path: '/v2/places/a', status: 204 },
    { about: 'a removed item', method: 'DELETE', path: '/v2/places/a', status: 204 },
    { about: 'a removal with a cascade', method: 'DELETE', path: `/v2/customers/${customer}`, status: 204 },
    { about: 'an item that is gone', method: 'PATCH', path: lines, json: { amount: 1 }, status: 410 },
  ]
}

for (const [name, place] of places)
  describe(`dry runs (${name})`, () => {
    test('R239: answer what the write answers, and leave the database as it was', async (t) => {
      const where = await place(t)
      const ask = nodeOn(t, where)
      const customer = (await ask('POST', '/v2/customers', { name: 'Ann' })).json.id
      const order = (await ask('POST', '/v2/orders', { customerId: customer })).json.id
      const line = await ask('POST', `/v2/orders/${order}/lines`, { amount: 2 })
      for (const one of writes(customer, order, line.json.id, String(line.headers.get('etag')))) {
        const before = await contents(where)
        const dry = await ask(one.method, `${one.path}?dryRun=true`, one.json, one.headers)
        assert.deepEqual([dry.status, dry.headers.get('dry-run')], [one.status, 'true'], one.about)
        assert.deepEqual(await contents(where), before, one.about)
        const real = await ask(one.method, one.path, one.json, one.headers)
        assert.equal(real.headers.has('dry-run'), false)
        assert.equal(comparable(dry), comparable(real), one.about)
      }
    })

    test('R239: a key stays free, and a used one is replayed', async (t) => {
      const replaying = service({
        name: 'shop',
        settings: { idempotency: { mode: 'replay' } },
        resources: { notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' } },
      })
      const ask = nodeOn(t, await place(t), replaying)
      const key = { 'idempotency-key': 'one' }
      const send = (path: string, text = 'x') => ask('POST', path, { text }, key)
      assert.equal((await send('/notes?dryRun=true', 'y')).status, 201)
      const made = await send('/notes')
      assert.deepEqual([made.status, made.headers.get('idempotency-replayed')], [201, null])
      const again = await send('/notes?dryRun=true')
      assert.deepEqual([again.json, again.headers.get('idempotency-replayed')], [made.json, 'true'])
      assert.equal((await send('/notes?dryRun=true', 'y')).status, 422)
      const count = async () => (await ask('GET', '/notes')).json.data.length
      assert.equal(await count(), 1)
    })

    test('R239: in parallel with the same key only the real writes count, once', async (t) => {
      const where = await place(t)
      const nodes = [nodeOn(t, where), nodeOn(t, where)]
      for (let round = 0; round < 10; round++) {
        const key = { 'idempotency-key': `key-${round}` }
        const answers = await Promise.all(
          [0, 1, 2, 3, 4, 5].map(async (i) => {
            const dry = i !== 2 && i !== 3 // on each node a dry run comes first
            const sent = await nodes[i % 2]?.('POST', `/v2/notes${dry ? '?dryRun=true' : ''}`, { text: 'x' }, key)
            return { dry, status: sent?.status }
          }),
        )
        const real = answers.filter(({ dry }) => !dry).map(({ status }) => status)
        assert.deepEqual(real.sort(), [201, 409])
        assert.equal((await nodes[0]?.('GET', '/v2/notes'))?.json.data.length, round + 1)
      }
    })

    test('R239: in parallel with real writes of the same rows no change is lost or added', async (t) => {
      const where = await place(t)
      const nodes = [nodeOn(t, where), nodeOn(t, where)] as const
      const order = (await nodes[0]('POST', '/v2/orders', {})).json.id
      const line = (await nodes[0]('POST', `/v2/orders/${order}/lines`, { amount: 0 })).json.id
      for (let round = 1; round <= 8; round++) {
        const answers = await Promise.all([
          nodes[0]('PATCH', `/v2/lines/${line}?dryRun=true`, { amount: 1000 }),
          nodes[0]('PATCH', `/v2/lines/${line}`, { amount: round }),
          nodes[1]('POST', `/v2/orders/${order}/lines`, { amount: 1 }),
          nodes[1]('POST', `/v2/orders/${order}/lines?dryRun=true`, { amount: 1000 }),
          nodes[1]('DELETE', `/v2/orders/${order}?dryRun=true`),
          nodes[0]('POST', `/v2/orders/${order}/placements?dryRun=true`),
        ])
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, 200, 201, 201, 204, 200],
        )
        const { json } = await nodes[0]('GET', `/v2/orders/${order}`)
        assert.deepEqual([json.total, json.status], [2 * round, 'draft'])
      }
    })

    test('R239: cached lists, rows and tags stay valid', async (t) => {
      const ask = nodeOn(t, await place(t))
      const { json, headers } = await ask('POST', '/v2/notes', { text: 'x' })
      const path = `/v2/notes/${json.id}`
      const tag = { 'if-none-match': String(headers.get('etag')) }
      const list = await ask('GET', '/v2/notes')
      assert.equal((await ask('PATCH', `${path}?dryRun=true`, { text: 'y' })).json.text, 'y')
      assert.equal((await ask('GET', path, undefined, tag)).status, 304)
      assert.deepEqual((await ask('GET', path)).json, json)
      assert.equal((await ask('DELETE', `${path}?dryRun=true`)).status, 204)
      assert.equal((await ask('GET', path, undefined, tag)).status, 304)
      assert.deepEqual((await ask('GET', '/v2/notes')).json, list.json)
      const listed = { 'if-none-match': String(list.headers.get('etag')) }
      assert.equal((await ask('GET', '/v2/notes', undefined, listed)).status, 304)
    })

    test('R239: leave the database as it was during a rolling upgrade', async (t) => {
      const where = await place(t)
      const old = nodeOn(t, where, former)
      const { id } = (await old('POST', '/notes', { text: 'x' })).json
      await alive(where)
      const ask = nodeOn(t, where, upgraded)
      assert.equal((await ask('GET', `/v2/notes/${id}`)).json.body, 'x')
      const before = await contents(where)
      for (const [method, path, json, status] of [
        ['POST', '/v2/notes', { body: 'y' }, 201],
        ['POST', '/v1/notes', { text: 'y' }, 201],
        ['PUT', `/v2/notes/${id}`, { body: 'y' }, 200],
        ['PATCH', `/v1/notes/${id}`, { text: 'y' }, 200],
        ['DELETE', `/v2/notes/${id}`, undefined, 204],
      ] as const) {
        assert.equal((await ask(method, `${path}?dryRun=true`, json)).status, status, `${method} ${path}`)
        assert.deepEqual(await contents(where), before, `${method} ${path}`)
      }
      assert.equal((await old('GET', `/notes/${id}`)).json.text, 'x')
    })

    test('R239: handlers run, know that it is a dry run, and their changes are not kept', async (t) => {
      const seen: boolean[] = []
      const handled = api.handlers({
        orders: {
          create({ input, refuse, create, dryRun }) {
            seen.push(dryRun)
            if (input.note === 'blocked') throw refuse('order-blocked')
            create('notes', { text: 'an order' })
          },
          remove({ create }) {
            create('notes', { text: 'no order' })
          },
        },
      })
      const where = await place(t)
      const ask = nodeOn(t, where, handled)
      const key = { 'idempotency-key': 'one' }
      const before = await contents(where)
      const dry = await ask('POST', '/v2/orders?dryRun=true', { note: 'x' }, key)
      assert.deepEqual([dry.status, dry.json.note], [201, 'x'])
      const refused = await ask('POST', '/v2/orders?dryRun=true', { note: 'blocked' })
      assert.deepEqual([refused.json.type, refused.headers.get('dry-run')], ['order-blocked', 'true'])
      assert.deepEqual(await contents(where), before)
      const made = await ask('POST', '/v2/orders', { note: 'x' }, key)
      assert.equal(made.status, 201)
      assert.deepEqual(seen, [true, true, false])
      const after = await contents(where)
      assert.equal((await ask('DELETE', `/v2/orders/${made.json.id}?dryRun=true`)).status, 204)
      assert.deepEqual(await contents(where), after)
      assert.equal((await ask('GET', '/v2/notes')).json.data.length, 1)
    })
  })
