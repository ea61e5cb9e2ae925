/** Ends the door of node:http without losing a request. Part 8, termination. */
import type { Server } from 'node:http'
import { Server as Listener } from 'node:net'
import type { World } from '../flow/world.ts'

/** How long idle connections are kept, so that busy ones get an answer that ends them: a part of the time to finish, at most a second. */
const idleTime = (drain: number): number => Math.min(drain / 10, 1000)
/** How long connections that wait at the port are accepted, in milliseconds. */
const acceptTime = 1000

/**
 * Stops listening and finishes what was accepted. A connection that is kept alive may carry the next request already, and
 * closing it would lose that request. So it stays open for a while: its next answer says `Connection: close`, and only
 * who asked for nothing meanwhile is closed as idle. R186.
 */
export async function stopServer(server: Server, drain: number, world: World): Promise<void> {
  const closed = new Promise((resolve) => server.once('close', resolve))
  await acceptPending(server, world)
  Listener.prototype.close.call(server) // that of node:http would close idle connections at once
  const cancels = [
    world.after(idleTime(drain), () => world.nextTurn(() => server.close())), // after a turn that read what is here
    world.after(drain, () => server.closeAllConnections()),
  ]
  await closed
  for (const cancel of cancels) cancel()
}

/** Waits for a turn of the event loop in which no connection came in: those that the system still holds are reset by closing. */
async function acceptPending(server: Server, { monotonic, nextTurn }: World): Promise<void> {
  let came = true
  const note = () => {
    came = true
  }
  server.on('connection', note)
  const until = monotonic() + acceptTime
  await new Promise<void>(nextTurn) // the end of this turn
  while (came && monotonic() < until) {
    came = false
    await new Promise<void>(nextTurn)
  }
  server.off('connection', note)
}
