/** All items: exports the items of a list, and imports new ones, as streams of lines. R238. */
import { queryText } from '../lists/where-parameters.ts'
import { importSegment } from '../resources/own-operations.ts'
import { ApiError, apiErrorOf } from './api-error.ts'
import type { ApiRequest, Exchange } from './exchange.ts'
import { newKey } from './item-calls.ts'
import { type ListTerms, listParameters } from './list-pages.ts'

interface StreamOptions {
  readonly signal?: AbortSignal
}

const linesType = 'application/x-ndjson'

/** The items of an export, as they arrive. A broken export is not retried, as it would begin with the first item again. */
export async function* exportedItems(
  exchange: Exchange,
  path: string,
  terms: ListTerms = {},
  options: StreamOptions = {},
): AsyncGenerator<unknown, void, undefined> {
  const request = { method: 'GET', path, query: queryText(listParameters(terms)) }
  const headers = await exchange.headers({ accept: linesType })
  const response = await answered(exchange, request, { headers }, options)
  if (!response.headers.get('content-type')?.startsWith(linesType))
    throw apiErrorOf(response.status, response.headers, undefined)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  const read = () =>
    reader.read().catch((cause: unknown) => {
      options.signal?.throwIfAborted()
      throw new ApiError('no-answer', `The export of ${path} was cut.`, { cause })
    })
  try {
    let rest = ''
    for (let next = await read(); !next.done; next = await read()) {
      const lines = (rest + decoder.decode(next.value, { stream: true })).split('\n')
      rest = lines.pop() as string
      for (const line of lines) yield JSON.parse(line)
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** Sends each item as a line, as fast as the service reads them; resolves with its report. */
export async function importItems(
  exchange: Exchange,
  path: string,
  items: Iterable<object> | AsyncIterable<object>,
  { idempotencyKey = newKey(), ...options }: StreamOptions & { readonly idempotencyKey?: string } = {},
): Promise<unknown> {
  const request = { method: 'POST', path: `${path}/${importSegment}` }
  const headers = await exchange.headers({ 'content-type': linesType, 'idempotency-key': idempotencyKey })
  const body = linesOf(items)
  const response = await answered(exchange, request, { headers, body, duplex: 'half' } as RequestInit, options)
  return response.json()
}

async function answered(
  exchange: Exchange,
  request: ApiRequest,
  init: RequestInit,
  { signal }: StreamOptions,
): Promise<Response> {
  const response = await exchange.fetch(request, { ...init, ...(signal && { signal }) }).catch((cause: unknown) => {
    signal?.throwIfAborted()
    throw new ApiError('no-answer', `${request.method} ${request.path} got no answer.`, { cause })
  })
  exchange.notify(request, response.headers)
  if (response.ok) return response
  throw apiErrorOf(response.status, response.headers, await response.json().catch(() => undefined))
}

const mostAtOnce = 65_536

/** The lines of items; each item is read from its source when the receiver takes its line. */
function linesOf(items: Iterable<object> | AsyncIterable<object>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const from = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
  return new ReadableStream({
    pull: async (control) => {
      let text = ''
      while (text.length < mostAtOnce) {
        const { done, value } = await from.next()
        if (done) {
          if (text !== '') control.enqueue(encoder.encode(text))
          control.close()
          return
        }
        text += `${JSON.stringify(value)}\n`
      }
      control.enqueue(encoder.encode(text))
    },
    cancel: async () => {
      await from.return?.()
    },
  })
}
