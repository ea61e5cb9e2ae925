/** A service whose items exist only for their assignee and for callers with a scope. */
import { caller, f, input, service } from 'bylaw'

const own = [{ scope: 'all' }, { where: { assigneeId: caller } }]

export const desk = service({
  name: 'desk',
  scopes: { all: 'All orders', write: 'Write orders', audit: 'Read revisions', tell: 'Create customers' },
  events: true,
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  settings: { batches: 10, list: { or: true } },
  resources: {
    customers: {
      prefix: 'cus',
      owner: 'account',
      fields: {
        name: f.text({ max: 50, search: true }),
        size: f.integer({ default: 0, filter: 'range', sort: true }),
        agentId: f.text({ max: 100, optional: true, filter: true }),
      },
      access: { read: [{ scope: 'all' }, { where: { agentId: caller } }, { where: { agentId: null } }], write: 'tell' },
    },
    orders: {
      prefix: 'ord',
      owner: 'account',
      fields: {
        title: f.text({ max: 50, filter: 'like', sort: true, search: true }),
        amount: f.integer({ default: 0, filter: 'range', sort: true }),
        assigneeId: f.text({ max: 100, filter: true }),
        customerId: f.ref('customers', { optional: true }),
        code: f.text({ max: 10, optional: true, unique: true }),
      },
      states: {
        field: 'status',
        initial: 'open',
        transitions: {
          closures: { from: ['open'], to: 'closed' },
          handovers: {
            from: ['open', 'closed'],
            to: 'open',
            input: { to: f.text({ max: 100 }) },
            set: { assigneeId: input('to') },
          },
        },
      },
      embed: ['customer', 'lines'],
      summaries: { byStatus: { group: ['status'], sum: ['amount'] } },
      history: { read: 'authenticated' },
      exports: true,
      access: {
        read: own,
        write: [{ scope: 'all' }, { where: { assigneeId: caller, status: 'open' } }],
      },
    },
    lines: {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { text: f.text({ max: 50 }), assigneeId: f.text({ max: 100 }) },
      access: { read: own, write: own },
    },
    notes: {
      prefix: 'not',
      owner: 'account',
      fields: { text: f.text({ max: 50 }), orderId: f.ref('orders', { optional: true, onDelete: 'restrict' }) },
      embed: ['order', 'order.customer'],
      access: 'authenticated',
    },
  },
}).change('v2', 'orders', { about: 'Other names.', renamed: { holder: 'assigneeId' } })
