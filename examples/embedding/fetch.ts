/** The service as a function from Request to Response, in a server that calls such functions. */
import type { IncomingMessage } from 'node:http'
import { serve } from '@hono/node-server'
import { openApp, RefusedRequest, toFetch } from 'bylaw/embedding'
import api from './api.ts'

type Bindings = { incoming: IncomingMessage }

const app = await openApp(api)
const addressOf = (_: Request, { incoming }: Bindings) => incoming.socket.remoteAddress
const answer = toFetch(app, { addressOf })

async function fetch(request: Request, bindings: Bindings): Promise<Response> {
  if (new URL(request.url).pathname !== '/whoami') return answer(request, bindings)
  try {
    const { account } = await app.authenticate(request, { address: addressOf(request, bindings) })
    app.log.info({ account }, 'A caller has asked who it is.')
    return Response.json({ account })
  } catch (error) {
    if (error instanceof RefusedRequest) return error.getResponse()
    throw error
  }
}

const port = Number(process.env.PORT ?? 3000)
const server = serve({ port, fetch: (request, bindings) => fetch(request, bindings as Bindings) }, () =>
  console.log(`http://localhost:${port}/api/orders`),
)
process.once('SIGTERM', () => {
  server.close()
  void app.close()
})
