/** CSV records: reads the cells of RFC 4180 line by line; a cell in quotes may have several lines. Part 4. R238. */
import { Problem } from '../errors/problem.ts'

/** The text of each cell; null for an empty cell without quotes. */
export type CsvCells = readonly (string | null)[]

const malformed = (message: string): Problem => new Problem('malformed-request', message)
const openQuotes = 'The quotes of a cell do not end. Write a quote inside of a cell twice.'

export class CsvRecords {
  readonly #most: number
  #cells: (string | null)[] = []
  /** The lines so far of a cell whose quotes have not ended; null outside of quotes. */
  #open: string[] | null = null
  #length = 0

  /** `most` is the length that a record may have. */
  constructor(most: number) {
    this.#most = most
  }

  /** Whether a cell goes on in the next line. */
  get isOpen(): boolean {
    return this.#open !== null
  }

  /** Takes a line, and returns the cells of the record that ends with it; null if the record goes on. Throws if it is malformed. */
  take(line: string): CsvCells | null {
    this.#length += line.length + 1
    const isLong = this.#length > this.#most
    if (isLong) this.#cells = []
    try {
      const start = this.#open === null ? 0 : this.#closed(line, 0, this.#open)
      if (start < 0 || !this.#readCells(line, start)) {
        if (isLong) this.#open = []
        return null
      }
    } catch (error) {
      this.#reset()
      throw error
    }
    if (isLong) {
      this.#reset()
      throw new Problem('content-too-large', `The record is larger than ${this.#most} bytes, the maximum here.`)
    }
    return this.#reset()
  }

  /** Refuses the unfinished record, as one of its lines is lost. */
  lose(): void {
    if (this.isOpen) this.#length = Number.POSITIVE_INFINITY
  }

  /** Throws if a record is unfinished. */
  end(): void {
    if (this.#open !== null) throw malformed(openQuotes)
  }

  #reset(): CsvCells {
    const cells = this.#cells
    this.#cells = []
    this.#open = null
    this.#length = 0
    return cells
  }

  /** Reads cells from an index on; returns whether the record ends with the line. */
  #readCells(line: string, from: number): boolean {
    for (let at = from; at <= line.length; ) {
      if (line[at] === '"') {
        at = this.#closed(line, at + 1, [])
        if (at < 0) return false
        continue
      }
      const comma = line.indexOf(',', at)
      const cell = comma < 0 ? line.slice(at).replace(/\r$/, '') : line.slice(at, comma)
      if (cell.includes('"'))
        throw malformed('A quote stands in a cell without quotes. Put the cell in quotes, and write the quote twice.')
      this.#cells.push(cell === '' ? null : cell)
      at = comma < 0 ? line.length + 1 : comma + 1
    }
    return true
  }

  /** Reads to the end of a cell in quotes; returns the index of the next cell, or a negative number if the cell goes on. */
  #closed(line: string, from: number, before: string[]): number {
    let end = line.indexOf('"', from)
    while (end >= 0 && line[end + 1] === '"') end = line.indexOf('"', end + 2)
    this.#open = end < 0 ? before : null
    before.push(line.slice(from, end < 0 ? undefined : end))
    if (end < 0) return -1
    this.#cells.push(before.join('\n').replaceAll('""', '"'))
    const rest = line.slice(end + 1, end + 3)
    if (rest[0] !== undefined && rest[0] !== ',' && rest !== '\r')
      throw malformed('Something stands after the quotes of a cell. Write a quote inside of a cell twice.')
    return rest[0] === ',' ? end + 2 : line.length + 1
  }
}
