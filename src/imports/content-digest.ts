/** Content digest: tells whether content begins with the same lines as before. R238. */
import { createHash } from 'node:crypto'
import type { Line } from './lines.ts'

const lineFeed = Buffer.from('\n')
const tooLong = Buffer.from([0xff])

export class ContentDigest {
  readonly #hash: ReturnType<typeof createHash> | null

  constructor(isKept: boolean) {
    this.#hash = isKept ? createHash('sha256') : null
  }

  add({ bytes }: Line): void {
    this.#hash?.update(bytes ?? tooLong).update(lineFeed)
  }

  /** The digest of all lines so far; empty if none is kept. */
  text(): string {
    return this.#hash?.copy().digest('base64url').slice(0, 22) ?? ''
  }
}
