/** Written answer: writes an answer on its connection, a small one at once with its head. Part 1, requests. */
import type { Socket } from 'node:net'
import type { MessageHead } from './message-head.ts'

const { STATUS_CODES } = process.getBuiltinModule('node:http')

const namePattern = /^[!#$%&'*+.^_`|~\w-]+$/
const valuePattern = /^[\t\x20-\x7e\x80-\xff]*$/

/** The status line and the header lines. Throws if a value would end its line. */
export function headText(status: number, headers: Readonly<Record<string, string>>): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
  for (const name in headers) {
    const value = headers[name] as string
    if (!namePattern.test(name) || !valuePattern.test(value))
      throw new Error(`The header ${JSON.stringify(name)} has a value that cannot be sent.`)
    text += `${name}: ${value}\r\n`
  }
  return text
}

const none: readonly Listener[] = []

/** The parts of the request and the connection that an answer needs. */
interface AnswerContext {
  readonly socket: Socket
  /** The header lines that state how long the connection is kept. */
  readonly keptAlive: string
  /** Called when the head is made, and when all was sent. */
  readonly begun: (answer: WrittenAnswer) => void
  readonly ended: (answer: WrittenAnswer) => void
  /** Called when the socket has sent the last bytes of an answer; one function for all answers, to save memory per socket. */
  readonly sent: () => void
}

type AnswerEvent = 'drain' | 'close'

interface Listener {
  readonly event: AnswerEvent
  readonly act: () => void
  readonly once: boolean
}

/** The part of a response of node:http that the service uses. */
export class WrittenAnswer {
  headersSent = false
  /** Whether the connection ends after it. */
  last: boolean
  #status = 0
  #headers: Readonly<Record<string, string>> = {}
  /** Whether the head was given to the socket. */
  #begun = false
  #chunked = false
  #ended = false
  #over = false
  #listeners: readonly Listener[] = none
  readonly #outlet: AnswerContext
  readonly #asked: Pick<MessageHead, 'method' | 'http'>

  constructor(outlet: AnswerContext, request: Pick<MessageHead, 'method' | 'http'>, keepAlive: boolean) {
    this.#outlet = outlet
    this.#asked = request
    this.last = !keepAlive
  }

  on(event: AnswerEvent, act: () => void): void {
    this.#listeners = [...this.#listeners, { event, act, once: false }]
  }

  once(event: AnswerEvent, act: () => void): void {
    this.#listeners = [...this.#listeners, { event, act, once: true }]
  }

  emit(event: AnswerEvent): void {
    const all = this.#listeners
    if (all.length === 0) return
    this.#listeners = all.filter((one) => one.event !== event || !one.once)
    for (const one of all) if (one.event === event) one.act()
  }

  /** Whether nothing more will be sent. */
  get closed(): boolean {
    return this.#over || this.#outlet.socket.destroyed
  }
  get destroyed(): boolean {
    return this.closed
  }
  get writableLength(): number {
    return this.#outlet.socket.writableLength
  }
  get writableNeedDrain(): boolean {
    return this.#outlet.socket.writableNeedDrain
  }

  writeContinue(): void {
    if (!this.closed) this.#outlet.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
  }

  writeHead(status: number, headers: Readonly<Record<string, string>>): this {
    this.#status = status
    this.#headers = headers
    this.headersSent = true
    return this
  }

  flushHeaders(): void {
    this.#outlet.socket.write(this.#head(null), 'latin1')
  }

  /** Sends a piece; false if the client should read before the next one. */
  write(piece: string | Uint8Array): boolean {
    const { socket, sent } = this.#outlet
    if (this.closed) return false
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    if (bytes.length === 0) return true // an empty chunk would end the answer
    if (this.#begun && !this.#chunked) return socket.write(bytes, sent)
    socket.cork()
    if (!this.#begun) socket.write(this.#head(null), 'latin1')
    if (this.#chunked) socket.write(`${bytes.length.toString(16)}\r\n`, 'latin1')
    const goesOn = socket.write(bytes, sent)
    if (this.#chunked) socket.write('\r\n', 'latin1')
    socket.uncork()
    return goesOn
  }

  /** Sends the last piece. `latin1` says that a text is ASCII. */
  end(piece: string | Uint8Array | null = null, coding: 'latin1' | 'utf8' = 'utf8'): void {
    const { socket, sent } = this.#outlet
    if (this.#ended) return
    if (this.closed) return void this.cut()
    this.#ended = true
    const streamed = this.#begun
    if (this.#chunked) {
      if (piece !== null) this.write(piece)
      socket.write('0\r\n\r\n', 'latin1', sent)
    } else if (this.#begun) {
      if (piece !== null && piece.length > 0) socket.write(piece, sent)
    } else if (piece === null) socket.write(this.#head(0), 'latin1', sent)
    else if (coding === 'latin1') socket.write(this.#head(piece.length) + (piece as string), 'latin1', sent)
    else {
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
      socket.write(Buffer.concat([Buffer.from(this.#head(bytes.length), 'latin1'), bytes]), sent)
    }
    // If a stream ends at once, its listener is attached later.
    if (streamed) process.nextTick(sent)
    else this.settle()
  }

  /** Finishes if its last bytes have left the socket. */
  settle(): void {
    if (this.#over || !this.#ended || this.#outlet.socket.writableLength > 0) return
    this.#outlet.ended(this)
    this.cut()
  }

  destroy(): void {
    this.#outlet.socket.destroy()
    this.cut()
  }

  /** The connection is gone, or all was sent. */
  cut(): void {
    if (this.#over) return
    this.#over = true
    this.emit('close')
  }

  /** The head of an answer whose content has this length; null if it is not known. */
  #head(length: number | null): string {
    const { method, http } = this.#asked
    this.#begun = true
    let text = headText(this.#status, this.#headers)
    const bare = this.#status === 204 || this.#status === 304
    if (this.#headers['Content-Length'] === undefined && method !== 'HEAD' && !bare) {
      if (length !== null) text += `Content-Length: ${length}\r\n`
      else if (http === '1.1') {
        this.#chunked = true
        text += 'Transfer-Encoding: chunked\r\n'
      } else this.last = true // the close of the connection ends the content
    }
    if (this.#headers.Connection === 'close') this.last = true
    else text += this.last ? 'Connection: close\r\n' : this.#outlet.keptAlive
    this.#outlet.begun(this)
    return `${text}\r\n`
  }
}
