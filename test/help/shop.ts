/** A service that many tests share: every kind of field, an owner with children, a composite key, references. */
import { f, service } from 'bylaw'

const shop = service({
  name: 'shop',
  concepts: {
    country: f.country(),
    address: f.object({
      street: f.text({ max: 100 }),
      city: f.text({ filter: true, sort: true }),
      zip: f.text({ optional: true }),
    }),
  },
  resources: {
    customers: {
      prefix: 'cus',
      fields: {
        name: f.text({ max: 200, filter: 'like', sort: true }),
        email: f.email({ unique: true, filter: true }),
        country: f.concept('country', { filter: true }),
        address: f.concept('address', { optional: true }),
        note: f.text({ optional: true }),
        tags: f.list(f.text({ max: 20 })),
        metadata: f.metadata(),
        password: f.text({ writeOnly: true, optional: true }),
      },
      access: 'public',
    },
    orders: {
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers', { filter: true }),
        currency: f.currency({ immutable: true }),
        total: f.decimal({ scale: 2, default: '0.00', filter: 'range', sort: true }),
        priority: f.enum(['low', 'normal', 'high'], { default: 'normal', filter: true, sort: true }),
        paid: f.boolean({ default: false, filter: true }),
        dueOn: f.date({ optional: true, filter: 'range', sort: true }),
        placedAt: f.timestamp({ optional: true, filter: 'range', sort: true }),
        serial: f.bigint({ optional: true, filter: 'range' }),
        window: f.interval({ optional: true }),
        patience: f.duration({ optional: true }),
        site: f.url({ optional: true }),
      },
      access: 'public',
    },
    'order-lines': {
      prefix: 'lin',
      parent: 'orders',
      fields: {
        description: f.text({ max: 500 }),
        quantity: f.integer({ min: 1, max: 1000 }),
        unitPrice: f.decimal({ scale: 2 }),
      },
      access: 'public',
    },
    warehouses: { prefix: 'whs', fields: { name: f.text({ max: 100 }) }, access: 'public' },
    slots: {
      parent: 'warehouses',
      key: 'number',
      fields: { number: f.text({ pattern: '^[0-9]{1,4}$', immutable: true }), capacity: f.integer({ min: 0 }) },
      access: 'public',
    },
  },
})

export { shop }
export default shop
