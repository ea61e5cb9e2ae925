/** Events during a rolling upgrade: nodes of both declarations show the values of all events as they show those of rows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { alive, applied, type Node, nodeOn, type Place, places } from '../help/places.ts'
import { receiver } from '../help/webhooks.ts'

const v1 = { v1: { released: '2025-01-01' } }
const both = { ...v1, v2: { released: '2026-01-01' } }
const open = { prefix: 'ord', access: 'public' } as const
const shop = { name: 'shop', events: true } as const

const first = service({
  ...shop,
  resources: { orders: { ...open, fields: { remark: f.text(), code: f.text({ writeOnly: true, default: 'none' }) } } },
  versions: v1,
})
const second = service({
  ...shop,
  resources: {
    orders: {
      ...open,
      fields: {
        note: f.text(),
        count: f.integer({ default: 1 }),
        token: f.text({ writeOnly: true, default: 'none' }),
      },
    },
  },
  versions: both,
}).change('v2', 'orders', {
  about: 'Remarks are notes, codes are tokens, and orders have a count.',
  renamed: { remark: 'note', code: 'token' },
  added: ['count'],
})

const notesBefore = service({ ...shop, resources: { orders: { ...open, fields: { remark: f.text() } } } })
const notesAfter = service({
  ...shop,
  resources: { orders: { ...open, fields: { note: f.text({ was: 'remark' }), count: f.integer({ default: 1 }) } } },
})

const grown = service({
  ...shop,
  resources: {
    orders: { ...open, fields: { remark: f.text() } },
    bills: { prefix: 'bil', access: 'public', fields: { sum: f.integer() } },
  },
})

const shelved = { optional: true, onDelete: 'cascade' } as const
const shelf = { prefix: 'shf', access: 'public' } as const
const roomOfBooks = service({
  ...shop,
  resources: {
    shelves: { ...shelf, fields: { label: f.text() } },
    books: {
      access: 'public',
      fields: { title: f.text(), shelfId: f.ref('shelves', shelved), room: f.text({ optional: true }) },
    },
  },
  versions: v1,
})
const roomOfShelves = service({
  ...shop,
  resources: {
    shelves: { ...shelf, fields: { label: f.text(), room: f.text({ optional: true }) } },
    books: { access: 'public', fields: { title: f.text(), shelfId: f.ref('shelves', shelved) } },
  },
  versions: both,
})
  .change('v2', 'books', { about: 'The room is that of the shelf.', moved: { room: { by: 'shelfId', to: 'room' } } })
  .change('v2', 'shelves', { about: 'A shelf has a room.', added: ['room'] })

interface EventContent {
  readonly id: string
  readonly type: string
  readonly sequence: number
  readonly data: Readonly<Record<string, unknown>>
}

/** The events of a list, one by one too, each with some members of its item. */
async function eventsOf({ ask }: Node, path: string, names: readonly string[]): Promise<string[]> {
  const all: EventContent[] = (await ask('GET', path)).json.data
  for (const one of all)
    assert.deepEqual((await ask('GET', `${path.split('?')[0]}/${one.id}`)).json, one, 'the event alone is the same')
  return all.map(({ type, data }) => [type, ...names.map((name) => data[name])].join(' '))
}

/** Runs a node of the former declaration, and after the first phase of the change one of the new declaration. */
async function upgraded(
  t: { after: (end: () => Promise<void>) => void },
  place: Place,
  former: Parameters<typeof nodeOn>[1],
  now: Parameters<typeof nodeOn>[1],
) {
  const old = nodeOn(place, former)
  t.after(old.close)
  await old.ask('GET', '/openapi.json')
  await alive(place)
  assert.deepEqual((await applied(place, now)).waitsFor, ['old'])
  const young = nodeOn(place, now)
  t.after(young.close)
  return { old, young }
}

for (const [name, make] of places) {
  test(`R207: during a rolling upgrade both declarations show their values in every event, on ${name}`, async (t) => {
    const place = await make(t)
    const { old, young } = await upgraded(t, place, first, second)
    const made = (await young.ask('POST', '/v2/orders', { note: 'a', count: 5, token: 'hush' })).json
    await old.ask('PATCH', `/orders/${made.id}`, { remark: 'b' })
    await young.ask('PATCH', `/v2/orders/${made.id}`, { count: 6 })
    const own = (await old.ask('POST', '/orders', { remark: 'c' })).json
    await young.ask('PATCH', `/v2/orders/${own.id}`, { note: 'd', count: 7 })
    await old.ask('DELETE', `/orders/${made.id}`)
    await young.ask('DELETE', `/v2/orders/${own.id}`)

    const types = ['created', 'updated', 'updated', 'created', 'updated', 'deleted', 'deleted']
    const typed = (values: readonly string[]) => values.map((one, i) => `order.${types[i]} ${one}`)
    const remarks = typed(['a', 'b', 'b', 'c', 'd', 'b', 'd'])
    const notes = typed(['a 5', 'b 5', 'b 6', 'c 1', 'd 7', 'b 6', 'd 7'])
    const seen = async (nodes: readonly Node[]): Promise<void> => {
      for (const node of nodes) assert.deepEqual(await eventsOf(node, '/v1/events', ['remark']), remarks)
      assert.deepEqual(await eventsOf(young, '/v2/events', ['note', 'count']), notes)
    }
    await seen([old, young])
    const stored = await place.rows(`SELECT documents FROM bylaw_event_rows`)
    const payloads = await place.rows(`SELECT payload FROM bylaw_outbox`)
    assert.ok(stored.length > 0)
    assert.ok(!JSON.stringify([stored, payloads]).includes('hush'), 'events keep no write-only values')

    const restarted = nodeOn(place, first)
    t.after(restarted.close)
    await seen([restarted])
    await Promise.all([old.close(), restarted.close()])
    await place.rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await applied(place, second)).left, [])
    await seen([young])
    const late = (await young.ask('POST', '/v2/orders', { note: 'e' })).json
    assert.equal((await young.ask('GET', `/v2/events?item=${late.id}`)).json.data.length, 1)
  })

  test(`R207: the same holds for a field that is renamed without versions, on ${name}`, async (t) => {
    const place = await make(t)
    const { old, young } = await upgraded(t, place, notesBefore, notesAfter)
    const { id } = (await young.ask('POST', '/orders', { note: 'a', count: 5 })).json
    await old.ask('PATCH', `/orders/${id}`, { remark: 'b' })
    await young.ask('PATCH', `/orders/${id}`, { note: 'c' })
    await old.ask('DELETE', `/orders/${id}`)
    const types = ['created', 'updated', 'updated', 'deleted'].map((one) => `order.${one}`)
    const typed = (values: readonly string[]) => values.map((one, i) => `${types[i]} ${one}`)
    assert.deepEqual(await eventsOf(old, '/events', ['remark']), typed(['a', 'b', 'c', 'c']))
    assert.deepEqual(await eventsOf(young, '/events', ['note', 'count']), typed(['a 5', 'b 5', 'c 5', 'c 5']))
  })

  test(`R207: the same holds for a field that another resource has now, on ${name}`, async (t) => {
    const place = await make(t)
    const { old, young } = await upgraded(t, place, roomOfBooks, roomOfShelves)
    const shelfId = (await young.ask('POST', '/v2/shelves', { label: 'A', room: 'north' })).json.id
    const { id } = (await young.ask('POST', '/v2/books', { title: 'a', shelfId })).json
    await young.ask('PATCH', `/v2/shelves/${shelfId}`, { room: 'south' })
    await young.ask('PATCH', `/v2/books/${id}`, { title: 'b' })
    await young.ask('DELETE', `/v2/books/${id}`)
    const expected = ['book.created a north', 'book.updated b south', 'book.deleted b south']
    for (const node of [old, young])
      assert.deepEqual(await eventsOf(node, '/v1/events?resource=books', ['title', 'room']), expected)
  })

  test(`R231: during a rolling upgrade a reaction of an old node gets its own fields, on ${name}`, async (t) => {
    const place = await make(t)
    const seen: unknown[] = []
    const types = ['order.created', 'order.updated', 'order.deleted'] as const
    const run = ({ event }: { event: { data: object } }) => void seen.push({ ...event.data })
    const reacting = first.handlers({ reactions: { remarks: { on: types, from: 'start', run: run as never } } })
    const { call, pass, close } = testing(reacting as never, { database: place.url })
    t.after(close)
    await call('/orders')
    await alive(place)
    assert.deepEqual((await applied(place, second)).waitsFor.length > 0, true)
    const young = nodeOn(place, second)
    t.after(young.close)
    await young.ask('POST', '/v2/orders', { note: 'a' })
    await pass('PT1S')
    assert.deepEqual(
      seen.map((one) => (one as { remark: string }).remark),
      ['a'],
    )
  })

  test(`R231: an old node leaves events of a resource that it does not know to the new nodes, on ${name}`, async (t) => {
    const place = await make(t)
    const seen: string[] = []
    const nodeWith = (api: typeof grown, label: string, on: readonly string[]) => {
      const run = ({ event }: { event: { type: string } }) => void seen.push(`${label} ${event.type}`)
      const reactions = { changes: { on, from: 'start', run } }
      const node = testing(api.handlers({ reactions } as never) as never, { database: place.url })
      t.after(node.close)
      return node
    }
    const old = nodeWith(notesBefore as never, 'old', ['order.created'])
    await old.call('/orders', { method: 'POST', json: { remark: 'a' } })
    await old.pass('PT1S')
    const { nextCursor } = ((await (await old.call('/events')).json()) as { pagination: { nextCursor: string } })
      .pagination
    await alive(place)
    await applied(place, grown)
    const young = nodeWith(grown, 'new', ['order.created', 'bill.created'])
    await young.call('/bills', { method: 'POST', json: { sum: 5 } })
    await old.call('/orders', { method: 'POST', json: { remark: 'b' } })
    await old.pass('PT1S')
    const typesAt = async ({ call }: typeof old, cursor: string) => {
      const answer = await call(`/events?cursor=${cursor}`)
      const { data, pagination } = (await answer.json()) as { data: EventContent[]; pagination: { nextCursor: string } }
      return [data.map(({ type }) => type), pagination.nextCursor] as const
    }
    const [none, next] = await typesAt(old, nextCursor)
    assert.deepEqual(none, [])
    assert.deepEqual((await typesAt(young, next))[0], ['bill.created', 'order.created'])
    assert.deepEqual(seen, ['old order.created'])
    await young.pass('PT1S')
    assert.deepEqual(seen, ['old order.created', 'new bill.created', 'new order.created'])
    await old.call('/orders', { method: 'POST', json: { remark: 'c' } })
    const [, last] = await typesAt(young, next)
    assert.deepEqual((await typesAt(old, nextCursor))[0], [])
    assert.deepEqual((await typesAt(old, last))[0], [], 'a cursor of a new node is good on an old one')
  })

  test(`R231: webhooks, publisher and stream of an old node stop before an event that it does not know, on ${name}`, async (t) => {
    const place = await make(t)
    const { url, received } = await receiver(t)
    const published: string[] = []
    const nodeWith = (resources: object, label: string) => {
      const publish = async (events: readonly { type: string }[]) =>
        void published.push(...events.map(({ type }) => `${label} ${type}`))
      const settings = { events: { webhooks: true, stream: true, publish: { publish, close: async () => {} } } }
      const api = service({ ...shop, settings, resources } as never)
      const node = testing(api, { database: place.url })
      t.after(node.close)
      const as = { account: 'acc_1', scopes: ['webhook-endpoints:read', 'webhook-endpoints:write'] }
      return { ...node, api, post: (path: string, json: object) => node.call(path, { method: 'POST', json, as }) }
    }
    const { bills, orders } = grown.declaration.resources
    const old = nodeWith({ orders }, 'old')
    const endpoint = await old.post('/webhook-endpoints', { url, eventTypes: ['order.*'] })
    assert.equal(endpoint.status, 201, await endpoint.clone().text())
    const stream = await old.call('/events?since=2020-01-01T00:00:00.000Z', {
      headers: { accept: 'text/event-stream' },
    })
    const sent: string[] = []
    const reading = (async () => {
      for await (const chunk of stream.body as ReadableStream<Uint8Array>) sent.push(Buffer.from(chunk).toString())
    })()
    await old.post('/orders', { remark: 'a' })
    await old.pass('PT1S')
    await alive(place)
    const young = nodeWith({ orders, bills }, 'new')
    await applied(place, young.api)
    await young.post('/bills', { sum: 5 })
    await old.post('/orders', { remark: 'b' })
    await old.pass('PT1S')
    await old.call('/events')
    const delivered = () => received.map(({ body }) => JSON.parse(body).type)
    assert.deepEqual([delivered(), published], [['order.created'], ['old order.created']])
    await young.pass('PT1S')
    assert.deepEqual(delivered(), ['order.created', 'order.created'])
    assert.deepEqual(published, ['old order.created', 'new bill.created', 'new order.created'])
    await old.close()
    await reading.catch(() => {})
    assert.deepEqual(sent.join('').match(/"remark":"\w"/g), ['"remark":"a"'])
  })
}
