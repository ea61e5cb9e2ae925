/** The types of operations as they are inferred, and handlers that do not compile; nothing here runs. */
import { f, type OperationInput, type OperationName, type OperationOutput, type Row, service } from 'bylaw'
import type { Equal, Proof } from './equal.ts'

const shop = service({
  name: 'shop',
  resources: {
    orders: {
      fields: { note: f.text() },
      operations: {
        quotes: {
          at: 'collection',
          input: { quantity: f.integer(), code: f.text({ optional: true }) },
          output: { total: f.decimal({ scale: 2 }) },
        },
        checks: { at: 'item' },
        exports: { at: 'collection', output: { url: f.url() }, asynchronous: true },
      },
      access: 'public',
    },
    notes: { fields: { text: f.text() }, access: 'public' },
  },
})
type Shop = typeof shop

export type Names = Proof<Equal<OperationName<Shop, 'orders'>, 'quotes' | 'checks' | 'exports'>>
export type NoNames = Proof<Equal<OperationName<Shop, 'notes'>, never>>
export type Input = Proof<
  Equal<OperationInput<Shop, 'orders', 'quotes'>, { readonly quantity: number; readonly code?: string | null }>
>
export type Output = Proof<Equal<OperationOutput<Shop, 'orders', 'quotes'>, { readonly total: string }>>
export type Links = Proof<
  Equal<Row<Shop, 'orders'>['_links'], { readonly self: string; readonly [name: string]: string } | undefined>
>

const checks = () => {}
const exports = () => ({ url: 'https://example.com' })
const quotes = () => ({ total: '1.00' })
shop.handlers({ orders: { quotes: async ({ input }) => ({ total: `${input.quantity}.00` }), checks, exports } })
shop.handlers({ orders: { quotes, exports, checks: ({ item, set }) => set({ note: item.note }) } })
// @ts-expect-error: the handler of `checks` is missing
shop.handlers({ orders: { quotes, exports } })
// @ts-expect-error: the output has no `total`
shop.handlers({ orders: { quotes: () => ({ sum: '1.00' }), checks, exports } })
// @ts-expect-error: an operation on a collection has no item
shop.handlers({ orders: { quotes: ({ item }) => ({ total: item.note }), checks, exports } })
// @ts-expect-error: there is no operation `quote`
shop.handlers({ orders: { quotes, checks, exports, quote: quotes } })
// @ts-expect-error: notes have no operations
shop.handlers({ notes: { quotes } })

shop.handlers({
  orders: {
    quotes,
    checks: ({ item, later }) => void later('orders.exports', {}, { after: item.note }),
    exports: async ({ step, pages, report, id, attempt }) => {
      const text: string = await step('read', async ({ list }) => (await list('orders'))[0]?.note ?? `${id} ${attempt}`)
      for await (const page of pages('orders')) await report(page.length)
      return { url: text }
    },
  },
})
// @ts-expect-error: an asynchronous operation writes in steps
shop.handlers({ orders: { quotes, checks, exports: ({ create }) => ({ url: create('notes', { text: '' }) }) } })
// @ts-expect-error: `checks` is not asynchronous
shop.handlers({ orders: { quotes, checks: ({ later }) => void later('orders.checks'), exports } })
const both = { after: 'P1D', at: '2030-01-01T00:00:00Z' }
// @ts-expect-error: it starts after a time or at one
shop.handlers({ orders: { quotes, checks: ({ later }) => void later('orders.exports', {}, both), exports } })
// @ts-expect-error: only asynchronous operations have steps
shop.handlers({ orders: { quotes, checks: ({ step }) => step('one', () => {}), exports } })

service({
  name: 'a',
  resources: {
    orders: {
      fields: {},
      access: 'public',
      // @ts-expect-error: there is no scope `orders:read`
      operations: { checks: { at: 'item', access: 'orders:read' } },
    },
  },
})
service({
  name: 'a',
  resources: {
    orders: {
      fields: {},
      access: 'public',
      // @ts-expect-error: an operation is asynchronous or not
      operations: { checks: { at: 'item', asynchronous: 'yes' } },
    },
  },
})
