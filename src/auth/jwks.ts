/** The public keys of an authorization server, as they are now: fetched, kept, and fetched again when they change. Part 5, authentication. */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { Problem } from '../errors/problem.ts'
import { isObject } from '../fields/value-check.ts'

const keySetLife = 10 * 60_000
const coolDown = 30_000
/** A server that does not answer is asked again after so long. */
const pause = 5000
const patience = 5000
const mostBytes = 1024 * 1024

/** Fetches the text of a URL. */
export type FetchText = (url: string) => Promise<string>

/** Not followed elsewhere, not waited for without end, and not read without bound. */
export const fetchText: FetchText = async (url) => {
  const answer = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(patience),
    headers: { accept: 'application/jwk-set+json, application/json' },
  })
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}.`)
  let text = ''
  for await (const chunk of (answer.body ?? new Blob().stream()).pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (text.length > mostBytes) throw new Error(`${url} sent more than ${mostBytes} bytes.`)
  }
  return text
}

/** Gives the key that a token was signed with. */
// long because: its steps share what was fetched
export function keySet(url: string, get: FetchText, now: () => number): JWTVerifyGetKey {
  let keys: ReturnType<typeof createLocalJWKSet> | null = null
  let fetched = 0
  let asked = Number.NEGATIVE_INFINITY
  let underWay: Promise<void> | null = null
  let failure: unknown = null

  async function load(): Promise<void> {
    asked = now()
    try {
      keys = createLocalJWKSet(usableKeys(JSON.parse(await get(url))))
      fetched = now()
      failure = null
    } catch (error) {
      failure = error
    }
  }

  /** Those who need the same keys wait for one answer; a server that has just been asked is left in peace. */
  function again(unlessWithin: number): Promise<void> {
    if (underWay) return underWay
    if (now() - asked < unlessWithin) return Promise.resolve()
    underWay = load().finally(() => {
      underWay = null
    })
    return underWay
  }

  return async (header, token) => {
    if (!keys) await again(pause)
    else if (now() - fetched > keySetLife) void again(coolDown) // the known keys serve on meanwhile, and when it does not answer
    if (!keys) throw keysUnreachable(failure)
    try {
      return await keys(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      await again(failure ? pause : coolDown) // keys change: one that is not known may be new
      if (failure) throw keysUnreachable(failure)
      return keys(header, token)
    }
  }
}

/** One entry that is no key does not take the others with it. */
function usableKeys(set: JSONWebKeySet): JSONWebKeySet {
  return Array.isArray(set?.keys) ? { ...set, keys: set.keys.filter((key) => isObject(key)) } : set
}

/** Whether the token is good cannot be told: that is no fault of it, and none of its sender. */
const keysUnreachable = (cause: unknown): Problem =>
  new Problem('dependency-unavailable', 'The keys that tokens are verified with cannot be fetched. Try again later.', {
    cause,
  })
