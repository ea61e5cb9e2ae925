/** Declaration mistakes: whole declarations and their mistakes, as tables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, shop, table } from '../../test/help/mistakes.ts'
import { f } from '../fields/field.ts'
import { type Declaration, service } from '../service.ts'
import { declarationMistakes } from './declaration-mistakes.ts'

const saying = (more: object) => shop({ orders: open }, more)

table('the service', [
  [
    'a name in another form',
    () => declarationMistakes({ name: 'My Shop', resources: { orders: open } }),
    'name',
    '"My Shop"',
    "'my-shop'",
  ],
  ['a name that is none', () => declarationMistakes({ name: 5, resources: { orders: open } }), 'name', '5'],
  ['a key with a typing mistake', () => saying({ setings: {} }), 'setings', '`settings`'],
  ['a key without a value', () => saying({ versions: undefined }), ''],
  [
    'a scope in another form',
    () => saying({ scopes: { 'Orders:Read': 'Read orders' } }),
    'scopes["Orders:Read"]',
    'orders:read',
  ],
  ['a scope without words', () => saying({ scopes: { 'orders:read': '' } }), 'scopes["orders:read"]', 'no description'],
  [
    'a scope called public',
    () => saying({ scopes: { public: 'All', authenticated: 'Some' } }),
    'scopes.public, scopes.authenticated',
    'not a scope',
  ],
  [
    'scopes in order',
    () => saying({ scopes: { 'orders:read': 'Read orders', admin: 'Everything', 'a-b:c-1:d': 'More' } }),
    '',
  ],
])

table('error types', [
  [
    'in order',
    () => saying({ errors: { 'credit-exceeded': { status: 409, parents: ['conflict'] }, broken: { status: 500 } } }),
    '',
  ],
  [
    'with all their parents',
    () =>
      saying({
        errors: {
          a: { status: 409, parents: ['b', 'conflict'] },
          b: { status: 409, parents: ['conflict', 'client-error'] },
        },
      }),
    '',
  ],
  [
    'another form',
    () => saying({ errors: { CreditExceeded: { status: 409 } } }),
    'errors.CreditExceeded',
    '`credit-exceeded`',
  ],
  ['a name that is taken', () => saying({ errors: { conflict: { status: 409 } } }), 'errors.conflict', 'already'],
  [
    'fields of an error with the names of members of all errors',
    () =>
      saying({
        errors: {
          full: { status: 409, fields: { title: f.text(), oldId: f.text(), line: f.text(), limit: f.text() } },
        },
      }),
    'errors.full.fields.title, errors.full.fields.oldId, errors.full.fields.line',
    'already',
  ],
  [
    'fields of an error that are no fields, or of items only',
    () =>
      saying({
        errors: { full: { status: 409, fields: { limit: 5, scan: f.file(), part: f.text({ filter: true }) } } },
      }),
    'errors.full.fields.limit, errors.full.fields.scan, errors.full.fields.part',
    '',
  ],
  [
    'a status that has one meaning only, or none here',
    () => saying({ errors: { a: { status: 401 }, b: { status: 422 }, c: { status: 502 }, d: { status: 504 } } }),
    'errors.a.status, errors.b.status, errors.c.status, errors.d.status',
    'declared types cannot have it',
  ],
  [
    'a status that needs a header',
    () => saying({ errors: { a: { status: 405 }, b: { status: 407 }, c: { status: 426 } } }),
    'errors.a.status, errors.b.status, errors.c.status',
    'declared types cannot have it',
  ],
  [
    'another status than that of a parent',
    () => saying({ errors: { a: { status: 404, parents: ['conflict'] }, b: { status: 410, parents: ['a'] } } }),
    'errors.a.status, errors.b.status',
    'Write status: 409, or a parent with the status 4',
  ],
  [
    'the status of a parent, or of none',
    () =>
      saying({ errors: { a: { status: 409, parents: ['has-dependents'] }, b: { status: 425, parents: ['error'] } } }),
    '',
  ],
  [
    'no status',
    () => saying({ errors: { a: {}, b: { status: 200 }, c: { status: '409' } } }),
    'errors.a.status, errors.b.status, errors.c.status',
    '400 to 599',
  ],
  [
    'an unknown parent',
    () => saying({ errors: { a: { status: 409, parents: ['conflit'] } } }),
    'errors.a.parents',
    '`conflict`',
  ],
  [
    'a parent that is no list',
    () => saying({ errors: { a: { status: 409, parents: 'conflict' } } }),
    'errors.a.parents',
    "['conflict']",
  ],
  [
    'a circle',
    () => saying({ errors: { a: { status: 409, parents: ['b'] }, b: { status: 409, parents: ['a'] } } }),
    'errors.a.parents',
    'a -> b -> a',
  ],
  [
    'parents that are no line',
    () => saying({ errors: { a: { status: 409, parents: ['conflict', 'gone'] } } }),
    'errors.a.parents',
    '`gone`',
  ],
  [
    'a status of the other class',
    () => saying({ errors: { a: { status: 503, parents: ['conflict'] } } }),
    'errors.a.status',
    '503',
  ],
  [
    'an unknown member',
    () => saying({ errors: { a: { status: 409, parent: ['conflict'] } } }),
    'errors.a.parent',
    '`parents`',
  ],
  ['no object', () => saying({ errors: { a: 409 } }), 'errors.a', 'status: 409'],
])

table('all at once, in the order of the declaration (R219)', [
  [
    'three bad resources',
    () =>
      shop({
        shippingAddress: { fields: { first_name: open.fields.name }, access: 'public' },
        orders: { prefix: 'x1', fields: { customerId: f.ref('client') }, access: 'orders:read' },
        customers: { fields: { total: f.decimal({} as { scale: number }) } },
      }),
    'resources.shippingAddress, resources.shippingAddress.fields.first_name, resources.orders.prefix, ' +
      'resources.orders.fields.customerId, resources.orders.access, resources.customers.fields.total, resources.customers.access',
    '`shipping-addresses`',
  ],
  [
    'parts in any order',
    () => declarationMistakes({ settings: { x: 1 }, resources: { order: open }, errors: { a: 1 }, name: '' }),
    'settings.x, resources.order, errors.a, name',
  ],
])

test('a service with three bad resources gives one message with three entries (R219)', () => {
  const resources = { order: open, customers: { ...open, prefix: 'C' }, notes: { fields: {} } }
  const started = () => service({ name: 'shop', resources } as unknown as Declaration)
  assert.throws(started, (error: Error & { mistakes?: readonly unknown[] }) => {
    assert.match(
      error.message,
      /"shop" has 3 mistakes\.\n\n1\. resources\.order: .*\n {3}Write.*\n\n2\. .*\n.*\n\n3\. /,
    )
    assert.equal(error.mistakes?.length, 3)
    return true
  })
})
