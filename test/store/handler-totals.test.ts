/** Handlers that write a row and another one whose total follows from it, in either order, on both stores. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service, sum } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'

const api = service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ optional: true }), total: f.integer({ derived: sum('order-lines', 'amount') }) },
      access: 'public',
      operations: {
        fills: { at: 'collection', input: { orderId: f.text(), first: f.enum(['line', 'order']) } },
        clearings: { at: 'collection', input: { orderId: f.text(), lineId: f.text() } },
      },
    },
    'order-lines': { prefix: 'lin', parent: 'orders', fields: { amount: f.integer() }, access: 'public' },
  },
})

const handlers = api.handlers({
  orders: {
    fills({ input: { orderId, first }, create, change }) {
      if (first === 'order') change('orders', orderId, { note: 'filled' })
      create('order-lines', { orderId, amount: 3 })
      if (first === 'line') change('orders', orderId, { note: 'filled' })
    },
    clearings({ input: { orderId, lineId }, remove }) {
      remove('order-lines', lineId)
      remove('orders', orderId)
    },
  },
})

for (const [name, place] of places)
  test(`a handler writes a row and its parent, whose total changes too, on ${name}`, async (t) => {
    const { ask, close } = nodeOn(await place(t), handlers)
    t.after(close)
    for (const first of ['line', 'order']) {
      const { json: order } = await ask('POST', '/orders', {})
      assert.equal((await ask('POST', '/orders/fills', { orderId: order.id, first })).status, 200)
      const { json: filled } = await ask('GET', `/orders/${order.id}`)
      assert.deepEqual([filled.note, filled.total], ['filled', 3], first)
      const [line] = (await ask('GET', `/orders/${order.id}/order-lines`)).json.data
      const cleared = await ask('POST', '/orders/clearings', { orderId: order.id, lineId: line.id })
      assert.equal(cleared.status, 200)
      assert.equal((await ask('GET', `/orders/${order.id}`)).status, 410)
    }
  })
