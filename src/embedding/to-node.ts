/** To node: an open service as a function for servers of node:http, and for Express and others like it. Part 1. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseTarget } from '../corridor/message.ts'
import { targetBelow } from '../corridor/versioned-path.ts'
import { connectionQueues } from '../http/connection.ts'
import { callOf, requestTarget } from '../http/node-call.ts'
import { requestListener } from '../http/serve-requests.ts'
import { makeAnswerReaders } from '../http/stream.ts'
import { linger } from '../wire/linger.ts'
import { type App, openedApp } from './app.ts'

/** Answers a request of node:http. With `next`, requests outside of the base path are passed on. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/**
 * Makes the listener of a server of node:http or node:https, or a middleware of Express and others like it.
 * @example createServer(toNode(app)).listen(3000)
 */
export function toNode(app: App): NodeHandler {
  const { context, enter } = openedApp(app)
  const { world, service } = context
  const answer = requestListener(context, connectionQueues(world))
  const readers = world.state.of(makeAnswerReaders, context)
  const lingering = new WeakSet<object>()
  return (request, response, next) => {
    if (next && targetBelow(parseTarget(requestTarget(request)).target, service) === null) return next()
    if (request.httpVersionMajor > 1) {
      context.log.error({ httpVersion: request.httpVersion }, notServed)
      return void response.writeHead(505).end()
    }
    const { socket } = request
    if (!lingering.has(socket)) Object.assign(socket, { destroySoon: () => linger(socket, world) })
    lingering.add(socket)
    response.on('timeout', () => readers.close(socket))
    response.on('close', enter())
    answer({ call: callOf(request, context, response, 'host'), request, response })
  }
}

const notServed =
  'toNode and toFastify serve HTTP/1.1 only, and this server takes HTTP/2. Serve HTTP/2 by a proxy in front, or give requests to toFetch.'
