/** Own engine: receives requests by our own HTTP/1.1 on sockets. Part 1, requests. */
import { parseTarget, requestIdOf } from '../corridor/message.ts'
import type { ServerContext } from '../corridor/server-context.ts'
import type { Call, Content } from '../flow/call.ts'
import { clientAddress } from '../flow/network.ts'
import { makeFlow, makeIntake } from '../limits/intake.ts'
import type { ContentBuffer } from '../wire/content-buffer.ts'
import type { MessageHead } from '../wire/message-head.ts'
import type { WireConnection } from '../wire/wire-connection.ts'
import { WireServer } from '../wire/wire-server.ts'
import type { WrittenAnswer } from '../wire/written-answer.ts'
import { faultProblem, refuseFault } from './fault-answer.ts'
import { type HttpEngine, mostHeadBytes, mostRequests } from './http-engine.ts'
import { answerAndClose, requestListener } from './serve-requests.ts'

const { METHODS } = process.getBuiltinModule('node:http')

export const ownEngine: HttpEngine = (context, enqueue, timeout) => {
  const { service, world } = context
  const { limits } = service.settings
  const serve = requestListener(context, enqueue)
  return new WireServer({
    limits: { ...limits, head: mostHeadBytes(limits), requests: mostRequests },
    world,
    methods: new Set(METHODS),
    request: (head, content, answer, connection) => {
      const call = callOfHead(head, connection, context, content && contentOf(head, content, answer, context))
      serve({ call, request: new ReceivedMessage(connection, content), response: answer })
    },
    refuse: (fault, head, connection) => {
      const { socket } = connection
      const call = callOfHead(head, connection, context, null)
      enqueue(socket, () => void answerAndClose(call, () => refuseFault(call, fault, context), socket, context))
    },
    failure: faultProblem,
    timeout,
  })
}

/** The parts of a received message that the answer needs. */
class ReceivedMessage {
  readonly #connection: WireConnection
  readonly #content: ContentBuffer | null
  constructor(connection: WireConnection, content: ContentBuffer | null) {
    this.#connection = connection
    this.#content = content
  }
  get socket() {
    return this.#connection.socket
  }
  get complete(): boolean {
    return this.#content === null || this.#content.complete
  }
  get failure(): unknown {
    return this.#content?.failure
  }
  resume(): void {
    this.#content?.resume()
  }
}

function callOfHead(
  { method, target: sent, http, headers, raw }: MessageHead,
  { address, gone, halfClosed }: WireConnection,
  { world, proxies = [] }: ServerContext,
  content: Content | null,
): Call {
  const { target, authority } = parseTarget(sent)
  return {
    method,
    target,
    authority,
    http,
    headers,
    raw,
    id: requestIdOf(headers['request-id'], world),
    content,
    address: clientAddress(address, headers['x-forwarded-for'], proxies),
    gone,
    halfClosed,
  }
}

/** The content: at once if its whole declared length has arrived, otherwise piece by piece. */
function contentOf(
  { http, headers }: MessageHead,
  content: ContentBuffer,
  answer: WrittenAnswer,
  { world }: Pick<ServerContext, 'world'>,
): Content {
  // Sends 100 Continue if the client waits for it. R19.
  async function* pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    if (headers.expect !== undefined && http === '1.1' && !content.complete) answer.writeContinue()
    yield* content.pieces()
  }
  return {
    readIfComplete: () => (headers['content-length'] === undefined ? null : content.whole()),
    [Symbol.asyncIterator]: () => world.state.of(makeIntake, world).receive(pieces()),
    flow: (...terms) => {
      content.flowing = true
      return world.state.of(makeFlow, world)(pieces(), ...terms)
    },
  }
}
