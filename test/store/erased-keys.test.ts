/** Keys that an erasure has emptied: every kind of request that is repeated is refused with 409, as no digest of its payload is left. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { erased } from '../help/erasing.ts'
import { places } from '../help/places.ts'

const api = service({
  name: 'shop',
  settings: { batches: 5 },
  resources: {
    guests: {
      prefix: 'gst',
      fields: { name: f.text({ optional: true, personal: true }), number: f.integer({ optional: true }) },
      states: { field: 'status', initial: 'new', transitions: { visits: { from: ['new'], to: 'known' } } },
      operations: { greetings: { at: 'item', output: { guestId: f.text() } } },
      access: 'public',
      imports: true,
    },
  },
}).handlers({ guests: { greetings: ({ item }) => ({ guestId: item.id }) } })

for (const [store, place] of places)
  test(`a repeat is refused with 409, whatever the key was used for (${store})`, async (t) => {
    const at = await place(t)
    const { call, close } = testing(api, { database: at.url })
    t.after(close)
    const post = async (path: string, content: object | string, key: string) => {
      const isText = typeof content === 'string'
      const answer = await call(path, {
        ...{ method: 'POST', ...(isText ? { body: content } : { json: content }) },
        headers: { 'idempotency-key': key, ...(isText && { 'content-type': 'application/x-ndjson' }) },
      })
      return { status: answer.status, json: JSON.parse(await answer.text()) }
    }
    const { json: guest } = await post('/guests', { name: 'Ann', idempotencyKey: 'create' }, 'create')
    // The error of the second line of this import names the guest.
    const lines = `{"name":"Bob"}\n${JSON.stringify({ name: 'Cid', idempotencyKey: 'create' })}\n`
    const ways = [
      ['/guests', { name: 'Ann' }, 'create'],
      [`/guests/${guest.id}/visits`, {}, 'visit'],
      [`/guests/${guest.id}/greetings`, {}, 'greet'],
      ['/batches', { operations: [{ method: 'PATCH', path: `/guests/${guest.id}`, body: { number: 3 } }] }, 'batch'],
      ['/guests/imports', lines, 'import'],
    ] as const
    for (const [path, content, key] of ways) {
      const { status, json } = await post(path, content, key)
      assert.equal(status, key === 'create' ? 409 : 200, `${path} is ${JSON.stringify(json)}`)
    }
    const { counts } = await erased(api as unknown as Service, at, 'guests', { id: guest.id })
    assert.deepEqual(counts, { guests: { items: 1, 'idempotency keys': ways.length } })
    for (const [path, content, key] of ways) {
      const { status, json } = await post(path, content, key)
      assert.deepEqual([status, json.type], [409, 'idempotency-key-reused'], key)
    }
  })
