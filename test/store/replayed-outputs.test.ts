/** Outputs of operations that are replayed when a newer declaration has another form of them. R98, R227, R228. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Declaration, f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { type Node, nodeOn, places } from '../help/places.ts'

const v1 = { v1: { released: '2026-01-01' } } as const
const versions = { ...v1, v2: { released: '2026-02-01' } } as const
const orders = { prefix: 'ord', fields: { note: f.text({ default: '' }) }, access: 'public' } as const

const before = service({
  name: 'shop',
  versions: v1,
  resources: {
    orders: {
      ...orders,
      operations: {
        quotes: { at: 'collection', output: { total: f.text() } },
        checks: { at: 'item', output: { result: f.text() } },
        audits: { at: 'item', output: { report: f.text() }, asynchronous: true },
      },
    },
  },
}).handlers({
  orders: {
    quotes: () => ({ total: '5.00' }),
    checks: () => ({ result: 'good' }),
    audits: () => ({ report: 'fine' }),
  },
})

const after = service({
  name: 'shop',
  versions,
  resources: {
    orders: {
      ...orders,
      operations: {
        prices: { at: 'collection', output: { price: f.text() } },
        checks: { at: 'item', output: { marks: f.integer() } },
        reviews: { at: 'item', output: { review: f.text() }, asynchronous: true },
      },
    },
  },
})
  .change('v2', 'orders', {
    about: 'Totals are prices, results are marks, and audits are reviews.',
    operations: {
      renamed: { quotes: 'prices', audits: 'reviews' },
      changed: {
        prices: { output: { renamed: { total: 'price' } } },
        checks: {
          output: {
            added: ['marks'],
            removed: { result: f.text() },
            response: ({ marks }) => ({ result: marks > 3 ? 'good' : 'bad' }),
          },
        },
        reviews: { output: { renamed: { report: 'review' } } },
      },
    },
  })
  .handlers({
    orders: {
      prices: () => ({ price: '6.00' }),
      checks: () => ({ marks: 1 }),
      reviews: () => ({ review: 'new' }),
    },
  })

for (const [store, placeOf] of places)
  test(`R98 R227: an output is replayed in the form of its version after a newer declaration (${store})`, async (t) => {
    const { url } = await placeOf(t)
    const old = testing(before, { database: url })
    let node = old
    t.after(() => node.close())
    const made = await old.call('/v1/orders', { method: 'POST', json: {} })
    const { id } = (await made.json()) as { readonly id: string }
    const ask = async (path: string, key: string) => {
      const answer = await node.call(path, { method: 'POST', json: {}, headers: { 'idempotency-key': key } })
      const json = (await answer.json()) as Readonly<Record<string, unknown>>
      return { status: answer.status, json, isReplayed: answer.headers.has('idempotency-replayed') }
    }
    const asks = [
      ['/v1/orders/quotes', 'quote'],
      [`/v1/orders/${id}/checks`, 'check'],
      [`/v1/orders/${id}/audits`, 'audit'],
    ] as const
    const first = [await ask(...asks[0]), await ask(...asks[1]), await ask(...asks[2])]
    assert.deepEqual(
      first.map(({ status }) => status),
      [200, 200, 202],
    )
    await old.close()
    node = testing(after, { database: url })
    for (const [i, [path, key]] of asks.entries())
      assert.deepEqual(await ask(path, key), { ...first[i], isReplayed: true }, path)
    assert.deepEqual((await ask('/v2/orders/prices', 'quote')).json, { price: '5.00' })
    assert.equal((await ask(`/v2/orders/${id}/reviews`, 'audit')).json.operation, 'orders.reviews')
    // The new output requires `marks`, which the stored one lacks.
    const lacking = await ask(`/v2/orders/${id}/checks`, 'check')
    assert.deepEqual([lacking.status, lacking.json.type], [409, 'idempotency-key-reused'])
  })

const replaced = service({
  name: 'shop',
  versions,
  resources: {
    orders: { ...orders, operations: { quotes: { at: 'collection', output: { price: f.text() } } } },
  },
})
  .change('v2', 'orders', {
    about: 'Another operation is called `quotes` now, and nothing else is left.',
    operations: {
      added: ['quotes'],
      withdrawn: {
        quotes: { at: 'collection', output: { total: f.text() }, refused: 410 },
        checks: { at: 'item', output: { result: f.text() }, refused: 410 },
        audits: { at: 'item', output: { report: f.text() }, asynchronous: true, refused: 410 },
      },
    },
  })
  .handlers({ orders: { quotes: () => ({ price: '6.00' }) } })

test('R98 R227: the key of a withdrawn operation gets no replay from another one that has its name now', async (t) => {
  const { url } = await (places[0] as (typeof places)[number])[1](t)
  const old = testing(before, { database: url })
  const quote = { method: 'POST', json: {}, headers: { 'idempotency-key': 'quote' } } as const
  assert.equal((await old.call('/v1/orders/quotes', quote)).status, 200)
  await old.close()
  const node = testing(replaced, { database: url })
  t.after(() => node.close())
  const answer = await node.call('/v2/orders/quotes', quote)
  const { type } = (await answer.json()) as { readonly type: string }
  assert.deepEqual([answer.status, type], [422, 'idempotency-key-payload-mismatch'])
  const fresh = { ...quote, headers: { 'idempotency-key': 'other' } }
  assert.deepEqual(await (await node.call('/v2/orders/quotes', fresh)).json(), { price: '6.00' })
})

const retyping = (version: 'before' | 'after') => {
  const isNew = version === 'after'
  const declared = service({
    name: 'shop',
    versions: isNew ? versions : v1,
    resources: {
      orders: {
        ...orders,
        operations: {
          sums: { at: 'collection', output: { sum: isNew ? f.text() : f.integer() } },
          counts: { at: 'collection', output: { count: f.integer({ max: isNew ? 99 : 9 }) } },
        },
      },
    },
  } as Declaration)
  const changed = isNew
    ? declared.change('v2' as never, 'orders', {
        about: 'Sums are texts, and counts are greater.',
        operations: {
          changed: {
            sums: {
              output: { retyped: { sum: f.integer() }, response: ({ sum }: { sum: string }) => ({ sum: Number(sum) }) },
            },
            counts: { output: { retyped: { count: f.integer({ max: 9 }) }, response: () => ({ count: 9 }) } },
          },
        },
      } as never)
    : declared
  return changed.handlers({
    orders: { sums: () => ({ sum: isNew ? '6.00' : 5 }), counts: () => ({ count: 7 }) },
  } as never) as Service
}

for (const [store, placeOf] of places)
  test(`R98 R227: an output whose type has changed since is not replayed in its former type (${store})`, async (t) => {
    const place = await placeOf(t)
    const old = nodeOn(place, retyping('before'))
    const ask = async ({ ask }: Node, path: string) => {
      const { status, json } = await ask('POST', path, {}, { 'idempotency-key': path.slice(-5) })
      return [status, json.type ?? json]
    }
    assert.deepEqual(await ask(old, '/v1/orders/sums'), [200, { sum: 5 }])
    assert.deepEqual(await ask(old, '/v1/orders/counts'), [200, { count: 7 }])
    await old.close()
    const node = nodeOn(place, retyping('after'))
    t.after(node.close)
    assert.deepEqual(await ask(node, '/v1/orders/sums'), [200, { sum: 5 }])
    assert.deepEqual(await ask(node, '/v1/orders/counts'), [200, { count: 7 }])
    assert.deepEqual(await ask(node, '/v2/orders/sums'), [409, 'idempotency-key-reused'])
    assert.deepEqual(await ask(node, '/v2/orders/counts'), [200, { count: 7 }])
  })
