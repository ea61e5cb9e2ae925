/** A proxy between a client and a service that loses requests and answers as a test plans it. */
import { createServer, type IncomingHttpHeaders, request, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { listening } from './sinks.ts'

/** What becomes of a request: it is lost on its way, its answer is lost or broken off, it waits for ever, or another answer is sent. */
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
  readonly seen: {
    readonly method: string
    readonly url: string
    readonly headers: IncomingHttpHeaders
    readonly body: string
  }[]
  /** Called before the next answer is lost, when the service has carried out the request. */
  meanwhile: (() => Promise<unknown>) | undefined
  /** Breaks all connections off. */
  readonly cut: () => void
}

export async function faultyProxy(t: TestContext, port: number): Promise<FaultyProxy> {
  const [faults, seen]: [Fault[], FaultyProxy['seen']] = [[], []]
  const server = createServer(async (incoming, response) => {
    const { method = '', url = '', headers } = incoming
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    seen.push({ method, url, headers, body: String(body) })
    const fault = faults.shift() ?? 'none'
    if (fault === 'hang') return
    if (fault === 'lose-request') {
      await meanwhile()
      response.destroy()
    } else if (typeof fault === 'object') {
      await meanwhile()
      response.writeHead(fault.status, fault.headers).end(fault.body)
    } else forward(fault, { method, url, headers, body }, response)
  })
  const meanwhile = async (): Promise<void> => {
    const act = proxy.meanwhile
    proxy.meanwhile = undefined
    await act?.()
  }
  const forward = (
    fault: Fault,
    { body, ...sent }: { method: string; url: string; headers: IncomingHttpHeaders; body: Buffer },
    response: ServerResponse,
  ): void => {
    const { method, url: path, headers } = sent
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, async (answer) => {
      if (fault === 'none') {
        response.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.on('error', () => {})
        answer.pipe(response)
        return
      }
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk as Buffer)
      await meanwhile()
      if (fault === 'break-answer') {
        response.writeHead(answer.statusCode ?? 0, { ...answer.headers, 'content-length': '9999' })
        response.write(Buffer.concat(chunks).subarray(0, 10), () => response.destroy())
      } else response.destroy()
    })
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    outgoing.end(body)
  }
  const url = `http://127.0.0.1:${await listening(t, server)}`
  const proxy: FaultyProxy = { url, faults, seen, meanwhile: undefined, cut: () => server.closeAllConnections() }
  return proxy
}
