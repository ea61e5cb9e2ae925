/** A shop with nine resources: parents, references, states, totals, operations, events and webhooks. */
import { count, f, resource, service, sum, times } from 'bylaw'

const named = (prefix: string) => ({
  prefix,
  fields: { name: f.text({ max: 100, filter: 'like', sort: true }), note: f.text({ max: 500, optional: true }) },
  access: 'public' as const,
})

export default service({
  name: 'shop',
  description: 'Sells products to customers.',
  contact: { name: 'The shop', url: 'https://shop.example.com/contact' },
  license: { name: 'Apache 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  events: true,
  errors: { 'order-empty': { parents: ['conflict'], status: 409 } },
  settings: { batches: 10 },
  resources: {
    customers: {
      prefix: 'cus',
      fields: {
        name: f.text({ max: 200, filter: 'like', sort: true }),
        email: f.email({ unique: true, filter: true, example: 'ann@example.com' }),
        country: f.country({ filter: true }),
        born: f.date({ optional: true, filter: 'range' }),
        metadata: f.metadata(),
      },
      access: 'public',
    },
    suppliers: named('sup'),
    categories: named('cat'),
    warehouses: named('whs'),
    products: {
      prefix: 'prd',
      fields: {
        name: f.text({ max: 200, filter: 'like', sort: true }),
        price: f.decimal({ precision: 10, scale: 2, filter: 'range', sort: true }),
        categoryId: f.ref('categories', { filter: true }),
        kind: f.enum(['good', 'service'], { default: 'good', filter: true }),
        tags: f.list(f.text({ max: 40 }), { max: 10, default: [] }),
        size: f.object({ width: f.integer({ min: 0 }), height: f.integer({ min: 0 }) }, { optional: true }),
        active: f.boolean({ default: true, filter: true }),
      },
      access: 'public',
    },
    orders: {
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers', { filter: true }),
        currency: f.currency({ immutable: true }),
        total: f.decimal({ scale: 2, derived: sum('order-lines', 'amount'), filter: 'range', sort: true }),
        lineCount: f.integer({ derived: count('order-lines') }),
        placedAt: f.timestamp({ optional: true, readOnly: true }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          cancellations: {
            from: ['draft', 'placed'],
            to: 'cancelled',
            input: { reason: f.text({ max: 200, optional: true }) },
          },
        },
        writable: { change: ['draft'], remove: ['draft', 'cancelled'] },
      },
      sorts: { size: ['-total'] },
      access: 'public',
    },
    'order-lines': resource({
      prefix: 'lin',
      parent: 'orders',
      fields: {
        productId: f.ref('products', { filter: true }),
        quantity: f.integer({ min: 1, max: 10_000 }),
        unitPrice: f.decimal({ precision: 10, scale: 2 }),
        amount: f.decimal({ scale: 2, derived: true, filter: 'range' }),
      },
      derived: { amount: ({ quantity, unitPrice }) => times(unitPrice, quantity) },
      access: 'public',
    }),
    payments: {
      prefix: 'pay',
      fields: {
        orderId: f.ref('orders', { filter: true }),
        amount: f.decimal({ scale: 2 }),
        secret: f.text({ writeOnly: true }),
      },
      access: 'public',
    },
    reviews: {
      prefix: 'rev',
      fields: {
        productId: f.ref('products', { filter: true }),
        stars: f.integer({ min: 1, max: 5, sort: true }),
        text: f.text({ max: 2000 }),
      },
      access: 'public',
    },
  },
})
