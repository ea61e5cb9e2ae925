import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blockOf, failures } from './failures.ts'

test('an address is a whole one of IPv4, and a network of IPv6', () => {
  for (const [address, block] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::1', '0:0:0:0'],
    ['2001:db8:0:1::5', '2001:db8:0:1'],
    ['2001:0DB8:0:1:2:3:4:5', '2001:db8:0:1'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['', ''],
  ])
    assert.equal(blockOf(address as string), block)
})

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
