/** Hostile declarations: the check handles valid declarations, and any other value at any place. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, shop, table } from '../../test/help/mistakes.ts'
import { f } from '../fields/field.ts'
import { declarationMistakes } from './declaration-mistakes.ts'

table('anything is read, and nothing is thrown', [
  ['null', () => declarationMistakes(null), 'service', 'null', 'service({'],
  ['nothing', () => declarationMistakes(undefined), 'service'],
  ['a list', () => declarationMistakes([]), 'service', 'a list'],
  ['a text', () => declarationMistakes('shop'), 'service', '"shop"'],
  ['nothing in it', () => declarationMistakes({}), 'name, resources', 'no name'],
  ['no resources', () => shop({}), 'resources', 'no resources'],
  ['resources that are a list', () => shop([open]), 'resources', 'a list'],
  ['a resource that is none', () => shop({ orders: null }), 'resources.orders', 'null', 'fields'],
  [
    'a member that throws',
    () =>
      declarationMistakes({
        name: 'shop',
        get resources() {
          throw new Error('no')
        },
      }),
    'service',
    'cannot be read: no',
  ],
  [
    'symbols and functions',
    () => shop({ orders: { fields: Symbol('a'), access: () => 1 } }),
    'resources.orders.fields, resources.orders.access',
  ],
])

const whole = {
  name: 'orders',
  scopes: { 'orders:read': 'Read orders' },
  concepts: { country: f.country({ filter: true }) },
  errors: { 'credit-exceeded': { status: 409, parents: ['conflict'] } },
  settings: { list: { maxPageSize: 50 } },
  resources: {
    customers: {
      prefix: 'cus',
      fields: {
        name: f.text({ max: 200, filter: 'like', sort: true }),
        email: f.email({ unique: true, filter: true }),
        country: f.concept('country'),
        metadata: f.metadata(),
      },
      access: 'public',
    },
    orders: {
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers', { filter: true }),
        currency: f.currency({ immutable: true }),
        total: f.decimal({ scale: 2, default: '0.00', filter: 'range', sort: true }),
        dueOn: f.date({ optional: true, filter: 'range', sort: true }),
      },
      sorts: { urgency: ['dueOn', '-total'] },
      access: { read: 'public', write: 'public' },
    },
    'order-lines': {
      prefix: 'lin',
      parent: 'orders',
      fields: {
        description: f.text({ max: 500 }),
        quantity: f.integer({ min: 1 }),
        unitPrice: f.decimal({ scale: 2 }),
      },
      access: 'public',
    },
    warehouses: { prefix: 'whs', fields: { name: f.text({ max: 100 }) }, access: 'public' },
    slots: {
      parent: 'warehouses',
      key: 'number',
      fields: { number: f.text({ pattern: '^[0-9]{1,4}$', immutable: true }), capacity: f.integer({ min: 0 }) },
      access: 'public',
    },
  },
}

test('the declaration of a whole service has no mistake', () => {
  assert.deepEqual(declarationMistakes(whole), [])
})

const odd: readonly unknown[] = [
  ...[null, 0, -1, 1.5, Number.NaN, 5n, Symbol('odd'), '', 'x', 'name', '__proto__', 'constructor', true, () => 1],
  ...[[], [[]], [null], ['name', 'name'], {}, { x: 1 }, Object.create(null), new Map(), /a/],
  ...[f.text(), f.ref('orders'), f.concept('country'), JSON.parse('{"__proto__":{"a":1}}')],
]

test('any value at any place is checked to the end', () => {
  for (const path of places(whole)) {
    for (const value of odd) {
      const name = path.at(-1) as string
      for (const at of [
        path,
        [...path.slice(0, -1), Array.isArray(within(whole, path.slice(0, -1))) ? '9' : `${name}s`],
      ]) {
        const mistakes = declarationMistakes(replaced(whole, at, value))
        const unread = mistakes.find(({ reason }) => reason.startsWith('The declaration cannot be read'))
        assert.equal(unread, undefined, at.join('.'))
      }
    }
  }
})

function within(value: unknown, path: readonly string[]): unknown {
  return path.reduce((at, name) => (at as Record<string, unknown>)[name], value)
}

/** The paths to all values inside a value. */
function places(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]) => [[name], ...places(one).map((path) => [name, ...path])])
}

/** A copy that has another value at one place. */
function replaced(value: unknown, [name, ...path]: readonly string[], one: unknown): unknown {
  if (name === undefined) return one
  const before = value as Record<string, unknown>
  const next = path.length === 0 ? one : replaced(before[name], path, one)
  return Array.isArray(value) ? Object.assign([...value], { [name]: next }) : { ...before, [name]: next }
}
