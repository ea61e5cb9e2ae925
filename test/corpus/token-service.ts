/** A service that accepts access tokens, and tokens of every kind. Their signatures are the same in each run, as Ed25519 needs no randomness. */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { f, service } from 'bylaw'

const issuer = 'https://issuer.example.com'
const audience = 'https://api.example.com'

/** The key pair that belongs to a text. */
function keyOf(text: string): KeyObject {
  const seed = Buffer.from(text.padEnd(32, '.').slice(0, 32))
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}
const [published, unknown] = [keyOf('published'), keyOf('unknown')]

const keys = JSON.stringify({
  keys: [{ ...createPublicKey(published).export({ format: 'jwk' }), kid: 'one', alg: 'EdDSA', use: 'sig' }],
})
const server = createServer((_, response) => response.end(keys))
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
server.unref()

export const tokenService = service({
  name: 'office',
  scopes: { 'files:read': 'Read files', 'files:write': 'Change files' },
  settings: {
    auth: {
      apiKeyHeader: 'X-API-Key',
      tokens: {
        issuer,
        audience,
        jwks: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`,
        claims: { scopes: 'scope', account: 'org', tier: 'tier' },
      },
    },
  },
  resources: {
    files: {
      owner: 'accountId',
      fields: { text: f.text({ filter: true }) },
      access: { read: 'files:read', write: 'files:write' },
    },
    memos: { fields: { text: f.text() }, access: 'authenticated' },
  },
})

const time = Date.UTC(2026, 9, 1) / 1000
const usual = { iss: issuer, aud: audience, sub: 'ann', iat: time, exp: time + 90 * 86_400, org: 'north' }
const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function token(claims: object, { key = published, kid = 'one', alg = 'EdDSA' } = {}): string {
  const said = `${base64url({ alg, kid })}.${base64url({ ...usual, ...claims })}`
  return `${said}.${sign(null, Buffer.from(said), key).toString('base64url')}`
}

export const tokens: Readonly<Record<string, string>> = {
  writer: token({ scope: 'files:read files:write' }),
  reader: token({ scope: 'files:read' }),
  stranger: token({ scope: 'files:read files:write', org: 'south', sub: 'sue' }),
  'of no account': token({ scope: 'files:read files:write', org: undefined }),
  expired: token({ scope: 'files:read', exp: time + 60 }),
  'not yet': token({ scope: 'files:read', nbf: time + 80 * 86_400 }),
  'other audience': token({ aud: 'https://other.example.com' }),
  'other issuer': token({ iss: 'https://other.example.com' }),
  forged: token({ scope: 'files:read files:write' }, { key: unknown }),
  'unknown key': token({}, { kid: 'two' }),
  'no algorithm': token({}, { alg: 'none' }),
  'no subject': token({ sub: undefined }),
  cut: token({}).slice(0, -4),
}
