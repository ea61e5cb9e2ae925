import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { redact } from './credentials.ts'
import { newApiKey } from './keys.ts'

const key = newApiKey(randomBytes(32))
const body = key.slice('bylaw_'.length)
const token = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJlc2VjcmV0'
const escapes = (text: string): string => [...text].map((one) => `%${one.charCodeAt(0).toString(16)}`).join('')
const longer = (text: string): string =>
  [...text].map((one) => `%${one < '@' ? 'c0' : 'c1'}%${(0x80 | (one.charCodeAt(0) & 63)).toString(16)}`).join('')

test('a key in a path is not logged, however its characters are written', () => {
  const written = [
    key,
    ...[
      '%5f',
      '%5F',
      '%255F',
      '%25255f',
      '%%35%66',
      '%c1%9f',
      '%e0%81%9f',
      '%f0%80%81%9f',
      '%u005f',
      '%zz',
      '%20',
      '-',
    ].map((sign) => key.replace('_', sign)),
    key.replace('_', `%${'25'.repeat(12)}5f`),
    key.replace('b', '%c1%a2'),
    key.toUpperCase().slice(0, 6) + body,
    body,
    `x${body}`,
    escapes(key),
    escapes(escapes(key)),
    longer(key),
    `${key.slice(0, 20)}%00${key.slice(20)}`,
  ]
  for (const one of written)
    for (const path of [`/orders/${one}`, `/${one}/items`, one]) {
      let redacted = redact(path)
      assert.ok(redacted.includes('***'), path)
      for (let layer = 0; layer < 20; layer++) redacted = redacted.replaceAll(/%5f/gi, '_').replaceAll('%25', '%')
      for (let at = 0; at + 12 <= body.length; at++) assert.ok(!redacted.includes(body.slice(at, at + 12)), path)
    }
})

test('no part of a token in a path is logged, whatever its header begins with', () => {
  const spaced = `${Buffer.from('{ "alg": "none" }').toString('base64url')}.eyJzdWIiOiJhZG1pbiJ9.`
  for (const one of [token, `${token}.x.y`, spaced, token.replaceAll('.', '%2E'), `is${token}`, escapes(token)]) {
    const redacted = redact(`/orders/${one}`)
    assert.ok(redacted.startsWith('/orders/') && redacted.endsWith('***'), redacted)
    assert.ok(!redacted.includes('eyJzdWIi') && !redacted.includes('c2lnbmF0'), redacted)
  }
})

test('other text is logged unchanged, except control characters that JSON does not escape', () => {
  for (const path of [
    '/orders/caf%c3%a9',
    '/bylaw-orders/1',
    '/files/keys.tar.gz',
    `/blobs/${'ab12'.repeat(16)}`,
    '/%25a',
  ])
    assert.equal(redact(path), path)
  assert.equal(redact('/orders/\x9b5m\x7f'), '/orders/%9b5m%7f')
})
