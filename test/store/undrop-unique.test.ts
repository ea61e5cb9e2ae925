/** Proves that a dropped value is not restored if another row has it by now, also one with the same key below another owner. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { undrop } from '../help/drops.ts'
import { nodeOn, places } from '../help/places.ts'

const api = (fields: object): Service =>
  service({
    name: 'tests',
    resources: {
      halls: { prefix: 'hal', fields: { name: f.text() }, access: 'public' },
      seats: { parent: 'halls', key: 'number', fields: { number: f.text({ max: 5 }), ...fields }, access: 'public' },
    },
  } as never) as Service

for (const [name, make] of places)
  test(`undrop of a unique value in a collection below an owner (${name})`, async (t) => {
    const place = await make(t)
    const withCode = api({ code: f.text({ max: 10, optional: true, unique: true }) })
    const first = nodeOn(place, withCode)
    const halls: string[] = []
    for (const hall of ['a', 'b']) halls.push((await first.ask('POST', '/halls', { name: hall })).json.id)
    const made = await first.ask('POST', `/halls/${halls[0]}/seats`, { number: '1', code: 'X' })
    assert.equal(made.status, 201)
    await first.close()
    const second = nodeOn(place, api({}), ['seats.code'])
    assert.equal((await second.ask('GET', '/halls')).status, 200)
    await second.close()
    const third = nodeOn(place, withCode)
    const other = await third.ask('POST', `/halls/${halls[1]}/seats`, { number: '1', code: 'X' })
    assert.equal(other.status, 201)
    await third.close()
    assert.match(JSON.stringify(await undrop(place, withCode)), /another|unique|in use/i)
  })
