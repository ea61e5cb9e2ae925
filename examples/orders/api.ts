/** Customers, their orders with lines and totals, products, and the warehouses these are sent from. */
import { count, f, input, now, resource, service, sum, times } from 'bylaw'

export default service({
  name: 'orders',
  events: true, // GET /events
  errors: {
    'order-empty': { parents: ['conflict'], status: 409 },
    'out-of-stock': { parents: ['conflict'], status: 409 },
  },
  resources: {
    customers: {
      prefix: 'cus',
      fields: {
        name: f.text({ max: 200, filter: 'like', sort: true }),
        email: f.email({ unique: true, filter: true }),
        country: f.country({ filter: true }),
        metadata: f.metadata(),
      },
      access: 'public',
    },
    products: {
      prefix: 'prd',
      fields: {
        name: f.text({ max: 200, filter: 'like', sort: true }),
        price: f.decimal({ precision: 10, scale: 2, filter: 'range', sort: true }),
        stock: f.integer({ min: 0, default: 0, filter: 'range' }),
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
        dueOn: f.date({ optional: true, filter: 'range', sort: true }),
        placedAt: f.timestamp({ optional: true, readOnly: true }),
        carrier: f.text({ max: 50, optional: true, readOnly: true }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed', set: { placedAt: now } },
          shipments: {
            from: ['placed'],
            to: 'shipped',
            input: { carrier: f.text({ max: 50 }) },
            set: { carrier: input('carrier') },
          },
          cancellations: { from: ['draft', 'placed'], to: 'cancelled' },
          expiries: { from: ['draft'], to: 'cancelled', after: 'P30D' }, // by the clock
        },
        writable: { change: ['draft'], remove: ['draft', 'cancelled'] },
      },
      sorts: { urgency: ['dueOn', '-total'] }, // custom_sort=urgency
      embed: ['customer', 'orderLines.product'], // ?embed=customer,orderLines.product
      operations: {
        exports: {
          at: 'collection',
          input: { from: f.date({ optional: true }) },
          output: { count: f.integer(), total: f.decimal({ scale: 2 }) },
          asynchronous: true, // 202, and a status at /operations/{id}
        },
      },
      access: 'public',
    },
    'order-lines': resource({
      // unique alone: /order-lines/{id}, listed below the order
      prefix: 'lin',
      parent: { resource: 'orders', while: ['draft'], onDelete: 'cascade' },
      fields: {
        productId: f.ref('products', { filter: true }),
        quantity: f.integer({ min: 1, max: 100_000 }),
        unitPrice: f.decimal({ precision: 10, scale: 2, default: '0.00', readOnly: true }), // set by handlers.ts
        amount: f.decimal({ scale: 2, derived: true }),
      },
      derived: { amount: ({ quantity, unitPrice }) => times(unitPrice, quantity) },
      access: 'public',
    }),
    warehouses: { prefix: 'whs', fields: { name: f.text({ max: 100 }) }, access: 'public' },
    slots: {
      // composite key: /warehouses/{warehouseId}/slots/{number}
      parent: 'warehouses',
      key: 'number',
      fields: { number: f.text({ pattern: '^[0-9]{1,4}$', immutable: true }), capacity: f.integer({ min: 0 }) },
      access: 'public',
    },
  },
  settings: { events: { stream: true } }, // also as they happen, which `bylaw listen` forwards
})
