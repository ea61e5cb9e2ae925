/** Part 7 of the contract: every violation, with its place. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { isError } from '../help/errors.ts'

const fields = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`number${i}`, f.integer({ optional: true })]))
const named = { name: f.text({ filter: true }), code: f.text({ optional: true, unique: true }) }
const spotted = { spot: f.object({ lines: f.list(f.object({ qty: f.integer({ min: 1 }) })) }) }
const api = service({
  name: 'violations',
  resources: {
    things: { prefix: 'thg', fields: named, access: 'public' },
    wide: { prefix: 'wid', plural: true, fields, access: 'public' },
    places: { prefix: 'plc', fields: spotted, access: 'public' },
  },
})
const thing = '/things/thg_00000000000000000000000000'

const json = { 'content-type': 'application/json' }

doors('violations', api, (door) => {
  spec('R154', 'all invalid fields are reported together, fifty at most, the first being the cause', async () => {
    const body = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`number${i}`, `${i}`]))
    const answer = await door.send('POST', '/wide', { json: body })
    isError(answer)
    assert.equal(answer.status, 400)
    assert.deepEqual([answer.json.message, answer.json.type], ['60 fields are invalid.', 'validation-failed'])
    assert.deepEqual(
      answer.json.errors.map(({ pointer }: { pointer: string }) => pointer),
      Array.from({ length: 50 }, (_, i) => `/number${i}`),
    )
    assert.deepEqual(answer.json.cause, answer.json.errors[0])
    const [first] = answer.json.errors
    assert.deepEqual(Object.keys(first), ['message', 'type', 'types', 'in', 'pointer'])
    assert.deepEqual(first.types, ['invalid-type', 'validation-failed', 'invalid-request', 'client-error', 'error'])
  })
  spec('R153 R154', 'one violation has the same form with one entry', async () => {
    const answer = await door.send('POST', '/things', { json: {} })
    assert.equal(answer.status, 400)
    const cause = {
      message: 'name is required.',
      type: 'field-required',
      types: ['field-required', 'validation-failed', 'invalid-request', 'client-error', 'error'],
      in: 'body',
      pointer: '/name',
    }
    const types = ['validation-failed', 'invalid-request', 'client-error', 'error']
    assert.deepEqual(answer.json, {
      message: '1 field is invalid.',
      type: 'validation-failed',
      types,
      cause,
      errors: [cause],
    })
  })
  spec('R154', 'parameters are reported together too', async () => {
    const answer = await door.send('GET', '/things?stauts=a&limit=0&limit=1&order=down')
    isError(answer)
    assert.equal(answer.json.type, 'invalid-query')
    assert.ok(answer.json.errors.length >= 3)
    for (const one of answer.json.errors) assert.deepEqual([one.in, typeof one.name], ['query', 'string'])
    assert.deepEqual(answer.json.cause, answer.json.errors[0])
  })
  spec('R155', 'a violation has its place, as a JSON Pointer or a name', async () => {
    const places: readonly (readonly [
      method: string,
      path: string,
      body: unknown,
      headers: Record<string, string>,
      place: object,
    ])[] = [
      ['POST', '/things', { name: 'a', 'a/b': 1 }, {}, { in: 'body', pointer: '/a~1b' }],
      ['POST', '/things', { name: 'a', '~x': 1 }, {}, { in: 'body', pointer: '/~0x' }],
      ['POST', '/places', { spot: { lines: [{ qty: 0 }] } }, {}, { in: 'body', pointer: '/spot/lines/0/qty' }],
      ['GET', '/things?Limit=1', undefined, {}, { in: 'query', name: 'Limit' }],
      ['GET', '/things?limit=0', undefined, {}, { in: 'query', name: 'limit' }],
    ]
    for (const [method, path, body, headers, place] of places) {
      const answer = await door.send(method, path, { headers, ...(body === undefined ? {} : { json: body }) })
      assert.equal(answer.status, 400, path)
      const [{ in: at, pointer, name }] = answer.json.errors
      assert.deepEqual({ in: at, ...(pointer === undefined ? { name } : { pointer }) }, place)
    }
  })
  spec('R155', 'a violation outside of the fields has its place too', async () => {
    const sent = (body: string) => ({ body, headers: json })
    const answers = [
      await door.send('POST', '/things', sent('{"name":')),
      await door.send('POST', '/things', sent('{"name":"a","name":"b"}')),
      await door.send('POST', '/things', sent('{"name":1e999}')),
      await door.send('POST', '/things', sent('{"name":"\\ud800"}')),
      await door.send('POST', '/things', sent('[]')),
      await door.send('GET', '/things?name=%FF'),
      await door.send('GET', '/things/%FF'),
      await door.send('PUT', thing, { json: { name: 'a' }, headers: { 'if-match': 'abc' } }),
    ]
    for (const answer of answers) {
      isError(answer)
      assert.equal(answer.status, 400)
      const { in: at, pointer, name } = answer.json.errors?.[0] ?? answer.json
      assert.ok(['body', 'query', 'path', 'header'].includes(at), answer.text)
      if (at === 'body' && answer.json.errors) assert.equal(typeof pointer, 'string', answer.text)
      if (at === 'header') assert.equal(typeof name, 'string', answer.text)
    }
  })
  spec('R159', '409 is a conflict, 410 a deleted item, 404 an item that may still appear', async () => {
    const { json: made } = await door.send('POST', '/things', { json: { name: 'a', code: 'x' } })
    const clash = await door.send('POST', '/things', { json: { name: 'b', code: 'x' } })
    await door.send('DELETE', `/things/${made.id}`)
    const deleted = await door.send('GET', `/things/${made.id}`)
    const missing = await door.send('GET', thing)
    const unknown = await door.send('GET', '/nowhere')
    const answers = [clash, deleted, missing, unknown]
    assert.deepEqual(
      answers.map(({ status }) => status),
      [409, 410, 404, 404],
    )
    assert.deepEqual(
      answers.map(({ json: { type } }) => type),
      ['already-exists', 'resource-deleted', 'resource-not-found', 'route-not-found'],
    )
    assert.deepEqual(missing.json, {
      message: 'Thing thg_00000000000000000000000000 was not found.',
      type: 'resource-not-found',
      types: ['resource-not-found', 'not-found', 'client-error', 'error'],
    })
    answers.forEach(isError)
  })
})
