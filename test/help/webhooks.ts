/** A service with webhooks, and servers that receive its deliveries. */
import type { IncomingHttpHeaders } from 'node:http'
import type { TestContext } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { sink } from './sinks.ts'

/** Orders of accounts, whose events go to endpoints. */
export const webhookShop = service({
  name: 'shop',
  events: true,
  settings: { events: { webhooks: true } },
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

export const scopes = ['orders:read', 'orders:write', 'webhook-endpoints:read', 'webhook-endpoints:write']

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
export type Answer =
  | number
  | { readonly status: number; readonly headers: Record<string, string>; readonly body?: string }

/** A sink that gives the answers of the test, and keeps the requests. */
export async function receiver(t: TestContext, answer: (received: Received) => Answer = () => 204) {
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

/** A service under test, with callers of two accounts. */
export function webhookNode(t: TestContext, url: string, api: Service = webhookShop, own = scopes) {
  const { call, pass, close, logged } = testing(api, { database: url })
  t.after(close)
  const send =
    (account: string) =>
    // biome-ignore lint/suspicious/noExplicitAny: answers are read as they are
    async (method: string, path: string, json?: object, headers = {}): Promise<any> => {
      const as = { account, scopes: own }
      const response = await call(path, { method, as, headers, ...(json && { json }) })
      const text = await response.text()
      return { status: response.status, headers: response.headers, ...(text === '' ? {} : { body: JSON.parse(text) }) }
    }
  return { send: send('acc_1'), other: send('acc_2'), call, pass, logged, close }
}
