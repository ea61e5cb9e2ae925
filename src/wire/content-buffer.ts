/** Content buffer: the content of a message as it arrives, kept until it is read or discarded. Part 8, body size. */

/** When this many bytes are buffered, reading from the connection pauses until they have been taken. */
const mostKept = 65_536

/** Stops and continues reading from the connection. */
interface Source {
  readonly pause: () => void
  readonly resume: () => void
}

export class ContentBuffer {
  /** Whether all of the message has arrived. */
  complete = false
  /** Whether the content may take any time, so that the request timeout does not apply. */
  flowing = false
  /** Why the rest will not arrive. */
  failure: unknown
  #pieces: Buffer[] = []
  #kept = 0
  #dropped = false
  #paused = false
  #wake: (() => void) | undefined
  readonly #source: Source

  constructor(source: Source) {
    this.#source = source
  }

  push(piece: Buffer): void {
    if (this.#dropped) return
    this.#pieces.push(piece)
    this.#kept += piece.length
    if (this.#kept > mostKept && !this.#paused) {
      this.#paused = true
      this.#source.pause()
    }
    this.#wake?.()
  }

  finish(): void {
    this.complete = true
    this.#wake?.()
  }

  /** Ends the content; its reader, or the next reader, gets this failure. */
  fail(failure: unknown): void {
    this.failure ??= failure
    this.#wake?.()
  }

  /** Discards the content that has arrived, and the rest when it arrives. */
  resume(): void {
    this.#dropped = true
    this.#take()
  }

  /** All of the content, if it has arrived. */
  whole(): Buffer | null {
    return this.complete && this.failure === undefined ? this.#take() : null
  }

  /** The content that has arrived, as one piece: many small pieces would need more memory than their bytes. */
  #take(): Buffer {
    const [first, ...more] = this.#pieces
    const all = first && more.length === 0 ? first : Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#kept = 0
    if (this.#paused) this.#source.resume()
    this.#paused = false
    return all
  }

  async *pieces(): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      if (this.failure !== undefined) throw this.failure
      if (this.#kept > 0) yield this.#take()
      else if (this.complete) return
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }
}
