/** Part 1 of the contract, requests: raw messages, and those that are refused before they reach an operation. */
import assert from 'node:assert/strict'
import { type Door, doors, spec } from '../help/door.ts'
import { shop } from '../help/shop.ts'
import { answers, head, message, type RawAnswer } from '../help/wire.ts'

const all = 'GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE'
const onList = 'GET, HEAD, OPTIONS, POST'
const onItem = 'GET, HEAD, OPTIONS, PUT, PATCH, DELETE'
const item = `/warehouses/whs_${'0'.repeat(26)}`
const closing = ['Connection: close']

async function one(door: Door, bytes: string, bare = 0): Promise<RawAnswer> {
  const found = answers(await door.raw(bytes), bare)
  assert.equal(found.length, 1, `one answer was expected to ${bytes.slice(0, 200)}`)
  return found[0] as RawAnswer
}

/** Asserts that the bytes are refused with an error of this type, and that the connection is closed. */
async function refused(door: Door, bytes: string, status: number, type: string): Promise<RawAnswer> {
  const reported = await one(door, bytes)
  const about = `${bytes.slice(0, 200)}\n${reported.text}`
  assert.equal(reported.status, status, about)
  assert.equal(reported.json.type, type, about)
  assert.equal(reported.json.types.at(-1), 'error', about)
  assert.equal(typeof reported.json.message, 'string', about)
  assert.equal(reported.headers.connection, 'close', about)
  assert.match(reported.headers['request-id'] ?? '', /^[A-Za-z0-9._-]{1,128}$/, about)
  return reported
}

doors(
  'methods on the wire',
  shop,
  (door) => {
    spec('R13 R151', 'a method that the HTTP parser does not know is 405 with the error body', async () => {
      for (const method of ['FOO', 'get', 'Get', 'GE', 'GETX', 'POSTS', 'PLAY', 'DESCRIBE', 'x', "a!#$%&'*+-.^_`|~9"]) {
        const reported = await refused(door, message(`${method} /warehouses`), 405, 'method-not-allowed')
        assert.equal(reported.headers.allow, onList, method)
        const below = await refused(door, message(`${method} ${item}`), 405, 'method-not-allowed')
        assert.equal(below.headers.allow, onItem, method)
      }
    })
    spec('R1 R13', 'such a method on a path that does not exist is 404, and in a broken message 400', async () => {
      await refused(door, message('FOO /nope'), 404, 'route-not-found')
      await refused(door, head('FOO /warehouses HTTP/1.1'), 400, 'invalid-host')
      await refused(door, message(`FOO /${'a'.repeat(9000)}`), 414, 'uri-too-long')
      for (const line of ['FOO', 'hello world foo', 'FOO warehouses', 'FOO\t/warehouses', '{"a":1}'])
        await refused(door, head(line, 'Host: localhost'), 400, 'malformed-request')
    })
    spec('R13', 'methods of other protocols that the parser knows are 405, and the connection stays open', async () => {
      for (const method of ['TRACE', 'QUERY', 'PROPFIND', 'LOCK', 'PURGE', 'M-SEARCH', 'SOURCE', 'LINK']) {
        const reported = await one(door, message(`${method} /warehouses`, closing))
        assert.equal(reported.status, 405, method)
        assert.equal(reported.json.type, 'method-not-allowed', method)
        assert.equal(reported.headers.allow, onList, method)
      }
    })
    spec('R13', 'TRACE echoes nothing', async () => {
      const reported = await door.raw(message('TRACE /warehouses', ['X-Secret: hush', ...closing]))
      assert.doesNotMatch(reported, /hush/)
      assert.doesNotMatch(reported, /message\/http/)
    })
    spec('R13', 'CONNECT is 405 with the error body, and the connection is closed', async () => {
      for (const target of ['localhost:80', 'localhost', '/warehouses', 'http://localhost/warehouses']) {
        const reported = await refused(door, `${message(`CONNECT ${target}`)}more`, 405, 'method-not-allowed')
        assert.equal(reported.headers.allow, target.includes('/') ? onList : all, target)
      }
    })
    spec('R11', 'OPTIONS * is 204 with the methods of the service', async () => {
      const reported = await one(door, message('OPTIONS *', closing))
      assert.equal(reported.status, 204)
      assert.equal(reported.headers.allow, all)
      assert.equal(reported.text, '')
      assert.equal(reported.headers['content-length'], undefined)
      const carrying = await one(door, message('OPTIONS *', closing, '{}'))
      assert.equal(carrying.json.type, 'unexpected-body')
    })
    spec('R151', 'an error of the parser has no content for HEAD', async () => {
      const reported = await one(door, head('HEAD /warehouses HTTP/1.1', 'Host: localhost', 'X y: 1'), 1)
      assert.equal(reported.status, 400)
      assert.ok(Number(reported.headers['content-length']) > 0)
    })
    spec('R158', 'an error of the parser is problem+json if Accept names it', async () => {
      const reported = await one(door, message('FOO /warehouses', ['Accept: application/problem+json']))
      assert.equal(reported.headers['content-type'], 'application/problem+json')
      assert.equal(reported.json.type, '/problems/method-not-allowed')
      const broken = await one(door, message('GET /warehouses', ['Accept: application/problem+json', 'X y: 1']))
      assert.equal(broken.headers['content-type'], 'application/problem+json')
    })
  },
  { socketOnly: true },
)

doors(
  'targets on the wire',
  shop,
  (door) => {
    spec('R17', 'a target in absolute form is handled as its path', async () => {
      const plain = await one(door, message('GET /warehouses?limit=3', closing))
      for (const origin of ['http://api.example.com', 'https://api.example.com:8443', 'HTTP://[2001:db8::1]:80']) {
        const reported = await one(door, message(`GET ${origin}/warehouses?limit=3`, closing))
        assert.equal(reported.status, 200, origin)
        assert.equal(reported.text, plain.text, origin)
        assert.equal(reported.headers.link, plain.headers.link, origin)
      }
      assert.equal((await one(door, message('GET http://api.example.com', closing))).status, 200)
      assert.equal((await one(door, message('GET http://api.example.com?limit=3', closing))).status, 200)
      assert.equal((await one(door, message('FOO http://api.example.com/warehouses'))).status, 405)
    })
    spec('R17', 'an absolute target needs a valid host, and http or https', async () => {
      for (const origin of ['http://', 'http://:80', 'http://me@api', 'http://a,b', 'http://[::1', 'http://a:b'])
        assert.equal((await refused(door, message(`GET ${origin}/warehouses`), 400, 'invalid-host')).status, 400)
      for (const target of ['ftp://localhost/warehouses', 'urn:a', 'localhost:80', 'warehouses', '?a=1'])
        await refused(door, message(`GET ${target}`), 400, 'malformed-request')
    })
    spec('R8', 'a target is visible ASCII without a fragment', async () => {
      for (const target of [
        '/warehouses#a',
        '/warehouses?limit=1#',
        '*',
        '*?a=1',
        '/caf\u00e9',
        '/warehouses?q=\u00e9',
      ])
        await refused(door, message(`GET ${target}`), 400, 'malformed-request')
      for (const target of ['/ware houses', '/ware\thouses', '/ware\u0000houses', '/ware\u007fhouses', '/\u0001'])
        await refused(door, message(`GET ${target}`), 400, 'malformed-request')
      assert.equal((await one(door, message('GET /warehouses/<">{|}^`\\', closing))).status, 404)
    })
    spec('R17', 'a message in another version of HTTP is refused', async () => {
      const lines = [
        'GET /warehouses',
        'GET /warehouses HTTP/0.9',
        'GET /warehouses HTTP/2.0',
        'GET /warehouses HTTP/1.2',
      ]
      for (const line of [...lines, 'GET /warehouses HTTP/3', 'GET /warehouses http/1.1', 'GET /warehouses HTTP/1.1 '])
        await refused(door, head(line, 'Host: localhost'), 400, 'malformed-request')
      await refused(door, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'malformed-request')
    })
    spec('R179', 'a target of more than 8,192 bytes is 414, even if the headers are too large', async () => {
      const fits = await one(door, message(`GET /${'a'.repeat(8191)}`, closing))
      assert.equal(fits.status, 404)
      for (const length of [8192, 9000, 16_000, 30_000, 60_000]) {
        const long = await one(door, message(`GET /${'a'.repeat(length)}`, closing))
        assert.equal(long.status, 414, String(length))
        assert.equal(long.json.type, 'uri-too-long')
        const query = await one(
          door,
          message(`GET /warehouses?q=${'a'.repeat(length)}`, [...closing, `X: ${'b'.repeat(9000)}`]),
        )
        assert.equal(query.status, 414, String(length))
      }
    })
    spec('R179 R151', 'a header of more than 16 KiB or 100 fields is 431 with the error body', async () => {
      const lines = (count: number) => Array.from({ length: count }, (_, i) => `X-${i}: a`)
      assert.equal((await one(door, message('GET /warehouses', [...closing, ...lines(98)]))).status, 200)
      for (const more of [lines(99), lines(3000), [`X: ${'a'.repeat(16_400)}`], [`X: ${'a'.repeat(100_000)}`]]) {
        const reported = await one(door, message('GET /warehouses', [...closing, ...more]))
        assert.equal(reported.status, 431)
        assert.equal(reported.json.type, 'header-fields-too-large')
      }
    })
  },
  { socketOnly: true },
)

doors(
  'hosts on the wire',
  shop,
  (door) => {
    const get = (...hosts: string[]) => head('GET /warehouses HTTP/1.1', ...hosts.map((one) => `Host: ${one}`))
    spec('R17', 'a missing, repeated or malformed Host is 400', async () => {
      await refused(door, get(), 400, 'invalid-host')
      await refused(door, get('a', 'b'), 400, 'invalid-host')
      await refused(door, get('a', 'a'), 400, 'invalid-host')
      const wrong = [
        '',
        'a b',
        'a,b',
        'a/b',
        'http://a',
        'me@a',
        'a:b',
        'a:80:80',
        'a:99999',
        'a?b',
        'a#b',
        '<a>',
        'a%zz',
      ]
      for (const host of [...wrong, '[::1', '::1', '[::g]', '[]', '[1.2.3.4]', '[::1]a', 'caf\u00e9'])
        await refused(door, get(host), 400, 'invalid-host')
    })
    spec('R17', 'names and addresses are hosts, with and without a port', async () => {
      const right = [
        'a',
        'api.example.com',
        'API.example.com:8443',
        'a_b',
        'a-b.',
        '127.0.0.1:80',
        '[::1]:3000',
        'a%41',
        'a:',
      ]
      for (const host of right)
        assert.equal((await one(door, `${get(host).slice(0, -2)}Connection: close\r\n\r\n`)).status, 200, host)
    })
    spec('R17', 'a malformed Host is refused even with an absolute target', async () => {
      await refused(door, head('GET http://localhost/warehouses HTTP/1.1'), 400, 'invalid-host')
      await refused(door, head('GET http://localhost/warehouses HTTP/1.1', 'Host: a b'), 400, 'invalid-host')
    })
    spec('R17', 'HTTP/1.0 may do without a host, but not have two', async () => {
      assert.equal((await one(door, head('GET /warehouses HTTP/1.0'))).status, 200)
      await refused(door, head('GET /warehouses HTTP/1.0', 'Host: a', 'Host: b'), 400, 'invalid-host')
    })
  },
  { socketOnly: true },
)

doors(
  'allowed hosts',
  shop,
  (door) => {
    spec('R17', 'a host that is not allowed is 421, whatever the path', async () => {
      for (const path of ['/warehouses', '/nope']) {
        const reported = await door.send('GET', path, { headers: { host: 'evil.example' } })
        assert.equal(reported.status, 421)
        assert.deepEqual(reported.json.types, ['misdirected-request', 'client-error', 'error'])
      }
    })
    spec('R17', 'an allowed host is compared without case and port', async () => {
      for (const host of ['api.example.com', 'API.Example.com', 'api.example.com:8443', 'local:3000'])
        assert.equal((await door.send('GET', '/warehouses', { headers: { host } })).status, 200, host)
      assert.equal((await door.send('GET', '/warehouses', { headers: { host: 'local:3001' } })).status, 421)
    })
    spec('R186', 'health checks may use any host', async () => {
      assert.equal((await door.send('GET', '/healthz', { headers: { host: '10.0.0.7' } })).status, 200)
    })
  },
  { hosts: ['api.example.com', 'Local:3000'] },
)

doors(
  'allowed hosts on the wire',
  shop,
  (door) => {
    spec('R17', 'the host of an absolute target takes effect', async () => {
      const get = (origin: string, host: string) =>
        one(door, head(`GET ${origin}/warehouses HTTP/1.1`, `Host: ${host}`, ...closing))
      assert.equal((await get('http://api.example.com', 'evil.example')).status, 200)
      assert.equal((await get('http://evil.example', 'api.example.com')).status, 421)
      assert.equal((await one(door, head('GET /warehouses HTTP/1.0'))).status, 421)
    })
  },
  { socketOnly: true, hosts: ['api.example.com'] },
)
