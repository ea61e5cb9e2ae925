/** Operations in older versions: other names, inputs and outputs, those that were withdrawn, and statuses. R195. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { type Door, doors, spec } from '../help/door.ts'
import { places } from '../help/places.ts'

const shop = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' }, v3: { released: '2025-09-01' } },
  settings: { versions: { carriers: ['path'] }, batches: 5 },
  errors: { 'too-many': { parents: ['conflict'], status: 409 } },
  resources: {
    products: { prefix: 'prd', fields: { price: f.integer() }, access: 'public' },
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ optional: true }) },
      access: 'public',
      operations: {
        quotes: {
          at: 'collection',
          input: { productId: f.ref('products'), count: f.integer({ min: 1 }), speed: f.enum(['slow', 'fast']) },
          output: { cents: f.integer(), kind: f.enum(['flat', 'free']) },
        },
        reminders: { at: 'item', input: { note: f.text({ optional: true }) }, output: { sent: f.boolean() } },
        audits: { at: 'item', output: { ok: f.boolean() } },
        exports: {
          at: 'collection',
          input: { least: f.integer({ default: 0 }) },
          output: { count: f.integer(), least: f.integer() },
          asynchronous: true,
        },
      },
    },
  },
})
  .change('v3', 'orders', {
    about: 'Quotes are in cents.',
    operations: {
      added: ['audits'],
      changed: {
        quotes: {
          output: {
            added: ['cents'],
            removed: { total: f.decimal({ scale: 2 }) },
            shown: { kind: { free: 'flat' } },
            response: ({ cents }: { cents: number }) => {
              if (cents > 1_000_000) throw new Error('It has too many digits.')
              return { total: (cents / 100).toFixed(2) }
            },
          },
        },
        exports: { input: { renamed: { from: 'least' } }, output: { renamed: { rows: 'count' } } },
      },
    },
  })
  .change('v2', 'orders', {
    about: 'Orders were purchases, and prices are called quotes.',
    was: 'purchases',
    errors: { 'too-big': 'too-many' },
    operations: {
      renamed: { prices: 'quotes', dumps: 'exports' },
      withdrawn: {
        calls: {
          at: 'item',
          input: { note: f.text({ optional: true, max: 9 }) },
          output: { sent: f.boolean() },
          by: 'reminders',
        },
        checks: { at: 'item', output: { ok: f.boolean() }, refused: 410 },
        tests: { at: 'collection', refused: 409 },
      },
      changed: {
        quotes: {
          input: { renamed: { quantity: 'count' }, required: { speed: 'slow' }, mapped: { speed: { idle: 'slow' } } },
          output: { renamed: { sum: 'total' } },
        },
      },
    },
  })
  .handlers({
    orders: {
      async quotes({ input, get, refuse, create }) {
        const product = await get('products', input.productId)
        if (product === null || input.count > 9000) throw refuse('too-many', { pointer: '/count' })
        create('orders', { note: `quoted ${input.count}` })
        const cents = product.price * input.count * (input.speed === 'fast' ? 2 : 1)
        return { cents, kind: cents === 0 ? 'free' : 'flat' }
      },
      reminders: ({ input, set }) => {
        set({ note: input.note ?? 'reminded' })
        return { sent: true }
      },
      audits: () => ({ ok: true }),
      async exports({ input, pages, refuse }) {
        if (input.least > 100) throw refuse('too-many', { pointer: '/least' })
        let count = 0
        for await (const page of pages('orders')) count += page.length
        return { count, least: input.least }
      },
    },
  })

doors('operations in older versions', shop, (door: Door) => {
  const send = (method: string, path: string, json?: unknown, headers = {}) =>
    door.send(method, path, { ...(json !== undefined && { json }), headers })
  const made = async (path: string, json: object = {}) => (await send('POST', path, json)).json.id as string

  spec('R88 R195', 'older versions have their names of operations, inputs and outputs', async () => {
    const productId = await made('/v1/products', { price: 250 })
    const first = await send('POST', '/v1/purchases/prices', { productId, quantity: 2 })
    assert.deepEqual([first.status, first.json], [200, { sum: '5.00', kind: 'flat' }])
    const slow = await send('POST', '/v1/purchases/prices', { productId, quantity: 2, speed: 'idle' })
    assert.deepEqual(slow.json, { sum: '5.00', kind: 'flat' })
    const second = await send('POST', '/v2/orders/quotes', { productId, count: 2, speed: 'fast' })
    assert.deepEqual(second.json, { kind: 'flat', total: '10.00' })
    const third = await send('POST', '/v3/orders/quotes', { productId, count: 2, speed: 'fast' })
    assert.deepEqual(third.json, { cents: 1000, kind: 'flat' })
    const free = await made('/v1/products', { price: 0 })
    assert.equal(
      (await send('POST', '/v2/orders/quotes', { productId: free, count: 1, speed: 'slow' })).json.kind,
      'flat',
    )
    assert.equal(
      (await send('POST', '/v3/orders/quotes', { productId: free, count: 1, speed: 'slow' })).json.kind,
      'free',
    )
    for (const path of ['/v1/purchases/quotes', '/v2/orders/prices', '/v2/orders/tests'])
      assert.ok([404, 405].includes((await send('POST', path, {})).status), path)
  })

  spec('R195 R227', 'refusals name the inputs as the version does', async () => {
    const productId = await made('/v1/products', { price: 250 })
    const pointers = async (path: string, json: object) => {
      const { status, json: refused } = await send('POST', path, json)
      return [status, ...refused.errors.map((one: { pointer: string }) => one.pointer)]
    }
    assert.deepEqual(await pointers('/v1/purchases/prices', { productId, quantity: 0 }), [400, '/quantity'])
    assert.deepEqual(await pointers('/v1/purchases/prices', { productId, quantity: 9999 }), [409, '/quantity'])
    assert.deepEqual(await pointers('/v3/orders/quotes', { productId, count: 9999, speed: 'slow' }), [409, '/count'])
    const batch = [{ method: 'POST', path: '/purchases/prices', body: { productId, quantity: 9999 } }]
    assert.deepEqual(await pointers('/v1/batches', { operations: batch }), [409, '/operations/0/body/quantity'])
  })

  spec('R108', 'a key that was used in one version is answered in another, in its form', async () => {
    const productId = await made('/v1/products', { price: 250 })
    const key = { 'idempotency-key': `quote-${productId}` }
    const first = await send('POST', '/v1/purchases/prices', { productId, quantity: 2 }, key)
    const again = await send('POST', '/v3/orders/quotes', { productId, count: 2, speed: 'slow' }, key)
    assert.deepEqual(
      [first.json.sum, again.json, again.headers['idempotency-replayed']],
      ['5.00', { cents: 500, kind: 'flat' }, 'true'],
    )
  })

  spec('R195 R227', 'nothing is committed if the output cannot be shown', async () => {
    const productId = await made('/v1/products', { price: 1_000_000 })
    const count = async () => (await send('GET', '/v3/orders?limit=100')).json.data.length
    const before = await count()
    const failed = await send('POST', '/v1/purchases/prices', { productId, quantity: 2 })
    assert.deepEqual([failed.status, failed.json.type], [500, 'version-conversion-failed'])
    assert.equal(await count(), before)
  })

  spec('R195', 'a withdrawn operation is carried out as another one, or refused', async () => {
    const id = await made('/v1/purchases')
    const path = `/v1/purchases/${id}`
    const called = await send('POST', `${path}/calls`, { note: 'called' })
    assert.deepEqual([called.status, called.json], [200, { sent: true }])
    const item = (await send('GET', path)).json
    assert.equal(item.note, 'called')
    assert.deepEqual(item._links, { self: path, reminders: `${path}/reminders`, calls: `${path}/calls` })
    const gone = await send('POST', `${path}/checks`)
    assert.deepEqual([gone.status, gone.json.type], [410, 'gone'])
    assert.match(gone.json.message, /since v2/)
    const none = await send('POST', '/v1/purchases/ord_00000000000000000000000000/checks')
    assert.equal(none.status, 404)
    assert.deepEqual((await send('POST', '/v1/purchases/tests')).json.type, 'conflict')
    assert.equal((await send('POST', `/v2/orders/${id}/calls`)).status, 404)
  })
})

for (const [name, place] of places)
  describe(`statuses in older versions on ${name}`, () => {
    test('R228 R195: a status has the names and the result of the version', async (t) => {
      const { call, pass, close } = testing(shop, { database: (await place(t)).url })
      t.after(close)
      const send = async (path: string, init: object = {}) => {
        const response = await call(path, init)
        // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
        const json = (await response.json()) as any
        return { json, tag: response.headers.get('etag'), status: response.status }
      }
      await send('/v1/purchases', { method: 'POST', json: {} })
      const started = await send('/v1/purchases/dumps', { method: 'POST', json: { from: 3 } })
      assert.deepEqual([started.status, started.json.operation], [202, 'purchases.dumps'])
      await pass('PT1M')
      const { id } = started.json
      const [first, second, third] = await Promise.all(['v1', 'v2', 'v3'].map((v) => send(`/${v}/operations/${id}`)))
      assert.deepEqual([first?.json.operation, first?.json.result], ['purchases.dumps', { rows: 1, least: 3 }])
      assert.deepEqual([second?.json.operation, second?.json.result], ['orders.exports', { rows: 1, least: 3 }])
      assert.deepEqual([third?.json.operation, third?.json.result], ['orders.exports', { count: 1, least: 3 }])
      assert.equal(new Set([first, second, third].map((one) => one?.tag)).size, 3)
      const waited = await send('/v1/purchases/dumps', {
        method: 'POST',
        json: { from: 101 },
        headers: { prefer: 'wait=1' },
      })
      await pass('PT1M')
      const failed = await Promise.all(['v1', 'v2'].map((v) => send(`/${v}/operations/${waited.json.id}`)))
      assert.deepEqual(
        failed.map(({ json }) => [json.status, json.error.type]),
        [
          ['failed', 'too-big'],
          ['failed', 'too-many'],
        ],
      )
    })
  })
