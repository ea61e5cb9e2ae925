/** Webhooks: endpoints, and deliveries of events to them with signatures and retries. */
import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { verify } from 'bylaw/webhooks'
import { places } from '../help/places.ts'
import { sink } from '../help/sinks.ts'

const api = service({
  name: 'shop',
  events: true,
  scopes: { 'orders:read': 'Read orders', 'orders:write': 'Write orders' },
  resources: {
    orders: {
      prefix: 'ord',
      owner: 'account',
      fields: { note: f.text() },
      states: { field: 'status', initial: 'draft', transitions: { placements: { from: ['draft'], to: 'placed' } } },
      access: { read: 'orders:read', write: 'orders:write' },
    },
  },
})

const scopes = ['orders:read', 'orders:write', 'webhook-endpoints:read', 'webhook-endpoints:write']

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
type Answer = number | { readonly status: number; readonly headers: Record<string, string>; readonly body?: string }

/** A sink that answers as it is told, and keeps what it gets. */
async function receiver(t: TestContext, answer: (received: Received) => Answer = () => 204) {
  const received: Received[] = []
  const { url } = await sink(t, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const got = { headers: request.headers, body: Buffer.concat(chunks).toString() }
    received.push(got)
    const told = answer(got)
    const { status, headers, body = '' } = typeof told === 'number' ? { status: told, headers: {} } : told
    response.writeHead(status, headers).end(body)
  })
  return { url: url.replace('hooks.example', '127.0.0.1'), received }
}

function desk(t: TestContext, url: string) {
  const { call, pass, close, logged } = testing(api, { database: url })
  t.after(close)
  const send =
    (account: string) =>
    // biome-ignore lint/suspicious/noExplicitAny: answers are read as they are
    async (method: string, path: string, json?: object, headers = {}): Promise<any> => {
      const as = { account, scopes }
      const response = await call(path, { method, as, headers, ...(json && { json }) })
      const text = await response.text()
      return { status: response.status, headers: response.headers, ...(text === '' ? {} : { body: JSON.parse(text) }) }
    }
  return { send: send('acc_1'), other: send('acc_2'), pass, logged }
}

for (const [name, place] of places) {
  test(`R209 R210 R212: an event is delivered with a signature, and again after a failure, on ${name}`, async (t) => {
    const answers = [500, 204]
    const { url, received } = await receiver(t, () => answers.shift() ?? 204)
    const { send, pass } = desk(t, (await place(t)).url)
    const made = await send('POST', '/webhook-endpoints', { url, eventTypes: ['order.*'] })
    assert.equal(made.status, 201, JSON.stringify(made.body))
    const { id, secret } = made.body
    assert.match(secret, /^whsec_/)
    const { body: order } = await send('POST', '/orders', { note: 'a' })
    await pass('PT0.1S')
    assert.equal(received.length, 1)
    const [first] = received as [Received]
    const event = await verify(first.headers as never, first.body, [secret])
    assert.equal(event.type, 'order.created')
    assert.equal(event.data.id, order.id)
    const { body: pending } = await send('GET', `/webhook-deliveries?endpointId=${id}`)
    assert.equal(pending.data[0].status, 'pending')
    assert.equal(pending.data[0].attempts[0].responseStatus, 500)
    await pass('PT8S')
    assert.equal(received.length, 2)
    assert.equal(received[1]?.headers['webhook-id'], first.headers['webhook-id'])
    assert.notEqual(received[1]?.headers['webhook-timestamp'], first.headers['webhook-timestamp'])
    const { body: done } = await send('GET', '/webhook-deliveries?status=succeeded')
    assert.equal(done.data[0].attempts.length, 2)
    assert.match(done.data[0].attempts[0].duration, /^PT[0-9.]+S$/)
    await pass('P1D')
    assert.equal(received.length, 2)
  })
}
