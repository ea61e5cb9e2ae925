/** Finds out who calls: nobody, the holder of an API key, or that of a token. Part 5, authentication. */
import { hash } from 'node:crypto'
import type { Call } from '../flow/call.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import { apiKeyCollection } from '../flow/credential.ts'
import type { Store } from '../flow/store.ts'
import type { AccessRule } from '../resources/declaration.ts'
import type { Settings } from '../settings.ts'
import { makeFailureCounter } from './failures.ts'
import { isApiKey, keyring } from './keys.ts'
import {
  credentialIn,
  invalidCredentials,
  missingCredentials,
  type PresentedCredential,
  refuseCredentialsInTarget,
} from './scheme.ts'
import { type AuthVerdict, isSameCaller } from './verdict.ts'

/** Who calls, by what came along; it is refused where that is not valid, or where the rule wants more than nothing. */
export type Authenticate = (call: Call, rule: AccessRule) => Caller | Promise<Caller>

export interface AuthDeps {
  readonly auth: Settings['auth']
  readonly challenge: string
  readonly store: Pick<Store, 'execute' | 'mark' | 'caches'>
  /** What keys are sealed with: the first seals new ones, all are tried. None where no keys are taken. */
  readonly peppers: readonly string[]
  /** Judges a token; null where none are taken. */
  readonly tokens: ((token: string) => Promise<AuthVerdict>) | null
  /** Callers that are known from the start, by their API key. */
  readonly known?: ReadonlyMap<string, Caller>
  readonly now: () => number
}

interface RememberedCaller {
  readonly caller: Caller
  readonly since: number
  readonly until: number
  /** The state of the store that it was read from; null where that cannot be told at once. */
  readonly mark: string | null
}

const mostKnown = 10_000
const markLife = 10

/** The state of the store as it was a moment ago at most: asking for it costs more than all the rest. */
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

/** Credentials are remembered by their digest, for a short while: one that is known costs no store and no signature. */
// long because: its steps share what is remembered
export function makeAuthenticate({ auth, challenge, store, peppers, tokens, known, now }: AuthDeps): Authenticate {
  const remembered = new Map<string, RememberedCaller>()
  const underWay = new Map<string, Promise<AuthVerdict>>()
  const failed = makeFailureCounter()
  const keys = keyring(store, peppers, now)
  const state = brieflyCached(() => store.mark([apiKeyCollection]), now)
  const mark = (text: string): string | null => (isApiKey(text) ? state() : null)

  return (call, rule) => {
    refuseCredentialsInTarget(call.target, auth)
    const given = credentialIn(call, auth)
    if (given === null) {
      if (rule === 'public') return nobody
      throw missingCredentials(challenge, auth)
    }
    // A token that is good as a bearer is not good in the header for API keys, so the header is part of what is remembered.
    const digest = `${given.inKeyHeader ? 'key' : 'bearer'} ${hash('sha256', given.text, 'base64url')}`
    const before = remembered.get(digest)
    const time = now()
    // One that was remembered at a later time than now is from before somebody set the clock back.
    const isValid = before && before.since <= time && before.until > time && before.mark === mark(given.text)
    if (isValid && store.caches) return before.caller
    const seen = mark(given.text)
    const verdict = underWay.get(digest) ?? judged(given, digest, before ? null : call.address)
    if (!(verdict instanceof Promise)) return told(verdict, call, digest, seen)
    return verdict.then((one) => told(one, call, digest, seen))
  }

  /** The address is null where the credential was good a moment ago. */
  function judged(
    { text, inKeyHeader }: PresentedCredential,
    digest: string,
    address: string | null,
  ): AuthVerdict | Promise<AuthVerdict> {
    const fixed = known?.get(text)
    if (fixed) return { caller: fixed, until: Number.POSITIVE_INFINITY }
    if (!isApiKey(text) && (inKeyHeader || tokens === null))
      return { refused: 'The credential is not an API key of this service.', guessed: true }
    const verdict = isApiKey(text) || tokens === null ? keyOf(text, address) : tokens(text)
    if (!(verdict instanceof Promise)) return verdict
    underWay.set(digest, verdict) // calls with one credential wait for one answer
    const over = () => underWay.delete(digest)
    verdict.then(over, over)
    return verdict
  }

  function keyOf(text: string, address: string | null): AuthVerdict | Promise<AuthVerdict> {
    return address === null ? keys.renew(text) : keys.find(text, address)
  }

  function told(verdict: AuthVerdict, { address }: Call, digest: string, seen: string | null): Caller {
    const before = remembered.get(digest)
    remembered.delete(digest) // who was seen last stands last
    if ('refused' in verdict) {
      if (verdict.guessed) failed.add(address, digest, now()) // 429 in the place of 401, for failures alone
      throw invalidCredentials(challenge, verdict.refused)
    }
    if (remembered.size >= mostKnown) remembered.delete(remembered.keys().next().value as string)
    const caller = before && isSameCaller(before.caller, verdict.caller) ? before.caller : verdict.caller
    remembered.set(digest, { caller, since: now(), until: verdict.until, mark: seen })
    return caller
  }
}
