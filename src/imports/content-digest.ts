/** Content digest: tells whether content begins with the same lines as before. R238. */
import { createHash } from 'node:crypto'
import type { Line } from './lines.ts'

const lineFeed = Buffer.from('\n')
const tooLong = Buffer.from([0xff])

export class ContentDigest {
  readonly #isKept: boolean
  #hash = createHash('sha256')
  /** The lines that are not in the hash yet. */
  #lines: Line[] = []

  constructor(isKept: boolean) {
    this.#isKept = isKept
  }

  add(line: Line): void {
    if (this.#isKept) this.#lines.push(line)
  }

  /** How many lines are kept. */
  get kept(): number {
    return this.#lines.length
  }

  /** The digest of all lines up to one; empty if none is kept. */
  upTo(number: number): string {
    return this.#isKept ? this.#hashUpTo(number).digest('base64url').slice(0, 22) : ''
  }

  /** Lines up to this one are no longer asked for one by one. */
  forget(number: number): void {
    if (!this.#isKept) return
    this.#hash = this.#hashUpTo(number)
    this.#lines = this.#lines.filter((line) => line.number > number)
  }

  #hashUpTo(number: number): ReturnType<typeof createHash> {
    const hash = this.#hash.copy()
    for (const line of this.#lines) {
      if (line.number > number) break
      hash.update(line.bytes ?? tooLong).update(lineFeed)
    }
    return hash
  }
}
