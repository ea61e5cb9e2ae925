/** Handlers: what they read, write and refuse is one commit with the request. R226, R227. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'

const api = service({
  name: 'shop',
  errors: {
    'customer-blocked': { parents: ['conflict'], status: 409 },
    'order-empty': { parents: ['conflict'], status: 409 },
    'out-of-stock': { parents: ['conflict'], status: 409 },
  },
  resources: {
    customers: { prefix: 'cus', fields: { name: f.text(), blocked: f.boolean({ default: false }) }, access: 'public' },
    products: { prefix: 'prd', fields: { name: f.text(), stock: f.integer({ min: 0 }) }, access: 'public' },
    orders: {
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers', { filter: true }),
        note: f.text({ default: '' }),
        placedBy: f.text({ optional: true, readOnly: true }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          cancellations: { from: ['placed'], to: 'cancelled' },
        },
      },
      access: 'public',
    },
    'order-lines': {
      prefix: 'lin',
      fields: { productId: f.ref('products'), quantity: f.integer({ min: 1 }) },
      parent: { resource: 'orders', while: ['draft'], onDelete: 'cascade' },
      access: 'public',
    },
  },
})

const handled = api.handlers({
  orders: {
    async create({ input, get, refuse }) {
      const customer = await get('customers', input.customerId)
      if (customer?.blocked) throw refuse('customer-blocked', { pointer: '/customerId' })
    },
    async placements({ item, list, change, get, set, refuse }) {
      const lines = await list('order-lines', { parent: item.id })
      if (lines.length === 0) throw refuse('order-empty')
      for (const { productId, quantity } of lines) {
        const product = await get('products', productId)
        if ((product?.stock ?? 0) < quantity) throw refuse('out-of-stock')
        change('products', productId, ({ stock }) => ({ stock: stock - quantity }))
      }
      set({ placedBy: 'the shop' })
    },
  },
})

for (const [name, place] of places)
  test(`handlers take stock, price and refuse (${name})`, async (t) => {
    const where = await place(t)
    const nodes = [nodeOn(where, handled), nodeOn(where, handled)] as const
    for (const { close } of nodes) t.after(close)
    const { ask } = nodes[0]
    const blocked = (await ask('POST', '/customers', { name: 'Bob', blocked: true })).json.id
    const customerId = (await ask('POST', '/customers', { name: 'Ann' })).json.id
    const refused = await ask('POST', '/orders', { customerId: blocked })
    assert.deepEqual([refused.status, refused.json.type], [409, 'customer-blocked'])
    assert.deepEqual(refused.json.errors[0].pointer, '/customerId')
    const product = (await ask('POST', '/products', { name: 'Pen', stock: 5 })).json.id
    const orders = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const made = await ask('POST', '/orders', { customerId })
        assert.equal(made.status, 201, JSON.stringify(made.json))
        const { id } = made.json
        const empty = await ask('POST', `/orders/${id}/placements`)
        assert.deepEqual([empty.status, empty.json.type], [409, 'order-empty'])
        await ask('POST', `/orders/${id}/order-lines`, { productId: product, quantity: 1 })
        return id
      }),
    )
    const placed = await Promise.all(orders.map((id, i) => nodes[i % 2]?.ask('POST', `/orders/${id}/placements`)))
    const statuses = placed.map((one) => one?.status)
    assert.equal(
      (await ask('GET', `/products/${product}`)).json.stock,
      5 - statuses.filter((one) => one === 200).length,
      `${statuses}`,
    )
    for (const one of placed)
      assert.ok(
        one?.json.type === undefined
          ? one?.json.placedBy === 'the shop'
          : ['out-of-stock', 'overloaded'].includes(one.json.type),
        JSON.stringify(one?.json),
      )
  })
