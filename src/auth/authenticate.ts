/** Authenticate: finds the caller: nobody, or the holder of an API key or a token. Part 5, authentication. */
import { hash } from 'node:crypto'
import type { Call } from '../flow/call.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import { Remembered } from '../flow/remembered.ts'
import type { Store } from '../flow/store.ts'
import type { ServiceWorld } from '../flow/world.ts'
import type { AccessRule } from '../resources/declaration.ts'
import type { Settings } from '../settings.ts'
import {
  credentialIn,
  invalidCredentials,
  missingCredentials,
  type PresentedCredential,
  refuseCredentialsInTarget,
} from './credentials.ts'
import { makeFailureCounter } from './failures.ts'
import { apiKeyTable } from './key-table.ts'
import { isApiKey, keyring } from './keys.ts'
import { type AuthVerdict, isSameCaller } from './verdict.ts'

/** Finds the caller; throws if its credentials are invalid, or missing where the rule needs them. */
export type Authenticate = (call: Call, rule: AccessRule) => Caller | Promise<Caller>

export interface AuthDeps {
  readonly auth: Settings['auth']
  readonly challenge: string
  readonly store: Pick<Store, 'execute' | 'mark' | 'caches'>
  /** The peppers of API keys: the first one seals new keys, all are tried. Empty if no API keys are accepted. */
  readonly peppers: readonly string[]
  /** Verifies an access token; null if tokens are not accepted. */
  readonly tokens: ((token: string) => Promise<AuthVerdict>) | null
  /** Callers known from the start, by their API key. */
  readonly fixedCallers?: ReadonlyMap<string, Caller>
  readonly world: ServiceWorld
}

interface RememberedCaller {
  readonly caller: Caller
  readonly since: number
  readonly until: number
}

/** The limit for the size of all cached callers together, and about the size of one with its key, in characters. */
const [mostCallers, callerSize] = [4_194_304, 400]
const markLife = 10

/** Caches the mark of the store for a few milliseconds, as reading it costs more than all other steps. */
function brieflyCached(look: () => string | null, now: () => number): () => string | null {
  let seen: string | null = null
  let at = Number.NEGATIVE_INFINITY
  return () => {
    const time = now()
    if (time - at >= markLife || time < at) {
      seen = look()
      at = time
    }
    return seen
  }
}

/** Caches callers by the digest of their credential for a short while; a cached one needs no query and no verification. */
// long because: its functions share the caches
export function makeAuthenticate({
  auth,
  challenge,
  store,
  peppers,
  tokens,
  fixedCallers,
  world,
}: AuthDeps): Authenticate {
  const { due: now } = world
  /** Callers, with the mark of the store; null if the store cannot give one synchronously. */
  const remembered = new Remembered<RememberedCaller, string | null>(mostCallers)
  const underWay = new Map<string, Promise<AuthVerdict>>()
  const failed = makeFailureCounter()
  const keys = keyring(store, peppers, world)
  const state = brieflyCached(() => store.mark([apiKeyTable.name]), now)
  const mark = (text: string): string | null => (isApiKey(text) ? state() : null)

  return (call, rule) => {
    refuseCredentialsInTarget(call.target, auth)
    const credential = credentialIn(call, auth)
    if (credential === null) {
      if (rule === 'public') return nobody
      throw missingCredentials(challenge, auth)
    }
    // A valid bearer token is not valid in the header for API keys, so the header is part of the cache key.
    const digest = `${credential.inKeyHeader ? 'key' : 'bearer'} ${hash('sha256', credential.text, 'base64url')}`
    const seen = mark(credential.text)
    const before = store.caches ? remembered.get(digest, seen) : undefined
    const time = now()
    // An entry from the future was cached before the clock was set back.
    if (before && before.since <= time && before.until > time) return before.caller
    const verdict = underWay.get(digest) ?? judged(credential, digest, remembered.latest(digest) ? null : call.address)
    if (!(verdict instanceof Promise)) return acceptOrRefuse(verdict, call, digest, seen)
    return verdict.then((one) => acceptOrRefuse(one, call, digest, seen))
  }

  /** `address` is null if the credential was valid a moment ago, so that its lookup is not throttled. */
  function judged(
    { text, inKeyHeader }: PresentedCredential,
    digest: string,
    address: string | null,
  ): AuthVerdict | Promise<AuthVerdict> {
    const fixed = fixedCallers?.get(text)
    if (fixed) return { caller: fixed, until: Number.POSITIVE_INFINITY }
    if (!isApiKey(text) && (inKeyHeader || tokens === null))
      return { refused: 'The credential is not an API key of this service.', guessed: true }
    const verdict = isApiKey(text) || tokens === null ? keyOf(text, address) : tokens(text)
    if (!(verdict instanceof Promise)) return verdict
    underWay.set(digest, verdict) // concurrent calls with the same credential share one lookup
    const over = () => underWay.delete(digest)
    verdict.then(over, over)
    return verdict
  }

  function keyOf(text: string, address: string | null): AuthVerdict | Promise<AuthVerdict> {
    return address === null ? keys.renew(text) : keys.find(text, address)
  }

  function acceptOrRefuse(verdict: AuthVerdict, { address }: Call, digest: string, seen: string | null): Caller {
    const before = remembered.latest(digest)
    if ('refused' in verdict) {
      remembered.delete(digest)
      if (verdict.guessed) failed.add(address, digest, now()) // after too many failures this throws 429 instead of 401
      throw invalidCredentials(challenge, verdict.refused)
    }
    const caller = before && isSameCaller(before.caller, verdict.caller) ? before.caller : verdict.caller
    remembered.put(digest, seen, { caller, since: now(), until: verdict.until }, callerSize)
    return caller
  }
}
