/** Node: serves over node:http: reads calls, sends replies, and stops without losing requests. Part 8, termination. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Server as Listener, Socket } from 'node:net'
import { handle } from '../corridor/handle.ts'
import { refuse } from '../corridor/refuse.ts'
import { stampReply } from '../corridor/reply-headers.ts'
import type { ServerContext } from '../corridor/server-context.ts'
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import { type Cancel, elapsedSince } from '../flow/world.ts'
import { smallAnswer } from '../limits/answer-memory.ts'
import { loopInterval, makeLoopState, recordLoopDelay } from '../limits/overload.ts'
import type { Settings } from '../settings.ts'
import { logAnswer } from './answer-log.ts'
import { connectionQueues, discardInput, type EnqueueStep, linger, loopTurns } from './connection.ts'
import { answerEarly, callFrom, type EngineError, engineProblem } from './engine-error.ts'
import { callOf } from './node-call.ts'
import { stopServer } from './stop.ts'
import { brokenStream, makeAnswerReaders, openStream, streamBody } from './stream.ts'

// An import would read every export of the module; one of them loads WebSockets, which takes 15 MB and 20 ms.
const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

export interface NodeServer {
  readonly url: string
  /** Stops taking connections, finishes what was accepted, and ends the rest after the given time. R186. */
  readonly stop: (drain: number) => Promise<void>
}

/** A connection is closed after this many requests, so that the client's next one may reach another process. */
const mostRequests = 10_000

/** Where to listen. */
export interface ListenPlace {
  readonly port: number
  readonly host: string
  /** A socket that is bound already. */
  readonly socket?: Listener
}

/** Starts listening. `open` of the server context must be false before `stop`, so that readiness fails first. */
export async function listen(context: ServerContext, { port, host, socket }: ListenPlace): Promise<NodeServer> {
  const { world } = context
  const enqueue = connectionQueues(world)
  const serveRequest = requestListener(context, enqueue)
  const server = createEngine(context.service.settings.limits)
  server.on('connection', (socket: Socket) => Object.assign(socket, { destroySoon: () => linger(socket, world) }))
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const)
    server.on(event, (request: IncomingMessage, response: ServerResponse) =>
      serveRequest(callOf(request, context, response), request, response),
    )
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    const call = callOf(request, context)
    enqueue(socket, () => void answerAndClose(call, () => handle(call, context), socket, context))
  })
  server.on('clientError', (error: EngineError, socket: Socket) => handleEngineError(error, socket, context, enqueue))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    if (socket) server.listen(socket, resolve)
    else server.listen(port, host, resolve)
  })
  const readers = world.state.of(makeAnswerReaders, context)
  server.on('timeout', readers.close)
  const stopWatch = watchLoop(context)
  const shown = host.includes(':') ? `[${host}]` : host
  return {
    url: `http://${shown}:${(server.address() as AddressInfo).port}`,
    stop: (drain) => stopServer(server, drain, world, readers.resetAll).finally(stopWatch),
  }
}

/** Makes the function that answers the requests of connections, those of one connection in their order. */
export function requestListener(context: ServerContext, enqueue: EnqueueStep) {
  const turn = loopTurns(context.store, context.world)
  const exchanges = context.world.state.of(makeExchanges, null)
  return (call: Call, request: IncomingMessage, response: ServerResponse): void => {
    turn.begin()
    const exchange = { call, request, response }
    exchanges.set(request.socket, exchange)
    enqueue(request.socket, (done) => void serve(exchange, context, turn, done))
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

function createEngine(limits: Settings['limits']): Server {
  const server = createServer({
    maxHeaderSize: limits.headers + limits.url + 1024, // both are counted by the corridor, R179
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    keepAliveTimeout: limits.idleTimeout,
    connectionsCheckingInterval: 1000,
    optimizeEmptyRequests: true,
    requireHostHeader: false, // R17: the corridor refuses it with an error body
  })
  server.maxHeadersCount = 0
  server.maxRequestsPerSocket = mostRequests
  Object.assign(server, { httpAllowHalfOpen: true }) // a client that half-closes the connection gets its answer
  return server
}

/** A request with its response. */
interface NodeExchange {
  readonly call: Call
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

type LoopTurns = ReturnType<typeof loopTurns>
type StepDone = (goesOn: boolean) => void

/** The latest exchange of each connection. */
const makeExchanges = () => new WeakMap<Socket, NodeExchange>()

/** An answer that cannot be sent closes its connection; the process goes on. R162. */
function abandon({ id }: Call, socket: Socket, err: unknown, context: ServerContext): void {
  context.world.state.of(makeAnswerReaders, context).close(socket)
  context.log.error({ requestId: id, err }, 'The answer could not be sent.')
}

async function serve(exchange: NodeExchange, context: ServerContext, turn: LoopTurns, done: StepDone): Promise<void> {
  const { call, request } = exchange
  const { monotonic, nextTurn } = context.world
  const started = monotonic()
  try {
    if (call.content) await null // small content usually arrives with the head, and is readable after this
    const reply = await handle(call, context)
    if (call.content && !request.complete) await new Promise<void>(nextTurn) // the rest of its content may have arrived
    turn.send(() => sendAnswer(exchange, reply, context, started, done))
  } catch (error) {
    abandon(call, request.socket, error, context)
  }
}

function sendAnswer(
  exchange: NodeExchange,
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

/** Answers a parser error: to the request whose content it occurred in, otherwise after all pending answers. R151. */
function handleEngineError(error: EngineError, socket: Socket, context: ServerContext, enqueue: EnqueueStep): void {
  const { world } = context
  const problem = engineProblem(error)
  if (!problem) return void socket.destroy()
  const exchange = world.state.of(makeExchanges, null).get(socket)
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && exchange?.call.content?.isFlowing && !exchange.request.complete)
    return // its content may take longer; node:http reports a request once
  discardInput(socket, world)
  if (exchange && !exchange.request.complete) {
    try {
      writeAnswer(exchange, refuse(exchange.call, context, problem), context, world.monotonic())
    } catch (failure) {
      abandon(exchange.call, socket, failure, context)
    }
    exchange.request.once('error', () => {}).emit('error', error) // otherwise its reader would wait forever
  } else {
    const call = callFrom(error, socket.remoteAddress ?? '', world)
    enqueue(socket, () => void answerAndClose(call, () => answerEarly(call, error, context), socket, context))
  }
}

/** Sends a last answer on a connection that node:http no longer handles, and closes it. */
async function answerAndClose(
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
function replyBytes({ method }: Call, { status, headers, body }: Reply): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(method === 'HEAD' ? '' : (body ?? ''))])
}

/** Sends an answer, and returns whether the connection stays open after it. */
function writeAnswer(
  { call, request, response }: NodeExchange,
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
