/** The door of node:http: takes calls down, sends replies out, and closes without losing anything. Part 8, termination. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { redacted } from '../auth/scheme.ts'
import { clientOf } from '../flow/address.ts'
import type { Call, Content } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import { intakeOf } from '../limits/intake.ts'
import { small } from '../limits/room.ts'
import { look, rhythm } from '../limits/strain.ts'
import type { Settings } from '../resources/settings.ts'
import { deafen, enqueue, linger, turns } from './connection.ts'
import { answerEarly, callFrom, type EngineError, engineProblem } from './edge.ts'
import { answer } from './handle.ts'
import { stamp } from './headers.ts'
import type { House } from './house.ts'
import { idOf, targetOf, traceOf } from './message.ts'
import { pour, readersOf } from './pour.ts'
import { refuse } from './refuse.ts'
import { stopped } from './stop.ts'
import { began, type Started, took } from './world.ts'

// Not imported: that would read every name of the module, of which one brings in WebSockets, 15 MB and 20 ms.
const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

export interface Listening {
  readonly url: string
  /** Stops taking connections, finishes what was accepted, and ends the rest after the given time. R186. */
  readonly stop: (drain: number) => Promise<void>
}

/** So many requests on one connection; then it is closed, and the next one may go to another process. */
const mostRequests = 10_000

/** Opens the door. `House.open` has to turn false before `stop`, so that readiness fails first. */
export async function listen(house: House, { port, host }: { port: number; host: string }): Promise<Listening> {
  const turn = turns(house.store)
  const server = engine(house.service.settings.limits)
  server.on('connection', (socket: Socket) => Object.assign(socket, { destroySoon: () => linger(socket) }))
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const)
    server.on(event, (request: IncomingMessage, response: ServerResponse) => {
      turn.begin()
      take({ call: callOf(request, house, response), request, response }, house, turn)
    })
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    const call = callOf(request, house)
    enqueue(socket, () => void leave(call, () => answer(call, house), socket, house))
  })
  server.on('clientError', (error: EngineError, socket: Socket) => fail(error, socket, house))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const watched = watchLoop(house)
  const shown = host.includes(':') ? `[${host}]` : host
  return {
    url: `http://${shown}:${(server.address() as AddressInfo).port}`,
    stop: (drain) => stopped(server, drain).finally(() => clearInterval(watched)),
  }
}

/** Looks in time and again whether the loop comes round in time. R161. */
function watchLoop(house: House): NodeJS.Timeout | undefined {
  const most = house.service.settings.limits.loopDelay
  if (most === null) return undefined
  let last = began()
  return setInterval(() => {
    look(house, took(last) - rhythm, most)
    last = began()
  }, rhythm).unref()
}

function engine(limits: Settings['limits']): Server {
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
  Object.assign(server, { httpAllowHalfOpen: true }) // who has said all may still listen
  return server
}

/** A request, and where its answer goes. */
interface Exchange {
  readonly call: Call
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

type Turn = ReturnType<typeof turns>
type Done = (goesOn: boolean) => void

const latest = new WeakMap<Socket, Exchange>()

function take(exchange: Exchange, house: House, turn: Turn): void {
  const { socket } = exchange.request
  latest.set(socket, exchange)
  enqueue(socket, (done) => void serve(exchange, house, turn, done))
}

/** What cannot be sent ends the connection, and nothing else. R162. */
function abandon({ id }: Call, socket: Socket, err: unknown, { log }: House): void {
  log.error({ requestId: id, err }, 'The answer could not be sent.')
  socket.destroy()
}

async function serve(exchange: Exchange, house: House, turn: Turn, done: Done): Promise<void> {
  const { call, request } = exchange
  const started = began()
  try {
    if (call.content) await null // most of it comes with the head, and is here then
    const reply = await answer(call, house)
    if (call.content && !request.complete) await setImmediate() // its content may be here already
    turn.send(() => conclude(exchange, reply, house, started, done))
  } catch (error) {
    abandon(call, request.socket, error, house)
  }
}

function conclude(exchange: Exchange, reply: Reply, house: House, started: Started, done: Done): void {
  const { call, request, response } = exchange
  try {
    const { stay } = reply
    const goesOn = send(exchange, reply, house, started)
    const over = () => {
      stay?.leave()
      done(goesOn)
    }
    if (response.closed) over()
    else response.on('close', over)
  } catch (error) {
    reply.stay?.leave()
    abandon(call, request.socket, error, house)
  }
}

/** An engine's failure is the answer to the request whose content it happened in, or comes behind all answers that are due. R151. */
function fail(error: EngineError, socket: Socket, house: House): void {
  const problem = engineProblem(error)
  if (!problem) return void socket.destroy()
  deafen(socket)
  const exchange = latest.get(socket)
  if (exchange && !exchange.request.complete) {
    send(exchange, refuse(exchange.call, house, problem), house, began())
    exchange.request.once('error', () => {}).emit('error', error) // who reads it goes on waiting else
  } else {
    const call = callFrom(error, socket.remoteAddress ?? '', house.world)
    enqueue(socket, () => void leave(call, () => answerEarly(call, error, house), socket, house))
  }
}

/** Says the last word on a connection that the engine has given up. */
async function leave(call: Call, said: () => Promise<Reply> | Reply, socket: Socket, house: House): Promise<void> {
  const started = began()
  try {
    const reply = await said()
    reply.stay?.leave()
    if (!socket.writable) return
    reply.headers.Connection = 'close'
    stamp(call, reply, house, started)
    socket.write(textOf(call, reply))
    linger(socket)
    note(call, reply.status, house, started)
  } catch (error) {
    abandon(call, socket, error, house)
  }
}

/** A reply as bytes. */
function textOf({ method }: Call, { status, headers, body }: Reply): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(method === 'HEAD' ? '' : (body ?? ''))])
}

/** Sends an answer, and says whether the connection goes on behind it. */
function send({ call, request, response }: Exchange, reply: Reply, house: House, started: Started): boolean {
  const { headers, status, stay } = reply
  if (response.headersSent) return headers.Connection !== 'close' // refused meanwhile, as its content broke off
  const unread = call.content !== null && !request.complete
  if (unread || !house.open()) headers.Connection = 'close'
  if (unread) request.resume() // or the engine would stop the connection when its buffer is full
  stamp(call, reply, house, started)
  const body = call.method === 'HEAD' ? null : reply.body
  response.writeHead(status, headers)
  const { writeTimeout: timeout } = house.service.settings.limits
  const readers = readersOf(house.store)
  if (body !== null && body.length > small) pour(request.socket, response, body, { stay, timeout, readers })
  else if (typeof body === 'string' && body.length === Number(headers['Content-Length'])) response.end(body, 'latin1')
  else response.end(body)
  if (body === null || body.length <= small) readers.watch(request.socket, response, timeout)
  note(call, status, house, started)
  return headers.Connection !== 'close'
}

/** One line for every answer; what stands behind the path may be secret, and so may what went astray into it. R164. */
function note(call: Call, status: number, { log }: House, started: Started): void {
  const { id, method, target } = call
  const end = target.indexOf('?')
  const line = {
    requestId: id,
    method: /^[A-Z-]{1,20}$/i.test(method) || method === '' ? method : '***', // of a malformed message it is any text
    path: redacted(end < 0 ? target : target.slice(0, end)),
    status,
    ms: took(started),
  }
  const trace = traceOf(call)
  log.info(trace === null ? line : { ...line, ...trace }, 'answered')
}

function callOf(request: IncomingMessage, house: House, response?: ServerResponse): Call {
  const { world, proxies = [] } = house
  const headers = request.headers as Record<string, string | undefined>
  const bare = headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
  const { target, authority } = targetOf(request.url as string)
  return {
    method: request.method as string,
    target,
    authority,
    http: request.httpVersion,
    headers,
    raw: request.rawHeaders,
    id: idOf(headers['request-id'], world),
    content: bare ? null : contentOf(request, response, house),
    address: clientOf(request.socket.remoteAddress ?? '', headers['x-forwarded-for'], proxies),
    gone: () => request.socket.destroyed,
  }
}

/** The content: at once where all of its declared length has arrived, otherwise piece by piece. */
const contentOf = (request: IncomingMessage, response: ServerResponse | undefined, house: House): Content => ({
  whole: () => {
    const { readableLength: length } = request
    // The length is named, as without one `read` returns only the first buffer since Node 26.
    return length === Number(request.headers['content-length']) ? request.read(length) : null
  },
  [Symbol.asyncIterator]: () => intakeOf(house.store, began).taken(pieces(request, response)),
})

/** The content as it comes in. A client that waits for it is told to go on; reading may stop without ending the connection. R19. */
async function* pieces(
  request: IncomingMessage,
  response: ServerResponse | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (response?.headersSent) throw new Error('The content broke off before it was read.')
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') response?.writeContinue()
  await stirred(request)
  yield* { [Symbol.asyncIterator]: () => request.iterator({ destroyOnReturn: false }) }
}

/** Waits until there is something to read, or nothing more will come. */
const stirred = (request: IncomingMessage): Promise<unknown> =>
  new Promise((resolve) => {
    if (request.destroyed) return void resolve(null)
    for (const event of ['readable', 'error', 'close']) request.once(event, resolve)
  })
