/** Proves that a dry run answers what the write would and leaves the whole database as it was, on both stores. R239. The store. */
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
  const own = [...headers].filter(
    ([name]) => !/^(?:date|request-id|dry-run|etag|last-modified|content-length)$/.test(name),
  )
  const text = JSON.stringify([status, own, json])
  return text.replace(/\b(cus|ord|lin|not)_\w+/g, '$1').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
}

const tagOf = ({ headers }: Pick<Answer, 'headers'>): string => String(headers.get('etag'))

type Written = readonly [status: number, about: string, call: string, json?: unknown, headers?: Record<string, string>]

/** Writes, in an order in which each can be carried out, and refusals. */
function writes(customer: string, order: string, line: string, stale: string): Written[] {
  const key = (name: string) => ({ 'idempotency-key': name })
  const nobody = 'cus_00000000000000000000000000'
  return [
    [201, 'a creation', 'POST /v2/notes', { text: 'x' }],
    [201, 'a creation with a key', 'POST /v2/notes', { text: 'x' }, key('one')],
    [201, 'a creation with effects and a key', 'POST /v2/orders', { customerId: customer }, key('two')],
    [409, 'a used key', 'POST /v2/notes', { text: 'x' }, key('one')],
    [409, 'a unique value', 'POST /v2/customers', { name: 'Ann' }],
    [400, 'a missing reference', 'POST /v2/orders', { customerId: nobody }],
    [400, 'wrong fields', 'POST /v2/notes', { text: 7 }],
    [201, 'an older version', 'POST /v1/orders', { text: 'x' }],
    [200, 'a change by an older version', `PATCH /v1/orders/${order}`, { text: 'y' }],
    [201, 'a creating PUT', 'PUT /v2/places/a', { name: 'A' }],
    [200, 'a replacing PUT', 'PUT /v2/places/a', { name: 'B' }],
    [201, 'a child that counts', `POST /v2/orders/${order}/lines`, { amount: 3 }],
    [200, 'a change that counts', `PATCH /v2/lines/${line}`, { amount: 4 }],
    [200, 'a change of nothing', `PATCH /v2/lines/${line}`, { amount: 4 }],
    [412, 'an outdated tag', `PATCH /v2/lines/${line}`, { amount: 5 }, { 'if-match': stale }],
    [200, 'a transition', `POST /v2/orders/${order}/placements`, undefined, key('three')],
    [409, 'a state', `POST /v2/orders/${order}/placements`],
    [204, 'a removal', 'DELETE /v2/places/a'],
    [204, 'a removed item', 'DELETE /v2/places/a'],
    [204, 'a removal with a cascade', `DELETE /v2/customers/${customer}`],
    [410, 'an item that is gone', `PATCH /v2/lines/${line}`, { amount: 1 }],
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
      for (const [status, about, call, json, headers] of writes(customer, order, line.json.id, tagOf(line))) {
        const [method = '', path = ''] = call.split(' ')
        const before = await contents(where)
        const dry = await ask(method, `${path}?dryRun=true`, json, headers)
        assert.deepEqual([dry.status, dry.headers.get('dry-run')], [status, 'true'], about)
        assert.deepEqual(await contents(where), before, about)
        const real = await ask(method, path, json, headers)
        assert.equal(real.headers.has('dry-run'), false)
        assert.equal(comparable(dry), comparable(real), about)
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
      const tag = { 'if-none-match': tagOf({ headers }) }
      const list = await ask('GET', '/v2/notes')
      assert.equal((await ask('PATCH', `${path}?dryRun=true`, { text: 'y' })).json.text, 'y')
      assert.equal((await ask('GET', path, undefined, tag)).status, 304)
      assert.deepEqual((await ask('GET', path)).json, json)
      assert.equal((await ask('DELETE', `${path}?dryRun=true`)).status, 204)
      assert.equal((await ask('GET', path, undefined, tag)).status, 304)
      assert.deepEqual((await ask('GET', '/v2/notes')).json, list.json)
      const listed = { 'if-none-match': tagOf(list) }
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
