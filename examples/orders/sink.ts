/** `npm run sink`: a receiver of webhooks that prints the orders that are placed. docs/webhooks.md has one that ignores repeats. */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { EventOf } from 'bylaw'
import { verify, WebhookError } from 'bylaw/webhooks'
import type api from './api.ts'

const given = process.env.WEBHOOK_SECRET
const secret = given || `whsec_${randomBytes(32).toString('base64')}`

const server = createServer(async (request, response) => {
  try {
    const event = await verify<EventOf<typeof api>>(request.headers, await text(request), secret)
    if (event.type === 'order.placed') {
      const { id, lineCount, total, currency } = event.data
      console.log(`${id} was placed: ${lineCount} ${lineCount === 1 ? 'line' : 'lines'}, ${total} ${currency}`)
    }
    response.writeHead(204).end()
  } catch (error) {
    response
      .writeHead(error instanceof WebhookError ? 400 : 500)
      .end(error instanceof WebhookError ? error.message : '')
  }
})

server.listen(Number(process.env.PORT || 4000), '127.0.0.1', () => {
  const { port } = server.address() as { port: number }
  const url = `http://localhost:${port}`
  console.log(`The sink listens at ${url}. While \`npm start\` runs, this sends it the orders that are placed:\n`)
  console.log(`  npm run bylaw -- listen --forward ${url} --types order.placed${given ? '' : ` --secret ${secret}`}\n`)
})
