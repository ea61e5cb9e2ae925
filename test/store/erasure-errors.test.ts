/** An erasure empties the errors of asynchronous operations: their messages, further members and places. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { erased, tablesWith } from '../help/erasing.ts'
import { places } from '../help/places.ts'

const api = service({
  name: 'shop',
  errors: { refused: { status: 409, parents: ['conflict'], fields: { about: f.text(), who: f.text() } } },
  resources: {
    guests: {
      prefix: 'gue',
      fields: { name: f.text({ optional: true, personal: true }) },
      access: 'public',
      operations: {
        visits: { at: 'item', asynchronous: true },
        counts: { at: 'collection', asynchronous: true },
      },
    },
  },
}).handlers({
  guests: {
    visits({ item, refuse }) {
      const fields = { about: `${item.name} again`, who: item.id }
      throw refuse('refused', { message: `${item.name} is refused.`, pointer: `/${item.name}`, fields })
    },
    async counts({ list, refuse }) {
      const [guest] = await list('guests')
      throw refuse('refused', { fields: { about: String(guest?.name), who: String(guest?.id) } })
    },
  },
})

for (const [name, placeOf] of places)
  test(`an erasure empties the errors of operations that are on an item or name it, on ${name}`, async (t) => {
    const place = await placeOf(t)
    const { call, pass, close } = testing(api, { database: place.url })
    t.after(close)
    const post = async (path: string, json: object) =>
      (await call(path, { method: 'POST', json })).json() as Promise<{ id: string }>
    const { id } = await post('/guests', { name: 'marked' })
    const asked = [await post(`/guests/${id}/visits`, {}), await post('/guests/counts', {})]
    await pass('PT0S')
    const erase = () => erased(api as unknown as Service, place, 'guests', { id })
    assert.deepEqual(await tablesWith('marked', place), ['guests', 'operations'])
    assert.deepEqual(await erase(), {
      counts: { guests: { items: 1, operations: 2 } },
      unended: [],
    })
    assert.deepEqual(await tablesWith('marked', place), [])
    for (const one of asked) {
      const { error } = (await (await call(`/operations/${one.id}`)).json()) as { error: object }
      const types = ['refused', 'conflict', 'client-error', 'error']
      assert.deepEqual(error, { message: 'Erased.', type: 'refused', types })
    }
    assert.deepEqual(await erase(), { counts: { guests: {} }, unended: [] })
  })
