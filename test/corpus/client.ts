/** A client that writes and reads bytes: well-formed requests share a connection, other bytes have one of their own. */
import { connect, type Socket } from 'node:net'

export interface Received {
  readonly status: number
  /** In the order in which they came, with their names as they were written. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
}

/** The time after which a missing answer counts as a hang, in milliseconds. */
const patience = 20_000

export interface Client {
  readonly send: (method: string, bytes: Buffer) => Promise<Received>
  readonly close: () => void
}

/** Sends requests one after the other, on one connection for as long as the service keeps it open. */
export function clientOf(port: number): Client {
  let socket: Socket | null = null

  function opened(): Socket {
    if (socket && !socket.destroyed && socket.writable) return socket
    socket = connect(port, '127.0.0.1')
    socket.setNoDelay(true)
    socket.on('error', () => {})
    return socket
  }

  return {
    send: (method, bytes) =>
      new Promise((resolve, reject) => {
        const own = opened()
        let heard: Buffer = Buffer.alloc(0)
        const late = setTimeout(() => own.destroy(new Error('late')), patience)
        const over = (found: Received | null): void => {
          clearTimeout(late)
          own.off('data', hear).off('close', closed)
          if (found === null) {
            reject(
              new Error(`The connection ended without a whole answer to ${bytes.toString('latin1', 0, 300)}: ${heard}`),
            )
            return
          }
          if (ends(found)) {
            socket = null // the next request takes a new connection, whether this one is closed yet or not
            own.destroy()
          }
          resolve(found)
        }
        const hear = (chunk: Buffer): void => {
          heard = Buffer.concat([heard, chunk])
          const found = messageIn(heard, method)
          if (found) over(found.message)
        }
        const closed = (): void => over(null)
        own.on('data', hear).on('close', closed)
        own.write(bytes)
      }),
    close: () => socket?.destroy(),
  }
}

const ends = ({ headers }: Received): boolean =>
  headers.some(([name, value]) => name.toLowerCase() === 'connection' && value === 'close')

/** The first message and the bytes that follow it; null while it is incomplete. */
export function messageIn(bytes: Buffer, method: string): { message: Received; rest: Buffer } | null {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return null
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1] ?? 0)
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  const after = bytes.subarray(end + 4)
  if (status === 100) return messageIn(after, method)
  const length = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1]
  const bare = method === 'HEAD' || status === 204 || status === 304 || status === 0
  const size = bare ? 0 : Number(length ?? 0)
  if (after.length < size) return null
  return { message: { status, headers, body: after.subarray(0, size) }, rest: after.subarray(size) }
}

/** Sends bytes on a new connection, ends it, and returns everything that was received. */
export function exchange(port: number, bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => socket.end(bytes))
    const late = setTimeout(() => socket.destroy(), patience)
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(late)
      resolve(Buffer.concat(chunks))
    })
  })
}
