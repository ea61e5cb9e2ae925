/** HTTP engine: what reads HTTP/1.1 from connections, node:http or our own, behind one interface. Part 1, requests. */
import type { Server, Socket } from 'node:net'
import type { ServerContext } from '../corridor/server-context.ts'
import type { Settings } from '../settings.ts'
import type { EnqueueStep } from './connection.ts'

/** A server that does not listen yet. */
export interface EngineServer extends Server {
  /** `close` also closes connections without a request. */
  readonly closeAllConnections: () => void
}

/** `timedOut` is called for a socket that has sent nothing for the time that was set on it. */
export type HttpEngine = (
  context: ServerContext,
  enqueue: EnqueueStep,
  timedOut: (socket: Socket) => void,
) => EngineServer

/** A connection is closed after this many requests, so that the client's next one may reach another process. */
export const mostRequests = 10_000

/** How many bytes a head may have; the corridor counts the target and the header fields. R179. */
export const mostHeadBytes = ({ headers, url }: Settings['limits']): number => headers + url + 1024
