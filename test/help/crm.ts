/** A service with personal fields in all places where values are stored, as source text. */

export const crm = `import { f, service } from 'bylaw'

export default service({
  name: 'crm',
  events: true,
  scopes: { all: 'Everything' },
  settings: { events: { webhooks: true }, idempotency: { mode: 'replay' }, batches: 10 },
  versions: {
    v1: { released: '2025-01-15' },
    v2: { released: '2026-01-15' },
  },
  resources: {
    customers: {
      prefix: 'cus',
      owner: 'shopId',
      fields: {
        name: f.text({ max: 200, default: 'Erased', personal: true, search: true, filter: 'like', sort: true }),
        email: f.email({ optional: true, personal: true, unique: true, fold: true, filter: true }),
        address: f.object({ street: f.text({ optional: true, personal: true }), town: f.text() }, { optional: true }),
        contacts: f.list(f.object({ phone: f.text({ optional: true, personal: true }), use: f.text() }), { max: 5 }),
        aliases: f.list(f.text({ max: 50 }), { max: 5, personal: true, search: true }),
        marks: f.metadata({ personal: true }),
        pin: f.text({ optional: true, writeOnly: true, personal: true }),
        greeting: f.text({ derived: true, max: 300 }),
        plan: f.text({ default: 'free', filter: true }),
        passport: f.file({ personal: true }),
        logo: f.file(),
      },
      derived: { greeting: ({ name }) => \`Dear \${name}\` },
      operations: {
        letters: { at: 'item', input: { text: f.text() }, output: { sent: f.text() }, asynchronous: true },
        previews: { at: 'item', input: { text: f.text() }, output: { text: f.text() } },
      },
      history: { read: 'all' },
      imports: true,
      access: 'all',
    },
    cards: {
      prefix: 'crd',
      parent: { resource: 'customers', onDelete: 'cascade' },
      fields: { holder: f.text({ optional: true, personal: true }), last: f.text() },
      history: { read: 'all' },
      access: 'all',
    },
    orders: {
      prefix: 'ord',
      owner: 'shopId',
      fields: { customerId: f.ref('customers'), total: f.integer() },
      access: 'all',
    },
  },
})
  .change('v2', 'orders', { about: 'The customer has its name.', moved: { customerName: { by: 'customerId', to: 'name' } } })
  .change('v2', 'customers', { about: '\`mail\` is \`email\`.', renamed: { mail: 'email' } })
`

export const crmHandlers = `import api from './api.ts'

export default api.handlers({
  customers: {
    letters: async ({ input, item }) => ({ sent: \`\${item.name}: \${input.text}\` }),
    previews: ({ input, item }) => ({ text: \`\${item.name}: \${input.text}\` }),
  },
  reactions: {
    mails: {
      on: ['customer.created', 'card.created'],
      run: ({ event }) => {
        throw new Error(\`It could not be sent: \${JSON.stringify(event.data)}\`)
      },
    },
  },
})
`
