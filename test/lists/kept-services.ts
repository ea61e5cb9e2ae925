/** Services for the test of cached answers: whatever decides an answer, besides the rows of its own collection, is in one of them. */
import { caller, count, f, service, sum } from 'bylaw'

const common = {
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-02-01' } },
  scopes: { all: 'See all tasks', money: 'See prices', write: 'Write' },
  events: true,
} as const

const settings = {
  list: { or: true, pagination: { styles: ['page', 'offset', 'cursor'] } },
  methods: { query: true },
  batches: 10,
} as const

/** Fields that have moved, that are derived, that need a scope; states that move by the clock; pairs; files. */
export const office = service({
  ...common,
  name: 'office',
  resources: {
    clients: {
      prefix: 'cli',
      owner: 'accountId',
      fields: {
        name: f.text({ max: 50, default: 'Nobody', personal: true, filter: 'like', sort: true }),
        city: f.text({ max: 20, optional: true, filter: true, sort: true }),
      },
      embed: true,
      access: 'authenticated',
    },
    orders: {
      prefix: 'ord',
      owner: 'accountId',
      fields: {
        clientId: f.ref('clients', { filter: true, optional: true }),
        number: f.integer({ filter: 'range', sort: true }),
        free: f.text({ max: 50, optional: true }),
        note: f.text({ max: 50, search: true, optional: true, personal: true }),
        price: f.integer({ read: 'money', default: 0, filter: 'range', sort: true }),
        labels: f.list(f.text({ max: 10 }), { max: 5 }),
        scan: f.file(),
        lineCount: f.integer({ derived: count('lines'), filter: true, sort: true }),
        total: f.integer({ derived: sum('lines', 'amount'), filter: 'range', sort: true }),
      },
      states: {
        field: 'status',
        initial: 'open',
        transitions: {
          payments: { from: ['open'], to: 'paid' },
          reopenings: { from: ['paid'], to: 'open' },
          lapses: { from: ['open'], to: 'lapsed', after: 'P7D' },
        },
      },
      embed: true,
      imports: true,
      exports: true,
      summaries: { byStatus: { group: ['status'], sum: ['total'] } },
      history: { read: 'authenticated' },
      access: 'authenticated',
      settings: { resource: { links: 'all' } },
    },
    lines: {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { amount: f.integer({ filter: true, sort: true }) },
      embed: true,
      access: 'authenticated',
    },
    tags: { prefix: 'tag', fields: { name: f.text({ max: 20, sort: true }) }, embed: true, access: 'authenticated' },
  },
  pairs: {
    taggings: {
      between: ['orders', 'tags'],
      fields: { weight: f.integer({ default: 1 }), cost: f.integer({ default: 0, read: 'money' }) },
      access: 'authenticated',
    },
  },
  settings,
}).change('v2', 'orders', {
  about: 'The town is that of the client; the memo is free.',
  moved: { town: { by: 'clientId', to: 'city' } },
  renamed: { memo: 'free' },
})

/** Rows that exist for some callers only. */
export const desk = service({
  ...common,
  name: 'desk',
  resources: {
    tasks: {
      prefix: 'tsk',
      owner: 'accountId',
      fields: {
        assigneeId: f.text({ max: 20, filter: true, default: 'ann' }),
        number: f.integer({ filter: 'range', sort: true }),
        free: f.text({ max: 50, optional: true }),
        price: f.integer({ read: 'money', default: 0, filter: 'range', sort: true }),
        steps: f.integer({ derived: count('steps'), filter: true, sort: true, read: 'all' }),
      },
      indexes: [['assigneeId', 'number']],
      embed: true,
      access: {
        read: [{ scope: 'all' }, { where: { assigneeId: caller } }],
        write: 'write',
      },
    },
    steps: {
      prefix: 'stp',
      parent: { resource: 'tasks', onDelete: 'cascade' },
      fields: { doerId: f.text({ max: 20, filter: true, default: 'ann' }), amount: f.integer({ filter: true }) },
      embed: true,
      access: { read: [{ scope: 'all' }, { where: { doerId: caller } }], write: 'write' },
    },
    notes: {
      prefix: 'not',
      owner: 'accountId',
      fields: {
        taskId: f.ref('tasks', { optional: true, filter: true }),
        number: f.integer({ filter: true, sort: true }),
      },
      embed: true,
      access: 'authenticated',
    },
  },
  settings,
}).change('v2', 'tasks', { about: '`memo` is `free`.', renamed: { memo: 'free' } })

/** Handlers that write rows of other resources than the request names, also by the clock. */
const handled = service({
  ...common,
  name: 'depot',
  resources: {
    crates: {
      prefix: 'cra',
      owner: 'accountId',
      fields: {
        number: f.integer({ filter: 'range', sort: true }),
        load: f.integer({ default: 0, readOnly: true, filter: 'range', sort: true }),
        latest: f.text({ max: 20, optional: true, readOnly: true, filter: true }),
      },
      embed: true,
      access: 'authenticated',
    },
    boxes: {
      prefix: 'box',
      owner: 'accountId',
      fields: {
        crateId: f.ref('crates', { filter: true, optional: true }),
        number: f.integer({ filter: 'range', sort: true }),
        free: f.text({ max: 50, optional: true }),
        rank: f.integer({ default: 0, readOnly: true, filter: 'range', sort: true }),
        price: f.integer({ default: 0, readOnly: true, read: 'money', filter: 'range', sort: true }),
      },
      states: {
        field: 'status',
        initial: 'open',
        transitions: {
          closings: { from: ['open'], to: 'closed' },
          lapses: { from: ['open'], to: 'lapsed', after: 'P7D' },
        },
      },
      operations: { counts: { at: 'item', output: { rank: f.integer() } } },
      summaries: { byStatus: { group: ['status'], sum: ['rank'] } },
      embed: true,
      imports: true,
      access: 'authenticated',
    },
    marks: {
      prefix: 'mrk',
      owner: 'accountId',
      fields: {
        text: f.text({ max: 20, filter: true, sort: true }),
        boxId: f.ref('boxes', { optional: true, onDelete: 'cascade' }),
      },
      embed: true,
      access: 'authenticated',
    },
  },
  settings,
}).change('v2', 'boxes', { about: '`memo` is `free`.', renamed: { memo: 'free' } })

export const depot = handled.handlers({
  boxes: {
    async write({ next, get, list, set, change }) {
      const crate = next.crateId && (await get('crates', next.crateId))
      const marks = await list('marks', { where: { text: 'closed' } })
      set({ rank: next.number + marks.length + (crate ? crate.load : 0), price: next.number % 4 })
      if (next.crateId) change('crates', next.crateId, ({ load }) => ({ load: load + 1, latest: `${next.number}` }))
    },
    closings({ item, create }) {
      create('marks', { text: 'closed', boxId: item.id })
    },
    lapses({ item, create, set }) {
      set({ rank: -1 })
      create('marks', { text: 'lapsed', boxId: item.id })
    },
    counts({ item, set }) {
      set({ rank: item.rank + 1 })
      return { rank: item.rank + 1 }
    },
    remove({ item, change }) {
      if (item.crateId) change('crates', item.crateId, ({ load }) => ({ load: load - 1 }))
    },
  },
})
