/** Customers, their orders, and the warehouses these are sent from, as the corpus recorded them. */
import { f, service } from 'bylaw'

export default service({
  name: 'orders',
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
    orders: {
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers', { filter: true }),
        currency: f.currency({ immutable: true }),
        total: f.decimal({ scale: 2, default: '0.00', filter: 'range', sort: true }),
        dueOn: f.date({ optional: true, filter: 'range', sort: true }),
      },
      sorts: { urgency: ['dueOn', '-total'] }, // custom_sort=urgency
      access: 'public',
    },
    'order-lines': {
      // unique alone: /order-lines/{id}, listed below the order
      prefix: 'lin',
      parent: 'orders',
      fields: {
        description: f.text({ max: 500 }),
        quantity: f.integer({ min: 1 }),
        unitPrice: f.decimal({ scale: 2 }),
      },
      access: 'public',
    },
    warehouses: { prefix: 'whs', fields: { name: f.text({ max: 100 }) }, access: 'public' },
    slots: {
      // composite key: /warehouses/{warehouseId}/slots/{number}
      parent: 'warehouses',
      key: 'number',
      fields: { number: f.text({ pattern: '^[0-9]{1,4}$', immutable: true }), capacity: f.integer({ min: 0 }) },
      access: 'public',
    },
  },
})
