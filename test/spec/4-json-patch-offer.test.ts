/** Part 4 of the contract, methods: where PATCH offers JSON Patch, and how that is described. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const type = 'application/json-patch+json'
const types = `application/merge-patch+json, application/json, ${type}`
const fields = { name: f.text({ max: 50 }), note: f.text({ optional: true }) }

const office = service({
  name: 'office',
  settings: { patch: { jsonPatch: true }, body: { maxKeys: 100 } },
  resources: {
    desks: { fields, access: 'public' },
    lamps: { fields, access: 'public', settings: { patch: { jsonPatch: false } } },
    badges: { fields: { name: f.text({ max: 50, unique: true }) }, access: 'public' },
  },
})

async function made(door: Door, collection: string): Promise<string> {
  const answer = await door.send('POST', collection, { json: { name: 'A' } })
  assert.equal(answer.status, 201, answer.text)
  return answer.headers.location as string
}

async function patch(door: Door, path: string, json: unknown, status = 200, headers: object = {}): Promise<Answer> {
  const answer = await door.send('PATCH', path, { json, headers: { 'content-type': type, ...headers } })
  assert.equal(answer.status, status, `${JSON.stringify(json)} ${answer.text}`)
  return answer
}

const add = (path: string, value: unknown) => ({ op: 'add', path, value })

doors('the offer of JSON Patch', office, (door) => {
  spec('R118 R115', 'the media type is offered where it is on, and only there', async () => {
    const [path, lamp] = [await made(door, '/desks'), await made(door, '/lamps')]
    assert.equal((await door.send('OPTIONS', path)).headers['accept-patch'], types)
    const refused = await patch(door, path, {}, 415, { 'content-type': 'application/xml' })
    assert.equal(refused.headers['accept-patch'], types)
    const off = await patch(door, lamp, [add('/note', 'x')], 415)
    assert.equal(off.headers['accept-patch'], 'application/merge-patch+json, application/json')
    await patch(door, path, [add('/note', 'x')], 200, { 'content-type': 'Application/JSON-Patch+JSON; charset=utf-8' })
    assert.equal((await door.send('PATCH', path, { json: { note: 'y' } })).json.note, 'y')
    assert.equal((await door.send('PATCH', path, { json: [add('/note', 'x')] })).status, 400)
    await door
      .send('PUT', path, { json: [], headers: { 'content-type': type } })
      .then((put) => assert.equal(put.status, 415))
  })

  spec('R118 R216', 'is described where it is on', async () => {
    const { json: document } = await door.send('GET', '/openapi.json')
    const [on, off] = ['/desks/{id}', '/lamps/{id}'].map((place) => document.paths[place].patch)
    assert.deepEqual(Object.keys(on.requestBody.content), types.split(', '))
    assert.deepEqual(on.requestBody.content[type].schema, { $ref: '#/components/schemas/JsonPatch' })
    assert.equal(document.components.schemas.JsonPatch.maxItems, 100)
    assert.equal(Object.keys(off.requestBody.content).length, 2)
    assert.match(JSON.stringify(on.responses[409] ?? {}), /patch-conflict|\$ref/)
    assert.equal(off.responses[409], undefined)
  })

  // The door checks the answer against the description, in which `errors` has types of its own.
  spec('R118 R215', 'a patch that does not fit is described beside a value that is not unique', async () => {
    const path = await made(door, '/badges')
    const { json } = await patch(door, path, [{ op: 'test', path: '/name', value: 'B' }], 409)
    assert.deepEqual([json.type, json.errors[0].type], ['patch-conflict', 'patch-conflict'])
  })
})
