/** Summary mistakes: declarations of summaries, and the mistakes in them. R236. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { orders, shop, table } from '../../test/help/mistakes.ts'
import { f } from '../fields/field.ts'

const fields = {
  status: f.enum(['new', 'paid']),
  total: f.decimal({ scale: 2 }),
  pieces: f.integer(),
  count: f.integer(),
  note: f.text(),
  code: f.text({ max: 20, fold: true }),
  pin: f.text({ max: 20, writeOnly: true, optional: true }),
  dueOn: f.date(),
  tags: f.list(f.text()),
  place: f.object({ city: f.text({ max: 50 }), size: f.integer() }),
  placeCity: f.text({ max: 50 }),
}
const at = 'resources.orders.summaries'
const summed = (summaries: unknown, more: object = {}) => orders({ fields, summaries, ...more })
const one = (given: unknown) => summed({ one: given })

table('summaries', [
  [
    'of every form',
    () =>
      summed({
        byStatus: {
          group: ['status', { month: 'createdAt' }, { day: 'dueOn' }, 'place.city', 'dueOn'],
          sum: ['total'],
        },
        'by-size': { group: ['place.size'], min: ['dueOn', 'pieces'], max: ['updatedAt'], average: ['pieces'] },
        all: {},
      }),
    '',
  ],
  ['no object', () => summed(5), at, 'byStatus'],
  ['no list to summarize', () => summed({ all: {} }, { methods: ['read'] }), at, "'list'"],
  [
    'an operation of that name',
    () => summed({ all: {} }, { operations: { summaries: { at: 'collection' } } }),
    at,
    'operation',
  ],
  ['a name in another form', () => summed({ By_status: {} }), `${at}.By_status`, '`byStatus`'],
  ['two names of one URL', () => summed({ byStatus: {}, 'by-status': {} }), `${at}.by-status`, '`byStatus`'],
  ['one that is no object', () => summed({ one: ['status'] }), `${at}.one`, 'group'],
  ['an unknown member', () => one({ grup: ['status'] }), `${at}.one.grup`, '`group`'],
  ['a list that is none', () => one({ sum: 'total' }), `${at}.one.sum`, "['total']"],
  ['an empty list', () => one({ group: [] }), `${at}.one.group`, 'an empty list'],
  ['an unknown field', () => one({ group: ['statos'] }), `${at}.one.group`, '`status`'],
  ['an unknown nested field', () => one({ sum: ['place.sizes'] }), `${at}.one.sum`, '`place.size`'],
  ['a term that is no name', () => one({ sum: [5] }), `${at}.one.sum`, '5'],
  ['a signed term', () => one({ group: ['-status'] }), `${at}.one.group`, '`status`'],
  ['groups by id', () => one({ group: ['id'] }), `${at}.one.group`, 'own'],
  ['groups by a list', () => one({ group: ['tags'] }), `${at}.one.group`, 'list'],
  ['groups by an object', () => one({ group: ['place'] }), `${at}.one.group`, 'object'],
  ['groups by long texts', () => one({ group: ['note'] }), `${at}.one.group`, '10000', 'max: 500'],
  ['groups by folded texts', () => one({ group: ['code'] }), `${at}.one.group`, 'case'],
  ['groups by a write-only field', () => one({ group: ['pin'] }), `${at}.one.group`, '`writeOnly`'],
  ['the month of no time', () => one({ group: [{ month: 'status' }] }), `${at}.one.group`, 'enum', 'date or timestamp'],
  ['an unknown part', () => one({ group: [{ week: 'dueOn' }] }), `${at}.one.group`, 'day, month or year'],
  ['two parts', () => one({ group: [{ day: 'dueOn', month: 'dueOn' }] }), `${at}.one.group`, 'day, month or year'],
  ['the sum of times', () => one({ sum: ['dueOn'] }), `${at}.one.sum`, 'date', 'integer, bigint or decimal'],
  ['the least status', () => one({ min: ['status'] }), `${at}.one.min`, 'enum', 'timestamp'],
  ['a member of the name count', () => one({ group: ['count'] }), `${at}.one`, '`count`'],
  ['a field twice', () => one({ sum: ['total', 'total'] }), `${at}.one`, '`sumTotal`'],
  ['two members of one name', () => one({ group: ['place.city', 'placeCity'] }), `${at}.one`, '`placeCity`'],
  [
    'an index of its fields',
    () => summed({ all: { group: ['status'], sum: ['total'] } }, { indexes: [['status', 'total']] }),
    '',
  ],
  [
    'an index of other fields',
    () => summed({ all: { group: ['status'] } }, { indexes: [['status', 'total']] }),
    'resources.orders.indexes',
    'summary',
  ],
  [
    'a field with mistakes',
    () =>
      shop({
        orders: { fields: { total: f.decimal({ scale: 99 }) }, access: 'public', summaries: { a: { sum: ['total'] } } },
      }),
    'resources.orders.fields.total',
  ],
])

table('summaries in snake_case', [
  [
    'their names',
    () =>
      shop(
        { orders: { fields: { status: f.enum(['a']) }, access: 'public', summaries: { byStatus: {}, by_day: {} } } },
        { settings: { naming: 'snake' } },
      ),
    `${at}.byStatus`,
    '`by_status`',
  ],
])

test('all mistakes are reported at once', () =>
  assert.deepEqual(
    one({ group: ['note'], sum: ['status'], x: 1 }).map(({ place }) => place),
    [`${at}.one.group`, `${at}.one.sum`, `${at}.one.x`],
  ))

const exported = (exports: unknown, more: object = {}) => orders({ fields, exports, ...more })
table('exports', [
  ['of a list', () => exported(true), ''],
  ['turned off without a list', () => exported(false, { methods: ['read'] }), ''],
  ['no switch', () => exported('csv'), 'resources.orders.exports', 'exports: true'],
  ['no list to export', () => exported(true, { methods: ['read'] }), 'resources.orders.exports', "'list'"],
])

const imported = (imports: unknown, more: object = {}) => orders({ fields, imports, ...more })
table('imports', [
  ['of a collection', () => imported(true), ''],
  ['turned off without creations', () => imported(false, { methods: ['read'] }), ''],
  ['no switch', () => imported('csv'), 'resources.orders.imports', 'imports: true'],
  ['no creations', () => imported(true, { methods: ['list'] }), 'resources.orders.imports', "'create'"],
  [
    'an operation of this name',
    () => imported(true, { operations: { imports: { at: 'collection' } } }),
    'resources.orders.imports',
    'another name',
  ],
  [
    'keys that a line cannot carry',
    () => imported(true, { settings: { idempotency: { required: true, bodyField: 'off' } } }),
    'resources.orders.imports',
    'bodyField',
  ],
])
