/** Token: verifies access tokens: signed JWTs of one issuer, for this service, not expired. Part 5, authentication. */
import { errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose'
import { Problem } from '../errors/problem.ts'
import { isObject } from '../fields/value-check.ts'
import { callerOf, isIdentity } from '../flow/credential.ts'
import { type TokenSettings, tokenAlgorithms } from '../settings.ts'
import type { AuthVerdict } from './verdict.ts'

/** How far the clocks of two machines may differ, in milliseconds. */
const clockSkew = 60_000
/** How long a verified token is cached, in milliseconds. */
const verifiedLife = 60_000
const mostLength = 8192

export function makeTokenJudge(
  tokens: TokenSettings,
  keys: JWTVerifyGetKey,
  now: () => number,
): (token: string) => Promise<AuthVerdict> {
  const algorithms = [...(tokens.algorithms ?? tokenAlgorithms)]
  const { issuer, audience } = tokens
  return async (token) => {
    if (token.length > mostLength || token.split('.').length !== 3)
      return { refused: 'The credential is neither an API key nor an access token.', guessed: true }
    try {
      const terms = { algorithms, issuer, audience, requiredClaims: ['exp'], clockTolerance: clockSkew / 1000 }
      const payload = await verifyToken(token, keys, { ...terms, currentDate: new Date(now()) })
      return tokenVerdict(payload, tokens, now())
    } catch (error) {
      return tokenRefusal(error)
    }
  }
}

/** Verifies a token; if it does not name its key, tries each key that may match. */
async function verifyToken(token: string, keys: JWTVerifyGetKey, terms: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys, terms)).payload
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw isAboutKey(error) ? notSignedError() : error
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, terms)).payload
      } catch (one) {
        if (!(one instanceof errors.JWSSignatureVerificationFailed || isAboutKey(one))) throw one
      }
    }
    throw notSignedError()
  }
}

const notSignedError = (): Error => new errors.JWSSignatureVerificationFailed()

/**
 * Whether a key of the issuer is unusable: too short for its algorithm, malformed, or of a curve that Node does not support.
 * The crypto libraries report this in errors of their own, which say nothing about the token.
 */
const isAboutKey = (error: unknown): boolean => !(error instanceof Problem || error instanceof errors.JOSEError)

/** Gives the reason only for tokens that the issuer has signed. */
function tokenRefusal(error: unknown): AuthVerdict {
  if (error instanceof Problem || !(error instanceof errors.JOSEError)) throw error
  if (error instanceof errors.JWTExpired)
    return { refused: 'The access token has expired. Get a new one.', guessed: false }
  if (error instanceof errors.JWTClaimValidationFailed)
    return {
      refused: `The access token is not for this service, or not now: its claim ${error.claim}.`,
      guessed: false,
    }
  return { refused: 'The access token is not valid: its signature cannot be verified.', guessed: true }
}

function tokenVerdict(payload: JWTPayload, { claims = {}, issuer }: TokenSettings, now: number): AuthVerdict {
  const { id, scopes = 'scope', account, tier, features } = claims
  const subject = identityClaim(payload.sub)
  const whose = subject === null ? identityClaim(payload.client_id) : subject
  if (!whose) return unnamedHolder('sub')
  const own = id === undefined ? `token:${issuer} ${whose}` : identityClaim(claimAt(payload, id))
  if (!own || (id !== undefined && otherCallers.test(own)))
    return unnamedHolder(id as string, ' that does not begin with key:, token: or account:')
  const whoseAccount = account === undefined ? null : identityClaim(claimAt(payload, account))
  if (whoseAccount === undefined) return unnamedHolder(account as string)
  const holder = {
    scopes: wordsClaim(claimAt(payload, scopes)),
    account: whoseAccount,
    tier: tier === undefined ? null : textClaim(claimAt(payload, tier)),
    features: features === undefined ? [] : wordsClaim(claimAt(payload, features)),
  }
  const until = Math.min(now + verifiedLife, (payload.exp as number) * 1000 + clockSkew)
  return { caller: callerOf(own, holder), until }
}

/** The beginnings of the ids of other callers, which a claim must not imitate. */
const otherCallers = /^(key|token|account):/

/** A claim by its name, or a nested one by a JSON Pointer. */
function claimAt(payload: JWTPayload, claim: string): unknown {
  if (!claim.startsWith('/')) return ownMember(payload, claim)
  const names = claim.slice(1).split('/')
  return names.reduce<unknown>(
    (value, name) => ownMember(value, name.replaceAll('~1', '/').replaceAll('~0', '~')),
    payload,
  )
}

const ownMember = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** Null if the claim is missing; undefined if it is invalid, which must not be treated as missing. */
function identityClaim(value: unknown): string | null | undefined {
  if (value === undefined || value === null) return null
  const name = Number.isSafeInteger(value) ? String(value) : value
  return typeof name === 'string' && isIdentity(name) ? name : undefined
}

const unnamedHolder = (claim: string, further = ''): AuthVerdict => ({
  refused: `The access token does not identify its holder: its claim ${claim} has to be a text of at most 255 characters${further}.`,
  guessed: false,
})

const textClaim = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** The words of a text with spaces, or of a list of texts. */
function wordsClaim(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((word) => word !== '')
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
