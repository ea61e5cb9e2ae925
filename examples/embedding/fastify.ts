/** The service as a plugin of Fastify, with Fastify's log. */
import { openApp, toFastify } from 'bylaw/embedding'
import fastify from 'fastify'
import api from './api.ts'

const server = fastify({ logger: true })
const app = await openApp(api, { log: server.log })
await server.register(toFastify(app))

server.get('/whoami', async ({ raw, log }) => {
  const { account } = await app.authenticate(raw)
  log.info({ account }, 'A caller has asked who it is.')
  return { account }
})

const port = Number(process.env.PORT ?? 3000)
await server.listen({ port })
console.log(`http://localhost:${port}/api/orders`)
process.once('SIGTERM', () => server.close())
