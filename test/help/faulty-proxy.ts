/** A proxy between a client and a service that loses requests and answers as a test plans it. */
import { createServer, type IncomingHttpHeaders, request, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { listening } from './sinks.ts'

/** The fault of a request: it is lost, its answer is lost or broken off, it waits for ever, or it gets another answer. */
export type Fault =
  | 'none'
  | 'lose-request'
  | 'lose-answer'
  | 'break-answer'
  | 'hang'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }

export interface FaultyProxy {
  readonly url: string
  /** The faults of the next requests; those after them have none. */
  readonly faults: Fault[]
  readonly seen: Request[]
  /** Called before the next answer is lost, when the service has carried out the request. */
  meanwhile: (() => Promise<unknown>) | undefined
  /** Breaks off all connections. */
  readonly cut: () => void
}

interface Request {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export async function faultyProxy(t: TestContext, port: number): Promise<FaultyProxy> {
  const [faults, seen]: [Fault[], Request[]] = [[], []]
  const server = createServer(async (incoming, response) => {
    const { method = '', url = '', headers } = incoming
    const sent = { method, url, headers, body: await textOf(incoming) }
    seen.push(sent)
    const fault = faults.shift() ?? 'none'
    if (fault === 'hang') return
    if (fault === 'none' || fault === 'lose-answer' || fault === 'break-answer') {
      forward(port, sent, response, fault === 'none' ? null : () => meanwhile().then(() => fault))
      return
    }
    await meanwhile()
    if (fault === 'lose-request') response.destroy()
    else response.writeHead(fault.status, fault.headers).end(fault.body)
  })
  const meanwhile = async (): Promise<void> => {
    const act = proxy.meanwhile
    proxy.meanwhile = undefined
    await act?.()
  }
  const url = `http://127.0.0.1:${await listening(t, server)}`
  const proxy: FaultyProxy = { url, faults, seen, meanwhile: undefined, cut: () => server.closeAllConnections() }
  return proxy
}

async function textOf(message: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of message) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Forwards a request. `lost` is called when its answer is complete, and says how that is lost. */
function forward(
  port: number,
  { method, url: path, headers, body }: Request,
  response: ServerResponse,
  lost: (() => Promise<Fault>) | null,
): void {
  const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, async (answer) => {
    answer.on('error', () => {})
    response.writeHead(answer.statusCode ?? 0, answer.headers)
    if (lost === null) {
      answer.pipe(response)
      return
    }
    const text = await textOf(answer)
    if ((await lost()) === 'lose-answer') response.destroy()
    else response.write(text.slice(0, 10), () => response.destroy())
  })
  outgoing.on('error', () => response.destroy())
  response.on('close', () => outgoing.destroy())
  outgoing.end(body)
}
