/** Exchange: sends a request, again as long as that is safe, and reads its answer. Part 1, requests. */

import { answerLinks } from './answer-links.ts'
import { ApiError, apiErrorOf } from './api-error.ts'
import type { ClientCallOptions, ClientOptions } from './client-types.ts'

/** The time limits of a call with all its requests. */
export interface CallTime {
  readonly end: number
  readonly signal: AbortSignal | undefined
}

export interface ApiRequest {
  readonly method: string
  /** Below the URL of the service: `/orders/ord_1`. */
  readonly path: string
  /** The query, with its question mark. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface ApiAnswer {
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the body of any answer
  readonly body: any
}

const firstPause = 200
const longestPause = 8000
const defaultTimeout = 10_000
const defaultDeadline = 30_000
const safeMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'DELETE']

/** Sends the requests of one client. */
export class Exchange {
  readonly #options: ClientOptions<unknown>
  readonly #url: string

  constructor(options: ClientOptions<unknown>) {
    const { href, search, hash, username } = new URL(options.url)
    if (search + hash + username !== '')
      throw new TypeError('The `url` of a client has no query, fragment or credentials. Write a key as `key`.')
    this.#options = options
    this.#url = href.replace(/\/+$/, '')
  }

  begin({ signal, deadline = this.#options.deadline ?? defaultDeadline }: ClientCallOptions = {}): CallTime {
    return { end: performance.now() + deadline, signal }
  }

  /** Sends a request until it has an answer that is not temporary, if it may be repeated, and the time of the call is not over. */
  async send(request: ApiRequest, time: CallTime): Promise<ApiAnswer> {
    const mayRepeat = isRepeatable(request)
    let lost = false
    for (let tries = 1; ; tries++) {
      const answer = await this.#try(request, time)
      if (!(answer instanceof ApiError)) return answer
      lost ||= isLost(answer)
      const wait = pauseBefore(tries, answer.retryAfter, Math.random())
      if (!mayRepeat || !isTemporary(answer) || performance.now() + wait >= time.end)
        throw Object.assign(answer, { uncertain: lost && request.method !== 'GET' })
      await pauseFor(wait, time.signal)
    }
  }

  async #try(request: ApiRequest, time: CallTime): Promise<ApiAnswer | ApiError> {
    const signal = this.#signal(time)
    const sent = await this.#prepare(request)
    const answered = await this.#fetchText(request, { ...sent, signal }).catch((cause: unknown) => {
      time.signal?.throwIfAborted()
      return noAnswer(request, cause)
    })
    if (answered instanceof ApiError) return answered
    this.notify(request, answered.response.headers)
    return this.#read(request.method, answered.response, answered.text)
  }

  /** Sends a request once, without a deadline, as its content or answer may be long; only its signal ends it. */
  async pass(
    request: ApiRequest,
    { headers, ...init }: Omit<RequestInit, 'headers'> & { readonly headers?: Record<string, string> },
  ): Promise<Response> {
    init.signal?.throwIfAborted()
    // `fetch` sends a stream only with `duplex: 'half'`: the answer is read after the content is sent.
    const options = { headers: await this.headers(headers), ...init, duplex: 'half' } as const
    const response = await this.fetch(request, options).catch((cause: unknown) => {
      init.signal?.throwIfAborted()
      throw noAnswer(request, cause)
    })
    this.notify(request, response.headers)
    if (response.ok) return response
    throw apiErrorOf(response.status, response.headers, parsed(await response.text()))
  }

  async #fetchText(request: ApiRequest, init: RequestInit): Promise<{ response: Response; text: string }> {
    const response = await this.fetch(request, init)
    return { response, text: await response.text() }
  }

  /** Sends a request once, and resolves with any answer. */
  fetch({ method, path, query = '' }: ApiRequest, init: RequestInit): Promise<Response> {
    const { fetch = globalThis.fetch } = this.#options
    return fetch(`${this.#url}${path}${query}`, { ...init, method, redirect: 'manual' })
  }

  #signal({ end, signal }: CallTime): AbortSignal {
    signal?.throwIfAborted()
    const { timeout = defaultTimeout } = this.#options
    const late = AbortSignal.timeout(Math.max(1, Math.min(timeout, Math.ceil(end - performance.now()))))
    return signal ? AbortSignal.any([signal, late]) : late
  }

  /** The headers of a request; headers that cannot be sent are a mistake of the caller, not a lost answer. */
  async headers(own: Readonly<Record<string, string>> = {}): Promise<Headers> {
    const { key, version } = this.#options
    const headers = new Headers({ accept: 'application/json', ...own })
    if (key !== undefined) headers.set('authorization', `Bearer ${typeof key === 'function' ? await key() : key}`)
    if (version !== undefined) headers.set('version', version)
    return headers
  }

  async #prepare({ method, headers: own, body }: ApiRequest): Promise<RequestInit> {
    const headers = await this.headers(own)
    if (body === undefined) return { headers }
    headers.set('content-type', method === 'PATCH' ? 'application/merge-patch+json' : 'application/json')
    return { headers, body: JSON.stringify(body) }
  }

  #read(method: string, { status, ok, headers }: Response, text: string): ApiAnswer | ApiError {
    const body = parsed(text)
    if (!ok || (body === undefined && (status !== 204 || method === 'GET'))) return apiErrorOf(status, headers, body)
    const { version } = this.#options
    const answered = headers.get('version')
    if (version === undefined || answered === null || answered === version) return { headers, body: body ?? null }
    const message = `The answer is of ${answered}, not of ${version}. The service may not accept the header Version: put the version into the \`url\`.`
    return new ApiError('version-mismatch', message, { status, headers })
  }

  /** Tells the user of deprecations. What the callback throws is thrown by the call. */
  notify({ method, path }: ApiRequest, headers: Headers): void {
    const deprecation = headers.get('deprecation')
    if (deprecation === null) return
    const links = answerLinks(headers)
    const sunset = headers.get('sunset')
    this.#options.onDeprecation?.({
      ...{ method, path, deprecation, sunset: sunset === null ? null : new Date(sunset) },
      ...{ guide: links.get('deprecation') ?? null, successor: links.get('successor-version') ?? null },
    })
  }
}

function noAnswer({ method, path }: ApiRequest, cause: unknown): ApiError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new ApiError('no-answer', `${method} ${path} got no answer: ${why}`, { cause })
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether a request may be sent again: PUT and PATCH only with `If-Match`, as a repeat is then refused; POST only with an
 * idempotency key.
 */
function isRepeatable({ method, headers = {} }: ApiRequest): boolean {
  if (method === 'POST') return 'idempotency-key' in headers
  return safeMethods.includes(method) || 'if-match' in headers
}

/** Whether the same request can succeed later. */
export function isTemporary({ type, status }: ApiError): boolean {
  if (type === 'no-answer' || type === 'idempotency-in-progress' || status === 408 || status === 429) return true
  return status >= 500 && status !== 501 && type !== 'version-conversion-failed'
}

/** Whether the request may have been carried out although its answer does not say so. */
const isLost = ({ type, status }: ApiError): boolean =>
  type === 'no-answer' || status >= 500 || (type === 'unexpected-answer' && status < 400)

/** Twice as long each time, shortened by chance so that clients do not come back together; never before `Retry-After`. */
export function pauseBefore(tries: number, retryAfter: number | null, random: number): number {
  const most = Math.min(longestPause, firstPause * 2 ** (tries - 1))
  return (retryAfter ?? 0) + most * (0.5 + random / 2)
}

export function pauseFor(time: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, time)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
