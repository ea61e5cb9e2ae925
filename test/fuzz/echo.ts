/** A service behind each engine that answers with the request that it saw; bytes are sent over a connection in memory, in any pieces. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { f, service } from 'bylaw'
import { hostPhase, messagePhase } from '../../src/corridor/message.ts'
import { check, corridorOf } from '../../src/corridor/phase.ts'
import { callerGate, type ServerContext } from '../../src/corridor/server-context.ts'
import { Problem } from '../../src/errors/problem.ts'
import type { Call } from '../../src/flow/call.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { connectionQueues } from '../../src/http/connection.ts'
import { nodeEngine } from '../../src/http/node-engine.ts'
import { ownEngine } from '../../src/http/own-engine.ts'
import { makeAnswerReaders } from '../../src/http/stream.ts'
import { openStore } from '../../src/terminal/open.ts'
import { MemorySocket } from '../help/memory-socket.ts'

const echo = service({
  name: 'echo',
  resources: { notes: { prefix: 'not', plural: true, fields: { text: f.text() }, access: 'public' } },
  settings: {
    methods: { query: true },
    limits: { url: 1000, headers: 4000, headersTimeout: 'PT10M', requestTimeout: 'PT10M' },
  },
})

async function contentOf({ content }: Call): Promise<string | null> {
  if (!content) return null
  const whole = content.readIfComplete?.()
  if (whole) return Buffer.from(whole).toString('latin1')
  try {
    let text = ''
    for await (const piece of content) text += Buffer.from(piece).toString('latin1')
    return text
  } catch (cause) {
    throw cause instanceof Problem ? cause : new Problem('malformed-request', 'The content broke off.', { cause })
  }
}

/** A request as the service saw it. */
export interface SeenRequest {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly raw: readonly string[]
  readonly content: string | null
}

/** Answers with the request as the service saw it; the content of a request for `/unread` is not read. */
const echoPhase = (observe: (request: SeenRequest) => void) =>
  check({
    name: 'echo',
    pass: async (way) => {
      const { method, target, authority, http, headers, raw } = way.call
      if (!echo.methods.split(', ').includes(method)) throw new Problem('method-not-allowed', 'No such method.')
      const content = target === '/unread' ? null : await contentOf(way.call)
      observe({ method, target, headers, raw, content } as SeenRequest)
      const body = JSON.stringify({ method, target, authority, http, headers, raw, content })
      way.reply = { status: 200, headers: { 'Content-Type': 'application/json' }, body }
    },
  })

/** An answer as it is compared. */
export interface Seen {
  readonly status: number
  /** The type of an error. */
  readonly type: string | null
  readonly closes: boolean
  /** The request as the service saw it. */
  readonly saw: unknown
}

export interface EchoServer {
  /** The answers to bytes that arrive in these pieces, with a turn of the event loop between them if `slow`. */
  readonly converse: (pieces: readonly Buffer[], slow?: boolean) => Promise<readonly Seen[]>
  /** Listens on a port of the machine's choice, which it returns. */
  readonly listen: () => Promise<number>
  readonly close: () => void
  /** How many connections it has accepted. */
  readonly connections: () => number
  /** The failures that were logged. */
  readonly errors: object[]
}

export async function echoServers(
  observe: (request: SeenRequest) => void = () => {},
): Promise<{ readonly node: EchoServer; readonly own: EchoServer }> {
  const store = await openStore(echo, 'sqlite::memory:', 'apply')
  const make = (engine: typeof ownEngine): EchoServer => {
    const errors: object[] = []
    const world = serviceWorld(realWorld, store)
    const log = { error: (about: object) => errors.push(about), warn: () => {}, info: () => {} }
    const authenticate = callerGate(echo, store, world)
    const corridor = corridorOf(messagePhase, hostPhase, echoPhase(observe))
    const context: ServerContext = { service: echo, store, world, log, authenticate, open: () => true, corridor }
    const server = engine(context, connectionQueues(world), world.state.of(makeAnswerReaders, context).close)
    let connections = 0
    server.on('connection', () => connections++)
    const converse = (pieces: readonly Buffer[], slow = false) => talk(server, pieces, slow)
    const listen = async () => {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      return (server.address() as AddressInfo).port
    }
    return { converse, listen, errors, connections: () => connections, close: () => void server.close() }
  }
  return { node: make(nodeEngine), own: make(ownEngine) }
}

async function talk(
  server: { emit: (event: string, socket: unknown) => unknown },
  pieces: readonly Buffer[],
  slow: boolean,
): Promise<readonly Seen[]> {
  const socket = new MemorySocket({ allowHalfOpen: true })
  socket.on('error', () => {})
  const over = Promise.withResolvers<void>()
  socket.on('finish', over.resolve).on('close', over.resolve)
  server.emit('connection', socket)
  for (const piece of pieces) {
    if (socket.destroyed) break
    socket.push(Buffer.from(piece)) // a copy, as engines may change the bytes that they receive
    if (slow) await new Promise(setImmediate)
  }
  // After an immediate close, the client would lose answers that wait for earlier ones.
  for (let turns = 0; turns < 8 && !socket.writableEnded; turns++) await new Promise(setImmediate)
  if (!socket.destroyed) socket.push(null)
  const late = setTimeout(over.resolve, 3000)
  await over.promise
  clearTimeout(late)
  const ended = socket.writableFinished || socket.destroyed
  socket.destroy()
  const seen = answersIn(Buffer.concat(socket.sent).toString('latin1'))
  return ended ? seen : [...seen, { status: 0, type: 'the connection stayed open', closes: false, saw: null }]
}

/** The answers in the bytes that were sent; `100 Continue` is left out, as it depends on when content arrives. */
function answersIn(bytes: string): Seen[] {
  const seen: Seen[] = []
  for (let rest = bytes; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    const head = rest.slice(0, end)
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? Number.NaN)
    if (end < 0 || Number.isNaN(status)) {
      seen.push({ status: 0, type: `no answer: ${rest.slice(0, 100)}`, closes: true, saw: null })
      return seen
    }
    const length = Number(/\r\nContent-Length: (\d+)/i.exec(head)?.[1] ?? 0)
    const found = rest.slice(end + 4, end + 4 + length)
    // The content of an answer to HEAD is not sent; what follows is the next answer.
    const body = found.startsWith('HTTP/1.1 ') ? '' : found
    rest = rest.slice(end + 4 + body.length)
    if (status === 100) continue
    const json = body.startsWith('{') ? JSON.parse(Buffer.from(body, 'latin1').toString()) : null
    const closes = /\r\nConnection: close/i.test(head)
    seen.push({ status, type: json?.type ?? null, closes, saw: status === 200 ? json : null })
  }
  return seen
}
