/** Part 5 of the contract, authentication: credentials in wrong places, several credentials, and invalid ones. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { f, service } from 'bylaw'
import { newApiKey } from '../../src/auth/keys.ts'
import { type Door, doors, spec } from '../help/door.ts'
import { holders, staff } from '../help/staff.ts'
import { thrown } from '../help/thrown.ts'

type Sent = Parameters<Door['send']>[2]
const seen = async (door: Door, method: string, path: string, sent: Sent = {}) => {
  const answer = await door.send(method, path, sent)
  return { ...answer, brief: [answer.status, answer.json?.type ?? null] }
}
const misplaced = [400, 'credentials-in-url']
const ambiguous = [400, 'ambiguous-credentials']
const invalid = [401, 'invalid-credentials']

doors(
  'credentials in the wrong place',
  staff,
  (door) => {
    spec('R164', 'in the query they are refused, on public paths too, and neither used nor quoted', async () => {
      const key = door.as('ann').authorization?.slice(7) ?? ''
      for (const path of ['/wishes', '/notices', '/files', '/memos'])
        for (const name of [
          'access_token',
          'api_key',
          'Access_Token',
          'access%5Ftoken',
          'api_key[eq]',
          'api_key%5Beq%5D',
        ]) {
          const { brief, text, headers } = await seen(door, 'GET', `${path}?sort=id&${name}=${key}`)
          assert.deepEqual(brief, misplaced, `${path} ${name}`)
          assert.ok(!`${text}${JSON.stringify(headers)}`.includes(key))
        }
      assert.ok(!JSON.stringify(door.answered).includes(key))
    })
    spec('R164', 'in the query of a document about the service they are refused as well', async () => {
      const paths = ['/', '/openapi.json', '/openapi/v1.json', '/.well-known/api-catalog', '/healthz', '/readyz']
      for (const path of paths) {
        const { brief } = await seen(door, 'GET', `${path}?access_token=abc`)
        assert.deepEqual(brief, misplaced, path)
        assert.equal((await seen(door, 'GET', path)).status, 200, path)
      }
    })
    spec('R164 R174', 'in the query of OPTIONS they are refused too, but a preflight is answered', async () => {
      for (const path of ['/', '/openapi.json', '/healthz', '/readyz', '/notices', '/files']) {
        const target = `${path}?access_token=abc`
        assert.deepEqual((await seen(door, 'OPTIONS', target)).brief, misplaced, path)
        const headers = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
        assert.equal((await seen(door, 'OPTIONS', target, { headers })).status, 204, path)
      }
    })
    spec('R164 R1', 'they are reported before all other faults', async () => {
      const both = { headers: { authorization: 'Bearer nonsense', accept: 'text/html' } }
      assert.deepEqual((await seen(door, 'GET', '/files?api_key=1&%zz', both)).brief, misplaced)
      assert.equal((await seen(door, 'GET', '/nowhere?api_key=1')).status, 404)
      assert.equal((await seen(door, 'PATCH', '/files?api_key=1')).status, 405)
    })
    spec('R164', 'in the content they are refused, unless a field is called so', async () => {
      for (const name of ['access_token', 'api_key']) {
        const { brief, text } = await seen(door, 'POST', '/wishes', { json: { text: 'a', [name]: 'the secret' } })
        assert.deepEqual(brief, misplaced)
        assert.ok(!text.includes('the secret'))
      }
      const nested = await seen(door, 'POST', '/wishes', { json: { text: 'a', more: { api_key: 1 } } })
      assert.deepEqual(nested.brief, [400, 'validation-failed'])
    })
    spec('R163', 'a cookie does not authenticate', async () => {
      const key = door.as('ann').authorization?.slice(7)
      const sent = { headers: { cookie: `authorization=Bearer ${key}; access_token=${key}` } }
      assert.deepEqual((await seen(door, 'GET', '/files', sent)).brief, [401, 'credentials-missing'])
    })
    spec('R167', 'an unknown scheme counts as no credential', async () => {
      for (const authorization of ['Basic YTpi', 'Digest username="a", realm="b"', 'Bearerbylaw_x', 'bylaw_x', '""']) {
        assert.deepEqual((await seen(door, 'GET', '/files', { headers: { authorization } })).brief, [
          401,
          'credentials-missing',
        ])
        assert.equal((await seen(door, 'GET', '/wishes', { headers: { authorization } })).status, 200)
      }
    })
    spec('R166', 'a scheme without a credential is an invalid credential', async () => {
      for (const authorization of ['Bearer', 'Bearer ', 'bearer  '])
        assert.deepEqual((await seen(door, 'GET', '/wishes', { headers: { authorization } })).brief, invalid)
    })
  },
  { holders },
)

const twoHeaders = service({
  name: 'office',
  settings: { auth: { apiKeyHeader: 'X-API-Key', credentialNames: ['token'] } },
  resources: {
    memos: { fields: { text: f.text(), token: f.text({ optional: true }) }, access: 'authenticated' },
  },
})

doors(
  'a header of its own for keys',
  twoHeaders,
  (door) => {
    const { cay } = { cay: () => door.as('cay').authorization?.slice(7) ?? '' }
    spec('R163', 'the key header accepts it too', async () => {
      assert.equal((await seen(door, 'GET', '/memos', { headers: { 'x-api-key': cay() } })).status, 200)
      assert.equal((await seen(door, 'GET', '/memos', { headers: door.as('cay') })).status, 200)
      assert.deepEqual((await seen(door, 'GET', '/memos', { headers: { 'x-api-key': 'nonsense' } })).brief, invalid)
      const other = { 'x-api-key': cay(), authorization: 'Basic YTpi' }
      assert.equal((await seen(door, 'GET', '/memos', { headers: other })).status, 200)
      const { json } = await seen(door, 'GET', '/memos')
      assert.match(json.message, /X-API-Key/)
    })
    spec('R167', 'in both of them they are too many, even the same ones', async () => {
      const both = { 'x-api-key': cay(), ...door.as('cay') }
      assert.deepEqual((await seen(door, 'GET', '/memos', { headers: both })).brief, ambiguous)
      const twice = { 'x-api-key': `${cay()}, ${cay()}` }
      assert.deepEqual((await seen(door, 'GET', '/memos', { headers: twice })).brief, ambiguous)
    })
    spec('R145', 'Vary names both headers', async () => {
      const { headers } = await seen(door, 'GET', '/memos', { headers: door.as('cay') })
      assert.equal(headers.vary, 'Accept-Encoding, Authorization, X-API-Key, version')
    })
    spec('R164', 'the names of credentials are a setting, and a declared field is a field', async () => {
      const sent = { headers: door.as('cay'), json: { text: 'a', token: 'b' } }
      assert.equal((await seen(door, 'POST', '/memos', sent)).status, 201)
      assert.deepEqual((await seen(door, 'GET', '/memos?token=b', { headers: door.as('cay') })).brief, misplaced)
      assert.deepEqual((await seen(door, 'GET', '/memos?api_key=b', { headers: door.as('cay') })).brief, [
        400,
        'invalid-query',
      ])
    })
  },
  { holders },
)

doors(
  'two lines',
  twoHeaders,
  (door) => {
    spec('R167', 'two lines of Authorization are refused, with any content', async () => {
      const line = `Authorization: ${door.as('cay').authorization}\r\n`
      for (const lines of [
        line + line,
        `${line}Authorization: Basic YTpi\r\n`,
        `Authorization: Basic YTpi\r\n${line}`,
        `${line}AUTHORIZATION: x\r\n`,
      ]) {
        const text = await door.raw(`GET /memos HTTP/1.1\r\nHost: a\r\n${lines}Connection: close\r\n\r\n`)
        assert.match(text, /^HTTP\/1.1 400 [\s\S]*ambiguous-credentials/)
      }
      const key = `X-API-Key: ${door.as('cay').authorization?.slice(7)}\r\n`
      const text = await door.raw(`GET /memos HTTP/1.1\r\nHost: a\r\n${key}${key}Connection: close\r\n\r\n`)
      assert.match(text, /^HTTP\/1.1 400 [\s\S]*ambiguous-credentials/)
    })
  },
  { holders, socketOnly: true },
)

const asking = service({
  name: 'office',
  settings: { methods: { query: true } },
  resources: { forms: { fields: { form: f.text({ filter: true }) }, access: 'public' } },
})

doors('a query in the content', asking, (door) => {
  spec('R164', 'a form is looked at as a query string is', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const ask = (body: string) => seen(door, 'QUERY', '/forms', { headers, body })
    assert.equal((await ask('form=a')).status, 200)
    for (const body of ['api_key=1', 'form=a&access%5Ftoken=1']) assert.deepEqual((await ask(body)).brief, misplaced)
    assert.equal((await seen(door, 'POST', '/forms', { json: { form: 'api_key=1' } })).status, 201)
  })
})

spec('R164', 'a filter cannot be called like a credential', () => {
  const fields = { api_key: f.text({ filter: true }), access_token: f.text() }
  const about = thrown(() =>
    service({ name: 'a', settings: { naming: 'snake' }, resources: { notes: { fields, access: 'public' } } } as never),
  )
  assert.match(about, /resources\.notes\.fields\.api_key: .* is one of auth.credentialNames/)
  assert.ok(!about.includes('access_token:'))
})

let clock = Date.UTC(2027, 0, 1)
doors(
  'keys that are tried',
  staff,
  (door) => {
    spec(
      'R184',
      'an address that has sent thirty bad keys gets 429 for bad ones, and 200 for every good one',
      async () => {
        assert.equal((await seen(door, 'GET', '/files', { headers: door.as('ann') })).status, 200)
        const attempt = () =>
          seen(door, 'GET', '/files', { headers: { authorization: `Bearer ${newApiKey(randomBytes(32))}` } })
        for (let i = 0; i < 30; i++) assert.deepEqual((await attempt()).brief, invalid)
        const { brief, headers } = await attempt()
        assert.deepEqual(brief, [429, 'too-many-requests'])
        assert.ok(Number(headers['retry-after']) > 0 && Number(headers['retry-after']) <= 60)
        for (const authorization of ['Bearer nonsense', 'Bearer eyJhbGciOiJub25lIn0.e30.', 'Bearer bylaw_short'])
          assert.deepEqual((await seen(door, 'GET', '/files', { headers: { authorization } })).brief, brief)
        clock += 2000 // longer than callers are cached
        assert.equal((await seen(door, 'GET', '/files', { headers: door.as('ann') })).status, 200)
        assert.equal((await seen(door, 'GET', '/files', { headers: door.as('ben') })).status, 200, 'never seen before')
        assert.equal((await seen(door, 'GET', '/wishes')).status, 200)
        clock += 60_000
        assert.deepEqual((await attempt()).brief, invalid)
      },
    )
    spec('R184', 'a good key is answered while hundreds of made-up ones wait to be looked up', async () => {
      clock += 60_000
      const made = Array.from({ length: 400 }, () => ({
        headers: { authorization: `Bearer ${newApiKey(randomBytes(32))}` },
      }))
      const waiting = made.map((sent) => seen(door, 'GET', '/files', sent))
      assert.equal((await seen(door, 'GET', '/files', { headers: door.as('dee') })).status, 403, 'known, without scope')
      const refused = await Promise.all(waiting)
      assert.equal(refused.filter(({ status }) => status === 401).length, 30)
      assert.equal(refused.filter(({ status }) => status === 429).length, 370)
    })
    spec('R184', 'a client that repeats one bad key is refused, and its neighbours are not', async () => {
      clock += 60_000
      const headers = { authorization: `Bearer ${newApiKey(randomBytes(32))}` }
      for (let i = 0; i < 30; i++) assert.deepEqual((await seen(door, 'GET', '/files', { headers })).brief, invalid)
      assert.deepEqual((await seen(door, 'GET', '/files', { headers })).brief, [429, 'too-many-requests'])
      const other = { authorization: `Bearer ${newApiKey(randomBytes(32))}` }
      assert.deepEqual((await seen(door, 'GET', '/files', { headers: other })).brief, invalid)
      assert.equal((await seen(door, 'GET', '/files', { headers: door.as('ben') })).status, 200)
    })
    spec('R164 R172', 'no line of the log has a key, wherever the request had it', async () => {
      const key = door.as('ann').authorization?.slice(7) as string
      const token = `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(40)}`
      for (const secret of [key, token]) {
        const escaped = secret.replaceAll('_', '%5F').replaceAll('.', '%2e')
        const all = [...secret].map((one) => `%${one.charCodeAt(0).toString(16)}`).join('')
        const twice = escaped.replaceAll('%', '%25').replace('eyJ', '%65yJ')
        for (const path of [secret, escaped, all, twice].flatMap((one) => [`/files/${one}`, `/${one}/files`]))
          assert.equal((await seen(door, 'GET', path)).status < 500, true)
        const { headers } = await seen(door, 'GET', '/wishes', { headers: { 'request-id': secret } })
        assert.notEqual(headers['request-id'], secret)
        for (const one of [secret, escaped, all, twice]) assert.ok(!JSON.stringify(door.answered).includes(one), one)
      }
      assert.ok(door.answered.some(({ path }) => path === '/files/***'))
      const lines = JSON.stringify([...door.answered, ...door.errors])
      assert.ok(lines.length > 100)
      for (const who of ['ann', 'ben']) assert.ok(!lines.includes(door.as(who).authorization?.slice(13, 30) as string))
      assert.ok(!lines.includes('bylaw_'))
    })
  },
  { holders, socketOnly: true, now: () => clock },
)

spec('R163', 'settings of tokens must be complete, and must not accept forged ones', () => {
  const tokens = {
    issuer: 'https://login.example.com',
    audience: 'https://api.example.com',
    jwks: 'https://login.example.com/keys',
  }
  const declared = (auth: object) =>
    thrown(() =>
      service({
        name: 'a',
        settings: { auth },
        resources: { notes: { fields: { text: f.text() }, access: 'authenticated' } },
      } as never),
    )
  assert.equal(declared({ tokens }), '')
  for (const apiKeyHeader of ['Cookie', 'authorization', 'Content-Type', 'X-Forwarded-For'])
    assert.match(declared({ apiKeyHeader }), /settings\.auth\.apiKeyHeader: .* reserved for another purpose/)
  for (const [change, place] of [
    [{ issuer: '' }, 'issuer'],
    [{ audience: undefined }, 'audience'],
    [{ jwks: 'http://login.example.com/keys' }, 'jwks'],
    [{ jwks: 'file:///etc/keys' }, 'jwks'],
    [{ jwks: 5 }, 'jwks'],
    [{ audience: 'orders' }, 'resource'],
    [{ algorithms: ['HS256'] }, 'algorithms'],
    [{ algorithms: ['none'] }, 'algorithms'],
    [{ algorithms: [] }, 'algorithms'],
    [{ claims: { scope: 'scope' } }, 'claims.scope'],
    [{ claims: { tier: 5 } }, 'claims.tier'],
    [{ isuer: 'x' }, 'isuer'],
  ] as const)
    assert.match(declared({ tokens: { ...tokens, ...change } }), new RegExp(`settings.auth.tokens.${place}:`))
  assert.equal(
    declared({
      tokens: {
        ...tokens,
        jwks: 'http://127.0.0.1:4000/keys',
        audience: 'orders',
        resource: 'https://api.example.com/v1',
      },
    }),
    '',
  )
})
