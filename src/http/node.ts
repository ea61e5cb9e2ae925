/** The door of node:http: takes calls down, sends replies out, and closes without losing anything. Part 8, termination. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import { refuseEarly } from './edge.ts'
import { answer, type House } from './handle.ts'

export interface Listening {
  readonly url: string
  /** Stops taking connections, finishes what was accepted, and ends the rest after the given time. R186. */
  readonly stop: (drain: number) => Promise<void>
}

/** Opens the door. `House.open` has to turn false before `stop`, so that readiness fails first. */
export async function listen(house: House, { port, host }: { port: number; host: string }): Promise<Listening> {
  const { limits } = house.service.settings
  const server = createServer({
    maxHeaderSize: limits.headers + limits.url + 1024, // both are counted by the corridor, R179
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    keepAliveTimeout: limits.idleTimeout,
    connectionsCheckingInterval: 1000,
    requireHostHeader: false, // R17: the corridor refuses it with an error body
  })
  server.maxHeadersCount = 0
  const take = (request: IncomingMessage, response: ServerResponse) => void serve(request, response, house)
  server.on('request', take)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => void refuseEarly(error, socket, house))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const shown = host.includes(':') ? `[${host}]` : host
  return { url: `http://${shown}:${(server.address() as AddressInfo).port}`, stop: (drain) => stopped(server, drain) }
}

async function serve(request: IncomingMessage, response: ServerResponse, house: House): Promise<void> {
  const call = callOf(request, house)
  const started = performance.now()
  const reply = await answer(call, house)
  send(call, request, response, reply, house.open())
  house.log.info(
    {
      requestId: call.id,
      method: call.method,
      path: pathOf(call.target),
      status: reply.status,
      ms: rounded(performance.now() - started),
    },
    'answered',
  )
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100
const pathOf = (target: string): string => target.split('?', 1)[0] as string // what stands behind it may be secret, R164

const requestId = /^[A-Za-z0-9._-]{1,128}$/

export function callOf(request: IncomingMessage, { world }: House): Call {
  const headers = request.headers as Record<string, string | undefined>
  const given = headers['request-id']
  return {
    method: request.method as string,
    target: originForm(request.url as string),
    headers,
    lines: (name) => linesOf(request.rawHeaders, name),
    id: given !== undefined && requestId.test(given) ? given : world.newRequestId(), // R27
    content: headers['content-length'] === undefined && headers['transfer-encoding'] === undefined ? null : request,
    address: request.socket.remoteAddress ?? '',
  }
}

export function linesOf(raw: readonly string[], name: string): string[] {
  return raw.filter((_, i) => i % 2 === 1 && (raw[i - 1] as string).toLowerCase() === name)
}

/** An absolute target without its origin. R17. */
function originForm(target: string): string {
  const match = /^https?:\/\/[^/?#]*/i.exec(target)
  if (!match) return target
  const rest = target.slice(match[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

function send(call: Call, request: IncomingMessage, response: ServerResponse, reply: Reply, open: boolean): void {
  const { headers, body, status } = reply
  headers['Request-Id'] = call.id
  if (!open || (call.content !== null && !request.complete)) headers.Connection = 'close'
  if (body === null) {
    response.writeHead(status, headers).end()
    return
  }
  if (call.method !== 'HEAD' || headers['Content-Encoding'] === undefined)
    headers['Content-Length'] = String(Buffer.byteLength(body))
  response.writeHead(status, headers).end(call.method === 'HEAD' ? undefined : body)
}

async function stopped(server: Server, drain: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeIdleConnections()
  const late = setTimeout(() => server.closeAllConnections(), drain)
  await closed
  clearTimeout(late)
}
