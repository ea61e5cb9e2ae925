/** Part 5 of the contract, authentication: access tokens: their issuer, audience and lifetime. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { f, service } from 'bylaw'
import { UnsecuredJWT } from 'jose'
import { type Door, doors, spec } from '../help/door.ts'
import { audience, issuer } from '../help/issuer.ts'

let keys = 0
let clock = Date.UTC(2027, 0, 1)
const now = () => clock
const authority = await issuer(now)

const office = (jwks: string) =>
  service({
    name: 'office',
    scopes: { 'files:read': 'Read files', 'files:write': 'Change files' },
    settings: {
      auth: {
        apiKeyHeader: 'X-API-Key',
        tokens: {
          issuer: authority.url,
          audience,
          jwks,
          claims: { scopes: '/realm/roles', account: 'https://example.com/account', tier: 'tier' },
        },
      },
    },
    resources: {
      files: { fields: { text: f.text() }, access: { read: 'files:read', write: 'files:write' } },
      memos: { fields: { text: f.text() }, access: 'authenticated' },
    },
  })

const realm = { roles: ['files:read'] }
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const challenge = `Bearer realm="office", resource_metadata="${audience}/.well-known/oauth-protected-resource"`
const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

async function refused(door: Door, token: string, words = ''): Promise<void> {
  const { status, json, headers, text } = await door.send('GET', '/memos', bearer(token))
  assert.deepEqual([status, json.type], [401, 'invalid-credentials'], text)
  assert.equal(headers['www-authenticate'], `${challenge}, error="invalid_token"`)
  assert.ok(json.message.includes(words), json.message)
}
const taken = async (door: Door, token: string, path = '/memos') =>
  assert.equal((await door.send('GET', path, bearer(token))).status, 200)

doors(
  'access tokens',
  office(authority.jwks),
  (door) => {
    spec('R163', 'a token that was taken as a bearer is not taken in the header for API keys', async () => {
      const token = await authority.sign()
      for (let i = 0; i < 2; i++) {
        await taken(door, token)
        const { status, json } = await door.send('GET', '/memos', { headers: { 'x-api-key': token } })
        assert.deepEqual([status, json.type], [401, 'invalid-credentials'])
      }
    })
    spec('R163', 'a token of the issuer is accepted, with the scheme in any case', async () => {
      await taken(door, await authority.sign())
      const token = await authority.sign()
      for (const scheme of ['bearer', 'BEARER'])
        assert.equal(
          (await door.send('GET', '/memos', { headers: { authorization: `${scheme}  ${token}` } })).status,
          200,
        )
    })
    spec('R163 R169', 'its scopes are in the declared claim', async () => {
      const lacking = await door.send('GET', '/files', bearer(await authority.sign()))
      assert.deepEqual([lacking.status, lacking.json.type], [403, 'insufficient-scope'])
      assert.equal(lacking.headers['www-authenticate'], `${challenge}, error="insufficient_scope", scope="files:read"`)
      await taken(door, await authority.sign({ realm }), '/files')
      assert.equal(
        (await door.send('POST', '/files', { ...bearer(await authority.sign({ realm })), json: {} })).status,
        403,
      )
      for (const odd of [
        { realm: null },
        { realm: { roles: 5 } },
        { realm: { roles: [5, { a: 1 }] } },
        { realm: 'files:read' },
      ])
        assert.equal((await door.send('GET', '/files', bearer(await authority.sign(odd)))).status, 403)
    })
    spec('R166', 'an expired token, or one that is not valid yet, is refused', async () => {
      const seconds = clock / 1000
      await refused(door, await authority.sign({ exp: seconds - 61 }), 'expired')
      await refused(door, await authority.sign({ nbf: seconds + 61 }), 'nbf')
      await refused(door, await authority.sign({ exp: undefined }), 'exp')
      await taken(door, await authority.sign({ exp: seconds - 30, nbf: seconds + 30 })) // clocks may differ
    })
    spec('R166', 'a token that was accepted before is refused after its end', async () => {
      const token = await authority.sign({ exp: clock / 1000 + 10 })
      await taken(door, token)
      clock += 71_000
      await refused(door, token, 'expired')
    })
    spec('R166', 'a token for another audience, of another issuer or without a subject is refused', async () => {
      await refused(door, await authority.sign({ aud: 'https://other.example.com' }), 'aud')
      await refused(door, await authority.sign({ aud: undefined }), 'aud')
      await refused(door, await authority.sign({ iss: 'https://evil.example.com' }), 'iss')
      await refused(door, await authority.sign({ sub: undefined }), 'sub')
      await taken(door, await authority.sign({ aud: ['https://other.example.com', audience] }))
    })
    spec('R166', 'a forged token is refused: another key, content or algorithm, or none', async () => {
      await authority.addKey('hidden', true)
      const [head = '', body = '', mark = ''] = (await authority.sign({ realm })).split('.')
      await refused(door, await authority.sign({}, { kid: 'hidden' }))
      const header = base64url({ alg: 'ES256', kid: 'one' })
      const [, , other = ''] = (await authority.sign({}, { kid: 'hidden' })).split('.')
      await refused(door, [header, body, other].join('.'))
      const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
      await refused(door, [head, base64url({ ...claims, sub: 'eve' }), mark].join('.'))
      await refused(door, new UnsecuredJWT(claims).encode())
      for (const alg of ['none', 'None', 'NONE', '']) await refused(door, `${base64url({ alg, kid: 'one' })}.${body}.`)
      const jwk = authority.publicKey('one')
      for (const secret of [JSON.stringify(jwk), jwk.x as string, '']) {
        const signed = `${base64url({ alg: 'HS256', kid: 'one' })}.${body}`
        await refused(
          door,
          `${signed}.${createHmac('sha256', secret || 'x')
            .update(signed)
            .digest('base64url')}`,
        )
      }
      const own = `${base64url({ alg: 'ES256', jwk, jku: 'https://evil.example.com', kid: 'hidden' })}.${body}.${mark}`
      await refused(door, own)
      await refused(door, `${base64url({ alg: 'ES256', kid: 'one', crit: ['b64'], b64: false })}.${body}.${mark}`)
    })
    spec('R166', 'a text that is not a token is reported as such, at any length', async () => {
      for (const text of [
        'a',
        'a.b',
        'a.b.c',
        '..',
        'a.b.c.d.e',
        `${'a'.repeat(4000)}.${'b'.repeat(4000)}.${'c'.repeat(4000)}`,
        'é.b.c',
        '{}',
      ])
        if (/^[\x20-\x7e]*$/.test(text)) await refused(door, text)
      await refused(door, '')
    })
    spec('R100 R170', 'a token with an invalid subject or account is refused', async () => {
      const claim = 'https://example.com/account'
      for (const odd of ['a\u0000b', '\ud800', 'x'.repeat(256), '', {}, ['a'], true, 1.5]) {
        await refused(door, await authority.sign({ [claim]: odd }), 'account')
        await refused(door, await authority.sign({ sub: odd, client_id: 'a machine' }), 'sub')
      }
      await taken(door, await authority.sign({ [claim]: 7 }))
      await taken(door, await authority.sign({ [claim]: null }))
      await taken(door, await authority.sign({ sub: undefined, client_id: 'a machine' }))
    })
    spec('R163', 'the header for API keys accepts no tokens', async () => {
      const sent = { headers: { 'x-api-key': await authority.sign() } }
      assert.equal((await door.send('GET', '/memos', sent)).status, 401)
    })
    spec('R166', 'an unknown key is fetched when a token first uses it, and not more often', async () => {
      await taken(door, await authority.sign())
      clock += 31_000
      const name = `new-${++keys}`
      await authority.addKey(name)
      const before = authority.asked()
      await Promise.all(Array.from({ length: 20 }, async () => taken(door, await authority.sign({}, { kid: name }))))
      assert.equal(authority.asked(), before + 1)
      await authority.addKey('stranger', true)
      for (let i = 0; i < 5; i++) await refused(door, await authority.sign({}, { kid: 'stranger' }))
      assert.equal(authority.asked(), before + 1, 'an unknown key may not make the service ask again at once')
    })
    spec('R171', 'the issuer of tokens is public metadata', async () => {
      const { status, json, headers } = await door.send('GET', '/.well-known/oauth-protected-resource')
      assert.equal(status, 200)
      assert.equal(headers['content-type'], 'application/json')
      assert.deepEqual(json, {
        resource: audience,
        resource_name: 'office',
        authorization_servers: [authority.url],
        scopes_supported: ['files:read', 'files:write'],
        bearer_methods_supported: ['header'],
      })
      const none = await door.send('GET', '/memos')
      assert.equal(none.headers['www-authenticate'], challenge)
      const wrong = await door.send('POST', '/.well-known/oauth-protected-resource', { json: {} })
      assert.deepEqual([wrong.status, wrong.headers.allow], [405, 'GET, HEAD, OPTIONS'])
    })
  },
  { now },
)

const late = await issuer(now)
late.fault = 500
doors(
  'an issuer that does not answer',
  office(late.jwks),
  (door) => {
    spec('R161 R166', 'if keys cannot be fetched the answer is 503, not that a token is invalid', async () => {
      late.fault = 500
      clock += 3_600_000
      const { status, json, headers } = await door.send('GET', '/memos', bearer(await authority.sign()))
      assert.deepEqual([status, json.type], [503, 'dependency-unavailable'])
      assert.ok(Number(headers['retry-after']) > 0)
      assert.equal(headers['www-authenticate'], undefined)
      const asked = late.asked()
      for (let i = 0; i < 5; i++) await door.send('GET', '/memos', bearer(await authority.sign()))
      assert.equal(late.asked(), asked, 'a server that is down is left in peace for a while')
    })
    spec('R166', 'the issuer is asked again, and its former keys are used while it is down', async () => {
      late.fault = null
      clock += 5000
      const token = () => late.sign({ iss: authority.url })
      await taken(door, await token())
      late.fault = 503
      clock += 3_600_000
      await taken(door, await token())
      await taken(door, await token())
      const unknown = await authority.sign() // another key with the name of a known one
      await refused(door, unknown)
    })
  },
  { now },
)
