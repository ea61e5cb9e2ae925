/** The types of the arguments of handlers, and handlers that do not compile; nothing here runs. */
import { f, service, sum } from 'bylaw'
import type { Equal, Proof } from './equal.ts'

const shop = service({
  name: 'shop',
  errors: {
    'order-empty': { parents: ['conflict'], status: 409 },
    'too-many': { status: 409, fields: { most: f.integer(), until: f.date({ optional: true }) } },
  },
  resources: {
    products: { fields: { name: f.text({ filter: true }), stock: f.integer({ sort: true }) }, access: 'public' },
    orders: {
      fields: {
        note: f.text({ optional: true }),
        code: f.text({ optional: true, readOnly: true }),
        total: f.decimal({ scale: 2, derived: sum('lines', 'price') }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          shipments: { from: ['placed'], to: 'shipped', input: { carrier: f.text() } },
        },
      },
      access: 'public',
    },
    lines: { parent: 'orders', fields: { price: f.decimal({ scale: 2 }) }, access: 'public' },
  },
})

interface Order {
  readonly id: string
  readonly note: string | null
  readonly code: string | null
  readonly total: string
  readonly status: 'draft' | 'placed' | 'shipped'
  readonly createdAt: string
  readonly updatedAt: string
}
type Same<T, U> = [T, U] extends [U, T] ? true : false

shop.handlers(
  {
    orders: {
      create: ({ item, next, set, use }) => {
        type Given = [
          Proof<Equal<typeof item, null>>,
          Proof<Same<typeof next, Order>>,
          Proof<Equal<typeof use, { readonly mail: string }>>,
        ]
        void (0 as unknown as Given)
        set({ code: 'c', note: null })
        // @ts-expect-error: a derived field follows from others
        set({ total: '1' })
        // @ts-expect-error: the state is written by transitions
        set({ status: 'placed' })
        // @ts-expect-error: there is no such field
        set({ colour: 'red' })
        // @ts-expect-error: the type does not fit
        set({ note: 5 })
      },
      async shipments({ input, item, get, list, change, create, move, remove, refuse }) {
        type Given = [Proof<Same<typeof input, { readonly carrier: string }>>, Proof<Same<typeof item, Order>>]
        void (0 as unknown as Given)
        const product = await get('products', 'prd_1')
        if (product === null) throw refuse('order-empty')
        const { stock }: { readonly stock: number } = product // it is not null here
        change('products', product.id, { stock })
        change('products', product.id, (one) => ({ stock: one.stock + 1 }))
        const id: string = create('lines', { orderId: item.id, price: '1.00' })
        move('orders', id, 'placements')
        move('orders', id, 'shipments', { carrier: 'x' })
        remove('lines', id)
        await list('products', { where: { name: ['a', 'b'] }, sort: '-stock', limit: 5 })
        await list('orders', { where: { status: ['draft', 'placed'], createdAt: { gte: '2026-01-01T00:00:00Z' } } })
        // @ts-expect-error: there is no such state
        await list('orders', { where: { status: ['draft', 'plaecd'] } })
        // @ts-expect-error: a name is no number
        await list('products', { where: { name: 5 } })
        // @ts-expect-error: the filter has no such operator
        await list('products', { where: { name: { gte: 'a' } } })
        // @ts-expect-error: there is no such resource
        await get('product', 'prd_1')
        // @ts-expect-error: nothing filters by it
        await list('products', { where: { stock: 5 } })
        // @ts-expect-error: nothing sorts by it
        await list('products', { sort: 'name' })
        // @ts-expect-error: there is no such type of error
        refuse('order-full')
        refuse('too-many', { pointer: '/total', fields: { most: 5 } })
        // @ts-expect-error: its field is missing
        refuse('too-many')
        // @ts-expect-error: the type of its field does not fit
        refuse('too-many', { fields: { most: 'five' } })
        // @ts-expect-error: it has no such field
        refuse('order-empty', { fields: { most: 5 } })
        // @ts-expect-error: there is no such transition
        move('orders', id, 'returns')
        // @ts-expect-error: its input is missing
        move('orders', id, 'shipments')
        // @ts-expect-error: the type does not fit
        change('products', product.id, () => ({ stock: 'many' }))
      },
    },
  },
  { use: async () => ({ mail: 'm' }) as { readonly mail: string } },
)

// @ts-expect-error: there is no such resource
shop.handlers({ order: { create: () => {} } })
// @ts-expect-error: there is no such operation or transition
shop.handlers({ orders: { creation: () => {} } })
// @ts-expect-error: products have no transitions
shop.handlers({ products: { placements: () => {} } })
// @ts-expect-error: what a handler decides is said, not returned
shop.handlers({ products: { create: () => ({ stock: 5 }) } })
