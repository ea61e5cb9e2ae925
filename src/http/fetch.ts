/** Fetch: serves a standard Request with a standard Response, without a socket. Part 1. */

import { handle } from '../corridor/handle.ts'
import { requestIdOf } from '../corridor/message.ts'
import { stampReply } from '../corridor/reply-headers.ts'
import type { ServerContext } from '../corridor/server-context.ts'
import type { Call, Content } from '../flow/call.ts'
import { clientAddress } from '../flow/network.ts'
import type { AnswerStream, Reply } from '../flow/reply.ts'
import type { Cancel } from '../flow/world.ts'
import { smallAnswer } from '../limits/answer-memory.ts'
import { consumedContent, makeFlow, makeIntake } from '../limits/intake.ts'
import { logAnswer } from './answer-log.ts'
import { brokenStream, cutBody } from './stream.ts'

/**
 * A function that runtimes and tests can call with a Request, and with the address that it came from. It calls `whenRead`, perhaps
 * several times, when its answer has been read.
 */
export function fetchDoor(
  context: ServerContext,
  { logs = false } = {},
): (request: Request, peer?: string, whenRead?: () => void) => Promise<Response> {
  return async (request, peer = '', whenRead?) => {
    const call = callOfRequest(request, peer, context)
    const started = context.world.monotonic()
    const reply = await handle(call, context)
    stampReply(call, reply, context, started)
    const { status, headers, body } = reply
    const held = whenRead ? untilRead(reply.held, whenRead) : reply.held
    if (logs) logAnswer(call, reply, context, started)
    if (reply.stream && call.method !== 'HEAD') {
      const opened = openedStream(reply.stream, held, request.signal, brokenStream(call, context))
      return new Response(opened, { status, headers })
    }
    const sent = call.method === 'HEAD' || !body ? null : body
    if (sent !== null && sent.length > smallAnswer)
      return new Response(streamOf(sent, held, context), { status, headers })
    held?.leave()
    return new Response(sent, { status, headers })
  }
}

/** What an answer holds, with a function that is called when it has been read. */
const untilRead = (held: Reply['held'], whenRead: () => void): NonNullable<Reply['held']> => ({
  set: (bytes) => held?.set(bytes),
  leave: () => {
    held?.leave()
    whenRead()
  },
})

/** A large body as a stream. Its memory counts until it is read, or until the reader pauses longer than the timeout. */
function streamOf(body: string | Uint8Array, stay: Reply['held'], context: ServerContext): ReadableStream<Uint8Array> {
  const pieces = cutBody(body)
  let left = pieces.reduce((sum, { length }) => sum + length, 0)
  let cancel: Cancel | undefined
  const over = (): void => {
    cancel?.()
    pieces.length = 0
    stay?.leave()
  }
  return new ReadableStream({
    pull: (control) => {
      cancel?.()
      const next = pieces.shift()
      if (next) {
        control.enqueue(next)
        left -= next.length
        try {
          stay?.set(left)
        } catch (error) {
          over()
          throw error // breaks off the stream, R162
        }
      }
      if (pieces.length === 0) {
        over()
        return control.close()
      }
      cancel = context.world.inBackground(context.service.settings.limits.writeTimeout, () => {
        over()
        control.error(new Error('The answer was not read in time.'))
      })
    },
    cancel: over,
  })
}

/** A body that is made while it is read. It ends when its reader cancels it, or when the request is aborted. */
// long because: its steps share the state of the stream
function openedStream(
  stream: AnswerStream,
  held: Reply['held'],
  signal: AbortSignal,
  failed: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const text = new TextEncoder()
  let ended = (): void => {}
  let aborted = (): void => {}
  let isWanted = false
  let drained = (): void => {}
  const over = (): void => {
    signal.removeEventListener('abort', aborted)
    ended()
    drained()
    held?.leave()
  }
  if (stream.endless) held?.leave()
  return new ReadableStream<Uint8Array>(
    {
      start: (control) => {
        ended = stream.open({
          write: (piece) => {
            isWanted = false
            control.enqueue(typeof piece === 'string' ? text.encode(piece) : piece)
          },
          ready: () =>
            new Promise((resolve) => {
              drained = resolve
              if (isWanted) resolve()
            }),
          unread: () => -(control.desiredSize ?? 0),
          end: () => {
            over()
            control.close()
          },
          cut: (failure) => {
            over()
            if (failure !== undefined) failed(failure)
            control.error(failure ?? new Error('The stream was not read in time.'))
          },
        })
        aborted = () => {
          over()
          control.error(signal.reason)
        }
        if (signal.aborted) aborted()
        else signal.addEventListener('abort', aborted)
      },
      pull: () => {
        isWanted = true
        drained()
      },
      cancel: over,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  )
}

export function callOfRequest(request: Request, peer: string, context: ServerContext): Call {
  const { host, pathname, search } = new URL(request.url)
  const sent = Object.fromEntries(request.headers)
  const raw = Object.entries({ host, ...sent }).flat()
  const streamed = request.body !== null && sent['content-length'] === undefined
  return {
    method: request.method,
    target: pathname + search,
    authority: null,
    http: '1.1',
    headers: streamed ? { host, 'transfer-encoding': 'chunked', ...sent } : { host, ...sent },
    raw,
    id: requestIdOf(sent['request-id'], context.world),
    content: contentOf(request, context),
    address: clientAddress(peer, sent['x-forwarded-for'], context.proxies ?? []),
    gone: () => request.signal.aborted,
    halfClosed: () => request.signal.aborted,
  }
}

/** The content as it is read. `body` is read only once, as its getter creates the stream. */
function contentOf(request: Request, { service, world }: ServerContext): Content | null {
  const { body } = request
  const pieces = () => {
    if (request.bodyUsed || body?.locked) throw consumedContent()
    // A host may close the connection when content is cancelled, before it has sent the refusal.
    return (body as ReadableStream<Uint8Array>).values({ preventCancel: true })
  }
  return (
    body && {
      [Symbol.asyncIterator]: () =>
        world.state.of(makeIntake, world).receive(pieces(), service.settings.limits.requestTimeout),
      flow: (...terms) => world.state.of(makeFlow, world)(pieces(), ...terms),
    }
  )
}
