/** Keys during a rolling upgrade: a request that one node has carried out is repeated on a node of the other declaration. R98, R108, R226. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import { alive, applied, type Node, nodeOn, type Place, places } from '../help/places.ts'

const v1 = { v1: { released: '2026-01-01' } } as const
const versions = { ...v1, v2: { released: '2026-02-01' } } as const
const settings = {
  idempotency: { mode: 'replay', methods: ['POST', 'PATCH'] },
  batches: 3,
  etag: { mode: 'off' },
} as const
const payment = { from: ['open'], to: 'paid' } as const
const orders = { prefix: 'ord', access: 'public' } as const

const former = service({
  name: 'shop',
  versions: v1,
  settings,
  resources: {
    orders: {
      ...orders,
      fields: { memo: f.text() },
      states: { field: 'status', initial: 'open', transitions: { payments: payment } },
      operations: {
        quotes: { at: 'collection', output: { total: f.text() } },
        checks: { at: 'item', output: { result: f.text() } },
        audits: { at: 'item', output: { report: f.text() }, asynchronous: true },
      },
    },
  },
}).handlers({
  orders: {
    quotes: () => ({ total: 'old' }),
    checks: () => ({ result: 'old' }),
    audits: () => ({ report: 'old' }),
  },
})

const newer = service({
  name: 'shop',
  versions,
  settings,
  resources: {
    orders: {
      ...orders,
      fields: { note: f.text() },
      states: { field: 'status', initial: 'open', transitions: { settlements: payment } },
      operations: {
        prices: { at: 'collection', output: { price: f.text() } },
        checks: { at: 'item', output: { result: f.text() } },
        reviews: { at: 'item', output: { review: f.text() }, asynchronous: true },
      },
    },
  },
})
  .change('v2', 'orders', {
    about: 'Memos are notes, payments settlements, totals prices, and audits reviews.',
    renamed: { memo: 'note' },
    transitions: { renamed: { payments: 'settlements' } },
    operations: {
      renamed: { quotes: 'prices', audits: 'reviews' },
      changed: {
        prices: { output: { renamed: { total: 'price' } } },
        reviews: { output: { renamed: { report: 'review' } } },
      },
    },
  })
  .handlers({
    orders: {
      prices: () => ({ price: 'new' }),
      checks: () => ({ result: 'new' }),
      reviews: () => ({ review: 'new' }),
    },
  })

type Request = readonly [method: string, path: string, json: object]

/** A request of each kind with a key, in a version; `id` is that of an item that exists. */
function requests(version: 'v1' | 'v2', id: string): Readonly<Record<string, Request>> {
  const [memo, payments, quotes, audits] =
    version === 'v1' ? ['memo', 'payments', 'quotes', 'audits'] : ['note', 'settlements', 'prices', 'reviews']
  const at = `/${version}/orders`
  return {
    create: ['POST', at, { [memo]: 'a' }],
    change: ['PATCH', `${at}/${id}`, { [memo]: 'b' }],
    pay: ['POST', `${at}/${id}/${payments}`, {}],
    quote: ['POST', `${at}/${quotes}`, {}],
    check: ['POST', `${at}/${id}/checks`, {}],
    audit: ['POST', `${at}/${id}/${audits}`, {}],
    batch: ['POST', `/${version}/batches`, { operations: [{ method: 'PATCH', path: `/orders/${id}`, body: {} }] }],
  }
}

async function keyed({ ask }: Node, [method, path, json]: Request, key: string) {
  const { status, headers, json: body } = await ask(method, path, json, { 'idempotency-key': key })
  const { _links, ...shown } = body
  return { status, shown, isReplayed: headers.has('idempotency-replayed') }
}

/** Nodes of both declarations on one database, and an item. */
async function nodes(t: TestContext, place: Place) {
  const old = nodeOn(place, former)
  const { json } = await old.ask('POST', '/v1/orders', { memo: 'first' })
  await alive(place)
  const { waitsFor } = await applied(place, newer)
  assert.deepEqual(waitsFor, ['old'])
  const young = nodeOn(place, newer)
  t.after(() => Promise.all([old.close(), young.close()]))
  return { old, young, id: json.id as string }
}

for (const [store, placeOf] of places) {
  test(`a new node replays what an old one has answered, in both versions (${store})`, async (t) => {
    const { old, young, id } = await nodes(t, await placeOf(t))
    const inNew = requests('v2', id)
    for (const [key, request] of Object.entries(requests('v1', id))) {
      const first = await keyed(old, request, key)
      assert.ok(first.status < 300, key)
      assert.deepEqual(await keyed(young, request, key), { ...first, isReplayed: true }, key)
      const { status, shown } = await keyed(young, inNew[key] as Request, key)
      const expected = {
        ...{ create: 422, change: 422, batch: 409 }, // another payload, and another version
        pay: { ...first.shown, memo: undefined, note: 'b' },
        quote: { price: 'old' },
        check: { result: 'old' },
        audit: { ...first.shown, operation: 'orders.reviews' },
      }[key]
      if (typeof expected === 'number') assert.equal(status, expected, key)
      else assert.deepEqual({ memo: undefined, ...shown }, { memo: undefined, ...expected }, key)
    }
    assert.equal((await old.ask('GET', '/v1/orders')).json.pagination.totalRecords, 2)
  })

  for (const version of ['v1', 'v2'] as const)
    test(`an old node repeats nothing that a new one has done in ${version}, and shows no newer form (${store})`, async (t) => {
      const { old, young, id } = await nodes(t, await placeOf(t))
      const inOld = requests('v1', id)
      for (const [key, request] of Object.entries(requests(version, id))) {
        const first = await keyed(young, request, key)
        assert.ok(first.status < 300, key)
        const again = await keyed(old, inOld[key] as Request, key)
        const isOtherPayload = version === 'v2' && ['create', 'change'].includes(key)
        if (version === 'v1' && key === 'batch') assert.deepEqual(again, { ...first, isReplayed: true })
        else assert.equal(again.status, isOtherPayload ? 422 : 409, `${key} ${JSON.stringify(again)}`)
        assert.deepEqual(await keyed(young, request, key), { ...first, isReplayed: true }, key)
      }
      assert.equal((await old.ask('GET', '/v1/orders')).json.pagination.totalRecords, 2)
    })
}

const all = { ...versions, v3: { released: '2026-03-01' } } as const
/** A shop that has some of the versions; none changes its operation. */
const shopOf = (...labels: readonly (keyof typeof all)[]) =>
  service({
    name: 'shop',
    versions: Object.fromEntries(labels.map((label) => [label, all[label]])),
    resources: {
      orders: {
        ...orders,
        fields: { note: f.text({ optional: true }) },
        operations: { audits: { at: 'collection', output: { report: f.text() }, asynchronous: true } },
      },
    },
  }).handlers({ orders: { audits: () => ({ report: 'done' }) } } as never)

for (const [store, placeOf] of places)
  test(`an asynchronous operation is answered again after the version that asked for it is gone (${store})`, async (t) => {
    const place = await placeOf(t)
    const audit = (version: string): Request => ['POST', `/${version}/orders/audits`, {}]
    const first = nodeOn(place, shopOf('v1'))
    const { status, shown } = await keyed(first, ['POST', '/orders/audits', {}], 'audit')
    assert.equal(status, 202)
    await first.close()
    for (const labels of [['v1', 'v2'], ['v2', 'v3'], ['v3']] as const) {
      const node = nodeOn(place, shopOf(...labels))
      const path = labels.length === 1 ? (['POST', '/orders/audits', {}] as const) : audit(labels.at(-1) as string)
      const again = await keyed(node, path, 'audit')
      assert.deepEqual([again.status, again.isReplayed, again.shown.id], [202, true, shown.id], labels.join())
      await node.close()
    }
  })
