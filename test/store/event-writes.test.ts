/** Proves that each way to write has one event for each revision, with what GET showed at it. R205, R206, R207. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { audited, type EventContent } from '../help/audited.ts'
import { office, officeEvents } from '../help/event-office.ts'
import { places } from '../help/places.ts'

const typesOf = (events: readonly EventContent[] | undefined) =>
  (events ?? []).map(({ type, sequence }) => `${type.split('.')[1]} ${sequence}`)
const patchType = { 'content-type': 'application/json-patch+json' }

for (const [name, place] of places) {
  test(`R206, R207: requests of every method have their events on ${name}`, async (t) => {
    const { ask, audit, look, close } = audited(office, await place(t), { resources: officeEvents })
    t.after(close)
    const did = async (wanted: number, ...request: Parameters<typeof ask>) => {
      const answer = await ask(...request)
      assert.equal(answer.status, wanted, `${request[0]} ${request[1]}: ${JSON.stringify(answer.json)}`)
      await look()
      return answer.json
    }
    const id = 'cus_chosen'
    await did(201, 'POST', '/customers', { id, name: 'a' }, { 'idempotency-key': 'k' })
    await did(409, 'POST', '/customers', { id, name: 'a' }, { 'idempotency-key': 'k' })
    await did(409, 'POST', '/customers', { id, name: 'b' })
    await did(200, 'PATCH', `/customers/${id}`, { name: 'b' })
    await did(200, 'PATCH', `/customers/${id}`, { name: 'b' })
    await did(200, 'PATCH', `/customers/${id}`, { pin: 'a secret pin' })
    await did(200, 'PATCH', `/customers/${id}`, [{ op: 'replace', path: '/name', value: 'c' }], patchType)
    await did(400, 'PATCH', `/customers/${id}`, { name: 7 })
    await did(412, 'PATCH', `/customers/${id}`, { name: 'd' }, { 'if-match': '"1-1-abcdef"' })
    await did(200, 'PUT', `/customers/${id}`, { name: 'd' })
    await did(200, 'PUT', `/customers/${id}?dryRun=true`, { name: 'e' })
    await did(201, 'POST', '/customers?dryRun=true', { name: 'e' })
    await did(204, 'DELETE', `/customers/${id}?dryRun=true`)
    await did(204, 'DELETE', `/customers/${id}`)
    await did(204, 'DELETE', `/customers/${id}`)
    await did(201, 'PUT', `/customers/${id}`, { name: 'f' })
    await did(201, 'PUT', '/customers/cus_put', { name: 'g' })
    await did(409, 'PUT', '/customers/cus_other', { name: 'g' })
    for (const code of ['de', 'fr']) await did(201, 'POST', '/countries', { code })
    await did(409, 'POST', '/countries', { code: 'de' })
    await did(201, 'PUT', '/countries/it', { name: 'Italy' })
    await did(204, 'DELETE', '/countries/de')
    await did(201, 'PUT', '/countries/de', { name: 'again' })
    const items = await audit()
    assert.deepEqual(typesOf(items.get(`customers/${id}`)), [
      ...['created 1', 'updated 2', 'updated 3', 'updated 4', 'updated 5', 'deleted 6', 'created 7'],
    ])
    assert.deepEqual(typesOf(items.get('countries/de')), ['created 1', 'deleted 2', 'created 3'])
    assert.deepEqual(typesOf(items.get('customers/cus_put')), ['created 1'])
    assert.ok(!JSON.stringify([...items.values()]).includes('pin'))
  })

  test(`R206: totals, cascades, transitions, timers, handlers, batches and operations have events on ${name}`, async (t) => {
    const { ask, audit, look, pass, close } = audited(office, await place(t), { resources: officeEvents })
    t.after(close)
    const did = async (wanted: number, ...request: Parameters<typeof ask>) => {
      const answer = await ask(...request)
      assert.equal(answer.status, wanted, `${request[0]} ${request[1]}: ${JSON.stringify(answer.json)}`)
      await look()
      return answer.json
    }
    const customer = (await did(201, 'POST', '/customers', { name: 'with a diary' })).id
    const order = (await did(201, 'POST', '/orders', { customerId: customer })).id
    const line = (await did(201, 'POST', `/orders/${order}/order-lines`, { amount: 100 })).id
    await Promise.all([1, 2, 3].map((amount) => ask('POST', `/orders/${order}/order-lines`, { amount })))
    await did(200, 'PATCH', `/order-lines/${line}`, { amount: 7 })
    await did(204, 'DELETE', `/order-lines/${line}`)
    await did(200, 'POST', `/orders/${order}/placements`)
    await did(409, 'POST', `/orders/${order}/placements`)
    const [from, to] = [await did(201, 'POST', '/orders', {}), await did(201, 'POST', '/orders', { note: 'x' })]
    for (const amount of [5, 6]) await did(201, 'POST', `/orders/${from.id}/order-lines`, { amount })
    await did(200, 'POST', '/orders/merges', { from: from.id, to: to.id })
    const waiting = (await did(201, 'POST', '/orders', { customerId: customer })).id
    await pass('P8D')
    await look()
    const steady = (await did(201, 'POST', '/orders', {})).id
    await did(202, 'POST', `/orders/${steady}/audits`)
    await pass('PT1S')
    await look()
    const batched = [
      { method: 'POST', path: '/orders', body: { customerId: customer }, as: 'made' },
      { method: 'POST', path: '/orders/$made.id/order-lines', body: { amount: 3 }, as: 'line' },
      { method: 'PATCH', path: '/orders/$made.id', body: { note: 'n' } },
      { method: 'PATCH', path: '/orders/$made.id', body: { note: 'm' } },
      { method: 'POST', path: '/orders/$made.id/placements', as: 'placed' },
    ]
    await did(200, 'POST', '/batches', { operations: batched })
    await did(409, 'POST', '/batches', { operations: [...batched, { ...batched[4], as: 'again' }] })
    await did(204, 'DELETE', `/customers/${customer}`)
    const items = await audit()
    assert.deepEqual(typesOf(items.get(`orders/${waiting}`)), ['created 1', 'expired 2', 'deleted 3'])
    assert.equal(
      typesOf(items.get(`orders/${order}`))
        .at(-1)
        ?.split(' ')[0],
      'deleted',
    )
    assert.deepEqual(typesOf(items.get(`order-lines/${line}`)), ['created 1', 'updated 2', 'deleted 3'])
    assert.ok(typesOf(items.get(`orders/${to.id}`)).some((one) => one.startsWith('placed')))
    assert.equal(items.get(`orders/${steady}`)?.at(-1)?.data.note, '1212')
  })
}
