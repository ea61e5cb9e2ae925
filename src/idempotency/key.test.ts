/** Key: valid and invalid keys in headers and bodies, as tables. Part 4, idempotency of POST. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { DeclaredSettings } from '../settings.ts'
import { readSettings } from '../settings.ts'
import { missingIdempotencyKey, readIdempotencyKey } from './key.ts'

/** A call with as many lines of the header. */
function call(...values: string[]): Call {
  const headers = values.length === 0 ? {} : { 'idempotency-key': values.join(', ') }
  const raw = ['Host', 'a', ...values.flatMap((value) => ['Idempotency-Key', value])]
  const rest = { method: 'POST', target: '/', authority: null, http: '1.1', id: '', content: null, address: '' }
  return { ...rest, headers, raw }
}

const settings = (given: DeclaredSettings = {}) => readSettings(given, undefined, false, () => assert.fail())
const usual = settings()
const long = 'x'.repeat(255)

/** The key, or the type and the place of the refusal. */
function read(given: Call, body: Record<string, unknown> = {}, by = usual): unknown {
  try {
    return readIdempotencyKey(given, body, by).key
  } catch (error) {
    const { type, extra } = error instanceof Problem ? error : assert.fail(String(error))
    return [type, extra.name ?? extra.pointer].filter(Boolean).join(' ')
  }
}

describe('a header', () => {
  const invalid = 'idempotency-key-invalid Idempotency-Key'
  const rows: [values: string[], key: unknown][] = [
    [[], null],
    [['k1'], 'k1'],
    [['"k1"'], 'k1'],
    [[long], long],
    [[`"${long}"`], long],
    [['!#$%[]~'], '!#$%[]~'],
    [[''], invalid],
    [['""'], invalid],
    [[`${long}x`], invalid],
    [[`"${long}x"`], invalid],
    [['"k1'], invalid],
    [['k1"'], invalid],
    [['"k1" '], invalid],
    [['"k1";a'], invalid],
    [['a b'], invalid],
    [['a\\b'], invalid],
    [['ä'], invalid],
    [['\u007f'], invalid],
    [['k1', 'k2'], invalid],
    [['k1', 'k1'], invalid],
    [['k1', ''], invalid],
  ]
  for (const [values, key] of rows)
    test(`${JSON.stringify(values).slice(0, 40)} is ${String(key).slice(0, 40)}`, () =>
      assert.equal(read(call(...values)), key))
})

describe('a body', () => {
  const invalid = 'idempotency-key-invalid /idempotencyKey'
  const mismatch = 'idempotency-key-mismatch'
  const rows: [header: string | null, value: unknown, key: unknown][] = [
    [null, 'k1', 'k1'],
    [null, long, long],
    ['k1', 'k1', 'k1'],
    ['"k1"', 'k1', 'k1'],
    ['k1', 'k2', mismatch],
    ['k1', 'K1', mismatch],
    [null, '"k1"', invalid],
    [null, '', invalid],
    [null, `${long}x`, invalid],
    [null, 'k1\n', invalid],
    [null, 7, invalid],
    [null, null, invalid],
    [null, ['k1'], invalid],
    ['k1', 7, invalid],
    ['"k1', 'k1', 'idempotency-key-invalid Idempotency-Key'],
  ]
  for (const [header, value, key] of rows) {
    test(`${JSON.stringify(value).slice(0, 40)} after the header ${header} is ${String(key).slice(0, 40)}`, () =>
      assert.equal(read(header === null ? call() : call(header), { idempotencyKey: value, a: 1 }), key))
  }
})

test('the body is returned without its key, otherwise unchanged', () => {
  const body = { b: 1, idempotencyKey: 'k1', a: { idempotencyKey: 'k2' } }
  assert.deepEqual(Object.entries(readIdempotencyKey(call(), body, usual).body), [
    ['b', 1],
    ['a', { idempotencyKey: 'k2' }],
  ])
  const bare = { b: 1 }
  assert.equal(readIdempotencyKey(call('k1'), bare, usual).body, bare)
  assert.equal(read(call(), Object.create({ idempotencyKey: 'k1' })), null)
})

test('the field has the declared name, or does not exist', () => {
  const named = (given: DeclaredSettings) =>
    read(call(), { idempotencyKey: 'a', idempotency_key: 'b', token: 'c' }, settings(given))
  assert.equal(named({}), 'a')
  assert.equal(named({ naming: 'snake' }), 'b')
  assert.equal(named({ idempotency: { bodyField: 'token' } }), 'c')
  assert.equal(named({ idempotency: { bodyField: 'off' } }), null)
})

test('the refusal of a missing key names its places, and links to more', () => {
  const usually = missingIdempotencyKey(usual)
  assert.match(usually.message, /header Idempotency-Key or the field idempotencyKey/)
  assert.deepEqual(usually.headers, { Link: '</problems/idempotency-key-missing>; rel="describedby"' })
  const by = settings({ idempotency: { bodyField: 'off' }, errors: { problemBase: 'https://example.com/' } })
  assert.doesNotMatch(missingIdempotencyKey(by).message, /field/)
  assert.deepEqual(missingIdempotencyKey(by).headers, {
    Link: '<https://example.com/idempotency-key-missing>; rel="describedby"',
  })
})
