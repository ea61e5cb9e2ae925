/** Wire server: accepts connections, and checks the times of all of them with one timer. Part 1, requests. */
import { Server, type Socket } from 'node:net'
import { WireConnection, type WireHandlers } from './wire-connection.ts'

const checkInterval = 1000

/** A server of HTTP/1.1 without node:http; it has the same methods where the service uses them. */
export class WireServer extends Server {
  readonly #connections = new Set<WireConnection>()

  constructor(handlers: WireHandlers) {
    super({ allowHalfOpen: true, noDelay: true })
    const { every, monotonic } = handlers.world
    let last = monotonic()
    let stalled = 0
    /** Leaves out the time in which the process was stopped: bytes that arrived then could not be read. */
    const clock = (): number => monotonic() - stalled
    const stop = every(checkInterval, () => {
      const late = monotonic() - last - checkInterval
      if (late > checkInterval) stalled += late
      last = monotonic()
      for (const connection of this.#connections) connection.check()
    })
    this.on('close', stop)
    this.on('connection', (socket: Socket) => {
      const connection = new WireConnection(socket, handlers, clock)
      this.#connections.add(connection)
      socket.on('close', () => this.#connections.delete(connection))
    })
  }

  /** Stops listening, and closes connections without a request. */
  override close(done?: (error?: Error) => void): this {
    for (const connection of this.#connections) if (connection.idle) connection.socket.destroy()
    return super.close(done)
  }

  closeAllConnections(): void {
    for (const { socket } of this.#connections) socket.destroy()
  }
}
