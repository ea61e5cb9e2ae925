/** Refusals: the statuses that an operation can have, by its declaration. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardCorridor } from '../corridor/handle.ts'
import { f } from '../fields/field.ts'
import type { Endpoint } from '../flow/route.ts'
import type { ResourceDeclaration } from '../resources/declaration.ts'
import { type Declaration, type Service, service } from '../service.ts'
import type { DeclaredSettings } from '../settings.ts'
import { refusalsOf } from './refusals.ts'

function refusals(
  method: string,
  template: string,
  own: Partial<ResourceDeclaration> = {},
  settings: DeclaredSettings = {},
) {
  const made = service({
    name: 'all',
    scopes: { 'notes:write': 'Write' },
    resources: {
      notes: { prefix: 'not', fields: { text: f.text() }, access: 'public', ...own },
      lines: { prefix: 'lin', parent: 'notes', fields: { text: f.text() }, access: 'authenticated' },
    },
    settings,
  } as unknown as Declaration) as unknown as Service
  const version = made.editions.get('v1')
  const endpoint = made.places.find((one) => one.template === template) as Endpoint
  const route = endpoint.methods.get(method)
  assert.ok(version && endpoint && route)
  return refusalsOf({ service: made, version, endpoint, route }, standardCorridor)
}

const statuses = (...given: Parameters<typeof refusals>): string =>
  refusals(...given)
    .map(({ status }) => status)
    .join(' ')

test('statuses by operation', () => {
  const table: readonly (readonly [string, ...Parameters<typeof refusals>])[] = [
    ['400 401 406 408 412 414 417 421 429 431 500 503', 'GET', '/notes'],
    ['400 401 404 406 408 410 412 414 417 421 429 431 500 503', 'GET', '/notes/{id}'],
    ['400 401 404 406 408 410 412 414 417 421 429 431 500 503', 'GET', '/notes/{noteId}/lines'],
    ['400 401 406 408 409 412 413 414 415 417 421 429 431 500 503', 'POST', '/notes'],
    ['400 401 404 406 408 410 412 413 414 415 417 421 429 431 500 503', 'PUT', '/notes/{id}'],
    ['400 401 404 406 408 409 410 412 414 417 421 429 431 500 503', 'DELETE', '/notes/{id}'],
  ]
  for (const [expected, ...given] of table) assert.equal(statuses(...given), expected, given.join(' '))
})

test('statuses by declaration', () => {
  const has = (status: number, ...given: Parameters<typeof refusals>) =>
    refusals(...given).some((one) => one.status === status)
  const item = '/notes/{id}'
  assert.ok(has(403, 'POST', '/notes', { access: { read: 'public', write: 'notes:write' } }))
  assert.ok(!has(403, 'GET', '/notes', { access: { read: 'public', write: 'notes:write' } }))
  assert.ok(has(403, 'GET', '/notes', { owner: 'team', access: 'authenticated' }))
  assert.ok(has(409, 'PATCH', item, { fields: { text: f.text({ unique: true }) } }))
  assert.ok(has(428, 'PATCH', item, { settings: { concurrency: { required: true } } }))
  assert.ok(!has(428, 'GET', item, { settings: { concurrency: { required: true } } }))
  assert.ok(has(422, 'POST', '/notes', { settings: { idempotency: { mode: 'replay' } } }))
  assert.ok(!has(410, 'GET', item, { settings: { deleted: { status: 404 } } }))
  assert.ok(has(410, 'POST', '/notes', { settings: { resource: { id: 'client' } } }))
  assert.ok(has(413, 'GET', '/notes', {}, { body: { onBodyless: 'ignore' } }))
})

test('types by status, and details of violations', () => {
  const of = (status: number, ...given: Parameters<typeof refusals>) =>
    refusals(...given).find((one) => one.status === status)
  assert.deepEqual(of(401, 'GET', '/notes')?.types, ['invalid-credentials'])
  assert.deepEqual(of(401, 'GET', '/notes', { access: 'authenticated' })?.types, [
    'credentials-missing',
    'invalid-credentials',
  ])
  assert.ok(of(400, 'GET', '/notes')?.violations.includes('unsupported-filter'))
  assert.ok(of(400, 'POST', '/notes')?.violations.includes('out-of-range'))
  assert.deepEqual([of(409, 'POST', '/notes')?.repeats, of(409, 'DELETE', '/notes/{id}')?.repeats], [true, false])
  assert.ok(
    of(400, 'POST', '/notes', { settings: { idempotency: { required: true } } })?.types.includes(
      'idempotency-key-missing',
    ),
  )
})
