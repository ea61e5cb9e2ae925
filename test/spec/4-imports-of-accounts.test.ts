/** R238: imports of callers with accounts and scopes, of older versions, and with handlers. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const [ndjson, csv] = ['application/x-ndjson', 'text/csv']
const linesOf = (items: readonly object[]) => items.map((one) => `${JSON.stringify(one)}\n`).join('')

const market = service({
  name: 'market',
  scopes: { costs: 'See costs', sell: 'Sell' },
  resources: {
    halls: { prefix: 'hal', owner: 'accountId', fields: { name: f.text({ max: 40 }) }, access: 'authenticated' },
    stalls: {
      prefix: 'sta',
      owner: 'accountId',
      fields: {
        name: f.text({ max: 40, filter: true, unique: true }),
        hallId: f.ref('halls', { optional: true }),
        rent: f.decimal({ scale: 2, default: '1', read: 'costs' }),
        pin: f.text({ optional: true, writeOnly: true }),
      },
      imports: true,
      exports: true,
      access: { read: 'authenticated', write: 'sell' },
    },
  },
})
const holders = {
  ann: { account: 'a', scopes: ['sell'] },
  boss: { account: 'a', scopes: ['sell', 'costs'] },
  eve: { account: 'b', scopes: ['sell', 'costs'] },
  guest: { account: 'a', scopes: [] },
}

doors(
  'imports of accounts',
  market,
  (door) => {
    const post = (who: string | null, body: string, more: object = {}, type = ndjson) =>
      door.send('POST', '/stalls/imports', {
        body,
        headers: { 'content-type': type, ...(who && door.as(who)), ...more },
      })
    const listed = async (who: string) =>
      (await door.send('GET', '/stalls', { headers: door.as(who) })).json.data.map(({ name }: { name: string }) => name)

    spec(
      'R238 R166 R169',
      'a caller who may create items may import them, with the fields that it may write',
      async () => {
        assert.equal((await post(null, '{"name":"a"}')).status, 401)
        assert.equal((await post('guest', '{"name":"a"}')).status, 403)
        const { json } = await post(
          'ann',
          linesOf([{ name: 'a1' }, { name: 'a2', rent: '5' }, { name: 'a3', pin: '1' }]),
        )
        assert.deepEqual([json.created, json.failed], [2, 1])
        assert.deepEqual([json.errors[0].line, json.errors[0].type], [2, 'insufficient-scope'])
        assert.deepEqual(await listed('ann'), ['a1', 'a3'])
        const boss = await post('boss', 'name,rent,pin\nb1,7,9\n', {}, csv)
        assert.equal(boss.json.created, 1)
      },
    )
    spec('R238 R170', 'rows of other accounts do not exist', async () => {
      const hall = (await door.send('POST', '/halls', { json: { name: 'h' }, headers: door.as('ann') })).json
      const foreign = await post('eve', linesOf([{ name: 'e1', hallId: hall.id }, { name: 'a1' }]))
      assert.deepEqual([foreign.json.created, foreign.json.failed], [1, 1])
      assert.equal(foreign.json.errors[0].errors[0].pointer, '/hallId')
      assert.equal((await post('ann', linesOf([{ name: 'a4', hallId: hall.id }]))).json.created, 1)
      assert.deepEqual(await listed('eve'), ['a1'])
      const taken = await post('ann', linesOf([{ name: 'a1' }, { name: 'a5' }]))
      assert.equal(taken.json.errors[0].type, 'already-exists')
    })
    spec('R238 R100', 'a key belongs to its account and its caller', async () => {
      const key = { 'idempotency-key': 'shared' }
      assert.equal((await post('ann', '{"name":"k1"}', key)).json.created, 1)
      const other = await post('eve', '{"name":"k1"}', key)
      assert.deepEqual([other.status, other.json.created], [200, 1])
      assert.equal(other.headers['idempotency-replayed'], undefined)
      const colleague = await post('boss', '{"name":"k1"}', key)
      assert.deepEqual([colleague.status, colleague.json.type], [422, 'idempotency-key-payload-mismatch'])
    })
  },
  { holders },
)

const versioned = service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: { label: f.text({ max: 40, unique: true }), kind: f.enum(['new', 'old']), price: f.integer({ min: 1 }) },
      imports: true,
      exports: true,
      access: 'public',
    },
  },
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
}).change('v2', 'orders', {
  about: '`name` is `label`, kinds have other names, and prices are numbers.',
  renamed: { name: 'label' },
  mapped: { kind: { fresh: 'new', worn: 'old' } },
  removed: { cost: f.text() },
  added: ['price'],
  request: ({ cost }) => ({ price: Number(cost) }),
  response: ({ price }) => ({ cost: String(price) }),
})

doors('imports of versions', versioned, (door) => {
  const post = (path: string, body: string, type = ndjson) =>
    door.send('POST', path, { body, headers: { 'content-type': type } })
  spec('R238 R190', 'an older version imports its form, and has its names in errors', async () => {
    const rows = [
      { name: 'a', kind: 'fresh', cost: '5' },
      { name: 'b', kind: 'new', cost: '5' },
      { label: 'c' },
      { name: 'a', kind: 'worn', cost: '7' },
    ]
    const { json } = await post('/v1/orders/imports', linesOf(rows))
    assert.deepEqual([json.created, json.failed], [1, 3], JSON.stringify(json))
    assert.deepEqual(
      json.errors.map(({ errors }: { errors: { pointer: string }[] }) => errors.map(({ pointer }) => pointer)),
      [['/kind'], ['/name', '/kind', '/cost', '/label'], ['/name']],
    )
    const [now] = (await door.send('GET', '/v2/orders')).json.data
    assert.deepEqual([now.label, now.kind, now.price], ['a', 'new', 5])
    const exported = await door.send('GET', '/v1/orders', { headers: { accept: csv } })
    assert.match(exported.text, /^id,name,kind,cost,/)
    const again = await post('/v1/orders/imports', exported.text.replace(',a,', ',z,'), csv)
    assert.equal(again.json.created, 1, again.text)
    assert.match((await post('/v1/orders/imports', 'label\na\n', csv)).json.message, /1 field is invalid/)
  })
})

const handled = service({
  name: 'handled',
  errors: { 'too-dear': { parents: ['conflict'], status: 409 } },
  resources: {
    counters: { prefix: 'cnt', fields: { count: f.integer({ default: 0 }) }, access: 'public' },
    orders: {
      prefix: 'ord',
      fields: {
        counterId: f.ref('counters'),
        price: f.integer(),
        number: f.integer({ readOnly: true, default: 0 }),
      },
      imports: true,
      access: 'public',
    },
  },
}).handlers({
  orders: {
    create: async ({ next, get, change, set, refuse }) => {
      if (next.price < 0) throw new Error('secret: the price service is down')
      if (next.price > 100) throw refuse('too-dear', { pointer: '/price' })
      const counter = await get('counters', next.counterId)
      const count = (counter?.count ?? 0) + 1
      change('counters', next.counterId, { count })
      set({ number: count })
    },
  },
})

doors('imports with handlers', handled, (door) => {
  spec('R238 R226', 'the handlers of each line see the writes of the lines before', async () => {
    const counter = (await door.send('POST', '/counters', { json: {} })).json
    const rows = [5, 500, 7, 8].map((price) => ({ counterId: counter.id, price }))
    const headers = { 'content-type': ndjson, 'idempotency-key': 'handled' }
    const { json } = await door.send('POST', '/orders/imports', { body: linesOf(rows), headers })
    assert.deepEqual([json.created, json.failed], [3, 1], JSON.stringify(json))
    assert.deepEqual([json.errors[0].line, json.errors[0].type], [2, 'too-dear'])
    const { data } = (await door.send('GET', '/orders')).json
    assert.deepEqual(
      data.map(({ number }: { number: number }) => number),
      [1, 2, 3],
    )
    assert.equal((await door.send('GET', `/counters/${counter.id}`)).json.count, 3)
    const again = await door.send('POST', '/orders/imports', { body: linesOf(rows), headers })
    assert.deepEqual(again.json, json)
  })
})

doors('imports with handlers that fail', handled, (door) => {
  const headers = { 'content-type': ndjson, 'idempotency-key': 'failing' }

  spec(
    'R238 R227',
    'a line that a handler fails at has an error without details, and the others are created',
    async () => {
      const counter = (await door.send('POST', '/counters', { json: {} })).json
      const rows = [5, -1, -2, 8].map((price) => ({ counterId: counter.id, price }))
      const { status, json, text } = await door.send('POST', '/orders/imports', { body: linesOf(rows), headers })
      assert.deepEqual([status, json.created, json.failed], [200, 2, 2], text)
      const message = 'The service failed to handle this line; nothing was created.'
      const types = ['internal-error', 'server-error', 'error']
      assert.deepEqual(
        json.errors,
        [2, 3].map((line) => ({ line, message, type: 'internal-error', types })),
      )
      assert.doesNotMatch(text, /secret/)
      assert.match(JSON.stringify(door.errors.map((one) => String((one as { err?: unknown }).err))), /secret/)
      assert.equal((await door.send('GET', `/counters/${counter.id}`)).json.count, 2)
      const again = await door.send('POST', '/orders/imports', { body: linesOf(rows), headers })
      assert.deepEqual(again.json, json)
    },
  )
  spec('R238 R227', 'an import is a failure if no line could be created and a handler failed', async () => {
    const counter = (await door.send('POST', '/counters', { json: {} })).json
    const rows = [-1, 500].map((price) => ({ counterId: counter.id, price }))
    const { status, json, text } = await door.send('POST', '/orders/imports', {
      body: linesOf(rows),
      headers: { 'content-type': ndjson },
    })
    assert.deepEqual([status, json.type, json.errors], [500, 'internal-error', undefined], text)
    assert.doesNotMatch(text, /secret/)
  })
})

const limited = service({
  name: 'limited',
  tiers: { anonymous: { hourly: 3 } },
  resources: { orders: { prefix: 'ord', fields: { note: f.text() }, imports: true, access: 'public' } },
})

doors('imports with quotas', limited, (door) => {
  spec(
    'R238 R181',
    'each transaction counts as a request, and an import goes on when there is a quota again',
    async () => {
      const body = linesOf(Array.from({ length: 3200 }, (_, i) => ({ note: `${i}` })))
      const headers = { 'content-type': ndjson, 'idempotency-key': 'limited' }
      const cut = await door.send('POST', '/orders/imports', { body, headers })
      assert.deepEqual([cut.status, cut.json.type], [429, 'quota-exceeded'])
      const [, line] = /used up\. .* it goes on after line (\d+)\./.exec(cut.json.message) ?? []
      assert.ok(Number(line) > 0 && Number(line) <= 3000, cut.json.message) // batches are smaller on a slow machine
      assert.ok(cut.headers['retry-after'])
    },
  )
})
