import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, orders, shop, table } from '../../test/help/mistakes.ts'
import { f } from '../fields/field.ts'

table('names of resources (R2)', [
  [
    'another form',
    () => shop({ shippingAddress: open }),
    'resources.shippingAddress',
    'kebab-case',
    'plural',
    '`shipping-addresses`',
  ],
  ['a singular', () => shop({ order: open }), 'resources.order', '`orders`', 'plural: true'],
  ['a plural that does not look like one', () => shop({ staff: { ...open, plural: true } }), ''],
  ['an odd plural', () => shop({ staff: { ...open, plural: 1 } }), 'resources.staff, resources.staff.plural'],
  ['other plurals', () => shop({ people: open, series: open, 'order-lines': open, categories: open }), ''],
  ['a verb', () => shop({ 'cancel-orders': open }), 'resources.cancel-orders', '`cancel`', '`orders`'],
  [
    'a verb of the settings',
    () => shop({ 'ship-orders': open }, { settings: { path: { verbs: ['ship'] } } }),
    'resources.ship-orders',
    '`ship`',
  ],
  ['a noun of a verb', () => shop({ 'search-results': open, transfers: open }), ''],
  ['letters that do not fit', () => shop({ 注文: open }), 'resources["注文"]', 'Write a noun'],
  ['a version', () => shop({ v1: { ...open, plural: true } }), 'resources.v1, resources.v1.prefix', 'version'],
  [
    'names of the service',
    () => shop({ healthz: { ...open, plural: true }, 'bylaw-things': open, 'sqlite-things': open }),
    'resources.healthz, resources.bylaw-things, resources.sqlite-things',
    'reserved for the service',
  ],
  ['events, while nothing streams', () => shop({ events: open }), ''],
  [
    'one table for two',
    () => shop({ orders: open, 'orders-view': { ...open, plural: true } }),
    'resources.orders-view',
    '`orders`',
  ],
  [
    'the same the other way round',
    () => shop({ 'orders-view': { ...open, plural: true }, orders: open }),
    'resources.orders',
    '`orders-view`',
  ],
  ['a singular of another form', () => orders({ singular: 'Order' }), 'resources.orders.singular', "'order'"],
])

table('parents (R4, R138)', [
  ['an unknown one', () => orders({ parent: 'customer' }), 'resources.orders.parent', '`customers`'],
  ['a known one', () => orders({ parent: { resource: 'customers', onDelete: 'cascade' } }), ''],
  ['itself', () => orders({ parent: 'orders' }), 'resources.orders.parent', 'orders -> orders'],
  [
    'a circle',
    () => shop({ as: { ...open, parent: 'bs' }, bs: { ...open, parent: 'cs' }, cs: { ...open, parent: 'as' } }),
    'resources.as.parent',
    'as -> bs -> cs -> as',
  ],
  ['no name', () => orders({ parent: 5 }), 'resources.orders.parent', '5'],
  [
    'an unknown rule',
    () => orders({ parent: { resource: 'customers', onDelete: 'ignore' } }),
    'resources.orders.parent',
    "'restrict'",
  ],
  [
    'an unknown member',
    () => orders({ parent: { resource: 'customers', ondelete: 'cascade' } }),
    'resources.orders.parent.ondelete',
    '`onDelete`',
  ],
  [
    'one with a composite key',
    () =>
      shop({ shelves: open, slots: { ...open, parent: 'shelves', key: 'name' }, boxes: { ...open, parent: 'slots' } }),
    'resources.boxes.parent',
    'composite key',
  ],
])

table('keys (R4)', [
  ['an unknown field', () => orders({ key: 'nam' }), 'resources.orders.key', '`name`'],
  [
    'a kind that no address holds',
    () => orders({ fields: { total: f.decimal({ scale: 2 }) }, key: 'total' }),
    'resources.orders.key',
    'decimal',
  ],
  [
    'one that may be missing',
    () => orders({ fields: { name: f.text({ optional: true, fold: true }) }, key: 'name' }),
    'resources.orders.key',
    '`optional` and `fold`',
  ],
  [
    'a default',
    () => orders({ fields: { name: f.text({ default: '' }) }, key: 'name' }),
    'resources.orders.key',
    '`default`',
  ],
  [
    'a concept',
    () =>
      shop(
        { areas: { fields: { country: f.concept('country') }, access: 'public', key: 'country' } },
        { concepts: { country: f.country() } },
      ),
    '',
  ],
  [
    'a setting for ids',
    () => orders({ key: 'name', settings: { resource: { id: 'client' } } }),
    'resources.orders.settings.resource.id',
    'no id is generated',
  ],
])

table('methods and access', [
  ['an unknown method', () => orders({ methods: ['list', 'reed'] }), 'resources.orders.methods', '`read`'],
  ['one method twice', () => orders({ methods: ['read', 'read'] }), 'resources.orders.methods', 'twice'],
  ['no method', () => orders({ methods: [] }), 'resources.orders.methods', 'list of methods is empty'],
  [
    'no access',
    () => shop({ orders: { fields: open.fields } }),
    'resources.orders.access',
    'declares no `access`',
    "'public'",
  ],
  ['an access of the wrong kind', () => orders({ access: true }), 'resources.orders.access', 'true'],
  ['a rule without a value', () => orders({ access: { write: 'public', read: 'public', create: undefined } }), ''],
  [
    'an undeclared scope',
    () => orders({ access: 'orders:read' }),
    'resources.orders.access',
    '"orders:read"',
    '`scopes`',
  ],
  ['a typing mistake', () => orders({ access: 'pubic' }), 'resources.orders.access', '`public`'],
  [
    'an unknown operation',
    () => orders({ access: { read: 'public', write: 'public', list: 'public' } }),
    'resources.orders.access.list',
    '`list`',
  ],
  [
    'an operation without a rule',
    () => orders({ access: { read: 'public', create: 'public' } }),
    'resources.orders.access',
    'replace, change and remove',
    "write: 'public'",
  ],
  ['an operation that is not offered', () => orders({ access: { read: 'public' }, methods: ['list', 'read'] }), ''],
  [
    'no rule that is read',
    () => orders({ access: { write: 'public' } }),
    'resources.orders.access',
    'list and read',
    "read: 'public'",
  ],
])

table('the parts of a resource', [
  ['an unknown key', () => orders({ feilds: {} }), 'resources.orders.feilds', '`fields`'],
  ['no fields', () => shop({ orders: { access: 'public' } }), 'resources.orders.fields', 'f.text()'],
  ['fields that are a list', () => orders({ fields: [open.fields.name] }), 'resources.orders.fields', 'a list'],
  ['an empty object of fields', () => orders({ fields: {} }), ''],
])

test('rules that need a caller, and scopes, are in order', () => {
  assert.deepEqual(orders({ access: 'authenticated' }), [])
  const access = { read: 'public', write: 'orders:write', remove: 'authenticated' }
  const scopes = { 'orders:write': 'Change orders' }
  assert.deepEqual(shop({ orders: { ...open, access } }, { scopes }), [])
})

table('searched fields', [
  [
    'more characters to search than an index takes',
    () =>
      orders({
        fields: { a: f.text({ search: true, max: 30_000 }), b: f.object({ c: f.text({ search: true, max: 25_000 }) }) },
      }),
    'resources.orders.fields',
    '55000 characters together, which is more than 50000',
  ],
  [
    'a list of long texts to search',
    () => orders({ fields: { a: f.list(f.text(), { search: true }) } }),
    'resources.orders.fields',
    'a smaller `max`',
  ],
  [
    'more fields to search than an order by relevance takes',
    () =>
      orders({
        fields: Object.fromEntries([...'abcdefghijklmnopq'].map((one) => [one, f.text({ search: true, max: 9 })])),
      }),
    'resources.orders.fields',
    '17 fields with `search`; allowed are 16',
  ],
  ['as many as it takes', () => orders({ fields: { a: f.text({ search: true, max: 50_000 }) } }), ''],
])
