import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failures } from './failures.ts'

test('after thirty failures within a minute an address is refused, until the minute is over', () => {
  const { admit, add } = failures()
  for (let i = 0; i < 30; i++) {
    admit('192.0.2.7', i)
    add('192.0.2.7', i)
  }
  assert.throws(
    () => admit('192.0.2.7', 1000),
    ({ type, headers }) => type === 'too-many-requests' && headers['Retry-After'] === '59',
  )
  admit('192.0.2.8', 1000)
  admit('192.0.2.7', 60_000)
  add('192.0.2.7', 60_000)
  admit('192.0.2.7', 60_001)
})

test('addresses beyond number do not fill the memory, and the newest are kept', () => {
  const { admit, add } = failures()
  for (let i = 0; i < 20_000; i++) add(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 0)
  for (let i = 0; i < 30; i++) add('192.0.2.7', 0)
  assert.throws(() => admit('192.0.2.7', 1))
})

test('where nobody knows the address, nothing is counted', () => {
  const { admit, add } = failures()
  for (let i = 0; i < 100; i++) add('', 0)
  admit('', 1)
})
