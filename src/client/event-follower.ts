/** Event follower: the stream of events as an iterator that resumes after the last event. Part 6. R213. */
import { mostSilence, serverSentEvents } from '../formats/server-sent-events.ts'
import { ApiError, apiErrorOf } from './api-error.ts'
import { type Exchange, isTemporary, pauseBefore, pauseFor } from './exchange.ts'

export interface EventTerms {
  readonly types?: readonly string[]
  readonly resources?: readonly string[]
  readonly item?: string
  readonly after?: string
  readonly since?: string
}

/** Where the stream goes on. */
interface StreamPosition {
  lastId: string | undefined
  since: string | undefined
  opened: boolean
}

/**
 * Follows the events until the consumer leaves or `signal` aborts. It fails if the first stream cannot be opened in time, or
 * if an error is permanent.
 */
export async function* followStream(
  exchange: Exchange,
  terms: EventTerms,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown, void, undefined> {
  const position: StreamPosition = { lastId: terms.after, since: terms.since, opened: false }
  const { end } = exchange.begin()
  for (let tries = 1; ; tries++) {
    let failure: ApiError
    try {
      for await (const event of eventsFrom(exchange, terms, position, signal)) {
        tries = 0
        yield event
      }
      failure = new ApiError('no-answer', 'The stream of events ended.')
    } catch (cause) {
      signal?.throwIfAborted()
      failure =
        cause instanceof ApiError ? cause : new ApiError('no-answer', 'The stream of events was cut.', { cause })
    }
    if (!isTemporary(failure) || (!position.opened && performance.now() >= end)) throw failure
    await pauseFor(pauseBefore(Math.max(1, tries), failure.retryAfter, Math.random()), signal)
  }
}

/** The events of one connection. */
async function* eventsFrom(
  exchange: Exchange,
  terms: EventTerms,
  position: StreamPosition,
  signal: AbortSignal | undefined,
) {
  const ending = new AbortController()
  const both = signal ? AbortSignal.any([signal, ending.signal]) : ending.signal
  const silence = () => {
    const timer = setTimeout(() => ending.abort(), mostSilence)
    return () => clearTimeout(timer)
  }
  const opened = silence()
  try {
    const response = await openStream(exchange, terms, position, both).finally(opened)
    position.opened = true
    const date = Date.parse(response.headers.get('date') ?? '')
    if (!Number.isNaN(date)) position.since ??= new Date(date).toISOString()
    for await (const { id, text } of serverSentEvents(response.body, silence)) {
      if (id === undefined)
        throw new ApiError(
          'events-missed',
          `Events after ${position.lastId} are no longer kept. Read the items themselves, and follow without \`after\`.`,
          { status: 200 },
        )
      position.lastId = id
      if (text !== undefined) yield JSON.parse(text)
    }
  } finally {
    ending.abort()
  }
}

async function openStream(
  exchange: Exchange,
  { types, resources, item }: EventTerms,
  { lastId, since }: StreamPosition,
  signal: AbortSignal,
): Promise<Response> {
  const from = lastId === undefined ? since : undefined
  const pairs = Object.entries({ type: setOf(types), resource: setOf(resources), item, since: from })
  const query = new URLSearchParams(pairs.filter((pair): pair is [string, string] => pair[1] !== undefined))
  const resume = lastId === undefined ? {} : { 'last-event-id': lastId }
  const headers = await exchange.headers({ accept: 'text/event-stream', ...resume })
  const request = { method: 'GET', path: '/events', query: `?${query}` }
  const response = await exchange.fetch(request, { headers, signal })
  exchange.notify(request, response.headers)
  if (response.ok && response.headers.get('content-type')?.startsWith('text/event-stream')) return response
  const body = await response.json().catch(() => undefined)
  throw apiErrorOf(response.status, response.headers, body)
}

const setOf = (names: readonly string[] | undefined): string | undefined => names && `in:(${names.join(',')})`
