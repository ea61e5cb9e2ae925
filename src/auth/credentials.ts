/** Credentials: reads the credential of a call, from its headers only, and makes the challenges. Part 5, authentication. */
import { Problem } from '../errors/problem.ts'
import { type Call, headerLines } from '../flow/call.ts'
import type { RequestContext } from '../flow/intent.ts'
import type { Route } from '../flow/route.ts'
import { patchedNames } from '../resources/json-patch.ts'
import type { Settings } from '../settings.ts'
import { hasValidChecksum } from './keys.ts'

type AuthScheme = Pick<Settings['auth'], 'apiKeyHeader' | 'credentialNames'>

const bearer = /^bearer(?: +(.*))?$/i

/** A credential as the client sent it. */
export interface PresentedCredential {
  readonly text: string
  /** Whether it came in the header for API keys, which does not accept tokens. */
  readonly inKeyHeader: boolean
}

/** The credential of a call; null if there is none, or one of an unknown scheme. R163, R167. */
export function credentialIn(
  call: Call,
  { apiKeyHeader }: Pick<AuthScheme, 'apiKeyHeader'>,
): PresentedCredential | null {
  const { authorization } = call.headers
  const own = apiKeyHeader === null ? undefined : call.headers[apiKeyHeader.toLowerCase()]
  if (authorization === undefined && own === undefined) return null
  const match = bearer.exec(authorization?.trim() ?? '')
  const token = match ? (match[1] ?? '').trim() : null
  if (authorization !== undefined && headerLines(call, 'authorization').length > 1) throw ambiguousCredentials()
  if (apiKeyHeader !== null && own !== undefined && headerLines(call, apiKeyHeader.toLowerCase()).length > 1)
    throw ambiguousCredentials()
  if ((token !== null && own !== undefined) || token?.includes(',') || own?.includes(',')) throw ambiguousCredentials()
  if (own !== undefined) return { text: own.trim(), inKeyHeader: true }
  return token === null ? null : { text: token, inKeyHeader: false }
}

const ambiguousCredentials = (): Problem =>
  new Problem('ambiguous-credentials', 'The request carries more than one credential. Send one, in one header line.')

/** Refuses a credential in the query string, as URLs are logged in many places. R164. */
export function refuseCredentialsInTarget(
  target: string,
  { credentialNames }: Pick<AuthScheme, 'credentialNames'>,
): void {
  const start = target.indexOf('?')
  if (start >= 0) refuseCredentialsInForm(target.slice(start + 1), credentialNames, 'query')
}

/**
 * As `refuseCredentialsInTarget`, for OPTIONS, except that a preflight is answered: the page can then read the error of its
 * actual request. R164, R174.
 */
export function refuseCredentialsInOptions(
  { target, headers }: Pick<Call, 'target' | 'headers'>,
  scheme: Pick<AuthScheme, 'credentialNames'>,
): void {
  if (headers['access-control-request-method'] === undefined) refuseCredentialsInTarget(target, scheme)
}

/** As `refuseCredentialsInTarget`, for the body: a form, an object or a JSON Patch. A declared field may have such a name. R164. */
export function refuseCredentialsInBody(
  { body, patch }: Pick<RequestContext, 'body' | 'patch'>,
  { about, resource: { byName, settings } }: Pick<Route, 'about' | 'resource'>,
): void {
  if (body === null) return
  const patched = patch && patchedNames(patch)
  const { credentialNames } = settings.auth
  if (about.body === 'form') refuseCredentialsInForm(String(body.form), credentialNames, 'body')
  else
    for (const name of credentialNames)
      if ((Object.hasOwn(body, name) || patched?.has(name)) && !byName.has(name))
        throw misplacedCredential(name, 'body')
}

function refuseCredentialsInForm(text: string, names: readonly string[], place: 'query' | 'body'): void {
  for (const pair of text.split('&')) {
    const cut = /[=[]|%5b|%3d/i.exec(pair)
    const name = decodeOrKeep(cut ? pair.slice(0, cut.index) : pair).toLowerCase()
    const match = names.find((one) => one.toLowerCase() === name)
    if (match !== undefined) throw misplacedCredential(match, place)
  }
}

function decodeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // refused later, when the parameters are read
  }
}

/** An API key to the end of its path segment, also if its underscore was mangled. */
const keyPattern = /bylaw(?:_|[^0-9a-z/]+(?=[^/]{16}))[^/]*/gi
/** Words joined by two or more dots, and where the header of an access token begins in them. */
const dottedWords = /(?<![\w-])[\w-]+(?:\.[\w-]*){2,}/g
const tokenPattern = /e(?:y[ABIJ]|w[klop01])[\w-]{10,}\..*/
/** A possible API key without its prefix: the checksum decides; runs longer than any id are always redacted. */
const keyRun = /[0-9A-Za-z]{49,}/g
const mostOfKeyRun = 128
const escapePattern = /%(?:u00)?([0-9a-f]{2})/gi
/** An ASCII character in an overlong UTF-8 encoding, which lenient log readers accept. */
const overlongPattern = /([\xc0\xc1]|\xe0[\x80\x81]|\xf0\x80[\x80\x81])([\x80-\xbf])/g
/** Matches any text that the rules above could change. A quick check: every request is logged, and few texts match. */
const suspectPattern = /[%\x7f-\uffff]|bylaw|(?<![0-9a-z])[0-9a-z]{49}|\.[\w-]*\./i
const mostLayers = 8
const redactedMark = '***'

/** Redacts everything in a log text that looks like an API key or an access token, percent-encoded or not. R164, R172. */
export function redact(text: string): string {
  if (!suspectPattern.test(text)) return text
  const plain = unescapeAll(text)
  if (plain === null) return redactedMark
  const redacted = plain
    .replace(keyPattern, redactedMark)
    .replace(dottedWords, (words) => words.replace(tokenPattern, redactedMark))
    .replace(keyRun, (one) => (one.length > mostOfKeyRun || holdsKey(one) ? redactedMark : one))
  // JSON does not escape these control characters, and terminals interpret them.
  return (redacted === plain ? text : redacted).replace(/[\x7f-\x9f]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
}

/** Decodes all layers of escapes; null if there are more layers than any honest text has. */
function unescapeAll(text: string): string | null {
  let plain = text
  for (let layer = 0; plain.includes('%') || layer === 0; layer++) {
    const before = plain
    plain = plain
      .replace(escapePattern, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
      .replace(overlongPattern, (_, lead: string, last: string) =>
        String.fromCharCode(((lead.charCodeAt(lead.length - 1) & 1) << 6) | (last.charCodeAt(0) & 63)),
      )
    if (plain === before) break
    if (layer === mostLayers) return null
  }
  return plain
}

const holdsKey = (text: string): boolean =>
  [text.slice(0, 49), text.slice(-49)].some((one) => hasValidChecksum(`bylaw_${one}`))

function misplacedCredential(name: string, place: 'query' | 'body'): Problem {
  const message = `${name} looks like a credential, which is accepted in headers only. Send Authorization: Bearer, and replace the credential: it may have been logged.`
  return new Problem('credentials-in-url', message, { extra: { in: place, name } })
}

/** The challenge of a 401; with tokens it names the metadata that says where to get one. R165, R171. */
export const challengeOf = (realm: string, metadata: string | null): string =>
  `Bearer realm="${realm}"${metadata === null ? '' : `, resource_metadata="${metadata}"`}`

/** R166: missing credentials are not an error of the credentials, so the challenge has no error code. */
export const missingCredentials = (challenge: string, { apiKeyHeader }: Pick<AuthScheme, 'apiKeyHeader'>): Problem =>
  new Problem(
    'credentials-missing',
    `This needs credentials. Send an API key or an access token as Authorization: Bearer …${apiKeyHeader === null ? '' : `, or an API key as ${apiKeyHeader}: …`}.`,
    { headers: { 'WWW-Authenticate': challenge } },
  )

export const invalidCredentials = (challenge: string, message: string): Problem =>
  new Problem('invalid-credentials', message, {
    headers: { 'WWW-Authenticate': `${challenge}, error="invalid_token"` },
  })
