/** Events of items that a version cannot show: they reach every consumer of the version without the item, and stop none. R207. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { places } from '../help/places.ts'
import { streamingNode } from '../help/streaming.ts'
import { until } from '../help/until.ts'
import { receiver, webhookNode } from '../help/webhooks.ts'

const shop = service({
  name: 'shop',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-02-01' } },
  events: true,
  settings: { events: { webhooks: true, stream: true } },
  scopes: { orders: 'Read orders' },
  resources: { orders: { prefix: 'ord', fields: { note: f.text() }, access: 'public' } },
}).change('v2', 'orders', {
  about: 'Notes are not in upper case.',
  retyped: { note: f.text() },
  request: ({ note }) => ({ note: note.toLowerCase() }),
  response: ({ note }) => {
    if (note === 'broken') throw new Error('This note has no upper case.')
    return { note: note.toUpperCase() }
  },
})

const scopes = ['webhook-endpoints:read', 'webhook-endpoints:write']

for (const [store, place] of places)
  test(`R207: an event of an item that a version cannot show has its id alone, and stops no consumer (${store})`, async (t) => {
    const { url, received } = await receiver(t)
    const { send, pass, logged } = webhookNode(t, (await place(t)).url, shop as never, scopes)
    const endpoint = await send('POST', '/v1/webhook-endpoints', { url, eventTypes: ['order.*'], ordered: true })
    assert.equal(endpoint.status, 201, JSON.stringify(endpoint.body))
    const ids: string[] = []
    for (const note of ['first', 'broken', 'last']) ids.push((await send('POST', '/v2/orders', { note })).body.id)

    const { status, body } = await send('GET', '/v1/events')
    assert.equal(status, 200, JSON.stringify(body))
    const shown = (data: readonly { data: { id: string; note?: string } }[]) =>
      data.map((one) => [one.data.id, one.data.note])
    const expected = [
      [ids[0], 'FIRST'],
      [ids[1], undefined],
      [ids[2], 'LAST'],
    ]
    assert.deepEqual(shown(body.data), expected)
    assert.deepEqual(body.data[1].data, { id: ids[1] })
    const one = await send('GET', `/v1/events/${body.data[1].id}`)
    assert.deepEqual([one.status, one.body], [200, body.data[1]])
    // The newest version shows all, and the item itself is refused in the older one.
    assert.deepEqual(shown((await send('GET', '/v2/events')).body.data)[1], [ids[1], 'broken'])
    const item = await send('GET', `/v1/orders/${ids[1]}`)
    assert.deepEqual([item.status, item.body.type], [500, 'version-conversion-failed'])

    for (let i = 0; i < 3; i++) await pass('PT1S')
    assert.deepEqual(shown(received.map(({ body }) => JSON.parse(body))), expected)
    const { about } = logged.find(({ message }) => message === 'An event was sent without its item.') ?? {}
    assert.deepEqual([about?.version, about?.resource, about?.id], ['v1', 'orders', ids[1]])
    assert.match(String(about?.err), /This note has no upper case/)
  })

test('R213: a stream goes on after an event of an item that its version cannot show', async (t) => {
  const { send, open } = await streamingNode(t, shop as never)
  const stream = await open.fetch('/v1/events')
  for (const note of ['broken', 'last']) await send('POST', '/v2/orders', { json: { note } })

  await until(() => stream.text().includes('LAST'))
  const [first] = [...stream.text().matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data).data)
  assert.deepEqual(Object.keys(first), ['id'])
})
