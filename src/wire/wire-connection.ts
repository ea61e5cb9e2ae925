/** Wire connection: reads the messages of one socket, one after the other, and keeps their times. Part 1, requests. */
import type { Socket } from 'node:net'
import type { World } from '../flow/world.ts'
import { ContentBuffer } from './content-buffer.ts'
import { ContentReader } from './content-reader.ts'
import { type Fault, HeaderLines, skipEmptyLines } from './header-lines.ts'
import { linger, mostDiscarded } from './linger.ts'
import { framingOf, headOf, type MessageHead } from './message-head.ts'
import { WrittenAnswer } from './written-answer.ts'

/** Takes a request when its head has arrived; `content` is null if the head announces none. */
type TakeRequest = (
  head: MessageHead,
  content: ContentBuffer | null,
  answer: WrittenAnswer,
  connection: WireConnection,
) => void

interface WireLimits {
  /** How many bytes a head may have. */
  readonly head: number
  readonly headersTimeout: number
  readonly requestTimeout: number
  readonly idleTimeout: number
  /** A connection is closed after this many requests. */
  readonly requests: number
}

export interface WireHandlers {
  readonly limits: WireLimits
  readonly world: Pick<World, 'monotonic' | 'every' | 'nextTurn' | 'after'>
  /** The methods after which another message may follow. */
  readonly methods: ReadonlySet<string>
  readonly request: TakeRequest
  /** Answers bytes that are no message; the head is as far as it could be read. */
  readonly refuse: (fault: Fault, head: MessageHead, connection: WireConnection) => void
  /** The error that a reader of content gets in place of the rest. */
  readonly failure: (fault: Fault) => unknown
  /** Called if nothing was sent for the time that was set on the socket. */
  readonly timeout: (socket: Socket) => void
}

/** When this many messages have no answer, nothing more is read until half of them have. */
const mostPending = 64
const cr = 13
const noBytes = Buffer.alloc(0)
const noHead: MessageHead = { method: '', target: '', http: '', headers: {}, raw: [] }

/** The readable part of a head that is incomplete or malformed. */
function refusedHead(bytes: Buffer | null, from: number): MessageHead {
  if (!bytes) return noHead
  const lines = new HeaderLines()
  lines.read(bytes, from, bytes.length)
  return headOf(bytes, from, lines)
}

export class WireConnection {
  readonly socket: Socket
  readonly address: string
  readonly keptAlive: string
  readonly gone = (): boolean => this.socket.destroyed
  readonly halfClosed = (): boolean => this.socket.readableEnded || this.socket.destroyed
  readonly sent = (): void => this.#answer?.settle()
  readonly #handlers: WireHandlers
  readonly #clock: () => number
  /** Whether nothing more is read. */
  #over = false
  /** Bytes that are not read yet: an incomplete line, or messages beyond the limit. */
  #rest: Buffer | null = null
  readonly #lines = new HeaderLines()
  /** Whether a head has arrived in part. */
  #partial = false
  /** The content that is incomplete. */
  #content: ContentReader | null = null
  #keepAlive = true
  #discarded = 0
  #count = 0
  /** How many messages have no complete answer. */
  #pending = 0
  #answer: WrittenAnswer | null = null
  #halfClosed = false
  /** Whether it waits for answers before it reads on. */
  #full = false
  /** Whether its last answer was sent after the last check. */
  #justIdle = false
  /** When the message began, or the connection became idle. */
  #since: number

  constructor(socket: Socket, handlers: WireHandlers, clock: () => number) {
    this.socket = socket
    this.address = socket.remoteAddress ?? ''
    this.#handlers = handlers
    this.#clock = clock
    this.keptAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(handlers.limits.idleTimeout / 1000)}\r\n`
    this.#since = clock()
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
    socket.on('end', () => this.#end())
    socket.on('drain', () => this.#answer?.emit('drain'))
    socket.on('timeout', () => handlers.timeout(socket))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#over = true
      this.#content?.buffer.fail(new Error('The client has disconnected.'))
      this.#answer?.cut()
    })
  }

  /** Whether it waits for a message of which nothing has arrived. */
  get idle(): boolean {
    return this.#pending === 0 && !this.#over && !this.#content && !this.#partial
  }

  /** Ends messages that take too long. */
  check(): void {
    const { limits } = this.#handlers
    const waited = this.#clock() - this.#since
    if (this.#over) return
    if (this.#content) {
      if (waited > limits.requestTimeout && !this.#content.buffer.flowing) this.#fail({ kind: 'late', reason: '' })
    } else if (this.#partial || this.#count === 0) {
      if (waited > limits.headersTimeout) this.#fail({ kind: 'late', reason: '' })
    } else if (this.#pending > 0) return
    else if (this.#justIdle) {
      this.#justIdle = false // noticed here, as a clock would cost every request
      this.#since = this.#clock()
    } else if (waited > limits.idleTimeout) this.socket.destroy()
  }

  begun(answer: WrittenAnswer): void {
    this.#answer = answer
  }

  ended(answer: WrittenAnswer): void {
    const { socket } = this
    this.#answer = null
    this.#pending--
    if (socket.timeout) socket.setTimeout(0)
    this.#justIdle = this.#pending === 0
    if (answer.last) {
      this.#over = true
      linger(socket, this.#handlers.world)
    } else if (this.#full && this.#pending <= mostPending / 2) this.#goOn()
    else if (this.#halfClosed && this.#pending === 0) socket.end()
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk
    this.#rest = null
    let at = 0
    while (at < bytes.length) {
      if (this.#over) return void this.#discard(bytes.length - at)
      this.#full = this.#pending >= mostPending && !this.#content
      const next = this.#full ? at : this.#take(bytes, at)
      if (next === at) {
        // Copied, as a few bytes would keep the whole chunk in memory.
        this.#rest = Buffer.allocUnsafeSlow(bytes.length - at)
        bytes.copy(this.#rest, 0, at)
        break
      }
      at = next
    }
    this.#content?.flush(bytes)
    if (this.#full) this.socket.pause()
  }

  /** Reads on after enough answers. */
  #goOn(): void {
    const { socket } = this
    this.#full = false
    const rest = this.#rest ?? noBytes
    this.#rest = null
    this.#receive(rest)
    if (!this.#full) socket.resume()
  }

  /** Reads one part; returns where the next one begins, or the same place if it is incomplete. */
  #take(bytes: Buffer, at: number): number {
    const reader = this.#content
    if (!reader) return this.#takeHead(bytes, at)
    const next = reader.take(bytes, at)
    if (typeof next !== 'number') return this.#fail(next, bytes)
    if (reader.done) this.#complete(bytes)
    return next
  }

  #takeHead(bytes: Buffer, at: number): number {
    const { limits } = this.#handlers
    const lines = this.#lines
    const began = this.#partial
    const from = began ? at : skipEmptyLines(bytes, at)
    if (from === bytes.length) return from
    if (bytes[from] === cr && from + 1 === bytes.length) return from
    if (!began) lines.restart()
    const done = lines.read(bytes, from, limits.head)
    if (done === false) {
      if (!began) this.#since = this.#clock()
      this.#partial = true
      return from // this time it is incomplete; the next time it begins here
    }
    if (done !== true) return this.#fail(done, bytes, refusedHead(bytes, from))
    const head = headOf(bytes, from, lines)
    const framing = framingOf(head)
    if ('kind' in framing) return this.#fail(framing, bytes, head)
    this.#partial = false
    this.#begin(head, framing.keepAlive, framing.length, began)
    return from + lines.at
  }

  #begin(head: MessageHead, kept: boolean, length: number | null, began: boolean): void {
    const { limits, methods, request } = this.#handlers
    const { method, headers } = head
    const tunnel = method === 'CONNECT'
    const keepAlive = kept && !tunnel && methods.has(method) && ++this.#count < limits.requests
    const announced = headers['content-length'] !== undefined || length === null
    const content = announced && !tunnel ? new ContentBuffer(this.socket) : null
    this.#keepAlive = keepAlive
    this.#pending++
    if (content && length !== 0) {
      if (!began) this.#since = this.#clock()
      this.#content = new ContentReader(content, length, limits.head)
    }
    request(head, content, new WrittenAnswer(this, head, keepAlive), this)
    if (this.#content) return
    content?.finish()
    this.#over = !keepAlive
  }

  /** Called when all content of a message has arrived. */
  #complete(bytes: Buffer): void {
    this.#content?.flush(bytes)
    this.#content?.buffer.finish()
    this.#content = null
    this.#over = !this.#keepAlive
  }

  /** Stops reading. If a content was arriving, its reader gets the fault; otherwise the fault is answered. */
  #fail(fault: Fault, bytes: Buffer | null = null, head: MessageHead = refusedHead(this.#rest, 0)): number {
    if (bytes) this.#content?.flush(bytes)
    this.#over = true
    this.#partial = false
    const content = this.#content
    this.#content = null
    if (content) content.buffer.fail(this.#handlers.failure(fault))
    else this.#handlers.refuse(fault, head, this)
    return bytes?.length ?? 0
  }

  #discard(bytes: number): void {
    this.#discarded += bytes
    if (this.#discarded > mostDiscarded) this.socket.destroy()
  }

  /** Called when the client has closed its side: it still gets its answers. */
  #end(): void {
    if (this.#over) return
    if (this.#content || this.#partial) return void this.#fail({ kind: 'ended', reason: '' })
    this.#halfClosed = true
    if (this.#pending === 0) this.socket.end()
  }
}
