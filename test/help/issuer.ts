/** An authorization server for tests: publishes its keys on a local port and signs tokens. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

export interface Issuer {
  readonly url: string
  readonly jwks: string
  /** Generates a key pair; a `hidden` one is not published. */
  readonly addKey: (kid: string, hidden?: boolean, alg?: string) => Promise<void>
  readonly drop: (kid: string) => void
  readonly publicKey: (kid: string) => JWK
  /** Signs a token with the given claims and those that every token has. */
  readonly sign: (
    claims?: Readonly<Record<string, unknown>>,
    header?: { readonly kid?: string; readonly alg?: string },
  ) => Promise<string>
  /** The number of requests for the keys. */
  readonly asked: () => number
  /** The status that is answered instead of the keys; null to answer the keys. */
  fault: number | null
}

export const audience = 'https://api.example.com'

export async function issuer(now: () => number = Date.now): Promise<Issuer> {
  const keys = new Map<string, { key: CryptoKey; jwk: JWK; hidden: boolean }>()
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    response.statusCode = made.fault ?? 200
    const shown = [...keys.values()].filter(({ hidden }) => !hidden).map(({ jwk }) => jwk)
    response.end(made.fault === null ? JSON.stringify({ keys: shown }) : 'no')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const made: Issuer = {
    url,
    jwks: `${url}/jwks.json`,
    addKey: async (kid, hidden = false, alg = 'ES256') => {
      const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
      keys.set(kid, { key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }, hidden })
    },
    drop: (kid) => void keys.delete(kid),
    publicKey: (kid) => (keys.get(kid) as { jwk: JWK }).jwk,
    sign: (claims = {}, { kid = 'one', alg = 'ES256' } = {}) => {
      const time = Math.floor(now() / 1000)
      const all = { iss: url, aud: audience, sub: 'ann', iat: time, exp: time + 600, scope: 'files:read', ...claims }
      const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
      return new SignJWT(payload).setProtectedHeader({ alg, kid }).sign((keys.get(kid) as { key: CryptoKey }).key)
    },
    asked: () => asked,
    fault: null,
  }
  await made.addKey('one')
  return made
}
