/** Ends the door of node:http without losing a request. Part 8, termination. */
import type { Server } from 'node:http'
import { Server as Listener } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { elapsedSince, startTime } from '../corridor/world.ts'

/** How long idle connections are kept, so that busy ones get an answer that ends them: a part of the time to finish, at most a second. */
const idleTime = (drain: number): number => Math.min(drain / 10, 1000)
/** How long connections that wait at the port are accepted, in milliseconds. */
const acceptTime = 1000

/**
 * Stops listening and finishes what was accepted. A connection that is kept alive may carry the next request already, and
 * closing it would lose that request. So it stays open for a while: its next answer says `Connection: close`, and only
 * who asked for nothing meanwhile is closed as idle. R186.
 */
export async function stopServer(server: Server, drain: number): Promise<void> {
  const closed = new Promise((resolve) => server.once('close', resolve))
  await acceptPending(server)
  Listener.prototype.close.call(server) // that of node:http would close idle connections at once
  const idle = setTimeout(() => setImmediate().then(() => server.close()), idleTime(drain)) // after a turn that read what is here
  const late = setTimeout(() => server.closeAllConnections(), drain)
  await closed
  clearTimeout(idle)
  clearTimeout(late)
}

/** Waits for a turn of the event loop in which no connection came in: those that the system still holds are reset by closing. */
async function acceptPending(server: Server): Promise<void> {
  let came = true
  const note = () => {
    came = true
  }
  server.on('connection', note)
  const since = startTime()
  await setImmediate() // the end of this turn
  while (came && elapsedSince(since) < acceptTime) {
    came = false
    await setImmediate()
  }
  server.off('connection', note)
}
