/** The door of node:http: takes calls down, sends replies out, and closes without losing anything. Part 8, termination. */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import { deafen, enqueue, linger } from './connection.ts'
import { answerEarly, callFrom, type EngineError, engineProblem } from './edge.ts'
import { answer } from './handle.ts'
import type { House } from './house.ts'
import { idOf, targetOf } from './message.ts'
import { refuse } from './refuse.ts'

export interface Listening {
  readonly url: string
  /** Stops taking connections, finishes what was accepted, and ends the rest after the given time. R186. */
  readonly stop: (drain: number) => Promise<void>
}

/** Opens the door. `House.open` has to turn false before `stop`, so that readiness fails first. */
export async function listen(house: House, { port, host }: { port: number; host: string }): Promise<Listening> {
  const { limits } = house.service.settings
  const server = createServer({
    maxHeaderSize: limits.headers + limits.url + 1024, // both are counted by the corridor, R179
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    keepAliveTimeout: limits.idleTimeout,
    connectionsCheckingInterval: 1000,
    requireHostHeader: false, // R17: the corridor refuses it with an error body
  })
  server.maxHeadersCount = 0
  Object.assign(server, { httpAllowHalfOpen: true }) // who has said all may still listen
  server.on('connection', (socket: Socket) => Object.assign(socket, { destroySoon: () => linger(socket) }))
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const)
    server.on(event, (request: IncomingMessage, response: ServerResponse) => take(request, response, house))
  server.on('connect', (request: IncomingMessage, socket: Socket) =>
    enqueue(socket, () => leave(callOf(request, house), socket, house)),
  )
  server.on('clientError', (error: EngineError, socket: Socket) => fail(error, socket, house))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const shown = host.includes(':') ? `[${host}]` : host
  return { url: `http://${shown}:${(server.address() as AddressInfo).port}`, stop: (drain) => stopped(server, drain) }
}

/** A request, and where its answer goes. */
interface Exchange {
  readonly call: Call
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

const latest = new WeakMap<Socket, Exchange>()

function take(request: IncomingMessage, response: ServerResponse, house: House): void {
  const exchange = { call: callOf(request, house, response), request, response }
  latest.set(request.socket, exchange)
  enqueue(request.socket, () => serve(exchange, house).catch((error) => abandon(exchange, error, house)))
}

/** What cannot be sent ends the connection, and nothing else. R162. */
function abandon({ call, request }: Exchange, err: unknown, { log }: House): boolean {
  log.error({ requestId: call.id, err }, 'The answer could not be sent.')
  request.socket.destroy()
  return false
}

/** Whether the connection goes on. */
async function serve(exchange: Exchange, house: House): Promise<boolean> {
  const started = performance.now()
  const reply = await answer(exchange.call, house)
  if (exchange.call.content && !exchange.request.complete) await setImmediate() // its content may be here already
  send(exchange, reply, house, started)
  if (!exchange.response.closed) await new Promise((done) => exchange.response.once('close', done))
  return reply.headers.Connection !== 'close'
}

/** An engine's failure is the answer to the request whose content it happened in, or comes behind all answers that are due. R151. */
function fail(error: EngineError, socket: Socket, house: House): void {
  const problem = engineProblem(error)
  if (!problem) return void socket.destroy()
  deafen(socket)
  const exchange = latest.get(socket)
  if (exchange && !exchange.request.complete) {
    send(exchange, refuse(exchange.call, house.service, problem, house.log), house, performance.now())
  } else {
    const call = callFrom(error, socket.remoteAddress ?? '', house.world)
    enqueue(socket, () => leave(call, socket, house, error))
  }
}

/** Says the last word on a connection that the engine has given up. */
async function leave(call: Call, socket: Socket, house: House, error?: EngineError): Promise<boolean> {
  if (socket.writable) {
    const started = performance.now()
    const reply = await (error ? answerEarly(call, error, house) : answer(call, house))
    socket.write(textOf(call, reply, house))
    linger(socket)
    note(call, reply.status, house, started)
  }
  return false
}

/** A reply as bytes, the last ones of a connection. */
function textOf({ id, method }: Call, { status, headers, body }: Reply, { world }: House): Buffer {
  const content = Buffer.from(body ?? '')
  const all = {
    ...headers,
    'Request-Id': id,
    Date: new Date(world.now()).toUTCString(),
    Connection: 'close',
    'Content-Length': content.length,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), method === 'HEAD' ? Buffer.of() : content])
}

function send({ call, request, response }: Exchange, reply: Reply, house: House, started: number): void {
  if (response.headersSent) return // refused meanwhile, as its content broke off
  const { headers, body, status } = reply
  headers['Request-Id'] = call.id
  headers.Date = new Date(house.world.now()).toUTCString() // Node's own can be behind by a second, R130
  const unread = call.content !== null && !request.complete
  if (unread || !house.open()) headers.Connection = 'close'
  if (unread) request.resume() // or the engine would stop the connection when its buffer is full
  if (body !== null && (call.method !== 'HEAD' || headers['Content-Encoding'] === undefined))
    headers['Content-Length'] = String(Buffer.byteLength(body))
  response.writeHead(status, headers).end(call.method === 'HEAD' ? null : body)
  note(call, status, house, started)
}

/** One line for every answer; what stands behind the path may be secret. R164. */
function note({ id, method, target }: Call, status: number, { log }: House, started: number): void {
  const ms = Math.round((performance.now() - started) * 100) / 100
  log.info({ requestId: id, method, path: target.split('?', 1)[0], status, ms }, 'answered')
}

function callOf(request: IncomingMessage, { world }: House, response?: ServerResponse): Call {
  const headers = request.headers as Record<string, string | undefined>
  const bare = headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
  return {
    method: request.method as string,
    ...targetOf(request.url as string),
    http: request.httpVersion,
    headers,
    raw: request.rawHeaders,
    id: idOf(headers['request-id'], world),
    content: bare ? null : { [Symbol.asyncIterator]: () => contentOf(request, response) },
    address: request.socket.remoteAddress ?? '',
  }
}

/** The content as it comes in. A client that waits for it is told to go on; reading may stop without ending the connection. R19. */
function contentOf(request: IncomingMessage, response: ServerResponse | undefined): AsyncIterator<Uint8Array> {
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') response?.writeContinue()
  return request.iterator({ destroyOnReturn: false })
}

async function stopped(server: Server, drain: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeIdleConnections()
  const late = setTimeout(() => server.closeAllConnections(), drain)
  await closed
  clearTimeout(late)
}
