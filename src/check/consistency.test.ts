/** Consistency: mistakes between resources, concepts and orders, as tables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fields, open, orders, place, type Row, shop, table } from '../../test/help/mistakes.ts'
import { f } from '../fields/field.ts'

table('prefixes (R36)', [
  [
    'one that two declare',
    () => shop({ orders: { ...open, prefix: 'ord' }, ordinals: { ...open, prefix: 'ord' } }),
    'resources.ordinals.prefix',
    '`orders`',
    '`ordinals`',
    '`ord`',
  ],
  [
    'one that is also derived',
    () => shop({ orders: open, items: { ...open, prefix: 'order' } }),
    'resources.items.prefix',
    '`orders`',
  ],
  ['another form', () => orders({ prefix: 'ORD' }), 'resources.orders.prefix', '"ORD"'],
  ['no text', () => orders({ prefix: 5 }), 'resources.orders.prefix', '5'],
  ['a derived one that does not fit', () => shop({ 'b2b-orders': open }), 'resources.b2b-orders.prefix', 'b2b_order'],
  ['beside a key', () => orders({ key: 'name', prefix: 'ord' }), 'resources.orders.prefix', '`key`'],
])

table('one concept, one structure (R37)', [
  [
    'two kinds',
    () =>
      shop({
        customers: { ...open, fields: { country: f.text() } },
        addresses: { ...open, fields: { country: f.country() } },
      }),
    'resources.addresses.fields.country',
    'country here',
    'text at resources.customers.fields.country',
    'ownMeaning',
  ],
  [
    'two structures of objects',
    () =>
      shop({
        as: { ...open, fields: { at: f.object({ x: f.text() }) } },
        bs: { ...open, fields: { at: f.object({ x: f.text(), y: f.text() }) } },
      }),
    'resources.bs.fields.at',
    '{ x: text, y: text }',
    '{ x: text }',
  ],
  [
    'two kinds of items',
    () =>
      shop({
        as: { ...open, fields: { tags: f.list(f.text()) } },
        bs: { ...open, fields: { tags: f.list(f.integer()) } },
      }),
    'resources.bs.fields.tags',
    'a list of integer',
    'a list of text',
  ],
  [
    'references to two resources',
    () => shop({ as: { ...open, fields: { to: f.ref('as') } }, bs: { ...open, fields: { to: f.ref('bs') } } }),
    'resources.bs.fields.to',
    'a reference to bs',
  ],
  [
    'a concept under its name',
    () => shop({ as: { ...open, fields: { country: f.text() } } }, { concepts: { country: f.country() } }),
    'resources.as.fields.country',
    'concepts.country',
  ],
  [
    'what does not count',
    () =>
      shop({
        as: {
          ...open,
          fields: {
            a: f.text({ max: 1, filter: true, optional: true }),
            e: f.enum(['a']),
            o: f.object({ x: f.text(), y: f.date() }),
          },
        },
        bs: {
          ...open,
          fields: {
            a: f.text({ sort: true, default: 'a', pattern: 'a' }),
            e: f.enum(['b']),
            o: f.object({ y: f.date({ optional: true }), x: f.text() }),
          },
        },
      }),
    '',
  ],
  ...(['as', 'bs'] as const).map(
    (one): Row => [
      `a meaning of its own in ${one}`,
      () => {
        const own = { ownMeaning: 'a state of the union' }
        const as = { ...open, fields: { state: f.text({ ...(one === 'as' && own) }) } }
        return shop({
          as,
          bs: { ...open, fields: { state: f.integer({ ...(one === 'bs' && own) }) } },
          cs: one === 'bs' ? as : open,
        })
      },
      '',
    ],
  ),
])

const sorted = {
  name: f.text({ filter: true, sort: true }),
  total: f.integer({ filter: 'range' }),
  note: f.text({ optional: true }),
  secret: f.text({ writeOnly: true }),
  tags: f.list(f.text()),
  at: f.object({ city: f.text({ sort: true }), zip: f.text() }),
}
const asked = (more: object) => orders({ fields: sorted, parent: 'customers', ...more })

table('orders, indexes and what is unique together', [
  [
    'in order',
    () =>
      asked({
        order: ['-createdAt', 'name', 'at.city', 'at.zip', 'total', 'customerId', 'id'],
        sorts: { urgency: ['-updatedAt'] },
        indexes: [
          ['total', 'name'],
          ['customerId', '-createdAt'],
        ],
        uniques: [
          ['name', 'note'],
          ['at.zip', 'total'],
        ],
      }),
    '',
  ],
  ['an unknown field', () => asked({ order: ['nam'] }), 'resources.orders.order', '`name`'],
  [
    'a field without an order',
    () => asked({ order: ['tags'] }),
    'resources.orders.order',
    'Lists cannot be sorted by `tags`',
  ],
  ['an object', () => asked({ sorts: { here: ['at'] } }), 'resources.orders.sorts.here', '`at`'],
  ['a secret', () => asked({ order: ['-secret'] }), 'resources.orders.order', '`secret`'],
  ['no field', () => asked({ order: [] }), 'resources.orders.order', 'at least one'],
  ['no list', () => asked({ order: 'name' }), 'resources.orders.order', '"name"'],
  ['one field twice', () => asked({ order: ['name', '-name'] }), 'resources.orders.order', 'twice'],
  ['no text', () => asked({ order: [5, null] }), 'resources.orders.order, resources.orders.order', '5'],
  [
    'a sort with a name in another form',
    () => asked({ sorts: { by_name: ['name'] } }),
    'resources.orders.sorts.by_name',
    '`byName`',
  ],
  ['sorts that are a list', () => asked({ sorts: ['name'] }), 'resources.orders.sorts', 'urgency'],
  [
    'an index of a field that nobody asks for',
    () => asked({ indexes: [['name', 'note']] }),
    'resources.orders.indexes',
    '`note`',
  ],
  [
    'a direction where there is none',
    () => asked({ uniques: [['name', '-note']] }),
    'resources.orders.uniques',
    '"-note"',
  ],
  ['an index that is no list', () => asked({ indexes: ['name'] }), 'resources.orders.indexes', '"name"'],
  ['indexes that are no list', () => asked({ indexes: 'name' }), 'resources.orders.indexes', "[['country', 'name']]"],
  ['one field alone', () => asked({ uniques: [['name']] }), 'resources.orders.uniques', 'two fields'],
  ['a list in it', () => asked({ uniques: [['name', 'tags']] }), 'resources.orders.uniques', '`tags`'],
  ['a secret in it', () => asked({ uniques: [['name', 'secret']] }), 'resources.orders.uniques', '`secret`'],
  ['the id in it', () => asked({ uniques: [['name', 'id']] }), 'resources.orders.uniques', 'always unique'],
  [
    'a field with a mistake is told once',
    () => orders({ fields: { at: f.object({ x: f.concept('nowhere') }) }, order: ['at.x', 'at'] }),
    'resources.orders.fields.at.x',
  ],
  [
    'more sorts than a list may have',
    () =>
      orders({
        fields: { a: f.text({ sort: true }), b: f.object({ c: f.text({ sort: true }) }) },
        settings: { list: { maxSortable: 1 } },
      }),
    'resources.orders.fields',
    'list.maxSortable (1)',
  ],
])

const snake = { settings: { naming: 'snake' } }
const concepts = { concepts: { country: f.country({ filter: true }), name: f.text({ max: 5, default: 'abc' }) } }

table('concepts (R37)', [
  [
    'under their own name',
    () => fields({ country: f.concept('country'), one: f.list(f.concept('country')) }, concepts),
    '',
  ],
  ['as the end of a name', () => fields({ billingCountry: f.concept('country', { optional: true }) }, concepts), ''],
  ['the same in snake_case', () => fields({ billing_country: f.concept('country') }, { ...snake, ...concepts }), ''],
  ['under another name', () => fields({ one: f.concept('country') }, concepts), place, '`billingCountry`'],
  [
    'as the end of a word',
    () => fields({ mycountry: f.concept('country') }, concepts),
    'resources.orders.fields.mycountry',
  ],
  ['an unknown one', () => fields({ one: f.concept('contry') }, concepts), place, '`country`'],
  ['one where there is none', () => fields({ one: f.concept('country') }), place, '`concepts`'],
  [
    'an option that its kind does not take',
    () => fields({ country: f.concept('country', { max: 3 }) }, concepts),
    'resources.orders.fields.country',
    '`max`',
  ],
  [
    'an option that its own ones contradict',
    () => fields({ name: f.concept('name', { min: 9 }) }, concepts),
    'resources.orders.fields.name',
    'above',
  ],
  [
    'a default that no longer fits',
    () => fields({ name: f.concept('name', { max: 2 }) }, concepts),
    'resources.orders.fields.name',
    'at most 2',
  ],
  [
    'a mistake of a concept is told once',
    () => fields({ one: f.text(), code: f.concept('code') }, { concepts: { code: f.text({ pattern: '(' }) } }),
    'concepts.code',
    'pattern',
  ],
  ['a name in another form', () => fields({}, { concepts: { Country: f.country() } }), 'concepts.Country', '`country`'],
  ['no field', () => fields({}, { concepts: { country: 'country' } }), 'concepts.country', 'f.country()'],
  [
    'a circle',
    () => fields({}, { concepts: { a: f.object({ b: f.concept('b') }), b: f.list(f.concept('a')) } }),
    'concepts.a',
    'a -> b -> a',
  ],
  [
    'one of another, whatever the order',
    () =>
      fields(
        { fullName: f.concept('fullName') },
        { concepts: { fullName: f.object({ name: f.concept('name') }), name: f.text({ max: 5 }) } },
      ),
    '',
  ],
  ['an old name', () => fields({}, { concepts: { country: f.country({ was: 'land' }) } }), 'concepts.country', 'was'],
  [
    'uniqueness that an object loses',
    () => fields({ one: f.object({ code: f.concept('code') }) }, { concepts: { code: f.text({ unique: true }) } }),
    `${place}.code`,
    'unique',
  ],
])

test('a large declaration is read whole, its resources in any order', () => {
  const many = Array.from({ length: 100 }, (_, n) => {
    const letters = `${'abcdefghij'[n % 10]}${'abcdefghij'[Math.floor(n / 10)]}`
    const next = `${'abcdefghij'[(n + 1) % 10]}${'abcdefghij'[Math.floor(((n + 1) % 100) / 10)]}`
    const more = Array.from({ length: 20 }, (_, i) => [`field${i}`, f.decimal({ scale: 2, filter: 'range' })])
    return [
      `${letters}-things`,
      { ...open, fields: { ...Object.fromEntries(more), [`${letters}Next`]: f.ref(`${next}-things`) } },
    ]
  })
  assert.deepEqual(shop(Object.fromEntries(many)), [])
})
