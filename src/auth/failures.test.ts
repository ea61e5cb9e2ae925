import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failures } from './failures.ts'

test('after thirty failures within a minute an address is refused, until the minute is over', () => {
  const { admit, add } = failures()
  for (let i = 0; i < 30; i++) {
    admit('192.0.2.7', `key ${i}`, i)
    add('192.0.2.7', `key ${i}`, i)
  }
  assert.throws(
    () => admit('192.0.2.7', 'another', 1000),
    ({ type, headers }) => type === 'too-many-requests' && headers['Retry-After'] === '59',
  )
  admit('192.0.2.8', 'another', 1000)
  admit('192.0.2.7', 'another', 60_000)
  add('192.0.2.7', 'another', 60_000)
  admit('192.0.2.7', 'yet another', 60_001)
})

test('a credential that is sent again and again is refused itself, and keeps out no other one', () => {
  const { admit, add } = failures()
  for (let i = 0; i < 30; i++) {
    admit('192.0.2.7', 'revoked', i)
    add('192.0.2.7', 'revoked', i)
  }
  assert.throws(
    () => admit('192.0.2.7', 'revoked', 1000),
    ({ type, message }) => type === 'too-many-requests' && message.includes('This credential'),
  )
  admit('192.0.2.7', 'another', 1000)
  admit('192.0.2.8', 'revoked', 1000)
  admit('192.0.2.7', 'revoked', 60_000)
})

test('addresses beyond number do not fill the memory, and the newest are kept', () => {
  const { admit, add } = failures()
  for (let i = 0; i < 20_000; i++) add(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 'key', 0)
  for (let i = 0; i < 30; i++) add('192.0.2.7', `key ${i}`, 0)
  assert.throws(() => admit('192.0.2.7', 'another', 1))
})

test('where nobody knows the address, nothing is counted', () => {
  const { admit, add } = failures()
  for (let i = 0; i < 100; i++) add('', 'key', 0)
  admit('', 'key', 1)
})
