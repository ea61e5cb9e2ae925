/** Content reader: reads the content of one message, of a declared length or in chunks. Part 8, body size. */
import type { ContentBuffer } from './content-buffer.ts'
import { type Fault, HeaderLines, malformed } from './header-lines.ts'
import { hasFraming, headOf } from './message-head.ts'

/** How many bytes the chunk extensions of one content may have; they are ignored. */
const mostExtensions = 16_384
const sizePattern =
  /^([\da-f]{1,13})((?:;[!#$%&'*+.^_`|~\w-]+(?:=(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t\x20!#-[\]-~\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)*)\r\n$/i
const [cr, lf] = [13, 10]

export class ContentReader {
  readonly buffer: ContentBuffer
  /** Whether all of it has been read. */
  done = false
  #step: 'content' | 'size' | 'chunk' | 'chunk end' | 'trailers'
  /** How many bytes of the content or the chunk are still to come. */
  #left: number
  #extensions = 0
  #trailers: HeaderLines | null = null
  readonly #mostTrailers: number
  /** The range of content within the bytes that are being read. */
  #piece = { from: 0, to: 0 }

  /** `length` is null for chunks. */
  constructor(buffer: ContentBuffer, length: number | null, mostTrailers: number) {
    this.buffer = buffer
    this.#step = length === null ? 'size' : 'content'
    this.#left = length ?? 0
    this.#mostTrailers = mostTrailers
  }

  /** Reads one part; returns where the next one begins, or the same place if it is incomplete. */
  take(bytes: Buffer, at: number): number | Fault {
    switch (this.#step) {
      case 'content':
      case 'chunk':
        return this.#takeContent(bytes, at)
      case 'size':
        return this.#takeSize(bytes, at)
      case 'chunk end':
        if (at + 1 === bytes.length && bytes[at] === cr) return at
        if (bytes[at] !== cr || bytes[at + 1] !== lf) return malformed('Expected CRLF after a chunk')
        this.#step = 'size'
        return at + 2
      case 'trailers':
        return this.#takeTrailers(bytes, at)
    }
  }

  /** Passes on the content within the bytes that have been read. */
  flush(bytes: Buffer): void {
    const { from, to } = this.#piece
    if (to === from) return
    this.#piece = { from: 0, to: 0 }
    this.buffer.push(bytes.subarray(from, to))
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
    else this.done = true
    return end
  }

  #takeSize(bytes: Buffer, at: number): number | Fault {
    const end = bytes.indexOf(lf, at) + 1
    const lineEnd = end === 0 ? bytes.length : end
    if (lineEnd - at + this.#extensions > mostExtensions) return malformed('Chunk extensions are too long')
    if (end === 0) return at
    const [match, digits = '', extensions = ''] = sizePattern.exec(bytes.toString('latin1', at, end)) ?? []
    if (match === undefined) return malformed('Invalid chunk size')
    this.#extensions += extensions.length
    this.#left = Number.parseInt(digits, 16)
    this.#step = this.#left > 0 ? 'chunk' : 'trailers'
    return end
  }

  /** Trailers are read as header lines are, and dropped. */
  #takeTrailers(bytes: Buffer, at: number): number | Fault {
    this.#trailers ??= HeaderLines.ofTrailers()
    const complete = this.#trailers.read(bytes, at, this.#mostTrailers)
    if (complete === false) return at
    if (complete !== true) return complete
    if (hasFraming(headOf(bytes, at, this.#trailers))) return malformed('A trailer frames the message')
    this.done = true
    return at + this.#trailers.at
  }
}
