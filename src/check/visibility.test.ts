/** Visibility: mistakes in the ownership of items. Part 5, authentication. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, orders, shop, table } from '../../test/help/mistakes.ts'
import { count } from '../fields/aggregate.ts'
import { f } from '../fields/field.ts'
import { caller } from '../resources/states.ts'

const owned = { fields: { name: f.text() }, access: 'authenticated', owner: 'accountId' }
const known = { fields: { name: f.text() }, access: 'authenticated' }

table('owners', [
  [
    'an owner is a name',
    () => orders({ owner: 5, access: 'authenticated' }),
    'resources.orders.owner',
    'is 5',
    'accountId',
  ],
  [
    'in the form of all names',
    () => orders({ owner: 'account-id', access: 'authenticated' }),
    'resources.orders.owner',
    "owner: 'accountId'",
  ],
  ['who is not known owns nothing', () => orders({ owner: 'accountId' }), 'resources.orders.access', 'public'],
  [
    'nor where a single operation is public',
    () => shop({ orders: { ...owned, access: { read: 'public', write: 'authenticated' } } }),
    'resources.orders.access',
  ],
  [
    'what is not offered does not count',
    () => shop({ orders: { ...owned, methods: ['create'], access: { read: 'public', write: 'authenticated' } } }),
    '',
  ],
  [
    'the account is no field',
    () => shop({ orders: { ...owned, fields: { accountId: f.text() } } }),
    'resources.orders.fields.accountId',
    'never returns it',
  ],
  ['an owned parent has owned children', () => shop({ orders: owned, lines: { ...known, parent: 'orders' } }), ''],
  [
    'of whom no other owner can be said',
    () => shop({ orders: owned, lines: { ...owned, parent: 'orders' } }),
    'resources.lines.owner',
    '`orders`',
  ],
  [
    'nor can they be public',
    () => shop({ orders: owned, lines: { ...open, parent: 'orders' } }),
    'resources.lines.access',
    'as those of `orders` do',
  ],
  [
    'what everybody sees refers to nothing of an account',
    () =>
      shop({
        orders: owned,
        notes: { ...known, fields: { orderIds: f.list(f.ref('orders')), name: f.text() } },
      }),
    'resources.notes.fields.orderIds',
    '`orders`',
  ],
  [
    'what is of an account refers to both',
    () =>
      shop({
        orders: owned,
        depots: known,
        notes: { ...owned, fields: { orderId: f.ref('orders'), depotId: f.ref('depots') } },
      }),
    '',
  ],
])

test('a cycle of parents is reported, and the check ends', () => {
  const below = (parent: string) => ({ ...known, parent })
  const found = shop({ orders: below('lines'), lines: { ...below('orders'), owner: 'accountId' } })
  assert.ok(found.some(({ reason }) => reason.includes('is part of a cycle')))
})

const clinic = (fields: object, more: object = {}) =>
  shop({ patients: { ...known, fields, ...more } }, { scopes: { pii: 'See it', vip: 'Change it' } })
const at = 'resources.patients.fields.one'

table('fields that take a scope', [
  ['to see', () => clinic({ one: f.text({ read: 'pii', optional: true }) }), ''],
  ['to write', () => clinic({ one: f.text({ write: 'vip', default: '' }) }), ''],
  ['both, and nothing is needed of a list', () => clinic({ one: f.list(f.text(), { read: 'pii', write: 'vip' }) }), ''],
  [
    'that search would tell',
    () => clinic({ one: f.text({ read: 'pii', optional: true, search: true }) }),
    at,
    '`search`',
  ],
  [
    'that search would tell of a part',
    () => clinic({ one: f.object({ a: f.text({ search: true }) }, { read: 'pii', optional: true }) }),
    at,
    '`search`',
  ],
  ['of no other name', () => clinic({ one: f.text({ read: 'pi', optional: true }) }), at, 'Did you mean `pii`?'],
  ['nor of a rule', () => clinic({ one: f.text({ write: 'public', optional: true }) }), at, '"public"'],
  [
    'nor of something else',
    () => clinic({ one: f.text({ read: 5 as never, optional: true }) }),
    at,
    '`read` is 5, which is not a declared scope',
  ],
  [
    'never seen at all',
    () => clinic({ one: f.text({ read: 'pii', writeOnly: true, optional: true }) }),
    at,
    'writeOnly',
  ],
  [
    'never written at all',
    () => clinic({ one: f.text({ write: 'vip', readOnly: true, optional: true }) }),
    at,
    'readOnly',
  ],
  ['nobody could fill a required one', () => clinic({ one: f.text({ read: 'pii' }) }), at, 'could not create items'],
  [
    'but who creates has it',
    () => clinic({ one: f.text({ write: 'vip' }) }, { access: { read: 'authenticated', write: 'vip' } }),
    '',
  ],
  ['or nobody creates', () => clinic({ one: f.text({ write: 'vip' }) }, { methods: ['read', 'change'] }), ''],
  [
    'a key comes with every item',
    () => clinic({ one: f.text({ read: 'pii', optional: true }) }, { key: 'one' }).slice(0, 1),
    'resources.patients.key',
  ],
  [
    'no order tells of it',
    () => clinic({ one: f.text({ read: 'pii', optional: true, sort: true }) }, { order: ['one'] }),
    'resources.patients.order',
  ],
  ['whole objects only', () => clinic({ one: f.object({ in: f.text({ read: 'pii' }) }) }), `${at}.in`, 'whole object'],
  [
    'no concept brings it along',
    () =>
      shop(
        { patients: { ...known, fields: { one: f.text() } } },
        { scopes: { pii: 'See it' }, concepts: { phone: f.text({ read: 'pii' }) } },
      ),
    'concepts.phone',
  ],
])

const scopes = { all: 'All orders', some: 'Some orders' }
const ruledFields = {
  name: f.text(),
  owner: f.text(),
  folded: f.text({ fold: true }),
  secret: f.text({ read: 'all', optional: true }),
  hidden: f.text({ writeOnly: true, optional: true }),
  open: f.boolean({ default: true }),
  rank: f.enum(['low', 'high'], { optional: true }),
  spent: f.decimal({ scale: 2, default: '0.00' }),
  tags: f.list(f.text()),
}
/** Orders whose items are read by a rule. */
const ruled = (read: unknown, more: object = {}, resources: object = {}) =>
  shop(
    { orders: { fields: ruledFields, access: { read, write: 'all' }, ...more }, customers: open, ...resources },
    { scopes },
  )
const where = (conditions: unknown) => ruled([{ scope: 'all' }, { where: conditions }])
const atField = (place: string) => `resources.orders.access.read.1.${place}`
const own = [{ scope: 'all' }, { where: { owner: caller } }]

table('rules that depend on the item', [
  ['may name the caller, constants, null and the id', () => where({ owner: caller, open: true, rank: null }), ''],
  ['the id of the item as well', () => where({ id: caller }), ''],
  ['they need a condition', () => ruled([{ scope: 'all' }]), 'resources.orders.access.read', '`where`', 'assigneeId'],
  ['which names a field', () => where({}), 'resources.orders.access.read.1', 'would allow all items'],
  ['a declared scope', () => ruled([{ scope: 'al' }, own[1]]), 'resources.orders.access.read.0', '"al"', 'all'],
  ['and nothing else', () => ruled([{ who: 'all' }, own[1]]), 'resources.orders.access.read.0', 'either a scope'],
  [
    'not both in one',
    () => ruled([{ scope: 'all', where: { owner: caller } }, own[1]]),
    'resources.orders.access.read.0',
  ],
  ['a text is no alternative', () => ruled(['all', own[1]]), 'resources.orders.access.read.0', 'either a scope'],
  [
    'a transition has one rule for all items',
    () =>
      ruled(own, {
        states: { field: 'state', initial: 'new', transitions: { ends: { from: ['new'], to: 'old', access: own } } },
      }),
    'resources.orders.states.transitions.ends.access',
    'alternatives',
  ],
  ['an unknown field', () => where({ ownr: caller }), atField('ownr'), 'no field "ownr"', 'owner'],
  ['a decimal', () => where({ spent: '1.00' }), atField('spent'), 'kind decimal', 'text'],
  ['a list', () => where({ tags: 'a' }), atField('tags'), 'kind list'],
  ['a field that not every reader sees', () => where({ secret: caller }), atField('secret'), '`read`'],
  ['or that nobody sees', () => where({ hidden: 'a' }), atField('hidden'), '`writeOnly`'],
  ['or that is compared without case', () => where({ folded: caller }), atField('folded'), '`fold`'],
  ['the caller is no boolean', () => where({ open: caller }), atField('open'), 'never has the id of a caller'],
  ['a value that it never has', () => where({ rank: 'middle' }), atField('rank'), '"middle"', 'or null'],
  ['null where it always has one', () => where({ open: null }), atField('open'), 'never has the value null'],
  [
    'children need a rule too',
    () => ruled(own, {}, { lines: { ...open, access: 'authenticated', parent: 'orders' } }),
    'resources.lines.access',
    '`orders`',
    "read: 'all'",
  ],
  ['or the scope that shows all', () => ruled(own, {}, { lines: { ...open, access: 'all', parent: 'orders' } }), ''],
  [
    'an operation of the collection has no item',
    () => ruled(own, { access: { read: own, write: own }, operations: { reports: { at: 'collection' } } }),
    'resources.orders.operations.reports',
    'rule of `create`',
  ],
  [
    'a total of them needs a scope',
    () =>
      shop(
        {
          orders: { fields: { ...ruledFields, customerId: f.ref('customers') }, access: { read: own, write: 'all' } },
          customers: { fields: { orders: f.integer({ derived: count('orders') }) }, access: 'authenticated' },
        },
        { scopes },
      ),
    'resources.customers.fields.orders',
    "read: 'all'",
  ],
])
