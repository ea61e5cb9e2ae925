/** A shop and a client whose requests go through a proxy with faults. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { count, f, service } from 'bylaw'
import { type ClientOptions, client, type ErrorOf, isApiError } from 'bylaw/client'
import { type Fault, faultyProxy } from './faulty-proxy.ts'
import { streamingNode } from './streaming.ts'

export const api = service({
  name: 'shop',
  events: true,
  errors: { 'too-much': { status: 409, parents: ['conflict'] } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        note: f.text({ optional: true, filter: 'like', sort: true, search: true }),
        total: f.decimal({ scale: 2, default: '0.00', filter: ['range', 'ne'], sort: true }),
        dueAt: f.timestamp({ optional: true }),
        secret: f.text({ optional: true, writeOnly: true }),
        lineCount: f.integer({ derived: count('order-lines') }),
        buyer: f.object({ name: f.text({ filter: true }) }, { default: { name: 'Ann' } }),
      },
      sorts: { worth: ['-total', 'note'] },
      summaries: { byStatus: { group: ['status'], sum: ['total'], average: ['lineCount'] } },
      embed: ['orderLines'],
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          cancellations: { from: ['draft', 'placed'], to: 'cancelled', input: { reason: f.text() } },
        },
      },
      operations: {
        quotes: { at: 'collection', input: { quantity: f.integer() }, output: { total: f.decimal({ scale: 2 }) } },
        reminders: { at: 'item', output: { sentTo: f.text() } },
        exports: { at: 'collection', output: { count: f.integer() }, asynchronous: true },
      },
      access: 'public',
      history: { read: 'public' },
    },
    'order-lines': {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { quantity: f.integer({ min: 1 }) },
      summaries: { total: { sum: ['quantity'] } },
      access: 'public',
    },
    slots: {
      parent: { resource: 'orders', onDelete: 'cascade' },
      key: 'number',
      fields: { number: f.text({ pattern: '^[0-9]{1,4}$', immutable: true }), free: f.boolean({ default: true }) },
      access: 'public',
    },
    files: { fields: { text: f.text() }, access: 'authenticated', events: false },
    notes: {
      fields: { text: f.text({ filter: true, unique: true }), size: f.integer({ default: 0, filter: 'range' }) },
      imports: true,
      exports: true,
      access: 'public',
    },
    pages: { parent: 'notes', fields: { place: f.integer() }, imports: true, exports: true, access: 'public' },
  },
  settings: { events: { stream: true }, list: { or: true } },
})
export type Api = typeof api

const handled = api.handlers({
  orders: {
    quotes: ({ input, refuse }) => {
      if (input.quantity > 9) throw refuse('too-much', { pointer: '/quantity' })
      return { total: `${input.quantity}.00` }
    },
    reminders: ({ item, set }) => {
      set({ note: 'reminded' })
      return { sentTo: item.buyer.name }
    },
    exports: () => ({ count: 1 }),
  },
})

/** A client whose requests go through a proxy with faults, and one without. */
export async function shopOf(t: TestContext, options: Partial<ClientOptions<Api>> = {}) {
  const node = await streamingNode(t, handled as never)
  const proxy = await faultyProxy(t, node.port)
  const direct = client<Api>({ url: `http://127.0.0.1:${node.port}` })
  return { shop: client<Api>({ url: proxy.url, ...options }), direct, proxy, ...node }
}

/** The error that a call is rejected with. */
export async function errorOf(call: Promise<unknown>): Promise<ErrorOf<Api>> {
  const error = await call.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  )
  assert.ok(isApiError<Api>(error), String(error))
  return error
}

export const soon: Fault = { status: 503, headers: { 'retry-after': '0' } }
