/** A service of four versions: fields were renamed, split, mapped and moved, methods and resources came and went. */
import { f, service } from 'bylaw'

const history = service({
  name: 'history',
  versions: {
    v1: {
      released: '2025-01-15',
      deprecated: '2026-01-01',
      sunset: '2027-12-31',
      guide: 'https://docs.example.com/v2',
      policy: 'https://docs.example.com/sunset-policy',
    },
    v2: { released: '2025-06-01' },
    v3: { released: '2026-01-15' },
    v4: { released: '2026-06-01' },
  },
  settings: { methods: { query: true } },
  resources: {
    accounts: {
      prefix: 'acc',
      fields: { country: f.country({ filter: true }), plan: f.text({ default: 'free' }) },
      access: 'public',
    },
    customers: {
      prefix: 'cus',
      fields: {
        name: f.text({ max: 200, filter: 'like', sort: true }),
        email: f.email({ unique: true, filter: true, sort: true }),
        status: f.enum(['active', 'paused', 'closed'], { default: 'active', filter: ['ne'], sort: true }),
        accountId: f.ref('accounts', { filter: true }),
        score: f.integer({ default: 0, filter: 'range', sort: true }),
        note: f.text({ optional: true }),
        metadata: f.metadata(),
      },
      access: 'public',
      order: ['name'],
      sorts: { best: ['-score', 'email'] },
    },
    visits: {
      parent: 'customers',
      prefix: 'vis',
      fields: { on: f.date({ filter: 'range', sort: true }) },
      access: 'public',
    },
    refunds: { prefix: 'ref', fields: { reason: f.text() }, access: 'public' },
  },
})
  .change('v4', 'customers', {
    about: '`country` is that of the account.',
    moved: { country: { by: 'accountId', to: 'country' } },
  })
  .change('v3', 'customers', {
    about: '`status` says it in other words, and a customer may be paused.',
    feature: 'states',
    mapped: { status: { open: 'active', shut: 'closed' } },
    shown: { status: { paused: 'open' } },
    sorts: { status: ['status'] },
  })
  .change('v3', 'refunds', { about: 'Refunds are new.', feature: 'refunds', begins: true })
  .change('v2', 'customers', {
    about: '`name` replaces `firstName` and `lastName`, `mail` is `email`, and customers can be removed.',
    was: 'clients',
    renamed: { mail: 'email' },
    removed: { firstName: f.text({ max: 100, filter: true }), lastName: f.text({ max: 100, default: '', sort: true }) },
    added: ['name', 'note'],
    methods: { added: ['remove'] },
    request: ({ firstName, lastName }) => ({ name: `${firstName} ${lastName}`.trim() }),
    response: ({ name }) => {
      const [firstName = '', ...rest] = name.split(' ')
      return { firstName, lastName: rest.join(' ') }
    },
    filters: {
      firstName: ({ is, value }) => (is === 'eq' ? [{ field: 'name', is: 'like', value: `${value} %` }] : null),
    },
    sorts: { lastName: ['name'] },
  })

export default history
