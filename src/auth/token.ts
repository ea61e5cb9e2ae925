/** Judges access tokens: signed JWTs of one issuer, for this service, within their time. Part 5, authentication. */
import { errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose'
import { Problem } from '../errors/problem.ts'
import { callerOf, isIdentity } from '../flow/credential.ts'
import { type Tokens, tokenAlgorithms } from '../resources/settings.ts'
import { isObject } from '../resources/values.ts'
import type { Verdict } from './verdict.ts'

/** How far the clocks of two machines may be apart. */
const skew = 60_000
/** How long a verified token is not verified again. */
const life = 60_000
const mostLength = 8192

export function judge(tokens: Tokens, keys: JWTVerifyGetKey, now: () => number): (token: string) => Promise<Verdict> {
  const algorithms = [...(tokens.algorithms ?? tokenAlgorithms)]
  const { issuer, audience } = tokens
  return async (token) => {
    if (token.length > mostLength || token.split('.').length !== 3)
      return { refused: 'The credential is neither an API key nor an access token.', guessed: true }
    try {
      const terms = { algorithms, issuer, audience, requiredClaims: ['exp'], clockTolerance: skew / 1000 }
      const payload = await verified(token, keys, { ...terms, currentDate: new Date(now()) })
      return holderOf(payload, tokens, now())
    } catch (error) {
      return refusal(error)
    }
  }
}

/** A token that does not name its key is tried with each key that it may mean. */
async function verified(token: string, keys: JWTVerifyGetKey, terms: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys, terms)).payload
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw isAboutKey(error) ? notSigned() : error
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, terms)).payload
      } catch (one) {
        if (!(one instanceof errors.JWSSignatureVerificationFailed || isAboutKey(one))) throw one
      }
    }
    throw notSigned()
  }
}

const notSigned = (): Error => new errors.JWSSignatureVerificationFailed()

/**
 * Whether a key of the issuer cannot be used: too short for its algorithm, malformed, of a curve that Node does not have. The
 * libraries below report this in errors of their own, and it proves nothing about the token.
 */
const isAboutKey = (error: unknown): boolean => !(error instanceof Problem || error instanceof errors.JOSEError)

/** What is wrong is told only of tokens that the issuer has signed. */
function refusal(error: unknown): Verdict {
  if (error instanceof Problem || !(error instanceof errors.JOSEError)) throw error
  if (error instanceof errors.JWTExpired)
    return { refused: 'The access token has expired. Get a new one.', guessed: false }
  if (error instanceof errors.JWTClaimValidationFailed)
    return {
      refused: `The access token is not for this service, or not now: its claim ${error.claim}.`,
      guessed: false,
    }
  return { refused: 'The access token is not valid: nothing shows that the issuer made it.', guessed: true }
}

function holderOf(payload: JWTPayload, { claims = {}, issuer }: Tokens, now: number): Verdict {
  const { scopes = 'scope', account, tier, features } = claims
  const subject = identity(payload.sub)
  const whose = subject === null ? identity(payload.client_id) : subject
  if (!whose) return unnamed('sub')
  const whoseAccount = account === undefined ? null : identity(at(payload, account))
  if (whoseAccount === undefined) return unnamed(account as string)
  const holder = {
    scopes: words(at(payload, scopes)),
    account: whoseAccount,
    tier: tier === undefined ? null : text(at(payload, tier)),
    features: features === undefined ? [] : words(at(payload, features)),
  }
  const until = Math.min(now + life, (payload.exp as number) * 1000 + skew)
  return { caller: callerOf(`token:${issuer} ${whose}`, holder), until }
}

/** A claim by its name, or a nested one by a JSON Pointer. */
function at(payload: JWTPayload, claim: string): unknown {
  if (!claim.startsWith('/')) return own(payload, claim)
  const names = claim.slice(1).split('/')
  return names.reduce<unknown>((value, name) => own(value, name.replaceAll('~1', '/').replaceAll('~0', '~')), payload)
}

const own = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** Null where there is none; undefined for what cannot be one, which must not pass for none. */
function identity(value: unknown): string | null | undefined {
  if (value === undefined || value === null) return null
  const name = Number.isSafeInteger(value) ? String(value) : value
  return typeof name === 'string' && isIdentity(name) ? name : undefined
}

const unnamed = (claim: string): Verdict => ({
  refused: `The access token does not say whose it is: its claim ${claim} has to be a text of at most 255 characters.`,
  guessed: false,
})

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** A text of words, or a list of texts. */
function words(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((word) => word !== '')
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
