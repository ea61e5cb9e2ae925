/** The service of the benchmark of embedded items: orders that embed their customer. */
import { f, service } from 'bylaw'

export default service({
  name: 'sales',
  resources: {
    customers: {
      prefix: 'cus',
      fields: { name: f.text(), email: f.text(), city: f.text(), note: f.text() },
      access: 'public',
    },
    orders: {
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers'),
        status: f.enum(['open', 'paid'], { filter: true }),
        total: f.integer({ filter: 'range', sort: true }),
        note: f.text(),
      },
      indexes: [['status', 'total']],
      embed: ['customer'],
      access: 'public',
    },
  },
})
