/** A shop with batches, whose handlers take prices and stock from products. */
import { f, resource, service, sum, times } from '../../src/index.ts'

export const purchases = service({
  name: 'shop',
  errors: { 'out-of-stock': { status: 409, parents: ['conflict'] } },
  scopes: { 'products:write': 'Write products' },
  settings: { batches: 10 },
  resources: {
    customers: { prefix: 'cus', fields: { email: f.email({ unique: true }) }, access: 'public' },
    products: {
      prefix: 'prd',
      fields: { price: f.decimal({ scale: 2 }), stock: f.integer({ min: 0 }) },
      access: { read: 'public', create: 'public', write: 'products:write' },
    },
    orders: {
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers'),
        note: f.text({ optional: true }),
        total: f.decimal({ scale: 2, derived: sum('lines', 'amount') }),
      },
      states: { field: 'status', initial: 'draft', transitions: { placements: { from: ['draft'], to: 'placed' } } },
      operations: {
        quotes: { at: 'item', output: { total: f.decimal({ scale: 2 }) } },
        exports: { at: 'collection', asynchronous: true },
      },
      access: 'public',
    },
    lines: resource({
      prefix: 'lin',
      parent: { resource: 'orders', while: ['draft'] },
      fields: {
        productId: f.ref('products'),
        quantity: f.integer({ min: 1 }),
        price: f.decimal({ scale: 2, default: '0.00', readOnly: true }),
        amount: f.decimal({ scale: 2, derived: true }),
      },
      derived: { amount: ({ quantity, price }) => times(price, quantity) },
      access: 'public',
    }),
  },
}).handlers({
  lines: {
    async write({ next, get, set }) {
      const product = await get('products', next.productId)
      if (product) set({ price: product.price })
    },
  },
  orders: {
    async placements({ item, list, change, refuse }) {
      for (const { productId, quantity } of await list('lines', { parent: item.id }))
        change('products', productId, ({ stock }) => {
          if (stock < quantity) throw refuse('out-of-stock', { pointer: '/productId' })
          return { stock: stock - quantity }
        })
    },
    quotes: ({ item }) => ({ total: item.total }),
    exports: () => {},
  },
})
