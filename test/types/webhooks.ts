/** The types of what receivers of webhooks call, and calls that do not compile; nothing here runs. */
import type { IncomingHttpHeaders } from 'node:http'
import { type VerifyOptions, verify, WebhookError, type WebhookEvent, type WebhookFault } from 'bylaw/webhooks'
import type { Equal, Proof } from './equal.ts'

interface Order {
  readonly id: string
  readonly total: string
}

export async function receive(request: Request, node: IncomingHttpHeaders, bytes: Buffer) {
  const plain = await verify(request.headers, await request.text(), 'whsec_')
  const typed = await verify<WebhookEvent<Order>>(node, bytes, ['whsec_', 'whpk_'], { tolerance: 60, now: () => 0 })
  type Given = [
    Proof<Equal<typeof plain, WebhookEvent>>,
    Proof<Equal<typeof plain.data, Readonly<Record<string, unknown>>>>,
    Proof<Equal<typeof typed.data, Order>>,
    Proof<Equal<typeof typed.sequence, number>>,
  ]
  void (0 as unknown as Given)
  await verify({ 'webhook-id': 'evt_1', 'x-all': ['a', 'b'], 'x-none': undefined }, new Uint8Array(1), 'whsec_')
  // @ts-expect-error: the body as it came, not parsed
  await verify(request.headers, await request.json().then((body: object) => body), 'whsec_')
  // @ts-expect-error: no secret
  await verify(request.headers, '', undefined)
  // @ts-expect-error: no such option
  await verify(request.headers, '', '', { tolerence: 60 } satisfies VerifyOptions)
  // @ts-expect-error: headers have texts
  await verify({ 'webhook-id': 1 }, '', '')
}

export const faultOf = (error: unknown): WebhookFault | null => (error instanceof WebhookError ? error.fault : null)
