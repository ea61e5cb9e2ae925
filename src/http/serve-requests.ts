/** Serve requests: hands the requests of both engines to the corridor, those of one connection in their order, and sends the replies. Part 1. */
import type { Socket } from 'node:net'
import { handle } from '../corridor/handle.ts'
import { refuse } from '../corridor/refuse.ts'
import { stampReply } from '../corridor/reply-headers.ts'
import type { ServerContext } from '../corridor/server-context.ts'
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import { type Cancel, elapsedSince } from '../flow/world.ts'
import { smallAnswer } from '../limits/answer-memory.ts'
import { loopInterval, makeLoopState, recordLoopDelay } from '../limits/overload.ts'
import { linger } from '../wire/linger.ts'
import { headText } from '../wire/written-answer.ts'
import { logAnswer } from './answer-log.ts'
import { type EnqueueStep, loopTurns } from './connection.ts'
import { type AnswerBody, brokenStream, makeAnswerReaders, openStream, streamBody } from './stream.ts'

/** A request as an engine has received it: node:http, or our own. */
interface RequestPart {
  readonly socket: Socket
  /** Whether all of the message has arrived. */
  readonly complete: boolean
  /** Why its content will not arrive completely, if the engine leaves the answer to this. */
  readonly failure?: unknown
  /** Discards the content, if nobody reads it. */
  readonly resume: () => unknown
}

/** The response of an engine. */
interface ResponsePart extends AnswerBody {
  readonly headersSent: boolean
  readonly closed: boolean
  readonly writeHead: (status: number, headers: Record<string, string>) => unknown
  end(): unknown
  end(body: string | Uint8Array | null): unknown
  /** Sends a text that is ASCII only. */
  end(body: string, coding: 'latin1'): unknown
}

export interface ServedRequest {
  readonly call: Call
  readonly request: RequestPart
  readonly response: ResponsePart
}

/** Makes the function that answers requests; requests of one connection are answered in their order. */
export function requestListener(context: ServerContext, enqueue: EnqueueStep): (exchange: ServedRequest) => void {
  const turn = loopTurns(context.store, context.world)
  return (exchange) => {
    turn.begin()
    enqueue(exchange.request.socket, (done) => void serve(exchange, context, turn, done))
  }
}

/** Measures the delay of the event loop at an interval. R161. */
export function watchLoop(context: ServerContext): Cancel | undefined {
  const { service, world } = context
  const most = service.settings.limits.loopDelay
  if (most === null) return undefined
  const loop = world.state.of(makeLoopState, null)
  let last = world.monotonic()
  return world.every(loopInterval, () => {
    recordLoopDelay(loop, elapsedSince(world, last) - loopInterval, most)
    last = world.monotonic()
  })
}

type LoopTurns = ReturnType<typeof loopTurns>
type StepDone = (goesOn: boolean) => void

/** An answer that cannot be sent closes its connection; the process goes on. R162. */
export function abandon({ id }: Call, socket: Socket, err: unknown, context: ServerContext): void {
  context.world.state.of(makeAnswerReaders, context).close(socket)
  context.log.error({ requestId: id, err }, 'The answer could not be sent.')
}

async function serve(exchange: ServedRequest, context: ServerContext, turn: LoopTurns, done: StepDone): Promise<void> {
  const { call, request } = exchange
  const { monotonic, nextTurn } = context.world
  const started = monotonic()
  try {
    if (call.content) await null // small content usually arrives with the head, and is readable after this
    const { failure } = request
    const reply = failure === undefined ? await handle(call, context) : refuse(call, context, failure)
    if (call.content && !request.complete) await new Promise<void>(nextTurn) // the rest of its content may have arrived
    turn.send(() => sendAnswer(exchange, reply, context, started, done))
  } catch (error) {
    abandon(call, request.socket, error, context)
  }
}

function sendAnswer(
  exchange: ServedRequest,
  reply: Reply,
  context: ServerContext,
  started: number,
  done: StepDone,
): void {
  const { call, request, response } = exchange
  try {
    const { held } = reply
    const goesOn = writeAnswer(exchange, reply, context, started)
    const over = () => {
      held?.leave()
      done(goesOn)
    }
    if (response.closed) over()
    else response.on('close', over)
  } catch (error) {
    reply.held?.leave()
    abandon(call, request.socket, error, context)
  }
}

/** Sends a last answer on a connection whose engine reads no more requests from it, and closes it. */
export async function answerAndClose(
  call: Call,
  said: () => Promise<Reply> | Reply,
  socket: Socket,
  context: ServerContext,
): Promise<void> {
  const { world } = context
  const started = world.monotonic()
  try {
    const reply = await said()
    reply.held?.leave()
    if (!socket.writable) return
    reply.headers.Connection = 'close'
    stampReply(call, reply, context, started)
    socket.write(replyBytes(call, reply))
    linger(socket, world)
    logAnswer(call, reply, context, started)
  } catch (error) {
    abandon(call, socket, error, context)
  }
}

/** A reply as bytes. */
const replyBytes = ({ method }: Call, { status, headers, body }: Reply): Buffer =>
  Buffer.concat([
    Buffer.from(`${headText(status, headers)}\r\n`, 'latin1'),
    Buffer.from(method === 'HEAD' ? '' : (body ?? '')),
  ])

/** Sends an answer, and returns whether the connection stays open after it. */
export function writeAnswer(
  { call, request, response }: ServedRequest,
  reply: Reply,
  context: ServerContext,
  started: number,
): boolean {
  const { headers, status } = reply
  if (response.headersSent) return headers.Connection !== 'close' // refused before, as its content broke off
  const unread = call.content !== null && !request.complete
  if (unread || !context.open()) headers.Connection = 'close'
  if (unread) request.resume() // else the connection would stall when the buffer is full
  stampReply(call, reply, context, started)
  const body = call.method === 'HEAD' ? null : reply.body
  response.writeHead(status, headers)
  logAnswer(call, reply, context, started)
  const { writeTimeout: timeout } = context.service.settings.limits
  const readers = context.world.state.of(makeAnswerReaders, context)
  const failed = (error: unknown) => abandon(call, request.socket, error, context)
  const isStreamed = reply.stream !== undefined && call.method !== 'HEAD'
  if (isStreamed) openStream(request.socket, response, reply, { readers, failed: brokenStream(call, context) })
  else if (body !== null && body.length > smallAnswer)
    streamBody(request.socket, response, body, { held: reply.held, timeout, readers, failed })
  else if (typeof body === 'string' && body.length === Number(headers['Content-Length'])) response.end(body, 'latin1')
  else response.end(body)
  if (!isStreamed && (body === null || body.length <= smallAnswer)) readers.watch(request.socket, response, timeout)
  return headers.Connection !== 'close'
}
