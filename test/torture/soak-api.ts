/** The service of the soak: events, webhooks, timers and a reaction, and nothing is kept for longer than half a minute. */
import { f, service } from 'bylaw'

const retention = 'PT30S'

export const soakApi = service({
  name: 'soak',
  events: true,
  settings: {
    events: { stream: true, webhooks: true, retention },
    idempotency: { retention },
    deleted: { retention },
  },
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text() },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          expiries: { from: ['draft'], to: 'expired', after: 'PT20S' },
        },
      },
      access: 'public',
    },
    receipts: {
      prefix: 'rec',
      fields: { orderId: f.ref('orders', { onDelete: 'cascade' }) },
      access: 'public',
    },
  },
})

export default soakApi.handlers({
  reactions: {
    receipts: {
      on: ['order.placed'],
      async run({ event, call }) {
        const { status } = await call('POST', '/receipts', { body: { orderId: event.data.id } })
        if (status >= 500) throw new Error(`The receipt was refused with ${status}.`)
      },
    },
  },
})
