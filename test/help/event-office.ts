/** A service in which every kind of write takes place, and all of them are events. */
import { count, f, resource, service, sum } from 'bylaw'

export const office = service({
  name: 'office',
  events: true,
  settings: { batches: 20, patch: { jsonPatch: true } },
  resources: {
    customers: {
      prefix: 'cus',
      fields: {
        name: f.text({ unique: true }),
        pin: f.text({ writeOnly: true, optional: true }),
        spent: f.integer({ derived: sum('orders', 'total') }),
        orderCount: f.integer({ derived: count('orders') }),
      },
      access: 'public',
      settings: { resource: { id: 'client', putRevives: 'on' } },
    },
    orders: resource({
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers', { optional: true, onDelete: 'cascade' }),
        note: f.text({ default: '', search: true }),
        total: f.integer({ derived: sum('order-lines', 'amount') }),
        isLarge: f.boolean({ derived: true }),
      },
      derived: { isLarge: ({ total }) => total >= 100 },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          expiries: { from: ['draft'], to: 'expired', after: 'P7D' },
        },
      },
      operations: {
        merges: { at: 'collection', input: { from: f.ref('orders'), to: f.ref('orders') } },
        audits: { at: 'item', asynchronous: true },
      },
      access: 'public',
    }),
    'order-lines': {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { amount: f.integer() },
      access: 'public',
    },
    countries: {
      key: 'code',
      fields: { code: f.text({ max: 9 }), name: f.text({ default: '' }) },
      access: 'public',
      settings: { resource: { putRevives: 'on' } },
    },
    diaries: { prefix: 'dia', fields: { text: f.text({ search: true }) }, access: 'public' },
  },
}).handlers({
  customers: {
    async create({ input, create }) {
      if (input.name.startsWith('with a diary')) create('diaries', { text: input.name })
    },
  },
  orders: {
    placements({ item, create, set }) {
      create('diaries', { text: `placed ${item.id}` })
      set({ note: `${item.note}!` })
    },
    async merges({ input: { from, to }, list, create, change, remove, move }) {
      const lines = await list('order-lines', { parent: from })
      change('orders', to, ({ note }) => ({ note: `${note}+` }))
      change('orders', to, ({ note }) => ({ note: `${note}+` }))
      move('orders', to, 'placements', {})
      for (const { amount } of lines) create('order-lines', { orderId: to, amount })
      remove('orders', from)
    },
    async audits({ item, step, log }) {
      for (const round of [1, 2])
        await step(`round ${round}`, ({ change, create, later }) => {
          change('orders', item.id, ({ note }) => ({ note: `${note}${round}` }))
          create('diaries', { text: `audit ${round}` })
          if (round === 2 && item.note === '') later('orders.audits', {}, { id: item.id })
        })
      log.info('audited')
    },
  },
})

/** The first parts of the types of its events, by resource. */
export const officeEvents = {
  customers: 'customer',
  orders: 'order',
  'order-lines': 'orderLine',
  countries: 'country',
  diaries: 'diary',
}
