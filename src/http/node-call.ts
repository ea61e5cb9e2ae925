/** Node call: a request of node:http as a call, with its content as it arrives. Part 1. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseTarget, requestIdOf } from '../corridor/message.ts'
import type { ServerContext } from '../corridor/server-context.ts'
import type { Call, Content } from '../flow/call.ts'
import { clientAddress } from '../flow/network.ts'
import { consumedContent, makeFlow, makeIntake } from '../limits/intake.ts'
import { readableOrEnded } from './connection.ts'

/** `server` is `'host'` for the server of another program, which does not watch how long content takes, and sends 100 Continue itself. */
export function callOf(
  request: IncomingMessage,
  context: ServerContext,
  response?: ServerResponse,
  server?: 'host',
): Call {
  const { world, proxies = [] } = context
  const headers = request.headers as Record<string, string | undefined>
  const bare = headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
  const { target, authority } = parseTarget(requestTarget(request))
  return {
    method: request.method as string,
    target,
    authority,
    http: request.httpVersion,
    headers,
    raw: request.rawHeaders,
    id: requestIdOf(headers['request-id'], world),
    content: bare ? null : server ? hostedContent(request, context) : contentOf(request, response, context),
    address: clientAddress(request.socket.remoteAddress ?? '', headers['x-forwarded-for'], proxies),
    gone: () => request.socket.destroyed,
    halfClosed: () => request.socket.readableEnded || request.socket.destroyed,
  }
}

/** The target as it was sent: Express and others cut the path off `url` at which they mount a function. */
export const requestTarget = (request: IncomingMessage & { readonly originalUrl?: string }): string =>
  request.originalUrl ?? (request.url as string)

/** Content that the host may have read. The host has sent 100 Continue already. */
function hostedContent(request: IncomingMessage, { service, world }: ServerContext): Content {
  const pieces = () => {
    if (request.readableDidRead || request.readableEnded) throw consumedContent()
    return contentPieces(request, undefined)
  }
  const { requestTimeout } = service.settings.limits
  return {
    [Symbol.asyncIterator]: () => world.state.of(makeIntake, world).receive(pieces(), requestTimeout),
    flow: (...terms) => world.state.of(makeFlow, world)(pieces(), ...terms),
  }
}

/** The content: at once if its whole declared length has arrived, otherwise piece by piece. */
const contentOf = (
  request: IncomingMessage,
  response: ServerResponse | undefined,
  { world }: Pick<ServerContext, 'world'>,
): Content & { isFlowing: boolean } => ({
  readIfComplete: () => {
    const { readableLength: length } = request
    // Since Node 26 `read` without a length returns only the first buffer.
    return length === Number(request.headers['content-length']) ? request.read(length) : null
  },
  [Symbol.asyncIterator]: () => world.state.of(makeIntake, world).receive(contentPieces(request, response)),
  isFlowing: false,
  flow(...terms) {
    this.isFlowing = true
    return world.state.of(makeFlow, world)(contentPieces(request, response), ...terms)
  },
})

/** The content as it arrives. Sends 100 Continue if the client waits for it; ending early keeps the connection open. R19. */
async function* contentPieces(
  request: IncomingMessage,
  response: ServerResponse | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (response?.headersSent) throw new Error('The content broke off before it was read.')
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') response?.writeContinue()
  await readableOrEnded(request)
  yield* { [Symbol.asyncIterator]: () => request.iterator({ destroyOnReturn: false }) }
}
