/** Proves that many deletions at once each have their answer, tombstone, event and revision. R131, R134, R206, R237. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { nodeOn, type Place, places } from '../help/places.ts'

const fields = { name: f.text() }
const yard = service({
  name: 'yard',
  resources: {
    carts: { prefix: 'crt', fields, access: 'public', settings: { deleted: { retention: 'P1D' } } },
    barrels: { prefix: 'bar', fields, access: 'public', settings: { deleted: { retention: 'forever' } } },
    cans: { prefix: 'can', fields, access: 'public', settings: { deleted: { retention: 'PT0S' } } },
    wagons: { prefix: 'wag', fields, access: 'public', events: true, history: { read: 'public' } },
  },
})

const count = 150
const numbers = Array.from({ length: count }, (_, i) => i)

async function open(t: Parameters<(typeof places)[number][1]>[0], place: Place) {
  const { ask, close } = nodeOn(place, yard)
  t.after(close)
  const made = async (resource: string, name: string): Promise<string> => {
    const { status, json } = await ask('POST', `/${resource}`, { name })
    assert.equal(status, 201, JSON.stringify(json))
    return json.id
  }
  return { ask, made }
}

for (const [store, make] of places) {
  test(`R131, R206, R237: deletions at the same time are each recorded once on ${store}`, async (t) => {
    const place = await make(t)
    const { ask, made } = await open(t, place)
    const ids = await Promise.all(numbers.map((i) => made('wagons', `wagon ${i}`)))
    const answers = await Promise.all(
      ids.flatMap((id) => [ask('DELETE', `/wagons/${id}`), ask('DELETE', `/wagons/${id}`)]),
    )
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [204])
    for (const id of ids) assert.equal((await ask('GET', `/wagons/${id}`)).status, 410)
    const events = await place.rows(`SELECT item, payload, sequence FROM bylaw_outbox WHERE action = 'deleted'`)
    assert.deepEqual(events.map(({ item }) => item).sort(), [...ids].sort())
    for (const { item, payload, sequence } of events) {
      assert.equal(JSON.parse(String(payload)).name, `wagon ${ids.indexOf(String(item))}`)
      assert.equal(Number(sequence), 2)
    }
    const { json } = await ask('GET', `/wagons/${ids[0]}/revisions`)
    assert.deepEqual(
      json.data.map((one: { id: string; type: string }) => `${one.id} ${one.type}`),
      ['2 deleted', '1 created'],
    )
  })

  test(`R134: deletions sweep expired tombstones of their collection, and no others, on ${store}`, async (t) => {
    const place = await make(t)
    const { ask, made } = await open(t, place)
    const old = (name: string) =>
      place.rows(
        `INSERT INTO bylaw_tombstones (collection, id, time, revision) VALUES ${numbers.map((i) => `('${name}', '${name}_${i}', ${i}, 1)`).join(', ')}`,
      )
    await made('carts', 'the first request opens the database')
    for (const name of ['carts', 'barrels', 'wagons']) await old(name)
    const left = async (name: string): Promise<number> =>
      Number((await place.rows(`SELECT count(*) AS n FROM bylaw_tombstones WHERE collection = '${name}'`))[0]?.n)
    const ids = await Promise.all(numbers.map((i) => made('carts', `cart ${i}`)))
    await Promise.all(ids.map((id) => ask('DELETE', `/carts/${id}`)))
    assert.equal(await left('carts'), count)
    for (const id of ids) assert.equal((await ask('GET', `/carts/${id}`)).status, 410)
    assert.equal((await ask('DELETE', `/barrels/${await made('barrels', 'barrel')}`)).status, 204)
    assert.deepEqual([await left('barrels'), await left('wagons')], [count + 1, count])
    // A tombstone that no answer shows is kept for ten minutes, for the revision of a row that is created again.
    await place.rows("INSERT INTO bylaw_tombstones (collection, id, time, revision) VALUES ('cans', 'can_old', 1, 1)")
    const can = `/cans/${await made('cans', 'can')}`
    assert.equal((await ask('DELETE', can)).status, 204)
    assert.deepEqual([(await ask('GET', can)).status, await left('cans')], [404, 1])
  })
}
