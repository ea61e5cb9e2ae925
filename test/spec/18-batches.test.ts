/** Batches: several writes, all or none, each checked as if it came alone. R229. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from '../../src/index.ts'
import { testing } from '../../src/testing.ts'
import { undescribed } from '../help/overseen.ts'
import { places } from '../help/places.ts'
import { purchases } from '../help/purchases.ts'

async function opened(url = 'sqlite::memory:') {
  const door = testing(purchases, { database: url })
  const send = async (method: string, path: string, json?: unknown, init: object = {}) => {
    const response = await door.call(path, { method, ...(json === undefined ? {} : { json }), ...init })
    const text = await response.text()
    return { status: response.status, headers: response.headers, json: text === '' ? null : JSON.parse(text) }
  }
  const batch = (operations: object[], init: object = {}) => send('POST', '/batches', { operations }, init)
  const customer = (await send('POST', '/customers', { email: 'ann@example.com' })).json
  const product = (await send('POST', '/products', { price: '2.50', stock: 5 })).json
  return { ...door, send, batch, customer, product }
}

const purchase = (customerId: string, productId: string, quantity: number) => [
  { method: 'POST', path: '/orders', body: { customerId }, as: 'order' },
  { method: 'POST', path: '/orders/$order.id/lines', body: { productId, quantity } },
  { method: 'POST', path: '/orders/$order.id/placements', as: 'placed' },
]

for (const [name, place] of places)
  describe(`a batch on ${name}`, () => {
    test('R229: carries out all of its operations, whose handlers see what the ones before have written', async (t) => {
      const { batch, send, customer, product, close } = await opened((await place(t)).url)
      t.after(close)
      const done = await batch(purchase(customer.id, product.id, 2))
      assert.equal(done.status, 200, JSON.stringify(done.json))
      const [order, line, placed] = done.json.data
      assert.deepEqual(
        [order, line, placed].map(({ id, status }) => [id, status]),
        [
          ['order', 201],
          ['1', 201],
          ['placed', 200],
        ],
      )
      assert.equal(order.headers.Location, `/orders/${order.body.id}`)
      assert.deepEqual([line.body.orderId, line.body.price, line.body.amount], [order.body.id, '2.50', '5.00'])
      assert.deepEqual([placed.body.status, placed.body.total], ['placed', '5.00'])
      const { json } = await send('GET', `/orders/${order.body.id}`)
      assert.deepEqual([json.status, json.total], ['placed', '5.00'])
      assert.equal((await send('GET', `/products/${product.id}`)).json.stock, 3)
      const tag = (await send('GET', `/orders/${order.body.id}`)).headers.get('etag')
      assert.equal(placed.headers.ETag, tag)
    })

    test('R229: changes nothing if one of its operations is refused, and names that one', async (t) => {
      const { batch, send, customer, product, close } = await opened((await place(t)).url)
      t.after(close)
      const refused = await batch(purchase(customer.id, product.id, 6))
      assert.deepEqual([refused.status, refused.json.type], [409, 'out-of-stock'])
      assert.equal(refused.json.errors[0].pointer, '/operations/2/body/productId')
      assert.deepEqual((await send('GET', '/orders')).json.data, [])
      assert.equal((await send('GET', `/products/${product.id}`)).json.stock, 5)
      const twice = await batch([
        { method: 'POST', path: '/customers', body: { email: 'bob@example.com' } },
        { method: 'POST', path: '/customers', body: { email: 'ann@example.com' } },
      ])
      assert.deepEqual([twice.status, twice.json.errors[0].pointer], [409, '/operations/1/body/email'])
      assert.equal((await send('GET', '/customers')).json.data.length, 1)
      const invalid = await batch([
        { method: 'POST', path: '/customers', body: { email: 'carl@example.com' } },
        { method: 'POST', path: '/customers', body: { email: 'x' } },
      ])
      assert.deepEqual([invalid.status, invalid.json.errors[0].pointer], [400, '/operations/1/body/email'])
      const absent = await batch([{ method: 'DELETE', path: '/customers/cus_00000000000000000000000000' }])
      assert.deepEqual([absent.status, absent.json.errors[0].pointer], [404, '/operations/0'])
    })

    test('R229: its key replays all of it', async (t) => {
      const { batch, send, customer, product, close } = await opened((await place(t)).url)
      t.after(close)
      const keyed = { headers: { 'idempotency-key': 'b1' } }
      const first = await batch(purchase(customer.id, product.id, 1), keyed)
      const again = await batch(purchase(customer.id, product.id, 1), keyed)
      assert.deepEqual(again.json, first.json)
      assert.equal(again.headers.get('idempotency-replayed'), 'true')
      assert.equal((await batch(purchase(customer.id, product.id, 2), keyed)).status, 422)
      assert.equal((await send('GET', '/orders')).json.data.length, 1)
      const both = await Promise.all(
        [1, 2, 3].map(() => batch(purchase(customer.id, product.id, 1), { headers: { 'idempotency-key': 'b2' } })),
      )
      assert.deepEqual(
        both.map(({ status }) => status),
        [200, 200, 200],
      )
      assert.equal((await send('GET', '/orders')).json.data.length, 2)
    })

    test('R229: keeps stock while many are carried out at once', async (t) => {
      const { batch, send, customer, close } = await opened((await place(t)).url)
      t.after(close)
      const { id } = (await send('POST', '/products', { price: '1.00', stock: 6 })).json
      const all = await Promise.all(Array.from({ length: 10 }, () => batch(purchase(customer.id, id, 1))))
      const placed = all.filter(({ status }) => status === 200).length
      assert.ok(placed >= 1, JSON.stringify(all.map(({ status, json }) => [status, json.message])))
      assert.equal((await send('GET', `/products/${id}`)).json.stock, 6 - placed)
      assert.equal((await send('GET', '/orders')).json.data.length, placed)
      for (const { status } of all) assert.ok([200, 409, 503].includes(status), String(status))
    })
  })

test('R229: conditions, keys, access and preferences hold for each operation', async () => {
  const { batch, send, customer, product, close } = await opened()
  const order = (await send('POST', '/orders', { customerId: customer.id })).json
  const path = `/orders/${order.id}`
  const stale = { method: 'PATCH', path, body: { note: 'x' }, headers: { 'If-Match': '"old"' } }
  assert.deepEqual((await batch([stale])).status, 412)
  const keyed = {
    method: 'POST',
    path: '/customers',
    body: { email: 'k@example.com' },
    headers: { 'Idempotency-Key': 'k' },
  }
  assert.equal((await batch([keyed])).status, 200)
  assert.equal((await batch([keyed])).status, 409)
  const change = { method: 'PATCH', path: `/products/${product.id}`, body: { stock: 9 } }
  const refused = await batch([change])
  assert.deepEqual([refused.status, refused.json.errors?.[0]?.pointer], [401, '/operations/0'])
  assert.equal((await batch([change], { as: { scopes: ['products:write'] } })).status, 200)
  const minimal = { method: 'PATCH', path, body: { note: 'y' }, headers: { prefer: 'return=minimal' } }
  const [short] = (await batch([minimal])).json.data
  assert.deepEqual([short.status, short.body], [204, null])
  const [quote] = (await batch([{ method: 'POST', path: `${path}/quotes` }])).json.data
  assert.deepEqual([quote.status, quote.body], [200, { total: '0.00' }])
  await close()
})

test('R229: values of earlier results are set where `refs` says, and nowhere else', async () => {
  const { batch, send, close } = await opened()
  const made = await batch([
    { method: 'POST', path: '/customers', body: { email: 'r@example.com' }, as: 'customer' },
    { method: 'POST', path: '/orders', body: { note: '$customer.id' }, refs: { '/customerId': 'customer.id' } },
  ])
  assert.equal(made.status, 200, JSON.stringify(made.json))
  const [customer, order] = made.json.data
  assert.deepEqual([order.body.customerId, order.body.note], [customer.body.id, '$customer.id'])
  const wrong = async (operation: object, pointer: string) => {
    const { status, json } = await batch([
      { method: 'POST', path: '/customers', body: { email: 'w@example.com' }, as: 'customer' },
      { method: 'POST', path: '/orders', body: {}, ...operation },
    ])
    assert.deepEqual([status, json.errors[0].pointer], [400, pointer], JSON.stringify(json))
  }
  await wrong({ refs: { '/customerId': 'nobody.id' } }, '/operations/1/refs/~1customerId')
  await wrong({ refs: { '/customerId': 'customer.nothing' } }, '/operations/1/refs/~1customerId')
  await wrong({ refs: { '/a/b': 'customer.id' } }, '/operations/1/refs/~1a~1b')
  await wrong({ refs: { '/__proto__/polluted': 'customer.id' } }, '/operations/1/refs/~1__proto__~1polluted')
  await wrong({ path: '/orders/$customer.createdAt/lines/$no.id' }, '/operations/1/path')
  assert.equal(({} as { polluted?: string }).polluted, undefined)
  assert.equal((await send('GET', '/customers')).json.data.length, 2)
  await close()
})

test('R229: a form that is not that of a batch is refused with all its mistakes', async () => {
  const { batch, send, close } = await opened()
  const pointers = async (operations: object[]) => {
    const { status, json } = await batch(operations)
    assert.equal(status, 400)
    return json.errors.map(({ pointer }: { pointer: string }) => pointer)
  }
  const fine = { method: 'POST', path: '/customers', body: { email: 'a@example.com' } }
  assert.deepEqual(await pointers([]), ['/operations'])
  assert.deepEqual(await pointers(Array.from({ length: 11 }, () => fine)), ['/operations'])
  assert.deepEqual(
    await pointers([
      { ...fine, method: 'GET', as: '1', headers: { Accept: 'x' }, more: 1 },
      { ...fine, path: '/customers?dryRun=true', body: [] },
    ]),
    [
      ...['/operations/0/more', '/operations/0/method', '/operations/0/as', '/operations/0/headers/Accept'],
      ...['/operations/1/body', '/operations/1/path'],
    ],
  )
  const status = async (operation: object) => (await batch([operation])).status
  assert.equal(await status({ method: 'POST', path: '/batches', body: {} }), 400)
  assert.equal(await status({ method: 'POST', path: '/orders/exports' }), 400)
  assert.equal(await status({ method: 'POST', path: '/v1/customers', body: {} }), 404)
  const refused = await batch([{ method: 'PUT', path: '/customers', body: {} }])
  const offered = (await send('GET', '/batches')).headers.get('allow')
  assert.deepEqual([refused.status, refused.headers.get('allow')], [405, offered], 'Allow is that of the URL, R13')
  assert.match(refused.json.message, /^PUT is not offered here\. Offered: GET, HEAD, OPTIONS, POST/)
  assert.equal(await status({ method: 'DELETE', path: '/customers/cus_1', body: {} }), 400)
  assert.equal((await send('GET', '/batches')).status, 405)
  assert.equal((await send('POST', '/batches', { operations: [fine], more: 1 })).status, 400)
  assert.equal((await send('GET', '/customers')).json.data.length, 1)
  await close()
})

test('R239: a dry run of a batch answers what it would, and changes nothing', async () => {
  const { send, customer, product, close } = await opened()
  const dry = await send('POST', '/batches?dryRun=true', { operations: purchase(customer.id, product.id, 1) })
  assert.deepEqual([dry.status, dry.headers.get('dry-run')], [200, 'true'])
  assert.equal(dry.json.data[2].body.status, 'placed')
  assert.deepEqual((await send('GET', '/orders')).json.data, [])
  await close()
})

test('R181 R229: each operation counts against the quotas of the caller', async () => {
  const api = service({
    name: 'notes',
    tiers: { free: { hourly: 5 }, paid: { hourly: 100 } },
    settings: { batches: 10 },
    resources: { notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' } },
  })
  const { call, close } = testing(api)
  const as = { tier: 'free' }
  const send = (count: number) => {
    const operations = Array.from({ length: count }, (_, i) => ({
      method: 'POST',
      path: '/notes',
      body: { text: `${i}` },
    }))
    return call('/batches', { method: 'POST', json: { operations }, as })
  }
  const first = await send(3)
  assert.equal(first.status, 200)
  assert.match(String(first.headers.get('ratelimit')), /r=2;/)
  assert.equal((await send(3)).status, 429)
  const { data } = (await (await call('/notes', { as: { tier: 'paid' } })).json()) as { data: unknown[] }
  assert.equal(data.length, 3)
  await close()
})

test('R100 R229: a key of another caller is another key, and never shows its answer', async () => {
  const { batch, close } = await opened()
  const operations = [{ method: 'POST', path: '/products', body: { price: '1.00', stock: 1 } }]
  const init = (account: string) => ({ as: { account }, headers: { 'idempotency-key': 'same' } })
  const [first, second, again] = [
    await batch(operations, init('a')),
    await batch(operations, init('b')),
    await batch(operations, init('a')),
  ]
  assert.deepEqual([first.status, second.status, again.status], [200, 200, 200])
  assert.notEqual(first.json.data[0].body.id, second.json.data[0].body.id)
  assert.deepEqual(again.json, first.json)
  await close()
})

test('R215 R229: every refusal of an operation is a described refusal of its batch', async () => {
  const bins = service({
    name: 'bins',
    scopes: { 'bins:write': 'Write bins' },
    settings: { batches: 5, concurrency: { required: true } },
    resources: {
      bins: {
        ...{ prefix: 'bin', owner: 'account', fields: { text: f.text({ unique: true }) } },
        access: 'bins:write',
      },
    },
  })
  const { call, close } = testing(bins)
  const as = { account: 'acc_1', scopes: ['bins:write'] }
  const batch = async (one: object, caller: object = { as }) => {
    const value = { operations: [one] }
    const response = await call('/batches', { method: 'POST', json: value, ...caller })
    const [status, headers, text] = [response.status, Object.fromEntries(response.headers), await response.text()]
    const sent = { kind: 'application/json', value }
    const exchange = { method: 'POST', target: '/batches', status, headers, text, sent }
    if (status !== 200) assert.deepEqual(undescribed(bins as never, exchange), [], text)
    return status === 200 ? JSON.parse(text).data[0].body : [status, JSON.parse(text).type]
  }
  const create = { method: 'POST', path: '/bins', body: { text: 'a' } }
  const { id } = await batch(create)
  const at = { path: `/bins/${id}` }
  const change = { method: 'PATCH', ...at, body: { text: 'b' } }
  assert.deepEqual(await batch(create, {}), [401, 'credentials-missing'])
  assert.deepEqual(await batch(create, { as: { account: 'acc_1' } }), [403, 'insufficient-scope'])
  assert.deepEqual(await batch(create, { as: { scopes: ['bins:write'] } }), [403, 'access-denied'])
  assert.deepEqual(await batch({ ...create, path: '/nothing' }), [404, 'route-not-found'])
  assert.deepEqual(await batch({ ...create, method: 'PUT' }), [405, 'method-not-allowed'])
  assert.deepEqual(await batch({ ...create, body: { text: 1 } }), [400, 'validation-failed'])
  assert.deepEqual(await batch(create), [409, 'already-exists'])
  assert.deepEqual(await batch(change), [428, 'precondition-required'])
  assert.deepEqual(await batch({ ...change, headers: { 'If-Match': '"x"' } }), [412, 'precondition-failed'])
  assert.deepEqual(await batch({ method: 'DELETE', ...at, body: {} }), [400, 'unexpected-body'])
  assert.deepEqual(await batch({ method: 'DELETE', ...at, headers: { 'If-Match': '*' } }), null)
  assert.deepEqual(await batch({ ...change, headers: { 'If-Match': '*' } }), [410, 'resource-deleted'])
  await close()
})
