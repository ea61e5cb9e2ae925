/** Services with events: a shop whose older version has other names, and one with CloudEvents and thin payloads. */
import { f, service } from 'bylaw'

/** In v1 `orders` was `purchases`, the state `placed` was `sent`, and `note` was `remark`. */
export const eventShop = service({
  name: 'event-shop',
  events: true,
  scopes: { 'orders:read': 'Read orders', 'orders:write': 'Write orders' },
  resources: {
    customers: { fields: { name: f.text() }, access: 'public', events: false },
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ max: 100 }), secret: f.text({ optional: true, max: 20, writeOnly: true }) },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          cancellations: { from: ['draft', 'placed'], to: 'cancelled' },
        },
      },
      access: { read: 'orders:read', write: 'orders:write' },
    },
    'order-lines': {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { amount: f.integer({ min: 1 }) },
      access: 'public',
    },
  },
  settings: { events: { stream: true }, versions: { default: 'v2' } },
  versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-02-15' } },
}).change('v2', 'orders', {
  about: '`purchases` are called `orders`, `remark` is called `note`.',
  was: 'purchases',
  renamed: { remark: 'note' },
  mapped: { status: { sent: 'placed' } },
})

/** Events in the form of CloudEvents that carry only ids, with names in snake_case. */
export const thinShop = service({
  name: 'thin-shop',
  resources: {
    'order-lines': { prefix: 'lin', fields: { amount: f.integer() }, access: 'public', events: true },
    tags: { fields: { name: f.text() }, access: 'public' },
  },
  settings: { naming: 'snake', events: { payload: 'thin', format: 'cloudevents' } },
})

/** Events that are delivered to endpoints. In v1 `order-notes` was `remarks`. */
export const hookShop = service({
  name: 'hook-shop',
  events: true,
  scopes: { 'order-notes:read': 'Read notes' },
  resources: {
    'order-notes': {
      prefix: 'ord',
      owner: 'account',
      fields: { noteText: f.text({ max: 100 }) },
      states: { field: 'status', initial: 'draft', transitions: { placements: { from: ['draft'], to: 'placed' } } },
      access: { read: 'order-notes:read', write: 'authenticated' },
    },
  },
  settings: { events: { webhooks: true }, versions: { default: 'v2' } },
  versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-02-15' } },
}).change('v2', 'order-notes', {
  about: '`remarks` are called `order-notes`, `words` is called `noteText`.',
  was: 'remarks',
  renamed: { words: 'noteText' },
})
