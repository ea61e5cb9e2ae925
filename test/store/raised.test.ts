/** Proves that a change whose `request` throws for a row of an older node fails only that row, with a separate error type. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { alive, applied, nodeOn, places } from '../help/places.ts'

const v1 = { released: '2025-01-01' }
const old = service({
  name: 'things',
  versions: { v1 },
  resources: { things: { prefix: 'thg', fields: { first: f.text() }, access: 'public' } },
})
const now: Service = service({
  name: 'things',
  versions: { v1, v2: { released: '2026-01-01' } },
  resources: { things: { prefix: 'thg', fields: { name: f.text({ sort: true }) }, access: 'public' } },
}).change('v2', 'things', {
  about: '`name` replaces `first`.',
  removed: { first: f.text() },
  added: ['name'],
  request: ({ first }) => {
    if (first === 'odd') throw new Error('no name for odd')
    return { name: first }
  },
  response: ({ name }) => ({ first: name }),
})

for (const [store, make] of places)
  describe(`a row that the new declaration cannot raise (${store})`, () => {
    test('is a failed conversion, not a plain failure, and is answered again once the older node corrects it', async (t) => {
      const place = await make(t)
      const before = nodeOn(place, old)
      t.after(before.close)
      const { id } = (await before.ask('POST', '/things', { first: 'fine' })).json
      await alive(place)
      await applied(place, now)
      const young = nodeOn(place, now)
      t.after(young.close)
      assert.equal((await young.ask('GET', `/v2/things/${id}`)).status, 200)
      assert.equal((await before.ask('PATCH', `/things/${id}`, { first: 'odd' })).status, 200)
      for (const path of [`/v2/things/${id}`, `/v1/things/${id}`, '/v2/things', '/v1/things']) {
        const { status, json } = await young.ask('GET', path)
        assert.equal(status, 500)
        assert.equal(json.type, 'version-conversion-failed', path)
        assert.equal(json.message, 'An item that was stored by an older version cannot be converted to the newest one.')
      }
      assert.equal((await young.ask('PATCH', `/v2/things/${id}`, { name: 'x' })).json.type, 'version-conversion-failed')
      assert.equal((await before.ask('PATCH', `/things/${id}`, { first: 'well' })).status, 200)
      assert.equal((await young.ask('GET', `/v2/things/${id}`)).json.name, 'well')
    })

    test('keeps a declaration from starting, with the row and the cause named, and nothing changed', async (t) => {
      const place = await make(t)
      const before = nodeOn(place, old)
      const { id } = (await before.ask('POST', '/things', { first: 'odd' })).json
      await before.close()
      await assert.rejects(
        async () => nodeOn(place, now).ask('GET', '/things'),
        (error: Error) => error.message.includes(id) && error.message.includes('no name for odd'),
      )
      const again = nodeOn(place, old)
      t.after(again.close)
      assert.equal((await again.ask('GET', `/things/${id}`)).json.first, 'odd')
    })
  })
