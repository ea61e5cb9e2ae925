/** Mistakes about whose items are whose. Part 5, authentication. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, orders, shop, table } from '../../test/help/mistakes.ts'
import type { Mistake } from '../resources/declaration.ts'
import { f } from '../resources/field.ts'

/** Until callers are known, their rules are refused too; that is told elsewhere. */
const without = (mistakes: Mistake[]): Mistake[] => mistakes.filter(({ reason }) => !reason.includes('this release'))
const owned = { fields: { name: f.text() }, access: 'authenticated', owner: 'accountId' }
const known = { fields: { name: f.text() }, access: 'authenticated' }

table('owners', [
  [
    'an owner is a name',
    () => without(orders({ owner: 5, access: 'authenticated' })),
    'resources.orders.owner',
    'is 5',
    'accountId',
  ],
  [
    'in the form of all names',
    () => without(orders({ owner: 'account-id', access: 'authenticated' })),
    'resources.orders.owner',
    "owner: 'accountId'",
  ],
  ['who is not known owns nothing', () => orders({ owner: 'accountId' }), 'resources.orders.access', 'public'],
  [
    'nor where a single operation is public',
    () => without(shop({ orders: { ...owned, access: { read: 'public', write: 'authenticated' } } })),
    'resources.orders.access',
  ],
  [
    'what is not offered does not count',
    () =>
      without(shop({ orders: { ...owned, methods: ['create'], access: { read: 'public', write: 'authenticated' } } })),
    '',
  ],
  [
    'the account is no field',
    () => without(shop({ orders: { ...owned, fields: { accountId: f.text() } } })),
    'resources.orders.fields.accountId',
    'never answered',
  ],
  [
    'an owned parent has owned children',
    () => without(shop({ orders: owned, lines: { ...known, parent: 'orders' } })),
    '',
  ],
  [
    'of whom no other owner can be said',
    () => without(shop({ orders: owned, lines: { ...owned, parent: 'orders' } })),
    'resources.lines.owner',
    '`orders`',
  ],
  [
    'nor can they be public',
    () => shop({ orders: owned, lines: { ...open, parent: 'orders' } }).slice(1),
    'resources.lines.access',
    'as those of `orders` do',
  ],
  [
    'what everybody sees refers to nothing of an account',
    () =>
      without(
        shop({
          orders: owned,
          notes: { ...known, fields: { orderIds: f.list(f.ref('orders')), name: f.text() } },
        }),
      ),
    'resources.notes.fields.orderIds',
    '`orders`',
  ],
  [
    'what is of an account refers to both',
    () =>
      without(
        shop({
          orders: owned,
          depots: known,
          notes: { ...owned, fields: { orderId: f.ref('orders'), depotId: f.ref('depots') } },
        }),
      ),
    '',
  ],
])

test('parents in a circle are told as that, and nothing hangs', () => {
  const below = (parent: string) => ({ ...known, parent })
  const found = without(shop({ orders: below('lines'), lines: { ...below('orders'), owner: 'accountId' } }))
  assert.ok(found.some(({ reason }) => reason.includes('leads back to itself')))
})
