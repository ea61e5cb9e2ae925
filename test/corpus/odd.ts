/** Services with features that no shared service of the tests has: quotas by tier, failing converters, cascades over accounts, small limits. */
import { f, Problem, service } from 'bylaw'

/** Conversions between versions that throw for some rows, with and without a declared error. */
export const club = service({
  name: 'club',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-02-01' } },
  errors: { 'member-odd': { status: 409, parents: ['conflict'] } },
  resources: {
    members: {
      prefix: 'mem',
      fields: { name: f.text({ max: 50, filter: true, sort: true }), rank: f.integer({ default: 0, sort: true }) },
      access: 'public',
      order: ['name'],
    },
    seats: { key: 'number', fields: { number: f.integer({ min: 1 }), name: f.text({ max: 50 }) }, access: 'public' },
  },
})
  .change('v2', 'members', {
    about: '`name` replaces `first`.',
    removed: { first: f.text({ max: 50 }) },
    added: ['name'],
    request: ({ first }) => {
      if (first.startsWith('ODD')) throw new Problem('member-odd', 'This member is odd.')
      if (first.startsWith('THROW')) throw new Error(`cannot convert ${first}`)
      return { name: first }
    },
    response: ({ name }) => {
      if (name.startsWith('BROKEN')) throw new Error(`cannot split ${name}`)
      return { first: name.split(' ')[0] as string }
    },
  })
  .change('v2', 'seats', {
    about: '`name` replaces `holder`.',
    removed: { holder: f.text({ max: 50 }) },
    added: ['name'],
    request: ({ holder }) => ({ name: holder }),
    response: ({ name }) => {
      if (name.startsWith('BROKEN')) throw new Error(`cannot show ${name}`)
      return { holder: name }
    },
  })

/** Quotas of known and of anonymous callers, in tiers, with windows of two lengths. */
export const tiered = service({
  name: 'tiered',
  scopes: { 'notes:write': 'Write notes' },
  tiers: {
    anonymous: { hourly: 12 },
    free: { hourly: 20 },
    pro: { hourly: 100_000 },
    team: { hourly: { quota: 15, partition: 'tier' } },
    site: { hourly: { quota: 15, partition: 'address' } },
  },
  resources: {
    notes: {
      ...{ prefix: 'not', plural: true, fields: { text: f.text({ filter: true, sort: true }) } },
      access: { read: 'authenticated', write: 'notes:write' },
    },
    pages: { prefix: 'pag', fields: { text: f.text() }, access: 'public' },
  },
})

/** Items of accounts that are removed with items that all accounts share: as children, by references, in lists, over several steps. */
export const store = service({
  name: 'store',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  scopes: { clear: 'Remove brands', trim: 'Remove notes' },
  settings: { resource: { id: 'client' } },
  resources: {
    brands: { prefix: 'bra', fields: { name: f.text() }, access: { read: 'public', write: 'public', remove: 'clear' } },
    models: {
      prefix: 'mod',
      parent: { resource: 'brands', onDelete: 'cascade' },
      fields: { name: f.text() },
      access: 'authenticated',
    },
    orders: {
      prefix: 'ord',
      owner: 'accountId',
      fields: {
        modelId: f.ref('models', { optional: true, onDelete: 'cascade' }),
        brandIds: f.list(f.ref('brands', { onDelete: 'cascade' })),
      },
      access: 'authenticated',
    },
    lines: {
      parent: { resource: 'orders', onDelete: 'cascade' },
      key: 'n',
      fields: { n: f.integer() },
      access: 'authenticated',
    },
    notes: {
      prefix: 'not',
      fields: { orderless: f.text(), brandId: f.ref('brands', { optional: true, onDelete: 'cascade' }) },
      access: { read: 'public', write: 'authenticated', remove: 'trim' },
      methods: ['list', 'read', 'create', 'change'],
    },
  },
}).change('v2', 'brands', {
  about: '`title` is a name, and makes are brands.',
  was: 'makes',
  renamed: { title: 'name' },
})

/** Children in accounts whose fields were split and moved. */
export const theatre = service({
  name: 'theatre',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  settings: { resource: { id: 'client' } },
  resources: {
    halls: { prefix: 'hal', owner: 'houseId', fields: {}, access: 'authenticated' },
    rows: {
      prefix: 'row',
      owner: 'houseId',
      fields: { color: f.text({ optional: true, filter: true, sort: true }) },
      access: 'authenticated',
    },
    seats: {
      parent: 'halls',
      key: 'number',
      fields: { number: f.text({ max: 9 }), place: f.text({ max: 50 }), rowId: f.ref('rows', { optional: true }) },
      access: 'authenticated',
    },
  },
}).change('v2', 'seats', {
  about: '`place` is side and level, and the color is that of the row.',
  removed: {
    side: f.text({ max: 20, filter: true, sort: true }),
    level: f.integer({ optional: true, filter: 'range' }),
  },
  added: ['place'],
  moved: { color: { by: 'rowId', to: 'color' } },
  request: ({ side, level }) => ({ place: level === null ? side : `${side} ${level}` }),
  response: ({ place }) => {
    const [side = '', level] = place.split(' ')
    return { side, level: level === undefined || !/^-?\d{1,9}$/.test(level) ? null : Number(level) }
  },
})

/** Small limits, other settings of pages for browsers, and a version whose sunset has passed. */
export const narrow = service({
  name: 'narrow',
  versions: {
    v1: { released: '2020-01-01', deprecated: '2024-01-01', sunset: '2025-01-01' },
    v2: {
      released: '2021-01-01',
      deprecated: '2025-06-01',
      sunset: '2030-01-01',
      guide: 'https://docs.example.com/v3',
    },
    v3: { released: '2025-06-01' },
  },
  settings: {
    limits: { body: 400, url: 400, headers: 1500 },
    cors: { origins: ['https://app.example.com'] },
    delete: { repeat: 'gone' },
    concurrency: { required: true },
  },
  resources: {
    notes: { prefix: 'not', fields: { text: f.text({ max: 100, filter: true }) }, access: 'public' },
  },
})
