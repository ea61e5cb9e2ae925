/** Events of older versions: fields that another resource has now show what it had when the event happened. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'

const v1 = { v1: { released: '2025-01-01' } }

const first = service({
  name: 'library',
  events: true,
  resources: {
    shelves: { prefix: 'shf', fields: { label: f.text() }, access: 'public' },
    books: {
      prefix: 'bok',
      fields: {
        title: f.text(),
        shelfId: f.ref('shelves', { optional: true, onDelete: 'cascade' }),
        room: f.text({ optional: true }),
      },
      access: 'public',
    },
  },
  versions: v1,
})

const second = service({
  name: 'library',
  events: true,
  resources: {
    shelves: { prefix: 'shf', fields: { label: f.text(), room: f.text({ optional: true }) }, access: 'public' },
    books: {
      prefix: 'bok',
      fields: { title: f.text(), shelfId: f.ref('shelves', { optional: true, onDelete: 'cascade' }) },
      access: 'public',
    },
  },
  versions: { ...v1, v2: { released: '2026-01-01' } },
})
  .change('v2', 'books', { about: 'The room is that of the shelf.', moved: { room: { by: 'shelfId', to: 'room' } } })
  .change('v2', 'shelves', { about: 'A shelf has a room.', added: ['room'] })

for (const [name, place] of places)
  test(`R207: an event of an older version shows the moved fields as they were at the change, on ${name}`, async (t) => {
    const on = await place(t)
    const former = nodeOn(on, first)
    t.after(former.close)
    const { id: shelfId } = (await former.ask('POST', '/shelves', { label: 'A' })).json
    const { id: early } = (await former.ask('POST', '/books', { title: 'early', shelfId, room: 'north' })).json
    await former.close()
    const node = nodeOn(on, second)
    t.after(node.close)
    const roomsIn = async (version: string): Promise<unknown[]> =>
      (await node.ask('GET', `/${version}/events?resource=books`)).json.data.map(
        ({ type, data }: { type: string; data: Record<string, unknown> }) => [type, data.title, data.room],
      )
    const expected: unknown[] = [['book.created', 'early', 'north']]
    assert.deepEqual(await roomsIn('v1'), expected)

    const { id: late } = (await node.ask('POST', '/v2/books', { title: 'late', shelfId })).json
    expected.push(['book.created', 'late', 'north'])
    assert.equal((await node.ask('PATCH', `/v2/shelves/${shelfId}`, { room: 'south' })).status, 200)
    assert.deepEqual(await roomsIn('v1'), expected)

    await node.ask('PATCH', `/v2/books/${late}`, { title: 'later' })
    expected.push(['book.updated', 'later', 'south'])
    const both = await node.ask('PATCH', `/v1/books/${late}`, { title: 'latest', room: 'west' })
    assert.deepEqual([both.status, both.json.room], [200, 'west'])
    expected.push(['book.updated', 'latest', 'west'])
    assert.equal((await node.ask('POST', '/v1/books', { title: 'loose' })).status, 201)
    expected.push(['book.created', 'loose', null])
    assert.equal((await node.ask('DELETE', `/v2/books/${early}`)).status, 204)
    expected.push(['book.deleted', 'early', 'west'])
    assert.equal((await node.ask('DELETE', `/v2/shelves/${shelfId}`)).status, 204)
    expected.push(['book.deleted', 'latest', 'west'])
    assert.deepEqual(await roomsIn('v1'), expected)
    assert.ok((await roomsIn('v2')).every((one) => (one as unknown[])[2] === undefined))
    const [, { id: event, data }] = (await node.ask('GET', '/v1/events?resource=books')).json.data
    assert.deepEqual((await node.ask('GET', `/v1/events/${event}`)).json.data, data)
  })
