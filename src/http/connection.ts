/** Keeps what comes in on a connection in turn, and ends it so that its last answer can be read. Part 8, limits. */
import type { Socket } from 'node:net'

const turns = new WeakMap<Socket, Promise<boolean>>()

/**
 * Takes a step when all steps before it are done; each one says whether the connection goes on. So a request sees what
 * those before it have done, and what stands behind a refused one is never carried out. R18.
 */
export function enqueue(socket: Socket, step: () => Promise<boolean>): void {
  const before = turns.get(socket)
  turns.set(socket, before ? before.then((goesOn) => goesOn && !socket.destroyed && step()) : step())
}

const patience = 3000
const most = 16 * 1024 * 1024

/** Lets nothing more in: what still comes is thrown away, up to a bound. */
export function deafen(socket: Socket): void {
  let left = most
  socket.resume()
  // Only in the next turn has the engine begun to read again; taken away from it before, the connection would stand still.
  setImmediate(() => {
    socket.removeAllListeners('data')
    socket.on('data', ({ length }: Buffer) => {
      left -= length
      if (left < 0) socket.destroy()
    })
  })
}

/** Ends a connection. Closed at once, it would take its last answer away from who is still sending. R18. */
export function linger(socket: Socket): void {
  deafen(socket)
  socket.end()
  const late = setTimeout(() => socket.destroy(), patience)
  socket.once('close', () => clearTimeout(late))
}
