import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from '../fields/field.ts'
import { type Change, declarationAt } from './change.ts'
import type { ResourceDeclaration } from './declaration.ts'

const customers = {
  fields: {
    name: f.text({ filter: 'like', sort: true }),
    status: f.enum(['active', 'paused', 'closed'], { default: 'active' }),
    phone: f.text(),
    country: f.country(),
  },
  access: 'public',
  order: ['name', '-phone'],
  sorts: { state: ['-status', 'name'], named: ['name'] },
  uniques: [['phone', 'country']],
} satisfies ResourceDeclaration
const orders = {
  parent: 'customers',
  fields: { ship: f.ref('customers') },
  order: ['customerId'],
  access: 'public',
} as const
const declaration = { resources: { customers, orders }, errors: { 'too-late': { status: 409 } } }

const undone = (change: Omit<Change, 'version' | 'about'>, version = 'v1') =>
  declarationAt(declaration, [{ version: 'v2', about: 'It changed.', ...change }], version)
const fieldsOf = (change: Partial<Change>) =>
  undone({ resource: 'customers', ...change }).resources.customers.fields as Record<
    string,
    (typeof customers.fields)[keyof typeof customers.fields]
  >

test('the version of a change and later ones have it', () => {
  for (const version of ['v2', 'v3'])
    assert.deepEqual(undone({ resource: 'customers', added: ['phone'] }, version), declaration)
})

test('renamed fields keep their place, also in orders and uniques', () => {
  const older = undone({ resource: 'customers', renamed: { title: 'name', tel: 'phone' } }).resources.customers
  assert.deepEqual(Object.keys(older.fields), ['title', 'status', 'tel', 'country'])
  assert.deepEqual(
    [older.order, older.sorts, older.uniques],
    [['title', '-tel'], { state: ['-status', 'title'], named: ['title'] }, [['tel', 'country']]],
  )
})

test('a removed field takes the place of the added one, and orders leave out added fields', () => {
  const older = undone({ resource: 'customers', added: ['name'], removed: { first: f.text(), last: f.text() } })
    .resources.customers
  assert.deepEqual(Object.keys(older.fields), ['first', 'last', 'status', 'phone', 'country'])
  assert.deepEqual([older.order, older.sorts], [['-phone'], { state: ['-status'] }])
})

test('a field that was not required is optional, and a retyped field has its old type', () => {
  const older = fieldsOf({ required: { phone: '0' }, retyped: { country: f.text() } })
  assert.deepEqual(older.phone, { kind: 'text', options: { optional: true } })
  assert.deepEqual(older.country, f.text())
})

test('an enum has its old values, and its old default', () => {
  const older = fieldsOf({
    mapped: { status: { open: 'active', old: 'closed', dead: 'closed' } },
    shown: { status: { paused: 'open' } },
  })
  assert.deepEqual([older.status?.values, older.status?.options], [['open', 'old', 'dead'], { default: 'open' }])
})

test('a resource has its old name everywhere, and its ids are unchanged', () => {
  const older = undone({ resource: 'customers', was: 'clients' }).resources as Readonly<
    Record<string, ResourceDeclaration>
  >
  assert.deepEqual(Object.keys(older), ['clients', 'orders'])
  assert.equal(older.clients?.prefix, 'customer')
  assert.deepEqual(
    [older.orders?.parent, older.orders?.fields.ship?.target, older.orders?.order],
    [{ resource: 'clients' }, 'clients', ['clientId']],
  )
})

test('resources begin and end, methods are added and withdrawn, types of errors have their old names', () => {
  assert.deepEqual(Object.keys(undone({ resource: 'orders', begins: true }).resources), ['customers'])
  assert.deepEqual(Object.keys(undone({ resource: 'orders', ends: true }).resources), ['customers', 'orders'])
  assert.deepEqual(Object.keys(undone({ resource: 'orders', ends: true }, 'v2').resources), ['customers'])
  const { methods } = undone({ resource: 'orders', methods: { added: ['change'] } }).resources
    .orders as ResourceDeclaration
  assert.deepEqual(methods, ['list', 'read', 'create', 'replace', 'remove'])
  assert.deepEqual(undone({ resource: 'orders', errors: { late: 'too-late' } }).errors, { late: { status: 409 } })
})

test('a moved field has the declaration of its new place, unless the change declares another', () => {
  const change = { version: 'v2', about: 'It moved.', resource: 'orders', moved: { tel: { by: 'ship', to: 'phone' } } }
  assert.deepEqual(declarationAt(declaration, [change], 'v1').resources.orders.fields, {
    ...orders.fields,
    tel: f.text(),
  })
})
