/** Asserts the shape of errors. R149. */
import assert from 'node:assert/strict'
import type { Answer } from './door.ts'

/** Asserts the shape of R149 and the headers of every error. */
export function isError({ status, json, headers }: Answer): void {
  assert.ok(status >= 400 && status < 600)
  assert.deepEqual([typeof json.message, typeof json.type, Array.isArray(json.types)], ['string', 'string', true])
  assert.equal(json.types[0], json.type)
  assert.deepEqual(json.types.slice(-2), [status < 500 ? 'client-error' : 'server-error', 'error'])
  for (const type of json.types) assert.match(type, /^[a-z]+(-[a-z]+)*$/)
  for (const one of [json.cause, ...(json.errors ?? [])]) {
    if (one === undefined) continue
    assert.deepEqual([typeof one.message, one.types[0], one.types.at(-1)], ['string', one.type, 'error'])
  }
  assert.equal(headers['content-type'], 'application/json')
  assert.equal(headers['content-language'], 'en')
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['x-content-type-options'], 'nosniff')
}
