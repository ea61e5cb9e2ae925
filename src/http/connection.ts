/** Keeps what comes in on a connection in turn, and ends it so that its last answer can be read. Part 8, limits. */
import type { Socket } from 'node:net'

/** Something to do on a connection; in the end it says whether the connection goes on. */
type Step = (done: (goesOn: boolean) => void) => void

interface Line {
  busy: boolean
  readonly waiting: Step[]
}

const lines = new WeakMap<Socket, Line>()

/**
 * Takes a step when all steps before it are done. So a request sees what those before it have done, and what stands
 * behind a refused one is never carried out. R18.
 */
export function enqueue(socket: Socket, step: Step): void {
  const line = lines.get(socket) ?? { busy: false, waiting: [] }
  lines.set(socket, line)
  if (line.busy) line.waiting.push(step)
  else take(socket, line, step)
}

function take(socket: Socket, line: Line, step: Step): void {
  line.busy = true
  step((goesOn) => {
    if (!goesOn || socket.destroyed) return // nothing more is taken
    const next = line.waiting.shift()
    if (next) take(socket, line, next)
    else line.busy = false
  })
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
