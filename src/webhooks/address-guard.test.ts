/** The addresses, URLs and names that deliveries must not go to. */
import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { describe, test } from 'node:test'
import {
  guardedLookup,
  isPublicAddress,
  type PrivateTargets,
  RefusedTarget,
  type Resolve,
  targetFault,
} from './address-guard.ts'

/** The first and the last address of each closed block, and their neighbours outside of it. */
const blocks: Readonly<Record<string, readonly string[]>> = {
  '0.0.0.0/8': ['0.0.0.0', '0.255.255.255', '1.0.0.0'],
  '10.0.0.0/8': ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  '100.64.0.0/10': ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  '127.0.0.0/8': ['127.0.0.1', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  '169.254.0.0/16': ['169.254.0.0', '169.254.169.254', '169.253.255.255', '169.255.0.0'],
  '172.16.0.0/12': ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  '192.0.0.0/24': ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  '192.0.2.0/24': ['192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  '192.88.99.0/24': ['192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  '192.168.0.0/16': ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  '198.18.0.0/15': ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  '198.51.100.0/24': ['198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  '203.0.113.0/24': ['203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  '224.0.0.0/3': ['224.0.0.0', '239.255.255.255', '223.255.255.255'],
  '168.63.129.16': ['168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
}
const closed4 = [...Object.values(blocks).flatMap((all) => all.slice(0, 2)), '240.0.0.0', '255.255.255.255']
const open4 = [...Object.values(blocks).flatMap((all) => all.slice(2)), '8.8.8.8', '93.184.216.34']
const inHex = (address: string): string =>
  Buffer.from(address.split('.').map(Number))
    .toString('hex')
    .replace(/(?=.{4}$)/, ':')

describe('addresses', () => {
  test('of IPv4: the edges of each closed block, and their neighbours', () => {
    for (const address of closed4) assert.equal(isPublicAddress(address), false, address)
    for (const address of open4) assert.equal(isPublicAddress(address), true, address)
  })
  test('of IPv6 that contain an IPv4 address are checked by that address', () => {
    const forms = [
      (address: string) => `::ffff:${address}`,
      (address: string) => `::ffff:${inHex(address)}`,
      (address: string) => `64:ff9b::${inHex(address)}`,
      (address: string) => `2002:${inHex(address)}::1`,
    ]
    for (const form of forms) {
      for (const address of closed4) assert.equal(isPublicAddress(form(address)), false, form(address))
      for (const address of open4) assert.equal(isPublicAddress(form(address)), true, form(address))
    }
  })
  test('of IPv6 that are not public', () => {
    const closed = [
      ...['::', '::1', '::2', '::7f00:1', '::8.8.8.8', '::ffff:0:127.0.0.1', '64:ff9b:1::1', '64:ff9b:1::808:808'],
      ...['100::1', '1fff:ffff::', '4000::', '5f00::1', 'fc00::', 'fd00:ec2::254', 'fdff::1', 'fe80::1', 'febf::1'],
      ...['fec0::1', 'ff00::', 'ff02::1', 'ff0e::1', '2001:db8::', '2001:db8:ffff::1', '3fff::1', '3fff:fff::1'],
      ...['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:0:808:808::f7f7:f7f7', '2001:2::1', '2001:20::1'],
      ...['fe80::1%eth0', '::1%lo', '0:0:0:0:0:0:0:1', '0000:0000:0000:0000:0000:ffff:7f00:0001', '::FFFF:127.0.0.1'],
    ]
    for (const address of closed) assert.equal(isPublicAddress(address), false, address)
  })
  test('of IPv6 that are public', () => {
    for (const address of [
      '2000::',
      '2001:200::1',
      '2001:4860:4860::8888',
      '2606:4700::1111',
      '2a00::1',
      '3ffe::1',
      '2003::1',
    ])
      assert.equal(isPublicAddress(address), true, address)
  })
  test('texts that are not an address are not public', () => {
    for (const text of [
      '',
      'example.com',
      '8.8.8',
      '8.8.8.8.8',
      '256.1.1.1',
      '8.8.8.8/32',
      '2000::/3',
      ':::',
      '1::2::3',
    ])
      assert.equal(isPublicAddress(text), false, text)
  })
})

describe('URLs', () => {
  const strict = (url: string) => targetFault(url, { privateTargets: false })
  const open = (url: string) => targetFault(url, { privateTargets: true })
  test('public ones are accepted', () => {
    for (const url of [
      'https://example.com',
      'https://example.com:8443/hooks?a=b#c',
      'https://93.184.216.34/',
      'https://[2606:4700::1111]:8080/',
      'https://[::ffff:8.8.8.8]/',
      'https://bücher.example/',
      'https://localhost.example.com/',
      'https://mylocalhost/',
    ])
      assert.equal(strict(url), null, url)
  })
  test('only absolute https ones are', () => {
    for (const url of [
      '',
      '/hooks',
      'example.com',
      'http://example.com',
      'ftp://example.com',
      'file:///etc/passwd',
      'https://',
    ])
      assert.equal(strict(url), 'must be an absolute https URL.', url)
  })
  test('private hosts are refused, however they are written', () => {
    for (const host of [
      ...['127.0.0.1', '127.1', '127.0.1', '2130706433', '017700000001', '0x7f000001', '0x7f.1', '0177.0.0.01', '0'],
      ...[
        '127.0.0.1.',
        '0x7F.0x0.0x0.0x1',
        '１２７.0.0.1',
        '127。0。0。1',
        '%31%32%37.0.0.1',
        '3232235521',
        '0xa9fea9fe',
      ],
      ...[
        '[::1]',
        '[::]',
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '[0:0:0:0:0:0:0:1]',
        '[64:ff9b::10.0.0.1]',
        '[fd00::1]',
      ],
      ...['[2002:7f00:1::]', '[fe80::1]', '169.254.169.254', '100.100.100.200', '255.255.255.255'],
      ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'a.b.localhost.', 'ｌocalhost', 'lo%63alhost'],
    ]) {
      assert.equal(strict(`https://${host}/`), 'must not have a private host.', host)
      assert.equal(open(`https://${host}/`), null, host)
    }
  })
  test('user information is refused in any case', () => {
    for (const url of ['https://user@example.com', 'https://user:pass@example.com', 'https://:pass@example.com'])
      for (const judge of [strict, open]) assert.equal(judge(url), 'must not have a user name or a password.', url)
    assert.equal(strict('https://example.com@127.0.0.1/'), 'must not have a user name or a password.')
    assert.equal(strict('https://127.0.0.1\\@example.com/'), 'must not have a private host.')
  })
  test('ports of other protocols are refused', () => {
    for (const port of [0, 1, 22, 25, 53, 110, 587, 2049, 5060, 6000, 6667, 10080])
      assert.equal(strict(`https://example.com:${port}`), 'must not have a port of another protocol.', String(port))
    for (const port of [80, 443, 8080, 3306, 65535])
      assert.equal(strict(`https://example.com:${port}`), null, String(port))
  })
  test('browsers block the same ports', async () => {
    const listed = Array.from({ length: 11_000 }, (_, n) => n + 1).filter((port) =>
      strict(`https://example.com:${port}`),
    )
    assert.equal(listed.length, 82)
    for (const port of listed)
      await assert.rejects(fetch(`http://127.0.0.1:${port}`), ({ cause }) => cause.message === 'bad port', String(port))
  })
  test('in development http, private hosts and all ports are accepted', () => {
    for (const url of ['http://localhost:4000/hooks', 'http://127.0.0.1:6000', 'https://10.0.0.1'])
      assert.equal(open(url), null, url)
    assert.equal(open('ftp://localhost'), 'must be an absolute http or https URL.')
  })
})

describe('URLs in development', () => {
  const local = (url: string) => targetFault(url, { privateTargets: 'loopback' })
  test('those of this machine are accepted, also over http and on every port', () => {
    for (const host of ['localhost', 'localhost.', 'hooks.localhost', '127.0.0.1', '127.9.9.9', '0x7f.1', '[::1]'])
      for (const url of [`http://${host}:4000/hooks`, `https://${host}/`, `http://${host}:6379/`])
        assert.equal(local(url), null, url)
  })
  test('those of other machines follow the rules of production', () => {
    for (const host of ['10.0.0.1', '192.168.1.1', '169.254.169.254', '0.0.0.0', '[fe80::1]', '[::ffff:10.0.0.1]'])
      assert.equal(local(`https://${host}/`), 'must not have a private host.', host)
    for (const url of [
      'http://example.com/',
      'http://10.0.0.1/',
      'http://127.0.0.1.example.com/',
      'http://localhost.com/',
    ])
      assert.match(String(local(url)), /^must be an absolute https URL, or an http URL of this machine/, url)
    assert.equal(local('https://example.com/'), null)
    assert.equal(local('https://example.com:25/'), 'must not have a port of another protocol.')
    assert.equal(local('http://ann:secret@localhost/'), 'must not have a user name or a password.')
  })
})

describe('names', () => {
  /** The addresses that a connection may use, or its refusal. */
  const lookup = (resolve: Resolve, all = true, privateTargets: PrivateTargets = false) =>
    new Promise<string | LookupAddress[]>((found, failed) =>
      guardedLookup(resolve, { privateTargets })('hooks.example', { all }, (error, address) =>
        error ? failed(error) : found(address),
      ),
    )
  test('the addresses that were judged are those of the connection', async () => {
    assert.deepEqual(await lookup(async () => ['8.8.8.8', '2606:4700::1111']), [
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ])
    assert.equal(await lookup(async () => ['8.8.8.8', '2606:4700::1111'], false), '8.8.8.8')
  })
  test('in development a name may lead to this machine, and to no other private one', async () => {
    const local = (...addresses: string[]) => lookup(async () => addresses, false, 'loopback')
    assert.equal(await local('127.0.0.1'), '127.0.0.1')
    assert.equal(await local('::1', '8.8.8.8'), '::1')
    for (const address of ['10.0.0.1', '169.254.169.254', 'fe80::1', '::ffff:10.0.0.1'])
      await assert.rejects(local('127.0.0.1', address), RefusedTarget)
  })
  test('one private address among public ones refuses the name', async () => {
    for (const addresses of [['10.0.0.1'], ['8.8.8.8', '10.0.0.1'], ['::1', '8.8.8.8'], ['8.8.8.8', 'no address'], []])
      for (const all of [true, false])
        await assert.rejects(
          lookup(async () => addresses, all),
          (error) => error instanceof RefusedTarget && error.message === 'The host has no public address.',
        )
  })
  test('a name that does not resolve is refused with the same words', async () => {
    await assert.rejects(
      lookup(async () => Promise.reject(new Error('queryA ENOTFOUND db.internal'))),
      {
        message: 'The host has no public address.',
      },
    )
  })
  test('in development private addresses are used', async () => {
    assert.equal(await lookup(async () => ['127.0.0.1'], false, true), '127.0.0.1')
    await assert.rejects(
      lookup(async () => [], true, true),
      { message: 'The host does not resolve.' },
    )
  })
})
