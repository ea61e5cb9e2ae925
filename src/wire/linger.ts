/** Linger: closes a connection so that the client can read the last answer. Part 1, requests. */
import type { Socket } from 'node:net'
import type { World } from '../flow/world.ts'

const lingerTime = 3000
/** How much input is discarded on a connection at most, in bytes. */
export const mostDiscarded = 16 * 1024 * 1024

/** Discards further input; more than 16 MiB of it closes the connection. */
export function discardInput(socket: Socket, { nextTurn }: Pick<World, 'nextTurn'>): void {
  let left = mostDiscarded
  socket.resume()
  // node:http resumes reading only in the next turn; removing its listeners earlier would stall the connection.
  nextTurn(() => {
    socket.removeAllListeners('data')
    socket.on('data', ({ length }: Buffer) => {
      left -= length
      if (left < 0) socket.destroy()
    })
  })
}

/** Closes a connection slowly: after an immediate close, a client that is still sending would lose the last answer. R18. */
export function linger(socket: Socket, world: Pick<World, 'nextTurn' | 'after'>): void {
  discardInput(socket, world)
  socket.end()
  socket.once(
    'close',
    world.after(lingerTime, () => socket.destroy()),
  )
}
