/** The printed example request works. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { sampleRequest } from '../../src/cli/sample-request.ts'
import type { Service } from '../../src/service.ts'

const all = {
  text: f.text({ min: 30, max: 40 }),
  short: f.text({ max: 2 }),
  code: f.text({ pattern: '^[A-Z]{3}-[0-9]$' }),
  email: f.email(),
  url: f.url(),
  integer: f.integer({ min: 10, max: 20 }),
  below: f.integer({ max: -3 }),
  bigint: f.bigint({ min: '5' }),
  decimal: f.decimal({ precision: 3, scale: 2 }),
  boolean: f.boolean(),
  timestamp: f.timestamp({ min: '2030-01-01T00:00:00Z' }),
  date: f.date(),
  duration: f.duration(),
  interval: f.interval(),
  kind: f.enum(['small', 'large']),
  list: f.list(f.text(), { min: 2 }),
  object: f.object({ street: f.text(), floor: f.integer({ optional: true }), price: f.decimal({ scale: 3 }) }),
  country: f.country(),
  currency: f.currency(),
}

async function statusOf(declared: Service): Promise<number> {
  const line = sampleRequest(declared, 'http://house', 'k3f9') as string
  const [, path = '', body] =
    /^curl http:\/\/house(\S+)(?: -H 'Content-Type: application\/json' -d '(.*)')?$/.exec(line) ?? []
  const { call, close } = testing(declared)
  const { status } = await call(
    path,
    body === undefined ? {} : { method: 'POST', json: JSON.parse(body.replaceAll("'\\''", "'")) },
  )
  await close()
  return status
}

for (const [name, field] of Object.entries(all)) {
  test(`a made-up ${name} is accepted`, async () => {
    assert.equal(
      await statusOf(
        service({ name: 'things', resources: { things: { fields: { [name]: field }, access: 'public' } } }),
      ),
      201,
    )
  })
}
test('unique values carry the mark, so that the line works after every start', () => {
  const line = sampleRequest(
    service({ name: 'a', resources: { people: { fields: { email: f.email({ unique: true }) }, access: 'public' } } }),
    '',
    'k3f9',
  )
  assert.match(line as string, /annk3f9@example\.com/)
})
test('the sample request uses a resource whose request can be repeated', () => {
  const declared = service({
    name: 'a',
    resources: {
      people: { fields: { email: f.email({ unique: true }) }, access: 'public' },
      things: { fields: { size: f.integer() }, access: 'public' },
    },
  })
  assert.match(sampleRequest(declared, '', 'k3f9') as string, /^curl \/things -H/)
})
test('if no item can be generated, a list is requested', async () => {
  const odd = service({
    name: 'a',
    resources: { things: { fields: { code: f.text({ pattern: '^x{17}$' }) }, access: 'public' } },
  })
  assert.match(sampleRequest(odd, 'http://house', 'k') as string, /^curl http:\/\/house\/things$/)
  assert.equal(await statusOf(odd), 200)
})
test('of several versions the newest is used, whichever is the default', async () => {
  const fields = { name: f.text() }
  const versioned = service({
    name: 'a',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: { things: { fields, access: 'public' } },
  }).change('v2', 'things', { about: 'A title is a name.', renamed: { title: 'name' } })
  assert.match(sampleRequest(versioned, 'http://house', 'k') as string, /^curl http:\/\/house\/v2\/things /)
  assert.equal(await statusOf(versioned), 201)
})
