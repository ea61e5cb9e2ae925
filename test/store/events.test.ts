/** Events: recorded with each change, listed and streamed, on both stores. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'

const api = service({
  name: 'shop',
  events: true,
  resources: {
    customers: { fields: { name: f.text() }, access: 'public', events: false },
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ filter: true }), customerId: f.ref('customers', { optional: true }) },
      states: { field: 'status', initial: 'draft', transitions: { placements: { from: ['draft'], to: 'placed' } } },
      access: 'public',
    },
    'order-lines': {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { amount: f.integer() },
      access: 'public',
    },
  },
})

interface EventContent {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly version: string
  readonly sequence: number
  readonly data: Readonly<Record<string, unknown>>
}

for (const [name, place] of places)
  test(`R206, R207: each change of an item is an event, and no change is missing, on ${name}`, async (t) => {
    const { ask, close } = nodeOn(await place(t), api)
    t.after(close)
    await ask('POST', '/customers', { name: 'Ann' })
    const order = (await ask('POST', '/orders', { note: 'first' }, { 'idempotency-key': 'k1' })).json
    await ask('POST', '/orders', { note: 'first' }, { 'idempotency-key': 'k1' })
    await Promise.all([1, 2].map((amount) => ask('POST', `/orders/${order.id}/order-lines`, { amount })))
    await ask('PATCH', `/orders/${order.id}`, { note: 'second' })
    await ask('PATCH', `/orders/${order.id}`, { note: 'second' })
    await ask('PATCH', `/orders/${order.id}?dryRun=true`, { note: 'third' })
    await ask('PUT', `/orders/${order.id}`, { note: 'third', customerId: null })
    const placed = (await ask('POST', `/orders/${order.id}/placements`)).json
    assert.equal((await ask('POST', `/orders/${order.id}/placements`)).status, 409)
    assert.equal((await ask('DELETE', `/orders/${order.id}`)).status, 204)
    const { status, json } = await ask('GET', '/events')
    assert.equal(status, 200)
    const events = json.data as EventContent[]
    const own = events.filter(({ data }) => data.id === order.id)
    assert.deepEqual(
      own.map(({ type, sequence }) => `${type} ${sequence}`),
      ['order.created 1', 'order.updated 2', 'order.updated 3', 'order.placed 4', 'order.deleted 5'],
    )
    assert.deepEqual(
      events.filter(({ data }) => data.id !== order.id).map(({ type, sequence }) => `${type} ${sequence}`),
      ['orderLine.created 1', 'orderLine.created 1', 'orderLine.deleted 2', 'orderLine.deleted 2'],
    )
    const { _links, ...shown } = placed
    assert.deepEqual(own[3]?.data, shown)
    assert.equal(own[3]?.timestamp, placed.updatedAt)
    assert.equal(own[3]?.version, 'v1')
    assert.match(own[0]?.id ?? '', /^evt_[0-9a-z]{26}$/)
    const one = await ask('GET', `/events/${own[0]?.id}`)
    assert.deepEqual(one.json, own[0])
  })

for (const [name, place] of places)
  test(`events are listed by cursor, from where the reader left off, on ${name}`, async (t) => {
    const { ask, close } = nodeOn(await place(t), api)
    t.after(close)
    const seen: string[] = []
    let cursor = ''
    const read = async (most: string): Promise<void> => {
      for (let more = true; more; ) {
        const { status, json } = await ask('GET', `/events?limit=${most}&cursor=${cursor}`)
        assert.equal(status, 200)
        seen.push(...json.data.map(({ data }: EventContent) => data.note))
        assert.equal(typeof json.pagination.nextCursor, 'string')
        cursor = json.pagination.nextCursor
        more = json.pagination.hasMore
      }
    }
    await read('5')
    for (const note of ['a', 'b', 'c']) await ask('POST', '/orders', { note })
    await read('2')
    await ask('POST', '/orders', { note: 'd' })
    await read('2')
    assert.deepEqual(seen, ['a', 'b', 'c', 'd'])
  })

test('events are filtered by type, resource, item and time; unknown values are refused', async (t) => {
  const { ask, close } = nodeOn({ url: 'sqlite::memory:' }, api)
  t.after(close)
  const orders = [
    (await ask('POST', '/orders', { note: 'a' })).json,
    (await ask('POST', '/orders', { note: 'b' })).json,
  ]
  await ask('POST', `/orders/${orders[0].id}/placements`)
  await ask('POST', `/orders/${orders[1].id}/order-lines`, { amount: 1 })
  const types = async (query: string) =>
    (await ask('GET', `/events?${query}`)).json.data.map(({ type }: EventContent) => type)
  assert.deepEqual(await types('type=order.placed'), ['order.placed'])
  assert.deepEqual(await types('type=in:(order.placed,orderLine.created)'), ['order.placed', 'orderLine.created'])
  assert.deepEqual(await types('resource=order-lines'), ['orderLine.created'])
  assert.deepEqual(await types('resource=order-lines&type=order.placed'), [])
  assert.deepEqual(await types(`item=${orders[1].id}`), ['order.created'])
  assert.deepEqual(await types('since=2999-01-01T00:00:00Z'), [])
  const faults = async (query: string) => {
    const { status, json } = await ask('GET', `/events?${query}`)
    return [status, ...json.errors.map((one: { type: string; name: string }) => `${one.type} ${one.name}`)]
  }
  assert.deepEqual(await faults('type=order.gone&resource=customers&since=yesterday&limit=0&cursor=x&sort=id'), [
    400,
    'unknown-parameter sort',
    'invalid-parameter-value resource',
    'invalid-parameter-value type',
    'invalid-parameter-value since',
    'invalid-parameter-value limit',
    'invalid-cursor cursor',
  ])
})
