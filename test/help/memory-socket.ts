/** A socket in memory: `push` delivers bytes to the server, and `sent` has what the server wrote. */
import { Duplex } from 'node:stream'

export class MemorySocket extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  readonly sent: Buffer[] = []
  timeout = 0
  override _read(): void {}
  override _write(bytes: Buffer, _: string, done: () => void): void {
    this.sent.push(Buffer.from(bytes))
    done()
  }
  setTimeout(): this {
    return this
  }
  setNoDelay(): this {
    return this
  }
  setKeepAlive(): this {
    return this
  }
  resetAndDestroy(): this {
    return this.destroy()
  }
}
