/** The service as a middleware of Hono. */
import type { IncomingMessage } from 'node:http'
import { serve } from '@hono/node-server'
import { openApp, toHono } from 'bylaw/embedding'
import { Hono } from 'hono'
import api from './api.ts'

const app = await openApp(api)
const hono = new Hono<{ Bindings: { incoming: IncomingMessage } }>()
hono.use(toHono(app))

hono.get('/whoami', async ({ env, req, json }) => {
  const { account } = await app.authenticate(req.raw, { address: env.incoming.socket.remoteAddress })
  app.log.info({ account }, 'A caller has asked who it is.')
  return json({ account })
})

const port = Number(process.env.PORT ?? 3000)
const server = serve({ port, fetch: hono.fetch }, () => console.log(`http://localhost:${port}/api/orders`))
process.once('SIGTERM', () => {
  server.close()
  void app.close()
})
