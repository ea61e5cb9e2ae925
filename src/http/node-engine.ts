/** Node engine: receives requests by node:http. Part 1, requests. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { handle } from '../corridor/handle.ts'
import { refuse } from '../corridor/refuse.ts'
import type { ServerContext } from '../corridor/server-context.ts'
import type { Settings } from '../settings.ts'
import { discardInput, linger } from '../wire/linger.ts'
import type { EnqueueStep } from './connection.ts'
import { answerEarly, callFrom, type EngineError, faultOf } from './engine-error.ts'
import { faultProblem } from './fault-answer.ts'
import { type HttpEngine, mostHeadBytes, mostRequests } from './http-engine.ts'
import { callOf } from './node-call.ts'
import { abandon, answerAndClose, requestListener, type ServedRequest, writeAnswer } from './serve-requests.ts'

// An import would read every export of the module; one of them loads WebSockets, which takes 15 MB and 20 ms.
const { createServer } = process.getBuiltinModule('node:http')

interface NodeRequest extends ServedRequest {
  readonly request: IncomingMessage
}

/** The exchange of each connection whose content may still arrive. Others are not kept: an idle connection would hold all objects of its last request. */
type Exchanges = WeakMap<Socket, NodeRequest>

export const nodeEngine: HttpEngine = (context, enqueue, timedOut) => {
  const exchanges: Exchanges = new WeakMap()
  const serve = requestListener(context, enqueue)
  const server = createNodeServer(context.service.settings.limits)
  server.on('connection', (socket: Socket) =>
    Object.assign(socket, { destroySoon: () => linger(socket, context.world) }),
  )
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const)
    server.on(event, (request: IncomingMessage, response: ServerResponse) => {
      // node:http drops a request that arrives together with an upgrade request before it. The client would mistake the next
      // answer for the answer to the dropped request.
      if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
      const exchange = { call: callOf(request, context, response), request, response }
      if (exchange.call.content) keepUntilAnswered(exchanges, exchange)
      serve(exchange)
    })
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    const call = callOf(request, context)
    enqueue(socket, () => void answerAndClose(call, () => handle(call, context), socket, context))
  })
  server.on('clientError', (error: EngineError, socket: Socket) =>
    handleEngineError(error, socket, context, { exchange: exchanges.get(socket), enqueue }),
  )
  server.on('timeout', timedOut)
  return server
}

function keepUntilAnswered(exchanges: Exchanges, exchange: NodeRequest & { readonly response: ServerResponse }): void {
  const { request, response } = exchange
  const { socket } = request
  exchanges.set(socket, exchange)
  response.once('close', () => {
    if (!request.complete) return
    request.resume() // node:http keeps a request until its end is read; content that was read by its length has not reached it
    if (exchanges.get(socket) === exchange) exchanges.delete(socket)
  })
}

function createNodeServer(limits: Settings['limits']): Server {
  const server = createServer({
    maxHeaderSize: mostHeadBytes(limits),
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

/** Answers a parser error: to the request whose content it occurred in, otherwise after all pending answers. R151. */
function handleEngineError(
  error: EngineError,
  socket: Socket,
  context: ServerContext,
  { exchange, enqueue }: { readonly exchange: NodeRequest | undefined; readonly enqueue: EnqueueStep },
): void {
  const { world } = context
  const fault = faultOf(error)
  if (!fault) return void socket.destroy()
  if (fault.kind === 'late' && exchange?.call.content?.isFlowing && !exchange.request.complete) return // its content may take longer; node:http reports a request once
  discardInput(socket, world)
  if (exchange && !exchange.request.complete) {
    try {
      writeAnswer(exchange, refuse(exchange.call, context, faultProblem(fault)), context, world.monotonic())
    } catch (failure) {
      abandon(exchange.call, socket, failure, context)
    }
    exchange.request.once('error', () => {}).emit('error', error) // otherwise its reader would wait forever
  } else {
    const call = callFrom(error, socket.remoteAddress ?? '', world)
    enqueue(socket, () => void answerAndClose(call, () => answerEarly(call, error, fault, context), socket, context))
  }
}
