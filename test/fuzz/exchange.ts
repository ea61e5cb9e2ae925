/** Sends bytes over a new connection and returns everything that was received until it ends. */
import { connect, type Socket } from 'node:net'

export interface Exchange {
  readonly answer: Buffer
  readonly ms: number
}

export function exchange(port: number, bytes: Buffer): Promise<Exchange> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const started = performance.now()
    const socket: Socket = connect(port, '127.0.0.1', () => socket.end(bytes))
    const late = setTimeout(() => socket.destroy(), 2000)
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(late)
      resolve({ answer: Buffer.concat(chunks), ms: performance.now() - started })
    })
  })
}
