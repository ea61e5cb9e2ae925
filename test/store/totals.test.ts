/** Proves that derived values are right after a declaration changes, on rows that were written before. R225. The store. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { count, f, max, resource, type Service, service, sum, times } from 'bylaw'
import { alive, applied, nodeOn, type Place, places } from '../help/places.ts'

const names = { customers: { prefix: 'cus', fields: { name: f.text() }, access: 'public' } } as const
const plainLines = { quantity: f.integer(), price: f.decimal({ scale: 2 }) }
const before = service({
  name: 'shop',
  resources: {
    ...names,
    orders: { prefix: 'ord', fields: { customerId: f.ref('customers') }, access: 'public' },
    lines: { prefix: 'lin', parent: { resource: 'orders', onDelete: 'cascade' }, fields: plainLines, access: 'public' },
  },
})

const after = (double: boolean): Service =>
  service({
    name: 'shop',
    resources: {
      customers: {
        prefix: 'cus',
        fields: { name: f.text(), spent: f.decimal({ scale: 2, derived: sum('orders', 'total'), sort: true }) },
        access: 'public',
      },
      orders: {
        prefix: 'ord',
        fields: {
          customerId: f.ref('customers'),
          total: f.decimal({ scale: 2, derived: sum('lines', 'amount'), filter: 'range' }),
          lineCount: f.integer({ derived: count('lines') }),
          most: f.integer({ optional: true, derived: max('lines', 'quantity') }),
        },
        states: { field: 'status', initial: 'draft', transitions: { placements: { from: ['draft'], to: 'placed' } } },
        access: 'public',
      },
      lines: resource({
        prefix: 'lin',
        parent: { resource: 'orders', onDelete: 'cascade' },
        fields: { ...plainLines, amount: f.decimal({ scale: 2, derived: true, filter: 'range' }) },
        derived: { amount: ({ quantity, price }) => times(price, double ? 2 * quantity : quantity) },
        access: 'public',
      }),
    },
  }) as never

async function stock(place: Place, t: TestContext): Promise<string> {
  const node = nodeOn(place, before)
  t.after(node.close)
  const who = (await node.ask('POST', '/customers', { name: 'Ann' })).json.id
  const { id } = (await node.ask('POST', '/orders', { customerId: who })).json
  await node.ask('POST', `/orders/${id}/lines`, { quantity: 2, price: '1.50' })
  await node.ask('POST', `/orders/${id}/lines`, { quantity: 1, price: '0.25' })
  await node.ask('POST', '/orders', { customerId: who })
  await node.close()
  return id
}

for (const [name, make] of places)
  describe(`derived values of earlier rows, ${name}`, () => {
    test('are filled when the fields are new, and follow every later write', async (t) => {
      const place = await make(t)
      const id = await stock(place, t)
      const node = nodeOn(place, after(false))
      t.after(node.close)
      const { json } = await node.ask('GET', `/orders/${id}`)
      assert.deepEqual([json.total, json.lineCount, json.most, json.status], ['3.25', 2, 2, 'draft'])
      const [first] = (await node.ask('GET', `/orders/${id}/lines?amount[gte]=1`)).json.data
      assert.equal(first.amount, '3.00')
      assert.equal((await node.ask('GET', '/customers?sort=spent')).json.data[0].spent, '3.25')
      await node.ask('POST', `/orders/${id}/lines`, { quantity: 4, price: '1.00' })
      assert.equal((await node.ask('GET', '/customers')).json.data[0].spent, '7.25')
      const placed = await node.ask('POST', `/orders/${id}/placements`)
      assert.deepEqual([placed.status, placed.json.total, placed.json.status], [200, '7.25', 'placed'])
      assert.equal((await node.ask('GET', '/orders?total[gte]=7&status=placed')).json.data.length, 1)
    })

    test('are computed again when a function changes', async (t) => {
      const place = await make(t)
      const id = await stock(place, t)
      await nodeOn(place, after(false)).close()
      await applied(place, after(false))
      const node = nodeOn(place, after(true))
      t.after(node.close)
      const order = (await node.ask('GET', `/orders/${id}`)).json
      const [line] = (await node.ask('GET', `/orders/${id}/lines`)).json.data
      assert.deepEqual([line.amount, order.total], ['6.00', '6.50'])
      assert.equal((await node.ask('GET', '/customers')).json.data[0].spent, '6.50')
    })

    test('are right after a rolling upgrade, in which old nodes wrote rows without them', async (t) => {
      const place = await make(t)
      const id = await stock(place, t)
      const old = nodeOn(place, before)
      t.after(old.close)
      await old.ask('GET', '/orders')
      await alive(place)
      const { left } = await applied(place, after(false))
      assert.ok(left.length > 0, 'the second phase waits for the old node')
      const node = nodeOn(place, after(false))
      t.after(node.close)
      await node.ask('POST', `/orders/${id}/lines`, { quantity: 1, price: '1.00' })
      assert.equal((await node.ask('GET', `/orders/${id}`)).json.total, null)
      await old.ask('POST', `/orders/${id}/lines`, { quantity: 1, price: '5.00' })
      await old.close()
      await node.close()
      await place.rows('DELETE FROM bylaw_nodes')
      await applied(place, after(false))
      const last = nodeOn(place, after(false))
      t.after(last.close)
      const order = (await last.ask('GET', `/orders/${id}`)).json
      assert.deepEqual([order.total, order.lineCount], ['9.25', 4])
      assert.equal((await last.ask('GET', '/customers')).json.data[0].spent, '9.25')
    })
  })
