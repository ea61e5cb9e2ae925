import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeFailureCounter } from './failures.ts'

const tooMany = ({ type }: { readonly type?: string }) => type === 'too-many-requests'

test('the thirty-first bad credential of an address within a minute is refused with 429, until the minute is over', () => {
  const { add } = makeFailureCounter()
  for (let i = 0; i < 30; i++) add('192.0.2.7', `key ${i}`, i)
  assert.throws(
    () => add('192.0.2.7', 'another', 1000),
    ({ type, headers }) => type === 'too-many-requests' && headers['Retry-After'] === '59',
  )
  add('192.0.2.8', 'another', 1000)
  add('192.0.2.7', 'another', 60_000)
  add('192.0.2.7', 'yet another', 60_001)
})

test('a repeated bad credential is refused itself, and does not block others', () => {
  const { add } = makeFailureCounter()
  for (let i = 0; i < 30; i++) add('192.0.2.7', 'revoked', i)
  assert.throws(
    () => add('192.0.2.7', 'revoked', 1000),
    ({ type, message }) => type === 'too-many-requests' && message.includes('This credential was sent 30 times'),
  )
  add('192.0.2.7', 'another', 1000)
  add('192.0.2.8', 'revoked', 1000)
  add('192.0.2.7', 'revoked', 60_000)
})

test('any number of addresses does not fill the memory, and the newest are kept', () => {
  const { add } = makeFailureCounter()
  for (let i = 0; i < 20_000; i++) add(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 'key', 0)
  for (let i = 0; i < 30; i++) add('192.0.2.7', `key ${i}`, 0)
  assert.throws(() => add('192.0.2.7', 'another', 1), tooMany)
})

test('without a known address nothing is counted', () => {
  const { add } = makeFailureCounter()
  for (let i = 0; i < 100; i++) add('', `key ${i}`, 0)
})
