/** Tokens: checks the settings of access tokens: complete, and safe against forged ones. Part 5, authentication. */

import { isObject, valueInWords } from '../fields/value-check.ts'
import { tokenAlgorithms } from '../settings.ts'
import { type DeclarationCheck, report } from './field-check.ts'
import type { UncheckedObject } from './kind-options.ts'
import { checkKnownKeys } from './resource-check.ts'

const tokenKeys = ['issuer', 'audience', 'jwks', 'resource', 'algorithms', 'claims']
const tokensPath = ['settings', 'auth', 'tokens']

export function checkTokens(settings: unknown, context: DeclarationCheck): void {
  const auth = isObject(settings) && isObject(settings.auth) ? settings.auth : {}
  checkHeader(auth.apiKeyHeader, context)
  checkCredentialFilters(context)
  if (!isObject(auth.tokens)) return
  const { tokens } = auth as { tokens: UncheckedObject }
  checkKnownKeys(tokensPath, tokens, tokenKeys, [], context)
  checkTexts(tokens, context)
  checkAlgorithms(tokens.algorithms, context)
  const { claims } = tokens
  if (claims === undefined) return
  if (!isObject(claims))
    report(context, [...tokensPath, 'claims'], `\`claims\` is ${valueInWords(claims)}.`, claimsMend)
  else {
    checkKnownKeys([...tokensPath, 'claims'], claims, ['id', 'scopes', 'account', 'tier', 'features'], [], context)
    for (const [name, claim] of Object.entries(claims))
      if (typeof claim !== 'string' || claim === '' || claim === '/')
        report(context, [...tokensPath, 'claims', name], `The claim is ${valueInWords(claim)}.`, claimsMend)
  }
}

/** Headers that cannot carry API keys, as they have another meaning; cookies never authenticate. R163. */
const reservedHeaders =
  /^(authorization|proxy-.*|cookie2?|host|origin|accept(-.*)?|content-.*|if-.*|idempotency-key|version|prefer|date|connection|transfer-encoding|upgrade|expect|range|forwarded|x-forwarded-.*|traceparent|request-id|user-agent|referer|te|trailer|via|cache-control)$/i

function checkHeader(header: unknown, context: DeclarationCheck): void {
  if (typeof header !== 'string' || !reservedHeaders.test(header)) return
  const reason = `The header ${header} is reserved for another purpose.`
  report(context, ['settings', 'auth', 'apiKeyHeader'], reason, "Write another one, as apiKeyHeader: 'X-API-Key'.")
}

/** Parameters named like a credential are refused, so no filter can have such a name. R164. */
function checkCredentialFilters({ resources, settings, ...context }: DeclarationCheck): void {
  const names = settings.auth.credentialNames.map((name) => name.toLowerCase())
  for (const [name, declaration] of Object.entries(resources)) {
    const fields = isObject(declaration) && isObject(declaration.fields) ? declaration.fields : {}
    for (const [field, one] of Object.entries(fields)) {
      if (!names.includes(field.toLowerCase()) || !isObject(one) || !isObject(one.options) || !one.options.filter)
        continue
      const reason = `\`${field}\` is one of auth.credentialNames, which are refused in URLs, so lists cannot be filtered by it.`
      const mend = 'Leave out `filter`, or remove the name from auth.credentialNames.'
      report(context, ['resources', name, 'fields', field], reason, mend)
    }
  }
}

const claimsMend =
  "Write names of claims, as claims: { scopes: 'scope', tier: 'tier' }; nested ones as '/realm_access/roles'."

function checkTexts({ issuer, audience, jwks, resource }: UncheckedObject, context: DeclarationCheck): void {
  if (typeof issuer !== 'string' || issuer === '')
    report(
      context,
      [...tokensPath, 'issuer'],
      '`issuer` has to be a string that is not empty.',
      "Write the `iss` claim of the tokens, as issuer: 'https://login.example.com/'.",
    )
  if (typeof audience !== 'string' || audience === '')
    report(
      context,
      [...tokensPath, 'audience'],
      '`audience` has to be a string that is not empty; otherwise tokens for other services would be accepted.',
      "Write the `aud` claim of the tokens, as audience: 'https://api.example.com'.",
    )
  if (!isSafe(jwks))
    report(
      context,
      [...tokensPath, 'jwks'],
      `\`jwks\` is ${valueInWords(jwks)}, which is not an https URL without a user name.`,
      "Write the URL of the issuer's public keys, as jwks: 'https://login.example.com/.well-known/jwks.json'; http is allowed for localhost only.",
    )
  if (resource === undefined ? typeof audience === 'string' && audience !== '' && !isUrl(audience) : !isUrl(resource))
    report(
      context,
      [...tokensPath, 'resource'],
      'The URL of this service is not known.',
      "Write it, as resource: 'https://api.example.com'; an audience that is a URL is enough.",
    )
}

const isUrl = (value: unknown): boolean =>
  typeof value === 'string' && /^https?:\/\/[^?#]+$/.test(value) && URL.canParse(value)

/** Keys fetched over unencrypted HTTP could be forged; only localhost is allowed without TLS, for development. */
function isSafe(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, hostname, username } = new URL(value)
  const here = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  return username === '' && (protocol === 'https:' || (protocol === 'http:' && here))
}

function checkAlgorithms(declared: unknown, context: DeclarationCheck): void {
  if (declared === undefined) return
  const algorithms: readonly unknown[] = tokenAlgorithms
  const all: readonly unknown[] = Array.isArray(declared) ? declared : []
  const at = [...tokensPath, 'algorithms']
  const mend = `Write some of ${tokenAlgorithms.join(', ')}.`
  if (all.length === 0) report(context, at, `\`algorithms\` is ${valueInWords(declared)}.`, mend)
  for (const one of all.filter((one) => !algorithms.includes(one)))
    report(context, at, `${valueInWords(one)} is not an accepted signature algorithm.`, mend)
}
