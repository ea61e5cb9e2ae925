/** Proves that totals, states and timers follow where resources and fields are renamed. R196, R223, R225. The cellar. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service, sum } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'

const versions = { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } }
const settings = { versions: { carriers: ['path'] } } as const
const states = {
  field: 'status',
  initial: 'draft',
  transitions: {
    placements: { from: ['draft'], to: 'placed' },
    expiries: { from: ['draft'], to: 'expired', after: 'P7D' },
  },
} as const
const before = service({
  name: 'shop',
  versions: { v1: versions.v1 },
  settings,
  resources: {
    purchases: {
      prefix: 'ord',
      fields: { total: f.integer({ derived: sum('lines', 'amount') }) },
      states,
      access: 'public',
    },
    lines: {
      prefix: 'lin',
      parent: { resource: 'purchases', while: ['draft'], onDelete: 'cascade' },
      fields: { amount: f.integer() },
      access: 'public',
    },
  },
}) as Service
const after = service({
  name: 'shop',
  versions,
  settings,
  resources: {
    orders: {
      prefix: 'ord',
      fields: { whole: f.integer({ derived: sum('lines', 'quantity'), filter: 'range' }) },
      states,
      access: 'public',
    },
    lines: {
      prefix: 'lin',
      parent: { resource: 'orders', while: ['draft'], onDelete: 'cascade' },
      fields: { quantity: f.integer() },
      access: 'public',
    },
  },
})
  .change('v2', 'orders', {
    about: 'Purchases are called orders, `total` is called `whole`.',
    was: 'purchases',
    renamed: { total: 'whole' },
  })
  .change('v2', 'lines', { about: '`amount` is called `quantity`.', renamed: { amount: 'quantity' } }) as Service

const refers = (lines: object): Service =>
  service({
    name: 'shop',
    resources: {
      orders: {
        prefix: 'ord',
        fields: { total: f.integer({ derived: sum('lines', 'amount') }) },
        access: 'public',
      },
      lines: { prefix: 'lin', fields: { amount: f.integer(), ...lines }, access: 'public' },
    },
  } as never) as Service

for (const [name, make] of places)
  describe(`renamed resources and fields, ${name}`, () => {
    test('keep their totals, which follow the writes of each version', async (t) => {
      const place = await make(t)
      const old = nodeOn(place, before)
      t.after(old.close)
      const { id } = (await old.ask('POST', '/v1/purchases', {})).json
      await old.ask('POST', `/v1/purchases/${id}/lines`, { amount: 3 })
      await old.close()
      const node = nodeOn(place, after)
      t.after(node.close)
      assert.equal((await node.ask('GET', `/v2/orders/${id}`)).json.whole, 3)
      await node.ask('POST', `/v1/purchases/${id}/lines`, { amount: 4 })
      assert.equal((await node.ask('GET', `/v1/purchases/${id}`)).json.total, 7)
      assert.equal((await node.ask('GET', '/v2/orders?whole[gte]=7')).json.data.length, 1)
      await node.ask('POST', `/v1/purchases/${id}/placements`)
      const refused = await node.ask('POST', `/v1/purchases/${id}/lines`, { amount: 4 })
      assert.match(refused.json.message, /^Purchase is placed/)
    })

    test('keep totals of rows that refer by a renamed field', async (t) => {
      const place = await make(t)
      const old = nodeOn(place, refers({ ownerId: f.ref('orders') }))
      t.after(old.close)
      const { id } = (await old.ask('POST', '/orders', {})).json
      const line = (await old.ask('POST', '/lines', { ownerId: id, amount: 3 })).json
      await old.close()
      const node = nodeOn(place, refers({ orderId: f.ref('orders', { was: 'ownerId' }) }))
      t.after(node.close)
      assert.equal((await node.ask('GET', `/orders/${id}`)).json.total, 3)
      await node.ask('PATCH', `/lines/${line.id}`, { amount: 5 })
      await node.ask('POST', '/lines', { orderId: id, amount: 5 })
      assert.equal((await node.ask('GET', `/orders/${id}`)).json.total, 10)
    })
  })
