/** Key set: fetches and caches the public keys of an authorization server, and refreshes them. Part 5, authentication. */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { Problem } from '../errors/problem.ts'
import { isObject } from '../fields/value-check.ts'
import type { World } from '../flow/world.ts'

const keySetLife = 10 * 60_000
const coolDown = 30_000
/** How long to wait before the next fetch if the server does not answer. */
const pause = 5000
const patience = 5000
const mostBytes = 1024 * 1024

/** Fetches the text of a URL. */
export type FetchText = (url: string) => Promise<string>

/** Fetches without redirects, with a timeout and a size limit. */
export const textFetcher =
  ({ inBackground }: World): FetchText =>
  async (url) => {
    const timeout = new AbortController()
    inBackground(patience, () => timeout.abort(new Error(`${url} did not answer in time.`)))
    const answer = await fetch(url, {
      redirect: 'error',
      signal: timeout.signal,
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

/** Finds the key that a token was signed with. */
// long because: its functions share the fetched keys
export function keySet(url: string, get: FetchText, now: () => number): JWTVerifyGetKey {
  let keys: ReturnType<typeof createLocalJWKSet> | null = null
  let fetched = 0
  let fetchedAt = Number.NEGATIVE_INFINITY
  let underWay: Promise<void> | null = null
  let failure: unknown = null

  async function load(): Promise<void> {
    fetchedAt = now()
    try {
      keys = createLocalJWKSet(usableKeys(JSON.parse(await get(url))))
      fetched = now()
      failure = null
    } catch (error) {
      failure = error
    }
  }

  /** Concurrent callers share one fetch; does nothing if the last fetch began less than `unlessWithin` ago. */
  function again(unlessWithin: number): Promise<void> {
    if (underWay) return underWay
    if (now() - fetchedAt < unlessWithin) return Promise.resolve()
    underWay = load().finally(() => {
      underWay = null
    })
    return underWay
  }

  return async (header, token) => {
    if (!keys) await again(pause)
    else if (now() - fetched > keySetLife) void again(coolDown) // refresh in the background; cached keys stay in use
    if (!keys) throw keysUnreachable(failure)
    try {
      return await keys(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      await again(failure ? pause : coolDown) // an unknown key may be a new one
      if (failure) throw keysUnreachable(failure)
      return keys(header, token)
    }
  }
}

/** Ignores entries that are not keys, so that one of them does not make the whole set unusable. */
function usableKeys(set: JSONWebKeySet): JSONWebKeySet {
  return Array.isArray(set?.keys) ? { ...set, keys: set.keys.filter((key) => isObject(key)) } : set
}

/** The error if keys cannot be fetched: the token cannot be verified, which is not the client's fault. */
const keysUnreachable = (cause: unknown): Problem =>
  new Problem('dependency-unavailable', 'The keys that tokens are verified with cannot be fetched. Try again later.', {
    cause,
  })
