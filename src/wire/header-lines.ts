/** Header lines: finds the lines of a head in bytes as they arrive, and refuses every form that two readers may read differently. Part 1, requests. */

/** Why bytes are refused, or why a message ended. */
export interface Fault {
  readonly kind: 'malformed' | 'overflow' | 'ended' | 'late'
  readonly reason: string
}

export const malformed = (reason: string): Fault => ({ kind: 'malformed', reason })
const overflow: Fault = { kind: 'overflow', reason: 'The header is too large' }

const [tab, lf, cr, space, colon] = [9, 10, 13, 32, 58]

const tableOf = (allows: (code: number) => boolean): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, code) => Number(allows(code)))

/** Pure: the bytes of a token, of a target, and of a header value. */
const tokens = tableOf((code) => /[!#$%&'*+.^_`|~\w-]/.test(String.fromCharCode(code)))
const visible = tableOf((code) => code > 32 && code < 127)
const texts = tableOf((code) => code === tab || (code >= 32 && code !== 127))

const mostMarks = 400

/**
 * Where the parts of one head are, relative to its first byte. It can be continued when more bytes have arrived; only the
 * line that was incomplete is read again.
 */
export class HeaderLines {
  /** Name and value of each line: the start and end of both; `count` of them belong to this head. */
  marks: number[] = []
  count = 0
  /** The ends of the method, the target and the version; 0 until the request line is complete. */
  method = 0
  target = 0
  version = 0
  /** Where the next line begins. */
  at = 0
  /** Up to where the incomplete line was read. */
  #seen = 0

  /** Trailers have lines like those of a head, without a request line. */
  static ofTrailers(): HeaderLines {
    const lines = new HeaderLines()
    lines.version = -1
    return lines
  }

  /** Begins another head, in the memory of this one unless it is large. */
  restart(): void {
    if (this.marks.length > mostMarks) this.marks = []
    this.count = 0
    this.method = 0
    this.target = 0
    this.version = 0
    this.at = 0
    this.#seen = 0
  }

  /** Reads on; true when the empty line after the head has been read. */
  read(bytes: Buffer, from: number, most: number): boolean | Fault {
    const end = bytes.length - from
    if (this.#seen > 0 && bytes.indexOf(lf, from + this.#seen) < 0) return this.#incomplete(end, most)
    if (this.version === 0) {
      const fault = this.#requestLine(bytes, from, end)
      if (fault) return fault
      if (this.version === 0) return this.#incomplete(end, most)
    }
    const done = this.#fields(bytes, from)
    if (done === false) return this.#incomplete(end, most)
    return done === true && this.at > most ? overflow : done
  }

  #incomplete(end: number, most: number): false | Fault {
    this.#seen = end
    return end > most ? overflow : false
  }

  #requestLine(bytes: Buffer, from: number, end: number): Fault | undefined {
    let i = 0
    while (i < end && tokens[bytes[from + i] as number] === 1) i++
    this.method = i
    if (i === end) return
    if (i === 0 || bytes[from + i] !== space) return malformed('Invalid method')
    const start = ++i
    while (i < end && visible[bytes[from + i] as number] === 1) i++
    this.target = i
    if (i === end) return
    if (i === start || bytes[from + i] !== space) return malformed('Invalid characters in the target')
    i += 11 // ' HTTP/1.1' and the end of the line
    if (i > end) return bytes.includes(lf, from) ? malformed('Invalid HTTP version') : undefined
    if (!/^HTTP\/\d\.\d\r\n$/.test(bytes.toString('latin1', from + this.target + 1, from + i)))
      return malformed('Invalid HTTP version')
    this.version = i - 2
    this.at = i
    return
  }

  /** Reads header or trailer lines up to the empty one; false if it has not arrived. */
  #fields(bytes: Buffer, from: number): boolean | Fault {
    const { length } = bytes
    for (;;) {
      let i = from + this.at
      const line = i
      while (i < length && tokens[bytes[i] as number] === 1) i++
      if (i === length) return false
      const name = i
      if (bytes[i] !== colon) {
        if (bytes[i] !== cr || i > line) return malformed('Invalid character in a header name')
        if (i + 1 === length) return false
        if (bytes[i + 1] !== lf) return malformed('Expected LF after CR')
        this.at = i + 2 - from
        return true
      }
      if (name === line) return malformed('A header line has no name')
      i++
      while (i < length && (bytes[i] === space || bytes[i] === tab)) i++
      const value = i
      while (i < length && texts[bytes[i] as number] === 1) i++
      if (i === length || (bytes[i] === cr && i + 1 === length)) return false
      if (bytes[i] !== cr || bytes[i + 1] !== lf) return malformed('Invalid character in a header value')
      let last = i
      while (last > value && (bytes[last - 1] === space || bytes[last - 1] === tab)) last--
      if (last < i && isTabbedCoding(bytes.toString('latin1', line, i))) return malformed('A tab follows the coding')
      const { marks, count } = this
      marks[count] = line - from
      marks[count + 1] = name - from
      marks[count + 2] = value - from
      marks[count + 3] = last - from
      this.count = count + 4
      this.at = i + 2 - from
    }
  }
}

/** A coding with a tab after it: other readers take it for another coding, and the message for one of another length. */
const isTabbedCoding = (line: string): boolean => /^transfer-encoding:.*\t *$/i.test(line)

/** Where a message begins: empty lines before it are skipped. */
export function skipEmptyLines(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === cr && bytes[at + 1] === lf) at += 2
  return at
}
