/** The service in a server of node:http. */
import { createServer } from 'node:http'
import { openApp, RefusedRequest, toNode } from 'bylaw/embedding'
import api from './api.ts'

const app = await openApp(api)
const answer = toNode(app)

const server = createServer(async (request, response) => {
  if (request.url !== '/whoami') return answer(request, response)
  try {
    const { account } = await app.authenticate(request)
    app.log.info({ account }, 'A caller has asked who it is.')
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ account }))
  } catch (error) {
    if (!(error instanceof RefusedRequest)) throw error
    response.writeHead(error.status, error.headers).end(error.body)
  }
})

const port = Number(process.env.PORT ?? 3000)
server.listen(port, () => console.log(`http://localhost:${port}/api/orders`))
process.once('SIGTERM', () => {
  server.close()
  void app.close()
})
