/** A part of a declaration that was left out and is declared again is applied like a new one. R121. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { openMigration } from '../../src/terminal/open.ts'
import { alive, applied, nodeOn, type Place, places } from '../help/places.ts'

const notes = (own: object = {}, number: object = {}): Service =>
  service({
    name: 'notes',
    resources: {
      notes: {
        prefix: 'not',
        fields: { text: f.text(), number: f.integer({ filter: true, optional: true, ...number }) },
        access: 'public',
        ...own,
      },
    },
  } as never) as unknown as Service

const stated = (more: object): object => ({
  states: { field: 'state', initial: 'open', transitions: { closings: { from: ['open'], to: 'closed' } }, ...more },
})
const kept = { history: { read: 'public' } }

const parts: Readonly<Record<string, readonly [full: Service, reduced: Service]>> = {
  history: [notes(kept), notes()],
  events: [notes({ events: true }), notes()],
  'a state that writes need': [notes(stated({ writable: { change: ['open'] } })), notes(stated({}))],
  'an index': [notes({ indexes: [['number', 'id']] }), notes()],
  uniqueness: [notes({}, { unique: true }), notes()],
}

async function compared({ url }: Place, api: Service) {
  const migration = await openMigration(api, url)
  try {
    return { steps: migration.steps, faults: await migration.crossCheck() }
  } finally {
    migration.close()
  }
}

for (const [name, make] of places) {
  for (const [part, [full, reduced]] of Object.entries(parts))
    test(`${part} that was left out and is declared again is applied (${name})`, async (t) => {
      const place = await make(t)
      for (const api of [full, reduced, full]) {
        const node = nodeOn(place, api)
        await node.ask('GET', '/notes')
        await node.close()
      }
      assert.deepEqual(await compared(place, full), { steps: [], faults: [] })
      const node = nodeOn(place, full)
      t.after(node.close)
      const posted = async () => (await node.ask('POST', '/notes', { text: 'a', number: 1 })).status
      assert.deepEqual([await posted(), await posted()], [201, part === 'uniqueness' ? 409 : 201])
    })

  test(`history that is declared again begins when nodes without it have ended (${name})`, async (t) => {
    const place = await make(t)
    const first = nodeOn(place, notes(kept))
    const { id } = (await first.ask('POST', '/notes', { text: 'a' })).json
    await first.close()
    await alive(place) // so the change keeps the layout of the first declaration for nodes that start again
    assert.deepEqual((await applied(place, notes())).waitsFor, [])
    const again = nodeOn(place, notes(kept))
    assert.equal((await again.ask('GET', `/notes/${id}/revisions`)).status, 200)
    await again.close()
    const plan = await applied(place, notes(kept))
    assert.deepEqual(plan.waitsFor, ['old'])
    assert.match(plan.left.map(({ about }) => about).join(), /begin the history of notes/)
    const node = nodeOn(place, notes(kept))
    t.after(node.close)
    assert.equal((await node.ask('GET', `/notes/${id}/revisions`)).status, 503)
    await place.rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await applied(place, notes(kept))).left, [])
    await node.ask('PATCH', `/notes/${id}`, { text: 'b' })
    assert.equal((await node.ask('GET', `/notes/${id}/revisions`)).json.data[0].changes.text, 'b')
  })
}
