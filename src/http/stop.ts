/** Stop: closes the HTTP server without losing a request. Part 8, termination. */
import { Server as Listener } from 'node:net'
import type { World } from '../flow/world.ts'
import type { EngineServer } from './http-engine.ts'

/** How long idle connections stay open: a tenth of the drain time, at most a second. */
const idleTime = (drain: number): number => Math.min(drain / 10, 1000)
/** How long connections in the system's queue are still accepted at most, in milliseconds. */
const acceptTime = 1000

/**
 * Stops listening and finishes accepted requests. On a connection that is kept alive the next request may be on its way, and
 * closing it would lose that request. So it stays open for a while: its next answer says `Connection: close`, and only
 * connections without a request in that time are closed as idle. `resetAnswers` breaks off incomplete answers. R186, R162.
 */
export async function stopServer(
  server: EngineServer,
  drain: number,
  world: World,
  resetAnswers: () => void,
): Promise<void> {
  const closed = new Promise((resolve) => server.once('close', resolve))
  await acceptPending(server, world)
  Listener.prototype.close.call(server) // http.Server.close would close idle connections at once
  const cancels = [
    world.after(idleTime(drain), () => world.nextTurn(() => server.close())), // after a turn that reads arrived requests
    world.after(drain, () => {
      resetAnswers()
      server.closeAllConnections()
    }),
  ]
  await closed
  for (const cancel of cancels) cancel()
}

/** Waits for a turn without a new connection: closing resets connections that are still in the system's queue. */
async function acceptPending(server: EngineServer, { monotonic, nextTurn }: World): Promise<void> {
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
