/** Connection: reads the messages of one socket, one after the other, and keeps their times. Part 1, requests. */
import type { Socket } from 'node:net'
import type { World } from '../flow/world.ts'
import { Answer } from './answer.ts'
import { Arriving } from './arriving.ts'
import { type Fault, Lines, malformed, skipEmptyLines } from './lines.ts'
import { linger, mostDiscarded } from './linger.ts'
import { framingOf, hasFraming, headOf, type MessageHead } from './message-head.ts'

/** A request as it is given to the service when its head has arrived. */
export interface Message extends MessageHead {
  readonly connection: Connection
  /** Its content; null if the head announces none. */
  readonly content: Arriving | null
  readonly keepAlive: boolean
}

export interface WireLimits {
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
  readonly request: (message: Message, answer: Answer) => void
  /** Answers bytes that are no message; the head is as far as it could be read. */
  readonly refuse: (fault: Fault, head: MessageHead, connection: Connection) => void
  /** What a reader of content is given in place of its rest. */
  readonly failure: (fault: Fault) => unknown
  /** Called if nothing was sent for the time that was set on the socket. */
  readonly timeout: (socket: Socket) => void
}

/** When this many messages have no answer, nothing more is read until half of them have. */
const mostPending = 64
/** Chunk extensions are ignored; of one content they may have this many bytes. */
const mostExtensions = 16_384
const sizePattern =
  /^([\da-f]{1,13})((?:;[!#$%&'*+.^_`|~\w-]+(?:=(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t\x20!#-[\]-~\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)*)\r\n$/i
const [cr, lf] = [13, 10]
const noBytes = Buffer.alloc(0)
const noHead: MessageHead = { method: '', target: '', http: '', headers: {}, raw: [] }

/** What can be read of a head that is incomplete or malformed. */
function refusedHead(bytes: Buffer | null, from: number): MessageHead {
  if (!bytes) return noHead
  const lines = new Lines()
  lines.read(bytes, from, bytes.length)
  return headOf(bytes, from, lines)
}

/** What the next bytes are. */
type Step = 'head' | 'content' | 'size' | 'chunk' | 'chunk end' | 'trailers' | 'nothing'

export class Connection {
  readonly socket: Socket
  readonly address: string
  readonly keptAlive: string
  readonly gone = (): boolean => this.socket.destroyed
  readonly halfClosed = (): boolean => this.socket.readableEnded || this.socket.destroyed
  readonly sent = (): void => this.#answer?.settle()
  readonly #handlers: WireHandlers
  readonly #clock: () => number
  #step: Step = 'head'
  /** The bytes of an incomplete line. */
  #rest: Buffer | null = null
  /** The head or the trailers that are incomplete. */
  #lines: Lines | null = null
  #content: Arriving | null = null
  #keepAlive = true
  /** How many bytes of the content or the chunk are still to come. */
  #left = 0
  #extensions = 0
  /** The content within the bytes that are read now. */
  #piece = { from: 0, to: 0 }
  #discarded = 0
  #count = 0
  /** How many messages have no complete answer. */
  #pending = 0
  #answer: Answer | null = null
  #halfClosed = false
  /** Whether it waits for answers before it reads on. */
  #full = false
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
      this.#step = 'nothing'
      this.#content?.fail(new Error('The client has disconnected.'))
      this.#answer?.cut()
    })
  }

  /** Whether it waits for a message of which nothing has arrived. */
  get idle(): boolean {
    return this.#pending === 0 && this.#step === 'head' && this.#lines === null
  }

  /** Ends what takes too long. */
  check(): void {
    const { limits } = this.#handlers
    const waited = this.#clock() - this.#since
    if (this.#step === 'nothing') return
    if (this.#content) {
      if (waited > limits.requestTimeout && !this.#content.flowing) this.#fail({ kind: 'late', reason: '' })
    } else if (this.#lines || this.#count === 0) {
      if (waited > limits.headersTimeout) this.#fail({ kind: 'late', reason: '' })
    } else if (this.#pending === 0 && waited > limits.idleTimeout + 1000) this.socket.destroy() // as node:http, a second later than announced
  }

  begun(answer: Answer): void {
    this.#answer = answer
  }

  ended(answer: Answer): void {
    const { socket } = this
    this.#answer = null
    this.#pending--
    if (socket.timeout) socket.setTimeout(0)
    if (this.idle) this.#since = this.#clock()
    if (answer.last) {
      this.#step = 'nothing'
      linger(socket, this.#handlers.world)
    } else if (this.#full && this.#pending <= mostPending / 2) this.#goOn()
    else if (this.#halfClosed && this.#pending === 0) socket.end()
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk
    this.#rest = null
    let at = 0
    while (at < bytes.length) {
      if (this.#step === 'nothing') return void this.#discard(bytes.length - at)
      this.#full = this.#pending >= mostPending && this.#step === 'head'
      const next = this.#full ? at : this.#take(bytes, at)
      if (next === at) {
        // Copied, as a few bytes would keep the whole chunk in memory.
        this.#rest = Buffer.allocUnsafeSlow(bytes.length - at)
        bytes.copy(this.#rest, 0, at)
        break
      }
      at = next
    }
    this.#pushPiece(bytes)
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
    switch (this.#step) {
      case 'head':
        return this.#takeHead(bytes, at)
      case 'content':
      case 'chunk':
        return this.#takeContent(bytes, at)
      case 'size':
        return this.#takeSize(bytes, at)
      case 'chunk end':
        if (at + 1 === bytes.length && bytes[at] === cr) return at
        if (bytes[at] !== cr || bytes[at + 1] !== lf) return this.#fail(malformed('Expected CRLF after a chunk'), bytes)
        this.#step = 'size'
        return at + 2
      default:
        return this.#takeTrailers(bytes, at)
    }
  }

  #takeHead(bytes: Buffer, at: number): number {
    const { limits } = this.#handlers
    const from = this.#lines ? at : skipEmptyLines(bytes, at)
    if (from === bytes.length) return from
    if (bytes[from] === cr && from + 1 === bytes.length) return from
    const lines = this.#lines ?? new Lines()
    const done = lines.read(bytes, from, limits.head)
    if (done === false) {
      if (!this.#lines) this.#since = this.#clock()
      this.#lines = lines
      return from // this time it is incomplete; the next time it begins here
    }
    if (done !== true) return this.#fail(done, bytes, refusedHead(bytes, from))
    const head = headOf(bytes, from, lines)
    const framing = framingOf(head)
    if ('kind' in framing) return this.#fail(framing, bytes, head)
    const began = this.#lines !== null
    this.#lines = null
    this.#begin(head, framing.keepAlive, framing.length, began)
    return from + lines.at
  }

  #begin(head: MessageHead, kept: boolean, length: number | null, began: boolean): void {
    const { limits, methods, request } = this.#handlers
    const { method, headers } = head
    const tunnel = method === 'CONNECT'
    const keepAlive = kept && !tunnel && methods.has(method) && ++this.#count < limits.requests
    const announced = headers['content-length'] !== undefined || length === null
    const content = announced && !tunnel ? new Arriving(this.socket) : null
    this.#keepAlive = keepAlive
    this.#pending++
    this.#content = content
    if (content && length !== 0) {
      if (!began) this.#since = this.#clock()
      this.#step = length === null ? 'size' : 'content'
      this.#left = length ?? 0
      this.#extensions = 0
    }
    request({ ...head, connection: this, content, keepAlive }, new Answer(this, { method, http: head.http, keepAlive }))
    if (!content || length === 0) this.#complete()
  }

  #complete(): void {
    this.#content?.finish()
    this.#content = null
    this.#step = this.#keepAlive ? 'head' : 'nothing'
  }

  #takeContent(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    const piece = this.#piece
    // Pieces of one read are moved together: many small ones would need more memory than their bytes.
    if (piece.to === piece.from) this.#piece = { from: at, to: end }
    else {
      bytes.copyWithin(piece.to, at, end)
      piece.to += end - at
    }
    this.#left -= end - at
    if (this.#left > 0) return end
    if (this.#step === 'chunk') this.#step = 'chunk end'
    else {
      this.#pushPiece(bytes)
      this.#complete()
    }
    return end
  }

  #pushPiece(bytes: Buffer): void {
    const { from, to } = this.#piece
    if (to === from) return
    this.#piece = { from: 0, to: 0 }
    this.#content?.push(bytes.subarray(from, to))
  }

  #takeSize(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(lf, at) + 1
    const known = end === 0 ? bytes.length : end
    if (known - at + this.#extensions > mostExtensions)
      return this.#fail(malformed('Chunk extensions are too long'), bytes)
    if (end === 0) return at
    const [whole, digits = '', extensions = ''] = sizePattern.exec(bytes.toString('latin1', at, end)) ?? []
    if (whole === undefined) return this.#fail(malformed('Invalid chunk size'), bytes)
    this.#extensions += extensions.length
    this.#left = Number.parseInt(digits, 16)
    this.#step = this.#left > 0 ? 'chunk' : 'trailers'
    return end
  }

  /** Trailers are read as header lines are, and dropped. */
  #takeTrailers(bytes: Buffer, at: number): number {
    this.#lines ??= Lines.ofTrailers()
    const lines = this.#lines
    const done = lines.read(bytes, at, this.#handlers.limits.head)
    if (done === false) return at
    if (done !== true) return this.#fail(done, bytes)
    if (hasFraming(headOf(bytes, at, lines))) return this.#fail(malformed('A trailer frames the message'), bytes)
    this.#lines = null
    this.#pushPiece(bytes)
    this.#complete()
    return at + lines.at
  }

  /** Nothing more is read; the content that was arriving fails, or else the fault has an answer of its own. */
  #fail(fault: Fault, bytes: Buffer | null = null, head: MessageHead = refusedHead(this.#rest, 0)): number {
    if (bytes) this.#pushPiece(bytes)
    this.#step = 'nothing'
    this.#lines = null
    const content = this.#content
    this.#content = null
    if (content) content.fail(this.#handlers.failure(fault))
    else this.#handlers.refuse(fault, head, this)
    return bytes?.length ?? 0
  }

  #discard(bytes: number): void {
    this.#discarded += bytes
    if (this.#discarded > mostDiscarded) this.socket.destroy()
  }

  /** The client has closed its side: it still gets its answers. */
  #end(): void {
    if (this.#step === 'nothing') return
    if (this.#content || this.#lines) return void this.#fail({ kind: 'ended', reason: '' })
    this.#halfClosed = true
    if (this.#pending === 0) this.socket.end()
  }
}
