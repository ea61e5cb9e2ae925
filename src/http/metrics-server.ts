/** Metrics server: answers GET /metrics on a port of its own, so that the service's port shows nothing of it. Part 8. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Log } from '../flow/world.ts'
import type { MetricFamily } from '../telemetry/metrics.ts'
import { metricsType, openMetricsText } from '../telemetry/open-metrics.ts'

// Not imported, as in node-engine.ts: an import would read every export of the module.
const { createServer } = process.getBuiltinModule('node:http')

export interface MetricsServer {
  readonly url: string
  readonly close: () => void
}

export async function serveMetrics(
  read: () => Promise<readonly MetricFamily[]>,
  { port, host }: { readonly port: number; readonly host: string },
  log: Log,
): Promise<MetricsServer> {
  const answer = async ({ url = '', method = '' }: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (url.split('?', 1)[0] !== '/metrics') return send(response, 404, 'There is only /metrics here.\n')
    if (method !== 'GET' && method !== 'HEAD')
      return send(response, 405, '/metrics answers GET and HEAD.\n', { Allow: 'GET, HEAD' })
    try {
      send(response, 200, openMetricsText(await read()), { 'Content-Type': metricsType })
    } catch (err) {
      log.error({ err }, 'The metrics could not be read.')
      send(response, 500, 'The metrics could not be read; the log has the cause.\n')
    }
  }
  const server = createServer(answer)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const hostText = host.includes(':') ? `[${host}]` : host
  return {
    url: `http://${hostText}:${(server.address() as AddressInfo).port}/metrics`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

const send = (response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void =>
  void response
    .writeHead(status, {
      'Content-Type': 'text/plain; charset=utf-8',
      'Content-Length': Buffer.byteLength(text),
      'Cache-Control': 'no-store',
      ...headers,
    })
    .end(text)
