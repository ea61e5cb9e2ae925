/** Network: clients behind proxies, networks, and the addresses of one client. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientAddress, clientBlock, type Network, networkOf } from './network.ts'

test('an address of IPv4 and 64 bits of IPv6 are one client', () => {
  const table: readonly (readonly [string, string])[] = [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['2001:db8:1:2::1', '2001:db8:1:2'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0DB8:0001:0002::ffff', '2001:db8:1:2'],
    ['2001:db8:1:3::1', '2001:db8:1:3'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
    ['', ''],
    ['no:address', 'no:address'],
  ]
  for (const [address, block] of table) assert.equal(clientBlock(address), block, address)
})

test('networks are parsed, and other texts are refused', () => {
  for (const text of ['10.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', '2001:db8::/32', ' fd00::/8 '])
    assert.ok(networkOf(text), text)
  for (const text of ['', '10', '10.0.0.256', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '::/129', 'proxy', '::1::'])
    assert.equal(networkOf(text), undefined, text)
})

test('only addresses from trusted proxies are used, from the last one backwards', () => {
  const trusted = ['10.0.0.0/8', '::1', '2001:db8::/33'].map((one) => networkOf(one) as Network)
  const table: readonly (readonly [peer: string, forwarded: string | undefined, client: string])[] = [
    ['192.0.2.1', '198.51.100.1', '192.0.2.1'],
    ['10.0.0.1', undefined, '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['::ffff:10.200.0.1', '198.51.100.1', '198.51.100.1'],
    ['11.0.0.1', '198.51.100.1', '11.0.0.1'],
    ['10.0.0.1', '1.1.1.1, 198.51.100.1, 10.9.9.9', '198.51.100.1'],
    ['10.0.0.1', 'unknown, 10.9.9.9', '10.9.9.9'],
    ['10.0.0.1', '', '10.0.0.1'],
    ['::1', '2001:db8:7fff::1', '2001:db8:7fff::1'],
    ['2001:db8:7fff::1', '192.0.2.9', '192.0.2.9'],
    ['2001:db8:8000::1', '192.0.2.9', '2001:db8:8000::1'],
    ['10.0.0.1', '10.0.0.2, 10.0.0.3', '10.0.0.2'],
    ['10.0.0.1', '198.51.100.1:5678', '198.51.100.1'],
    ['10.0.0.1', '198.51.100.1:5678, 10.0.0.3:443', '198.51.100.1'],
    ['10.0.0.1', '[2001:db8:9000::1]:443', '2001:db8:9000::1'],
    ['10.0.0.1', '[2001:db8:9000::1]', '2001:db8:9000::1'],
    ['10.0.0.1', '2001:db8:9000::1', '2001:db8:9000::1'],
    ['10.0.0.1', '::ffff:198.51.100.1:5678', '::ffff:198.51.100.1'],
    ['10.0.0.1', '"[2001:db8:9000::1]:443"', '2001:db8:9000::1'],
    ['10.0.0.1', '"198.51.100.1:5678"', '198.51.100.1'],
    ['10.0.0.1', '198.51.100.1:', '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1:5678:9', '10.0.0.1'],
  ]
  for (const [peer, forwarded, client] of table) assert.equal(clientAddress(peer, forwarded, trusted), client)
  assert.equal(clientAddress('10.0.0.1', '198.51.100.1', []), '10.0.0.1')
})
