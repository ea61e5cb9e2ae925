/** Lines: cuts content into its lines as it arrives, with a limit for each. Part 8, body size. R238. */

export interface Line {
  /** Counted from 1. */
  readonly number: number
  /** Null if it is longer than allowed. */
  readonly bytes: Buffer | null
}

const lineFeed = 0x0a
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/** The lines that each piece of the content completes, without their line feeds. */
export async function* linesIn(
  pieces: AsyncIterable<Uint8Array>,
  most: number,
): AsyncGenerator<readonly Line[], void, undefined> {
  const line = new GrowingLine(most)
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length)
    const lines: Line[] = []
    let start = 0
    for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, start)) {
      line.add(bytes.subarray(start, end))
      lines.push(line.end())
      start = end + 1
    }
    line.add(bytes.subarray(start))
    if (lines.length > 0) yield lines
  }
  if (line.hasBytes()) yield [line.end()]
}

/** The line whose end has not arrived yet. */
class GrowingLine {
  readonly #most: number
  #number = 1
  #parts: Buffer[] = []
  #length = 0

  constructor(most: number) {
    this.#most = most
  }

  hasBytes(): boolean {
    return this.#length > 0
  }

  add(bytes: Buffer): void {
    this.#length += bytes.length
    if (this.#length > this.#most) this.#parts = []
    else if (bytes.length > 0) this.#parts.push(bytes)
  }

  end(): Line {
    const number = this.#number++
    const bytes = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts)
    const marked = number === 1 && bytes.subarray(0, 3).equals(byteOrderMark)
    const line = { number, bytes: this.#length > this.#most ? null : marked ? bytes.subarray(3) : bytes }
    this.#parts = []
    this.#length = 0
    return line
  }
}
