/** Differences: edits of a declaration, each compared in both directions. */
// long because: one table of edits
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { standardKinds } from '../fields/kinds.ts'
import { type Declaration, f, type ResourceDeclaration } from '../index.ts'
import { type ResourceSettings, readSettings, type Settings } from '../settings.ts'
import { contractOf } from './contract.ts'
import { heaviestWeight } from './difference.ts'
import { differences } from './differences.ts'
import { unweighedSettings, weighSetting } from './weight.ts'

type Fields = ResourceDeclaration['fields']

const orders: ResourceDeclaration = {
  prefix: 'ord',
  fields: {
    number: f.text({ max: 20, filter: true, sort: true }),
    state: f.enum(['open', 'paid', 'sent'], { filter: true }),
    total: f.decimal({ scale: 2, default: '0.00', filter: 'range', sort: true }),
    quantity: f.integer({ min: 1, max: 100 }),
    note: f.text({ optional: true, max: 500 }),
    secret: f.text({ writeOnly: true, max: 50 }),
    grade: f.enum(['a', 'b'], { readOnly: true, optional: true }),
    dueOn: f.date({ optional: true, min: '2020-01-01', sort: true }),
    email: f.email({ optional: true }),
    tags: f.list(f.text({ max: 30 }), { max: 10 }),
    address: f.object({ city: f.text({ max: 80 }), zip: f.text({ optional: true, max: 10 }) }),
    customerId: f.ref('customers', { filter: true }),
    metadata: f.metadata(),
  },
  sorts: { urgency: ['dueOn', '-total'] },
  access: 'public',
}
const customers: ResourceDeclaration = { prefix: 'cus', fields: { name: f.text() }, access: 'public' }
const declared: Declaration = { name: 'shop', resources: { orders, customers } }

const withOrders = (part: Partial<ResourceDeclaration>): Declaration => ({
  ...declared,
  resources: { customers, orders: { ...orders, ...part } },
})
const withFields = (fields: Fields): Declaration => withOrders({ fields: { ...orders.fields, ...fields } })
const without = (...names: string[]): Declaration =>
  withOrders({ fields: Object.fromEntries(Object.entries(orders.fields).filter(([name]) => !names.includes(name))) })
const withLocal = (settings: ResourceSettings): Declaration => withOrders({ settings })
const withSettings = (settings: NonNullable<Declaration['settings']>): Declaration => ({ ...declared, settings })

const scopes = { 'orders:read': 'Read orders', 'orders:write': 'Write orders' }
const guarded = (access: ResourceDeclaration['access']): Declaration => ({ ...withOrders({ access }), scopes })
const scoped = (fields: Fields): Declaration => ({ ...withFields(fields), scopes })
const listed = (max: number): Declaration => withFields({ codes: f.list(f.text(), { writeOnly: true, max }) })
const timed = (max: string): Declaration => withFields({ at: f.timestamp({ optional: true, max }) })
const priced = (scale: number): Declaration =>
  withFields({ price: f.decimal({ scale, writeOnly: true, default: '0' }) })
const below = (parent: NonNullable<ResourceDeclaration['parent']>): Declaration => {
  const { customerId, ...fields } = orders.fields
  return withOrders({ parent, fields })
}
const keyed = (key: string | undefined): Declaration => {
  const { number, ...fields } = orders.fields
  const whole = { number: f.text({ max: 20, immutable: true, filter: true, sort: true }), ...fields }
  const { prefix, ...rest } = orders
  const one: ResourceDeclaration = { ...rest, fields: whole, ...(key === undefined ? {} : { key }) }
  return { ...declared, resources: { customers, orders: one } }
}

const B = 'breaking'
const A = 'additive'
const N = 'none'

/** The edit, its weight, the weight of the reverse edit, the changed declaration, and the original if it is not the common one. */
const edits: [name: string, there: string, back: string, after: Declaration, before?: Declaration][] = [
  // fields
  ['a file', A, B, withFields({ scan: f.file() })],
  ['a smaller file', B, A, withFields({ scan: f.file({ max: 10 }) }), withFields({ scan: f.file({ max: 20 }) })],
  [
    'fewer types of a file',
    B,
    A,
    withFields({ scan: f.file({ types: ['image/png'] }) }),
    withFields({ scan: f.file({ types: ['image/png', 'image/gif'] }) }),
  ],
  [
    'types of a file that had none',
    B,
    A,
    withFields({ scan: f.file({ types: ['image/png'] }) }),
    withFields({ scan: f.file() }),
  ],
  ['a scope for uploads', B, A, scoped({ scan: f.file({ write: 'orders:write' }) }), scoped({ scan: f.file() })],
  ['an optional field', A, B, withFields({ colour: f.text({ optional: true }) })],
  ['a field with a default', A, B, withFields({ colour: f.text({ default: 'red' }) })],
  ['a required field', B, B, withFields({ colour: f.text() })],
  ['a read-only field', A, B, withFields({ colour: f.text({ optional: true, readOnly: true }) })],
  ['an optional write-only field', A, B, withFields({ pin: f.text({ optional: true, writeOnly: true }) })],
  ['a required write-only field', B, B, withFields({ pin: f.text({ writeOnly: true }) })],
  ['a list, which is empty where it is not sent', A, B, withFields({ marks: f.list(f.text()) })],
  ['a list that needs an item', B, B, withFields({ marks: f.list(f.text(), { min: 1 }) })],
  [
    'a renamed field',
    B,
    B,
    {
      ...without('quantity'),
      resources: {
        ...without('quantity').resources,
        orders: {
          ...orders,
          fields: {
            ...without('quantity').resources.orders?.fields,
            amount: f.integer({ min: 1, max: 100, was: 'quantity' }),
          },
        },
      },
    },
  ],
  ['may be null', B, B, withFields({ quantity: f.integer({ min: 1, max: 100, optional: true }) })],
  [
    'a write-only field may be null',
    A,
    B,
    withFields({ secret: f.text({ writeOnly: true, max: 50, optional: true }) }),
  ],
  ['need not be sent', A, B, withFields({ quantity: f.integer({ min: 1, max: 100, default: 1 }) })],
  [
    'another default',
    B,
    B,
    withFields({ total: f.decimal({ scale: 2, default: '1.00', filter: 'range', sort: true }) }),
  ],
  [
    'the same default, written otherwise',
    N,
    N,
    withFields({ total: f.decimal({ scale: 2, default: '0', filter: 'range', sort: true }) }),
  ],
  [
    'an optional field gets a default',
    B,
    B,
    withFields({ note: f.text({ optional: true, max: 500, default: 'none' }) }),
  ],
  // bounds
  ['a smaller max', B, B, withFields({ number: f.text({ max: 10, filter: true, sort: true }) })],
  ['a smaller max of what is only sent', B, A, withFields({ secret: f.text({ writeOnly: true, max: 40 }) })],
  ['a min of what is only sent', B, A, withFields({ secret: f.text({ writeOnly: true, max: 50, min: 8 }) })],
  ['a greater max of a number', B, B, withFields({ quantity: f.integer({ min: 1, max: 1000 }) })],
  ['no min of a number', B, B, withFields({ quantity: f.integer({ max: 100 }) })],
  ['a min of a length that every text has', N, N, withFields({ note: f.text({ optional: true, max: 500, min: 0 }) })],
  [
    'the max that is there anyway',
    N,
    N,
    { ...declared, resources: { orders, customers: { ...customers, fields: { name: f.text({ max: 10_000 }) } } } },
  ],
  [
    'a sort that bounds the length',
    B,
    B,
    { ...declared, resources: { orders, customers: { ...customers, fields: { name: f.text({ sort: true }) } } } },
  ],
  ['a later min of a date', B, B, withFields({ dueOn: f.date({ optional: true, min: '2021-01-01', sort: true }) })],
  [
    'more digits after the point',
    B,
    B,
    withFields({ total: f.decimal({ scale: 3, default: '0.00', filter: 'range', sort: true }) }),
  ],
  [
    'fewer digits before the point',
    B,
    B,
    withFields({ total: f.decimal({ scale: 2, precision: 10, default: '0.00', filter: 'range', sort: true }) }),
  ],
  ['a pattern', B, B, withFields({ note: f.text({ optional: true, max: 500, pattern: '^[a-z]*$' }) })],
  [
    'a pattern of what is only sent',
    B,
    A,
    withFields({ secret: f.text({ writeOnly: true, max: 50, pattern: '^[a-z]*$' }) }),
  ],
  [
    'another pattern of what is only sent',
    B,
    B,
    withFields({ secret: f.text({ writeOnly: true, max: 50, pattern: '^[a-z]*$' }) }),
    withFields({ secret: f.text({ writeOnly: true, max: 50, pattern: '^[a-z0-9]*$' }) }),
  ],
  ['more items in a list', B, B, withFields({ tags: f.list(f.text({ max: 30 }), { max: 20 }) })],
  ['longer items in a list', B, B, withFields({ tags: f.list(f.text({ max: 40 }), { max: 10 }) })],
  ['more keys of metadata', B, B, withSettings({ metadata: { keys: 60 } })],
  // values
  [
    'a value that is sent and answered',
    B,
    B,
    withFields({ state: f.enum(['open', 'paid', 'sent', 'lost'], { filter: true }) }),
  ],
  [
    'a value that is only sent',
    A,
    B,
    withFields({ code: f.enum(['a', 'b'], { writeOnly: true }) }),
    withFields({ code: f.enum(['a'], { writeOnly: true }) }),
  ],
  [
    'a value that is only answered',
    B,
    A,
    withFields({ grade: f.enum(['a', 'b', 'c'], { readOnly: true, optional: true }) }),
  ],
  [
    'a value that is only answered, and filtered by',
    B,
    B,
    withFields({ grade: f.enum(['a', 'b', 'c'], { readOnly: true, optional: true, filter: true }) }),
    withFields({ grade: f.enum(['a', 'b'], { readOnly: true, optional: true, filter: true }) }),
  ],
  ['values in another order', N, N, withFields({ state: f.enum(['sent', 'open', 'paid'], { filter: true }) })],
  ['another kind', B, B, withFields({ quantity: f.text() })],
  ['any text in place of an e-mail address', B, B, withFields({ email: f.text({ optional: true, max: 254 }) })],
  [
    'any text in place of an e-mail address that is only sent',
    A,
    B,
    withFields({ email: f.text({ writeOnly: true, max: 254 }) }),
    withFields({ email: f.email({ writeOnly: true }) }),
  ],
  [
    'an enum in place of a text that is only answered',
    A,
    B,
    withFields({ rank: f.enum(['x', 'y'], { readOnly: true, optional: true }) }),
    withFields({ rank: f.text({ readOnly: true, optional: true }) }),
  ],
  ['a reference to others', B, B, withFields({ customerId: f.ref('orders', { filter: true }) })],
  ['what a deletion does', B, B, withFields({ customerId: f.ref('customers', { filter: true, onDelete: 'cascade' }) })],
  // inside
  [
    'an optional field inside',
    A,
    B,
    withFields({
      address: f.object({
        city: f.text({ max: 80 }),
        zip: f.text({ optional: true, max: 10 }),
        street: f.text({ optional: true }),
      }),
    }),
  ],
  [
    'a required field inside',
    B,
    B,
    withFields({
      address: f.object({ city: f.text({ max: 80 }), zip: f.text({ optional: true, max: 10 }), street: f.text() }),
    }),
  ],
  [
    'what is required inside',
    B,
    B,
    withFields({ address: f.object({ city: f.text({ max: 80 }), zip: f.text({ max: 10 }) }) }),
  ],
  // promises
  ['immutable', B, A, withFields({ number: f.text({ max: 20, filter: true, sort: true, immutable: true }) })],
  [
    'immutable where nothing can be changed',
    N,
    N,
    {
      ...declared,
      resources: {
        orders: {
          ...orders,
          methods: ['list', 'create'],
          fields: { ...orders.fields, number: f.text({ max: 20, immutable: true }) },
        },
        customers,
      },
    },
    {
      ...declared,
      resources: {
        orders: { ...orders, methods: ['list', 'create'], fields: { ...orders.fields, number: f.text({ max: 20 }) } },
        customers,
      },
    },
  ],
  ['unique', B, B, withFields({ email: f.email({ optional: true, unique: true }) })],
  ['unique together', B, B, withOrders({ uniques: [['number', 'customerId']] })],
  ['embedded names', A, B, withOrders({ embed: ['customer'] })],
  ['all embedded names', A, B, withOrders({ embed: true })],
  ['read-only', B, A, withFields({ note: f.text({ optional: true, max: 500, readOnly: true }) })],
  ['write-only', B, A, withFields({ note: f.text({ optional: true, max: 500, writeOnly: true }) })],
  ['deprecated', N, N, withFields({ note: f.text({ optional: true, max: 500, deprecated: true }) })],
  ['personal', N, N, withFields({ note: f.text({ optional: true, max: 500, personal: true }) })],
  ['folded', B, B, withFields({ number: f.text({ max: 20, filter: true, sort: true, fold: true }) })],
  [
    'a scope to see it',
    B,
    A,
    {
      ...withFields({ note: f.text({ optional: true, max: 500, read: 'orders:notes' }) }),
      scopes: { 'orders:notes': 'Notes' },
    },
    { ...declared, scopes: { 'orders:notes': 'Notes' } },
  ],
  ['a tier with a quota', B, B, { ...declared, tiers: { free: { hourly: 100 } } }],
  [
    'a smaller quota',
    B,
    A,
    { ...declared, tiers: { free: { hourly: 50 } } },
    { ...declared, tiers: { free: { hourly: 100 } } },
  ],
  [
    'another tier',
    A,
    B,
    { ...declared, tiers: { free: { hourly: 50 }, pro: { hourly: 500 } } },
    { ...declared, tiers: { free: { hourly: 50 } } },
  ],
  [
    'another quota of a tier',
    B,
    A,
    { ...declared, tiers: { free: { hourly: 50, daily: { quota: 100, window: 'P1D' } } } },
    { ...declared, tiers: { free: { hourly: 50 } } },
  ],
  // lists
  ['a filter', A, B, withFields({ quantity: f.integer({ min: 1, max: 100, filter: true }) })],
  ['a form of a filter', A, B, withFields({ number: f.text({ max: 20, filter: 'like', sort: true }) })],
  [
    'another form of a filter',
    B,
    B,
    withFields({ total: f.decimal({ scale: 2, default: '0.00', filter: ['gt', 'lt'], sort: true }) }),
  ],
  ['a sort', A, B, withFields({ quantity: f.integer({ min: 1, max: 100, sort: true }) })],
  ['search', A, B, withFields({ note: f.text({ optional: true, max: 500, search: true }) })],
  [
    'a filter where nothing is listed',
    N,
    N,
    withOrders({
      methods: ['create', 'read'],
      fields: { ...orders.fields, quantity: f.integer({ min: 1, max: 100, filter: true }) },
    }),
    withOrders({ methods: ['create', 'read'] }),
  ],
  ['a criterion', A, B, withOrders({ sorts: { ...orders.sorts, newest: ['-createdAt'] } })],
  ['other terms of a criterion', B, B, withOrders({ sorts: { urgency: ['-total', 'dueOn'] } })],
  ['the usual order', B, B, withOrders({ order: ['-createdAt'] })],
  ['the usual order, said', N, N, withOrders({ order: ['id'] })],
  ['an index', N, N, withOrders({ indexes: [['number', 'total']] })],
  ['a smaller page at most', B, A, withSettings({ list: { maxPageSize: 50 } })],
  ['the usual size of a page', B, B, withSettings({ list: { pageSize: 30 } })],
  ['fewer styles', B, A, withSettings({ list: { pagination: { styles: ['page', 'cursor'] } } })],
  ['the usual style', B, B, withSettings({ list: { pagination: { style: 'cursor' } } })],
  ['no totals', B, A, withSettings({ list: { pagination: { totals: 'off' } } })],
  ['where nulls stand', B, B, withSettings({ list: { nullsDefault: 'first' } })],
  ['a smaller page of one resource', B, A, withLocal({ list: { maxPageSize: 50 } })],
  [
    'the same of one resource as of all',
    N,
    N,
    { ...withLocal({ list: { maxPageSize: 50 } }), settings: { list: { maxPageSize: 50 } } },
    withSettings({ list: { maxPageSize: 50 } }),
  ],
  // resources and methods
  [
    'a resource',
    A,
    B,
    { ...declared, resources: { orders, customers, notes: { ...customers, prefix: 'not' } } },
    { ...declared, resources: { orders, customers } },
  ],
  ['one method fewer', B, A, withOrders({ methods: ['list', 'read', 'create', 'replace', 'change'] })],
  ['what ids begin with', B, B, withOrders({ prefix: 'odr' })],
  [
    'the prefix that it has anyway',
    N,
    N,
    withOrders({ prefix: 'order' }),
    { ...declared, resources: { customers, orders: (({ prefix, ...rest }) => rest)(orders) } },
  ],
  ['an owner', B, B, withOrders({ parent: 'customers', fields: (({ customerId, ...rest }) => rest)(orders.fields) })],
  [
    'an operation is to be left',
    A,
    A,
    withOrders({ deprecations: { remove: { deprecated: '2026-12-01', sunset: '2027-12-31' } } }),
  ],
  [
    'its end is put off',
    A,
    B,
    withOrders({ deprecations: { remove: { deprecated: '2026-12-01', sunset: '2028-12-31' } } }),
    withOrders({ deprecations: { remove: { deprecated: '2026-12-01', sunset: '2027-12-31' } } }),
  ],
  [
    'where it is described how to leave it',
    N,
    N,
    withOrders({ deprecations: { remove: { deprecated: '2026-12-01', guide: '/guide' } } }),
    withOrders({ deprecations: { remove: { deprecated: '2026-12-01T00:00:00Z' } } }),
  ],
  // who may
  ['for known callers alone', B, A, withOrders({ access: 'authenticated' })],
  ['a scope for writing', B, A, guarded({ read: 'public', write: 'orders:write' }), guarded('public')],
  [
    'another scope',
    B,
    B,
    guarded({ read: 'public', write: 'orders:read' }),
    guarded({ read: 'public', write: 'orders:write' }),
  ],
  [
    'a scope for one operation',
    B,
    A,
    guarded({ read: 'public', write: 'public', remove: 'orders:write' }),
    guarded('public'),
  ],
  ['the same rule, said of each', N, N, guarded({ read: 'public', write: 'public' }), guarded('public')],
  [
    'a scope to write it',
    B,
    A,
    { ...guarded('public'), ...scoped({ note: f.text({ optional: true, max: 500, write: 'orders:write' }) }) },
    guarded('public'),
  ],
  // further bounds and kinds
  ['fewer items in a list', B, B, withFields({ tags: f.list(f.text({ max: 30 }), { max: 5 }) })],
  ['a list of what is only sent may be longer', A, B, listed(20), listed(10)],
  ['an earlier max of a time', B, B, timed('2029-01-01T00:00:00Z'), timed('2030-01-01T00:00:00Z')],
  ['the same max of a time, written otherwise', N, N, timed('2030-01-01T00:00:00Z'), timed('2030-01-01T00:00:00.000Z')],
  ['a number of 64 bits in place of a smaller one', B, B, withFields({ quantity: f.bigint({ min: '1', max: '100' }) })],
  ['a list in place of one value', B, B, withFields({ grade: f.list(f.enum(['a', 'b']), { readOnly: true }) })],
  ['fewer decimals that are only sent', B, B, priced(2), priced(3)],
  ['a field goes out of an object', B, A, withFields({ address: f.object({ city: f.text({ max: 80 }) }) })],
  [
    'a concept that says more',
    B,
    B,
    { ...withFields({ place: f.concept('place') }), concepts: { place: f.object({ city: f.text(), zip: f.text() }) } },
    { ...withFields({ place: f.concept('place') }), concepts: { place: f.object({ city: f.text() }) } },
  ],
  [
    'a concept in place of what it stands for',
    N,
    N,
    { ...withFields({ land: f.concept('land') }), concepts: { land: f.country() } },
    withFields({ land: f.country() }),
  ],
  // further promises of resources
  ['what becomes of children', B, B, below({ resource: 'customers', onDelete: 'cascade' }), below('customers')],
  [
    'an account that owns the items',
    B,
    B,
    withOrders({ access: 'authenticated', owner: 'accountId' }),
    withOrders({ access: 'authenticated' }),
  ],
  ['a key in place of an id', B, B, keyed('number'), keyed(undefined)],
  [
    'another singular',
    B,
    B,
    {
      ...below('customers'),
      resources: { ...below('customers').resources, customers: { ...customers, singular: 'client' } },
    },
    below('customers'),
  ],
  // further limits and statuses
  ['fewer filters at a time', B, A, withSettings({ list: { maxFilters: 5 } })],
  ['no selection of fields', B, A, withSettings({ list: { fields: false } })],
  ['alternatives of filters', A, B, withSettings({ list: { or: true } })],
  ['smaller sets', B, A, withSettings({ list: { maxSetSize: 10 } })],
  ['how far offsets reach', B, A, withSettings({ list: { maxOffset: 100 } })],
  [
    'too large a page is refused',
    B,
    A,
    withSettings({ list: { overMax: 'reject' } }),
    withSettings({ list: { overMax: 'clamp' } }),
  ],
  ['cursors for a while', B, A, withSettings({ list: { cursor: { ttl: 'P1D' } } })],
  ['no links in lists', B, A, withSettings({ list: { links: 'none' } })],
  ['shorter URLs', B, A, withSettings({ limits: { url: 1000 } })],
  ['fewer fields in a header', B, A, withSettings({ limits: { headerFields: 50 } })],
  ['fewer requests at a time', B, A, withSettings({ limits: { callerConcurrency: 2 } })],
  ['a method that no path has', B, B, withSettings({ methods: { unknown: 501 } })],
  [
    'what a repeated deletion answers',
    A,
    B,
    withSettings({ delete: { repeat: 'no-content' } }),
    withSettings({ delete: { repeat: 'gone' } }),
  ],
  ['a slash at the end', A, B, withSettings({ path: { trailingSlash: 'ignore' } })],
  ['parameters that are not known', A, B, withSettings({ query: { unknown: 'ignore' } })],
  ['no creation by PUT', B, A, withSettings({ resource: { putCreates: false } })],
  ['ids that clients choose', B, B, withSettings({ resource: { id: 'client' } })],
  ['fewer carriers of versions', B, A, withSettings({ versions: { carriers: ['path'] } })],
  ['the form of deprecations', B, B, withSettings({ deprecation: { format: 'rfc9745' } })],
  [
    'fewer pages of other origins',
    B,
    A,
    withSettings({ cors: { origins: ['https://a.example'] } }),
    withSettings({ cors: { origins: ['https://a.example', 'https://b.example'] } }),
  ],
  // errors, scopes
  ['a type of error', A, B, { ...declared, errors: { 'credit-exceeded': { status: 409 } } }],
  [
    'a member of an error',
    A,
    B,
    { ...declared, errors: { full: { status: 409, fields: { limit: f.integer() } } } },
    { ...declared, errors: { full: { status: 409 } } },
  ],
  [
    'the kind of a member of an error',
    B,
    B,
    { ...declared, errors: { full: { status: 409, fields: { limit: f.integer() } } } },
    { ...declared, errors: { full: { status: 409, fields: { limit: f.text() } } } },
  ],
  [
    'the status of a type',
    B,
    B,
    { ...declared, errors: { full: { status: 403 } } },
    { ...declared, errors: { full: { status: 409 } } },
  ],
  [
    'a type in between',
    A,
    B,
    { ...declared, errors: { full: { status: 409, parents: ['conflict'] } } },
    { ...declared, errors: { full: { status: 409 } } },
  ],
  ['a scope', A, B, { ...declared, scopes: { 'orders:read': 'Read orders' } }],
  [
    'the words of a scope',
    N,
    N,
    { ...declared, scopes: { a: 'Reads' } },
    { ...declared, scopes: { a: 'Reads orders' } },
  ],
  // settings
  ['what deleted items answer', B, B, withSettings({ deleted: { status: 404 } })],
  ['what missing items answer', B, B, withSettings({ missing: { status: 410 } })],
  ['keys that have to be sent', B, A, withSettings({ idempotency: { required: true } })],
  ['what a repeat answers', B, B, withSettings({ idempotency: { mode: 'replay' } })],
  ['keys for a while', B, A, withSettings({ idempotency: { retention: 'P30D' } })],
  ['the name of the key in bodies', B, B, withSettings({ idempotency: { bodyField: 'requestKey' } })],
  ['the name that the key has anyway', N, N, withSettings({ idempotency: { bodyField: 'idempotencyKey' } })],
  ['conditions that have to be sent', B, A, withSettings({ concurrency: { required: true } })],
  ['smaller bodies', B, A, withSettings({ limits: { body: 1000 } })],
  ['larger bodies of one resource', A, B, withLocal({ limits: { body: 2_000_000 } })],
  ['a time of the service itself', N, N, withSettings({ limits: { handlerTimeout: 'PT5S' } })],
  ['unknown fields are passed over', A, B, withSettings({ body: { unknownFields: 'ignore' } })],
  ['offsets in times', A, B, withSettings({ dates: { acceptOffsets: true } })],
  [
    'names of other letters',
    B,
    B,
    { name: 'shop', settings: { naming: 'snake' }, resources: { customers } },
    { name: 'shop', resources: { customers } },
  ],
  ['weaker tags', B, A, withSettings({ etag: { mode: 'weak' } })],
  ['another coding of requests', A, B, withSettings({ request: { codings: ['gzip', 'br', 'zstd'] } })],
  ['a header for keys', A, B, withSettings({ auth: { apiKeyHeader: 'X-Key' } })],
  ['the method QUERY', A, B, withSettings({ methods: { query: true } })],
]

describe('edits of a declaration', () => {
  for (const [name, there, back, after, before = declared] of edits) {
    test(`${name}: ${there}, back ${back}`, () => {
      const [was, is] = [contractOf(before), contractOf(after)]
      const [forth, home] = [differences(was, is), differences(is, was)]
      assert.deepEqual(
        [heaviestWeight(forth), heaviestWeight(home)],
        [there, back],
        JSON.stringify([forth, home], null, 1),
      )
      for (const one of [...forth, ...home]) {
        assert.match(one.place, /^(resources|settings|scopes|errors|tiers)/)
        assert.equal(one.mend === '', one.weight !== 'breaking', one.says)
        assert.match(one.says, /\.$/)
      }
    })
  }
})

describe('rules', () => {
  const guarded = (access: ResourceDeclaration['access']) =>
    differences(contractOf(declared), changedRule(contractOf(declared), access as string))
  const changedRule = (contract: ReturnType<typeof contractOf>, rule: string) => {
    const { customers: one } = contract.resources
    return {
      ...contract,
      resources: {
        ...contract.resources,
        customers: { ...one, paths: { ...one?.paths, '/customers': { GET: rule, POST: rule } } },
      },
    } as typeof contract
  }
  test('a narrower access rule is breaking, a wider one is additive', () => {
    assert.equal(heaviestWeight(guarded('authenticated')), 'breaking')
    const narrow = changedRule(contractOf(declared), 'customers:read')
    const known = changedRule(contractOf(declared), 'authenticated')
    const other = changedRule(contractOf(declared), 'customers:write')
    assert.equal(heaviestWeight(differences(narrow, known)), 'additive')
    assert.equal(heaviestWeight(differences(known, narrow)), 'breaking')
    assert.equal(heaviestWeight(differences(narrow, other)), 'breaking')
  })
  test('another alternative is additive, and its loss is breaking', () => {
    type Three = [ReturnType<typeof contractOf>, ReturnType<typeof contractOf>, ReturnType<typeof contractOf>]
    const [scope, own] = ['customers:read', 'items where ownerId is the id of the caller']
    const [narrow, wide, known] = [scope, `${scope} or ${own}`, 'authenticated'].map((rule) =>
      changedRule(contractOf(declared), rule),
    ) as Three
    assert.equal(heaviestWeight(differences(narrow, wide)), 'additive')
    assert.equal(heaviestWeight(differences(wide, narrow)), 'breaking')
    assert.equal(heaviestWeight(differences(known, wide)), 'breaking')
    assert.equal(heaviestWeight(differences(wide, known)), 'additive')
  })
  test('a difference of an unknown part is breaking', () => {
    const contract = contractOf(declared)
    const [found] = differences(contract, { ...contract, more: { states: { a: 1 } } })
    assert.deepEqual([found?.place, found?.weight], ['states', 'breaking'])
  })
})

test('every option of a field is weighed', () => {
  const known =
    'default derived filter fold immutable max min onDelete optional pattern precision read readOnly scale search sort types unique write writeOnly'
  const quiet = ['deprecated', 'description', 'example', 'fill', 'ownMeaning', 'personal', 'title', 'was']
  assert.deepEqual(
    [...new Set(Object.values(standardKinds).flatMap(({ options }) => options))].sort(),
    [...known.split(' '), ...quiet].sort(),
  )
})

test('a setting that only one of two releases knows is not a difference', () => {
  const contract = contractOf(declared)
  const more = { ...contract, settings: { ...contract.settings, 'colour.shade': true } }
  assert.deepEqual([differences(more, contract), differences(contract, more)], [[], []])
})

test('every setting is weighed', () => {
  const settings = readSettings({}, undefined, false, () => {})
  assert.deepEqual(unweighedSettings(settings), [])
  assert.deepEqual(unweighedSettings({ ...settings, colour: 'red' } as Settings), ['colour'])
  assert.equal(weighSetting('colour', 'red', 'blue'), 'breaking')
})

test('fewer operations in a batch, and none, break consumers', () => {
  assert.deepEqual([weighSetting('batches', 5, 9), weighSetting('batches', null, 5)], ['additive', 'additive'])
  assert.deepEqual([weighSetting('batches', 5, 3), weighSetting('batches', 5, null)], ['breaking', 'breaking'])
})

test('an operation that becomes asynchronous, or synchronous, breaks consumers', () => {
  const contract = (more: object) =>
    contractOf({
      name: 'shop',
      resources: { orders: { fields: {}, access: 'public', operations: { exports: { at: 'collection', ...more } } } },
    } as never)
  const [one, other] = [contract({}), contract({ asynchronous: true })]
  for (const found of [differences(one, other), differences(other, one)])
    assert.ok(found.some(({ place, weight }) => place.endsWith('exports.asynchronous') && weight === 'breaking'))
})

test('there is no difference between a contract and itself, and its text does not depend on the order of its parts', () => {
  const turned = {
    name: 'shop',
    resources: {
      customers,
      orders: { ...orders, fields: Object.fromEntries(Object.entries(orders.fields).reverse()) },
    },
  }
  assert.deepEqual(differences(contractOf(declared), contractOf(declared)), [])
  assert.equal(JSON.stringify(contractOf(turned)), JSON.stringify(contractOf(declared)))
})
