/** Events in versions: events that were stored before a version existed are shown in its names, and in older ones. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'

const sells = (to: string) => ({
  field: 'status',
  initial: 'draft',
  transitions: { placements: { from: ['draft'], to } },
})

const first = service({
  name: 'shop',
  events: true,
  resources: {
    purchases: { prefix: 'pur', fields: { remark: f.text() }, states: sells('sent'), access: 'public' },
  },
  versions: { v1: { released: '2026-01-01' } },
})

const second = service({
  name: 'shop',
  events: true,
  resources: {
    orders: {
      prefix: 'pur',
      fields: { note: f.text(), count: f.integer({ default: 1 }) },
      states: sells('placed'),
      access: 'public',
    },
  },
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-02-01' } },
}).change('v2', 'orders', {
  about: 'Purchases are called orders, remarks notes, and sent ones placed; `count` is new.',
  was: 'purchases',
  renamed: { remark: 'note' },
  mapped: { status: { sent: 'placed' } },
  added: ['count'],
})

interface EventContent {
  readonly id: string
  readonly type: string
  readonly version: string
  readonly sequence: number
  readonly data: Readonly<Record<string, unknown>>
}

for (const [name, place] of places)
  test(`R207: an event has the names of the version that reads it, also if it is older than that version, on ${name}`, async (t) => {
    const on = await place(t)
    const former = nodeOn(on, first)
    t.after(former.close)
    const { id } = (await former.ask('POST', '/purchases', { remark: 'early' })).json
    await former.ask('POST', `/purchases/${id}/placements`)
    const { data: before, pagination } = (await former.ask('GET', '/events')).json
    await former.close()
    const node = nodeOn(on, second)
    t.after(node.close)
    const eventsIn = async (version: string, query = ''): Promise<EventContent[]> =>
      (await node.ask('GET', `/${version}/events${query}`)).json.data
    assert.deepEqual(await eventsIn('v1'), before)
    const now = await eventsIn('v2')
    assert.deepEqual(
      now.map(({ type, version, sequence, data }) => [type, version, sequence, data.note, data.status, data.count]),
      [
        ['order.created', 'v2', 1, 'early', 'draft', 1],
        ['order.placed', 'v2', 2, 'early', 'placed', 1],
      ],
    )
    assert.ok(now.every(({ data }) => !('remark' in data)))
    assert.deepEqual(
      now.map((one) => one.id),
      before.map((one: EventContent) => one.id),
    )
    await node.ask('PATCH', `/v2/orders/${id}`, { note: 'late' })
    assert.deepEqual(
      (await eventsIn('v1', `?cursor=${pagination.nextCursor}`)).map(({ type, data }) => [type, data.remark]),
      [['purchase.updated', 'late']],
    )
    assert.deepEqual(await eventsIn('v2', '?type=order.placed'), [now[1]])
    assert.deepEqual(await eventsIn('v1', '?type=purchase.sent&resource=purchases'), [before[1]])
    assert.deepEqual((await node.ask('GET', `/v1/events/${before[1].id}`)).json, before[1])
  })
