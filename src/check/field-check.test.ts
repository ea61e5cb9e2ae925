/** Field check: single fields and their mistakes, as tables. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fields, loose, open, place, type Row, right, shop, table, wrong } from '../../test/help/mistakes.ts'
import { type Field, f } from '../fields/field.ts'
import { standardKinds } from '../fields/kinds.ts'
import { readSettings } from '../settings.ts'
import { declarationMistakes } from './declaration-mistakes.ts'
import { soundField, structureOf } from './field-check.ts'

const snake = { settings: { naming: 'snake' } }

table('values that are not fields', [
  wrong('a text', 'text', 'f.text()'),
  wrong('the name of a kind', 'date', 'f.date()'),
  wrong('a maker', f.text, 'a function', 'f.text()'),
  wrong('null', null, 'null'),
  wrong('an unknown kind', { kind: 'string', options: {} }, 'an object'),
  wrong('a field without options', { kind: 'text' }),
])

table('names of fields (R41a, R93)', [
  [
    'snake_case under camel',
    () => fields({ first_name: f.text() }),
    'resources.orders.fields.first_name',
    '`firstName`',
  ],
  [
    'camelCase under snake',
    () => fields({ firstName: f.text() }, snake),
    'resources.orders.fields.firstName',
    '`first_name`',
  ],
  ['a capital', () => fields({ Name: f.text() }), 'resources.orders.fields.Name', '`name`'],
  ['dots', () => fields({ 'a.b': f.text() }), 'resources.orders.fields["a.b"]', '`aB`'],
  ['digits first', () => fields({ '1st': f.text() }), 'resources.orders.fields.1st', 'letters and digits'],
  ['nothing', () => fields({ '': f.text() }), 'resources.orders.fields[""]'],
  [
    'a name of JavaScript',
    () => fields({ constructor: f.text(), prototype: f.text() }),
    'resources.orders.fields.constructor, resources.orders.fields.prototype',
    'JavaScript',
  ],
  [
    '__proto__',
    () => fields(JSON.parse('{"__proto__":{}}')),
    'resources.orders.fields.__proto__, resources.orders.fields.__proto__',
  ],
  [
    'what the service adds',
    () => fields({ id: f.text(), createdAt: f.text(), updatedAt: f.text(), _links: f.text() }),
    ['id', 'createdAt', 'updatedAt', '_links'].map((one) => `resources.orders.fields.${one}`).join(', '),
  ],
  [
    'the same in snake_case',
    () => fields({ created_at: f.text(), idempotency_key: f.text() }, snake),
    'resources.orders.fields.created_at, resources.orders.fields.idempotency_key',
  ],
  [
    'the idempotency key',
    () => fields({ idempotencyKey: f.text() }),
    'resources.orders.fields.idempotencyKey',
    'idempotency key',
  ],
  [
    'its name by the settings',
    () => fields({ token: f.text(), idempotencyKey: f.text() }, { settings: { idempotency: { bodyField: 'token' } } }),
    'resources.orders.fields.token',
  ],
  [
    'none, where it is off',
    () => fields({ idempotencyKey: f.text() }, { settings: { idempotency: { bodyField: 'off' } } }),
    '',
  ],
  [
    "the parent's id",
    () =>
      declarationMistakes({
        name: 'shop',
        resources: {
          people: { ...open, singular: 'human' },
          pets: { parent: 'people', fields: { humanId: f.text() }, access: 'public' },
        },
      }),
    'resources.pets.fields.humanId',
    'parent',
  ],
  [
    'names of list parameters (R55)',
    () => fields({ sort: f.text(), order: f.integer(), page: f.text(), version: f.text(), limit: f.text() }),
    '',
  ],
  [
    'two that differ by capitals',
    () => fields({ dueOn: f.date(), dueon: f.date() }),
    'resources.orders.fields.dueon',
    '`dueOn`',
  ],
  ['inside an object', () => fields({ one: f.object({ zip_code: f.text() }) }), `${place}.zip_code`, '`zipCode`'],
])

table('options', [
  wrong('an unknown one', loose.text({ optinal: true }), '`optional`'),
  wrong('one of another kind', loose.boolean({ min: 3 }), 'boolean', '`min`'),
  wrong('fold of a number', loose.integer({ fold: true }), '`fold`'),
  wrong('a flag that is none', loose.text({ optional: 'yes' }), '"yes"', 'optional: true'),
  wrong('an empty meaning', f.text({ ownMeaning: ' ' }), 'ownMeaning'),
  wrong('an empty old name', f.text({ was: '' }), 'was'),
  [
    'the name of a field that is still there',
    () => fields({ one: f.text({ was: 'two' }), two: f.text() }),
    place,
    '`two`',
  ],
  right('an option without a value', loose.boolean({ min: undefined })),
  wrong('read and written by nobody', f.text({ readOnly: true, writeOnly: true }), 'no client'),
  wrong('nothing to answer', f.text({ readOnly: true }), '`optional: true`'),
  right(
    'something to answer',
    f.text({ readOnly: true, optional: true }),
    f.text({ readOnly: true, default: '' }),
    f.list(f.text(), { readOnly: true }),
  ),
  wrong('search of a number', loose.integer({ search: true }), '`search`'),
  wrong('search of numbers', loose.list(f.integer(), { search: true }), 'integer', 'no words'),
  wrong('secrets that lists would tell', f.text({ writeOnly: true, filter: true, unique: true }), 'filter and unique'),
])

table('filters, sorting, uniqueness', [
  right(
    'as kinds allow',
    f.text({ filter: ['range', 'like', 'gt', 'lt', 'ne'], sort: true, unique: true, fold: true }),
    f.email({ filter: 'like', sort: true, search: true }),
    f.list(f.text({ max: 9 }), { max: 9, search: true }),
    f.object({ a: f.text({ max: 9, search: true }) }, { optional: true }),
    f.url({ filter: 'range' }),
    f.integer({ filter: ['range', 'gt'] }),
    f.bigint({ filter: 'range', sort: true }),
    f.decimal({ scale: 2, filter: 'range', sort: true, unique: true }),
    f.boolean({ filter: true, sort: true }),
    f.timestamp({ filter: 'range', sort: true }),
    f.date({ filter: ['lt', 'ne'], sort: true }),
    f.duration({ filter: true, unique: true }),
    f.interval({ filter: 'ne' }),
    f.enum(['a'], { filter: 'ne', sort: true }),
    f.ref('customers', { filter: true, sort: true, unique: true }),
    f.country({ filter: true, sort: true }),
    f.currency({ filter: false, sort: false }),
    f.object({ a: f.text({ filter: 'like', sort: true, fold: true }) }),
  ),
  wrong('a range of booleans', loose.boolean({ filter: 'range' }), 'boolean', 'Allowed: true or ne'),
  wrong('a range of enums', loose.enum(['a'], { filter: ['range'] }), 'enum'),
  wrong('a range of references', loose.ref('customers', { filter: 'gt' }), 'ref'),
  wrong('a range of durations', loose.duration({ filter: 'lt' }), 'duration'),
  wrong('a pattern for countries', loose.country({ filter: 'like' }), '"like"'),
  wrong('a pattern for numbers', loose.integer({ filter: 'like' }), '"like"'),
  wrong('an unknown form', loose.text({ filter: 'lke' }), '`like`'),
  wrong('no form', f.text({ filter: [] }), 'filter: true'),
  wrong('a list', loose.list(f.text(), { filter: true }), 'list'),
  wrong('metadata', loose.metadata({ filter: true }), 'metadata'),
  wrong('an object', loose.object({ a: f.text() }, { filter: true }), 'inside it'),
  wrong('an order of durations', loose.duration({ sort: true }), '`sort`'),
  wrong('an order of intervals', loose.interval({ sort: true }), '`sort`'),
  wrong('an order of objects', loose.object({ a: f.text() }, { sort: true }), '`sort`'),
  wrong('unique lists', loose.list(f.text(), { unique: true }), '`unique`'),
])

table('fields in objects and lists', [
  right(
    'what they take',
    f.object({ a: f.text({ optional: true, default: 'x', min: 1, pattern: 'x' }), b: f.decimal({ scale: 2 }) }),
    f.list(f.text({ min: 1, pattern: 'a' })),
    f.list(f.ref('customers', { onDelete: 'cascade' })),
  ),
  ...(['unique', 'immutable', 'readOnly', 'writeOnly'] as const).map((option): Row => {
    const one = f.object({ a: loose.text({ [option]: true }) as Field })
    return [`${option} inside an object`, () => fields({ one }), `${place}.a`, option, 'whole object']
  }),
  right('old names', f.object({ a: f.text({ was: 'b' }) }), f.list(f.object({ a: f.text({ was: 'b' }) }))),
  [
    'the old name of a field that is still beside it',
    () => fields({ one: f.object({ a: f.text({ was: 'b' }), b: f.text() }) }),
    `${place}.a`,
    '`b`',
  ],
  ...(['optional', 'unique', 'filter', 'sort', 'immutable', 'readOnly', 'fold', 'search'] as const).map(
    (option): Row => {
      const one = f.list(loose.text({ [option]: true }))
      return [`${option} at the item of a list`, () => fields({ one }), `${place}.item`, option, 'at the list']
    },
  ),
  [
    'a filter inside a list',
    () => fields({ one: f.list(f.object({ a: f.text({ filter: true }) })) }),
    `${place}.item.a`,
    'inside a list',
  ],
  [
    'search inside a list',
    () => fields({ one: f.list(f.object({ a: f.text({ search: true }) })) }),
    `${place}.item.a`,
    'inside a list',
  ],
  wrong('search of a secret', f.text({ writeOnly: true, search: true }), 'search'),
  wrong('search inside a secret', f.object({ a: f.text({ search: true }) }, { writeOnly: true }), 'search'),
  [
    'a filter further inside',
    () => fields({ one: f.list(f.object({ a: f.object({ b: f.text({ sort: true }) }) })) }),
    `${place}.item.a.b`,
    'inside a list',
  ],
  wrong('an object without fields', f.object({}), 'f.metadata()'),
  ['a list of no field', () => fields({ one: loose.list('text') }), `${place}.item`, 'f.text()'],
  ['an object of no field', () => fields({ one: loose.object({ a: 'text' }) }), `${place}.a`, 'f.text()'],
  ['as deep as it may be', () => fields({ one: deep(16) }), ''],
  ['too deep', () => fields({ one: deep(17) }), `${place}${'.item'.repeat(17)}`, '16'],
  ['without an end', () => fields({ one: endless() }), `${place}${'.item'.repeat(17)}`],
])

function deep(levels: number): Field {
  return levels === 0 ? f.text() : f.list(deep(levels - 1))
}

function endless(): unknown {
  const field: { kind: string; options: object; item?: unknown } = { kind: 'list', options: {} }
  field.item = field
  return field
}

const settings = readSettings({}, undefined, false, () => {})
const rules = { settings, isId: () => true, kinds: standardKinds }

table('personal fields', [
  right(
    'with an empty value',
    f.text({ optional: true, personal: true }),
    f.text({ default: 'Erased', personal: true }),
    f.email({ optional: true, unique: true, personal: true }),
    f.list(f.object({ a: f.text({ optional: true, personal: true }) }), { personal: true }),
    f.object({ a: f.integer({ default: 0, personal: true }), b: f.metadata({ personal: true }) }),
    f.file({ personal: true }),
    f.ref('customers', { optional: true, personal: true, immutable: true }),
  ),
  wrong('a required one', f.text({ personal: true }), 'no value when its item is erased', 'optional: true'),
  wrong('a list with items', f.list(f.text(), { min: 1, personal: true }), 'no value when its item is erased'),
  wrong('a unique default', f.text({ default: 'x', unique: true, personal: true }), 'unique', '`default`'),
  wrong('no flag', loose.text({ personal: 'yes' }), 'personal: true'),
  [
    'a required one in an object',
    () => fields({ one: f.object({ a: f.text({ personal: true }) }) }),
    `${place}.a`,
    'optional: true',
  ],
  [
    'at the item of a list',
    () => fields({ one: f.list(loose.text({ personal: true })) }),
    `${place}.item`,
    'personal',
    'at the list',
  ],
  [
    'the key',
    () => shop({ orders: { ...open, key: 'one', fields: { one: f.text({ default: 'x', personal: true }) } } }),
    'resources.orders.key',
    '`personal`',
  ],
])

table('references', [
  wrong('an unknown resource', f.ref('customer'), '"customer"', '`customers`'),
  wrong('no name', loose.ref(5), '5'),
  wrong('one with a composite key', f.ref('slots'), 'composite key'),
  wrong('an unknown rule', loose.ref('customers', { onDelete: 'ignore' }), "'cascade'"),
  right('the resource itself', f.ref('orders', { optional: true, onDelete: 'cascade' })),
  ['inside a list', () => fields({ one: f.list(f.ref('cusomers')) }), `${place}.item`, '`customers`'],
])

test('the text of a structure has its concepts resolved and its fields sorted', () => {
  const checkWith = (soundConcepts = new Map<string, Field>()) => ({ soundConcepts, rules })
  const structureText = (field: Field, sound?: Map<string, Field>) =>
    structureOf(soundField(field, checkWith(sound)) as Field)
  assert.equal(structureText(f.text({ max: 5 })), 'text')
  assert.equal(structureText(f.list(f.list(f.ref('orders')))), 'a list of a list of a reference to orders')
  const country = new Map([['country', f.country()]])
  assert.equal(
    structureText(f.object({ zip: f.text(), country: f.concept('country') }), country),
    '{ country: country, zip: text }',
  )
  assert.equal(soundField(f.list(f.concept('country')), checkWith()), undefined)
})
