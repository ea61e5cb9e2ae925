/** Events together with versions: what webhooks of older versions and reactions get of moved and renamed parts. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { type Place, places } from '../help/places.ts'
import { receiver } from '../help/webhooks.ts'

const settings = { events: { webhooks: true, reactions: true } } as const
const v1 = { v1: { released: '2025-01-01' } }
const v2 = { ...v1, v2: { released: '2026-01-01' } }
const access = 'public'

const shelfId = f.ref('shelves', { optional: true, onDelete: 'cascade' })
const room = f.text({ optional: true })
const library = service({
  ...{ name: 'library', events: true, settings, versions: v1 },
  resources: {
    shelves: { prefix: 'shf', fields: { label: f.text() }, access },
    books: { prefix: 'bok', fields: { title: f.text(), shelfId, room }, access },
  },
})
const movedLibrary = service({
  ...{ name: 'library', events: true, settings, versions: v2 },
  resources: {
    shelves: { prefix: 'shf', fields: { label: f.text(), room }, access },
    books: { prefix: 'bok', fields: { title: f.text(), shelfId }, access },
  },
})
  .change('v2', 'books', { about: 'The room is that of the shelf.', moved: { room: { by: 'shelfId', to: 'room' } } })
  .change('v2', 'shelves', { about: 'A shelf has a room.', added: ['room'] })

const shop = service({
  ...{ name: 'shop', events: true, settings, versions: v1 },
  resources: { purchases: { prefix: 'pur', fields: { remark: f.text() }, access } },
})
const renamedShop = service({
  ...{ name: 'shop', events: true, settings, versions: v2 },
  resources: { orders: { prefix: 'pur', fields: { note: f.text() }, access } },
}).change('v2', 'orders', { about: 'Purchases are orders.', was: 'purchases', renamed: { remark: 'note' } })

const as = {
  account: 'acc_1',
  scopes: ['webhook-endpoints:read', 'webhook-endpoints:write', 'reactions:read', 'reactions:write'],
}

/** A service on a database, whose requests have to succeed. */
function opened(t: TestContext, { url }: Place, api: Parameters<typeof testing>[0]) {
  const { call, pass, close } = testing(api, { database: url })
  t.after(close)
  // biome-ignore lint/suspicious/noExplicitAny: answers are read as they are
  const send = async (method: string, path: string, json?: object): Promise<any> => {
    const answer = await call(path, { method, as, ...(json && { json }) })
    const text = await answer.text()
    assert.ok(answer.ok, text)
    return text === '' ? null : JSON.parse(text)
  }
  return { send, pass, close }
}

for (const [name, place] of places) {
  test(`R194 R207 R231: a webhook of an older version gets a moved field as it was, and a reaction the newest shape, on ${name}`, async (t) => {
    const on = await place(t)
    const { url, received } = await receiver(t)
    const former = opened(t, on, library)
    const shelf = await former.send('POST', '/shelves', { label: 'A' })
    await former.send('POST', '/webhook-endpoints', { url, eventTypes: ['book.*'] })
    await former.send('POST', '/books', { title: 'early', shelfId: shelf.id, room: 'north' })
    await former.close()
    const seen: unknown[] = []
    const handlers = movedLibrary.handlers({
      reactions: {
        copies: {
          on: ['book.created', 'book.updated', 'shelf.updated'],
          from: 'start',
          run({ event: { type, version, data } }) {
            seen.push([type, version, 'room' in data ? data.room : undefined, 'title' in data ? data.title : undefined])
          },
        },
      },
    })
    const { send, pass } = opened(t, on, handlers)
    await pass('PT0.1S')
    const late = await send('POST', '/v2/books', { title: 'late', shelfId: shelf.id })
    await send('PATCH', `/v2/shelves/${shelf.id}`, { room: 'south' })
    await send('PATCH', `/v1/books/${late.id}`, { title: 'latest', room: 'west' })
    await pass('PT0.1S')
    const delivered = received.map(({ body }) => JSON.parse(body))
    assert.deepEqual(
      delivered
        .map(({ type, version, data }) => [type, version, data.title, data.room])
        .toSorted(([, , a], [, , b]) => (a < b ? -1 : 1)),
      [
        ['book.created', 'v1', 'early', 'north'],
        ['book.created', 'v1', 'late', 'north'],
        ['book.updated', 'v1', 'latest', 'west'],
      ],
    )
    const byType = Map.groupBy(seen as string[][], ([type]) => type)
    assert.deepEqual(byType.get('book.created'), [
      ['book.created', 'v2', undefined, 'early'],
      ['book.created', 'v2', undefined, 'late'],
    ])
    assert.deepEqual(byType.get('book.updated'), [['book.updated', 'v2', undefined, 'latest']])
    assert.deepEqual(byType.get('shelf.updated'), [
      ['shelf.updated', 'v2', 'south', undefined],
      ['shelf.updated', 'v2', 'west', undefined],
    ])
  })

  test(`R207 R231: an item keeps its order while its resource is renamed, and its failures have the names of the version, on ${name}`, async (t) => {
    const on = await place(t)
    const state = { mended: false, seen: [] as string[] }
    const run = ({ event }: { event: { type: string; data: object } }) => {
      if (!state.mended) throw new Error('Not yet.')
      state.seen.push(`${event.type} ${JSON.stringify(event.data).includes('"note"') ? 'note' : 'remark'}`)
    }
    const former = opened(
      t,
      on,
      shop.handlers({ reactions: { copies: { on: ['purchase.created'], from: 'start', run } } }),
    )
    const { url, received } = await receiver(t, () => (state.mended ? 204 : 500))
    await former.send('POST', '/webhook-endpoints', { url, eventTypes: ['purchase.*'], ordered: true })
    const { id } = await former.send('POST', '/purchases', { remark: 'early' })
    await former.pass('PT0.1S')
    const [before] = (await former.send('GET', '/reactions/copies/failures')).data
    assert.deepEqual([before.resource, before.eventType, before.item], ['purchases', 'purchase.created', id])
    await former.close()
    const { send, pass } = opened(
      t,
      on,
      renamedShop.handlers({ reactions: { copies: { on: ['order.created', 'order.updated'], run } } }),
    )
    await send('PATCH', `/v2/orders/${id}`, { note: 'late' })
    await pass('PT0.1S')
    const failures = async (version: string) =>
      (await send('GET', `/${version}/reactions/copies/failures`)).data.map(
        (one: Record<string, string>) => `${one.resource} ${one.eventType} ${one.status}`,
      )
    assert.deepEqual(await failures('v1'), ['purchases purchase.created waiting', 'purchases purchase.updated behind'])
    assert.deepEqual(await failures('v2'), ['orders order.created waiting', 'orders order.updated behind'])
    const delivered = () => new Set(received.map(({ body }) => JSON.parse(body).type))
    assert.deepEqual([...delivered()], ['purchase.created'], 'the later event of an ordered endpoint waits')
    state.mended = true
    await send('POST', `/v1/reactions/copies/failures/${before.eventId}/retries`)
    await pass('PT0.1S')
    assert.deepEqual(state.seen, ['order.created note', 'order.updated note'])
    assert.deepEqual(await failures('v2'), [])
    await pass('PT1H')
    assert.deepEqual([...delivered()], ['purchase.created', 'purchase.updated'])
  })
}
