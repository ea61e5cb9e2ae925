import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { makeTokenJudge } from './token.ts'

const tokens = { issuer: 'https://login.example.com', audience: 'https://api.example.com', jwks: '' }
const now = Date.UTC(2027, 0, 1)
const pairs = await Promise.all(
  ['ES256', 'ES256', 'RS256', 'EdDSA'].map(async (alg) => ({
    alg,
    ...(await generateKeyPair(alg, { extractable: true })),
  })),
)
const keys = createLocalJWKSet({ keys: await Promise.all(pairs.map(({ publicKey }) => exportJWK(publicKey))) })
const sign = (alg: string, key: CryptoKey) =>
  new SignJWT({ scope: 'a b', sub: 'ann', person: 'usr_1', robot: 'key:ci' })
    .setProtectedHeader({ alg })
    .setIssuer(tokens.issuer)
    .setAudience(tokens.audience)
    .setExpirationTime(now / 1000 + 60)
    .sign(key)

test('a token without a key id is tried with all matching keys', async () => {
  const whose = makeTokenJudge(tokens, keys, () => now)
  for (const { alg, privateKey } of pairs) {
    const verdict = await whose(await sign(alg, privateKey))
    assert.ok('caller' in verdict, alg)
    assert.deepEqual([...verdict.caller.scopes], ['a', 'b'])
    assert.equal(verdict.caller.id, 'token:https://login.example.com ann')
  }
  const other = await generateKeyPair('ES256')
  assert.ok('refused' in (await whose(await sign('ES256', other.privateKey))))
})

test('an undeclared algorithm is refused, even with a known key', async () => {
  const whose = makeTokenJudge({ ...tokens, algorithms: ['RS256'] }, keys, () => now)
  for (const { alg, privateKey } of pairs)
    assert.equal('caller' in (await whose(await sign(alg, privateKey))), alg === 'RS256', alg)
})

const published = (jwks: readonly object[]) => createLocalJWKSet({ keys: jwks as never })
const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
const broken = {
  RS256: [short, { kty: 'RSA', n: 'AQAB', e: 'AQAB' }, { kty: 'RSA', n: '!', e: '!' }],
  ES256: [
    { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' },
    { kty: 'EC', crv: 'P-256' },
  ],
  EdDSA: [
    { kty: 'OKP', crv: 'Ed25519', x: 'AAAA' },
    { kty: 'OKP', crv: 'Ed25519' },
  ],
} as const

test('a key of the issuer that cannot be used makes no valid token invalid, and no forged one a failure', async () => {
  for (const [alg, unusable] of Object.entries(broken))
    for (const bad of unusable) {
      const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
      const good = await exportJWK(publicKey)
      const forger = await generateKeyPair(alg, { extractable: true })
      for (const set of [
        [bad, good],
        [good, bad],
        [bad, bad, good],
      ]) {
        const whose = makeTokenJudge(tokens, published(set), () => now)
        assert.ok('caller' in (await whose(await sign(alg, privateKey))), `${alg} ${JSON.stringify(bad)}`)
        assert.ok('refused' in (await whose(await sign(alg, forger.privateKey))), alg)
      }
      for (const set of [[bad], [bad, bad], []])
        assert.ok(
          'refused' in (await makeTokenJudge(tokens, published(set), () => now)(await sign(alg, privateKey))),
          alg,
        )
    }
})

test('a claim names the id of the caller, but not that of a key', async () => {
  const [{ alg, privateKey }] = pairs as [(typeof pairs)[number]]
  const judgedBy = async (id: string) =>
    makeTokenJudge({ ...tokens, claims: { id } }, keys, () => now)(await sign(alg, privateKey))
  const own = await judgedBy('person')
  assert.equal('caller' in own && own.caller.id, 'usr_1')
  for (const id of ['robot', 'nothing']) {
    const refused = await judgedBy(id)
    assert.match('refused' in refused ? refused.refused : '', new RegExp(`claim ${id} .*does not begin with key:`))
  }
})
