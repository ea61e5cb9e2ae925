/** Listening: serves with one of the two engines, and stops without losing requests. Part 8, termination. */
import type { AddressInfo, Server as Listener } from 'node:net'
import type { ServerContext } from '../corridor/server-context.ts'
import { connectionQueues } from './connection.ts'
import { nodeEngine } from './node-engine.ts'
import { ownEngine } from './own-engine.ts'
import { watchLoop } from './serve-requests.ts'
import { stopServer } from './stop.ts'
import { makeAnswerReaders } from './stream.ts'

export interface ListeningServer {
  readonly url: string
  /** Stops taking connections, finishes what was accepted, and ends the rest after the given time. R186. */
  readonly stop: (drain: number) => Promise<void>
}

/** Where to listen. */
export interface ListenPlace {
  readonly port: number
  readonly host: string
  /** A socket that is bound already. */
  readonly socket?: Listener
}

/** Starts listening. `open` of the server context must be false before `stop`, so that readiness fails first. */
export async function listen(context: ServerContext, { port, host, socket }: ListenPlace): Promise<ListeningServer> {
  const { service, world } = context
  const readers = world.state.of(makeAnswerReaders, context)
  const engine = service.settings.server.engine === 'own' ? ownEngine : nodeEngine
  const server = engine(context, connectionQueues(world), readers.close)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    if (socket) server.listen(socket, resolve)
    else server.listen(port, host, resolve)
  })
  const stopWatch = watchLoop(context)
  const hostText = host.includes(':') ? `[${host}]` : host
  return {
    url: `http://${hostText}:${(server.address() as AddressInfo).port}`,
    stop: (drain) => stopServer(server, drain, world, readers.resetAll).finally(stopWatch),
  }
}
