/** A shop that publishes its events to NATS. As a process it publishes once and is killed before it stores its position. */
import { f, service } from 'bylaw'
import { natsPublisher } from 'bylaw/nats'
import { testing } from 'bylaw/testing'
import type { EventPublisher } from '../../src/settings.ts'

/** A shop whose orders belong to accounts. */
export const publishingShop = (publish: EventPublisher, format: 'standard' | 'cloudevents' = 'standard') =>
  service({
    name: 'publishing-shop',
    events: true,
    scopes: { secrets: 'Read secrets' },
    resources: {
      orders: {
        prefix: 'ord',
        owner: 'accountId',
        fields: {
          note: f.text({ max: 1_000_000 }),
          margin: f.integer({ optional: true, read: 'secrets' }),
          pin: f.text({ optional: true, writeOnly: true, max: 20 }),
        },
        states: { field: 'status', initial: 'draft', transitions: { placements: { from: ['draft'], to: 'placed' } } },
        access: 'authenticated',
      },
    },
    settings: { events: { publish, format, reactions: true }, limits: { body: 2_000_000 } },
  })

/** Publishes to the stream `shop`. */
export const publisherTo = (url: string): EventPublisher =>
  natsPublisher({ servers: url, stream: 'shop', subject: 'shop' })

if (import.meta.main) {
  const [, , database = '', url = ''] = process.argv
  const { publish, close } = publisherTo(url)
  const fatal: EventPublisher = {
    publish: async (events) => {
      await publish(events)
      process.kill(process.pid, 'SIGKILL')
    },
    close,
  }
  await testing(publishingShop(fatal), { database }).pass('PT1S')
}
