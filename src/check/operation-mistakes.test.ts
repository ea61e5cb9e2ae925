/** Operation mistakes: names, places, rules, inputs and outputs of operations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from 'bylaw'
import { open, orders, type Row, shop, table } from '../../test/help/mistakes.ts'

const quotes = { at: 'collection', output: { total: f.integer() } }
const states = { field: 'status', initial: 'open', transitions: { closures: { from: ['open'], to: 'closed' } } }
const at = 'resources.orders.operations'

table('operations', [
  ['sound ones', () => orders({ operations: { quotes, reminders: { at: 'item' } } }), ''],
  ['no object', () => orders({ operations: 1 }), at, '`operations` is 1'],
  ['one that is no object', () => orders({ operations: { quotes: 'x' } }), `${at}.quotes`, "at: 'collection'"],
  ['a verb', () => orders({ operations: { 'create-quotes': quotes } }), `${at}.create-quotes`, 'verb `create`'],
  ['a singular', () => orders({ operations: { quote: quotes } }), `${at}.quote`, 'Write `quotes`'],
  ['no place', () => orders({ operations: { quotes: {} } }), `${at}.quotes.at`, "at: 'collection' or at: 'item'"],
  ['an unknown key', () => orders({ operations: { quotes: { ...quotes, path: '/x' } } }), `${at}.quotes.path`],
  ['an asynchronous one', () => orders({ operations: { quotes: { ...quotes, asynchronous: true } } }), ''],
  [
    'one that is asynchronous or not',
    () => orders({ operations: { quotes: { ...quotes, asynchronous: 1 } } }),
    `${at}.quotes.asynchronous`,
    'Write true',
  ],
  [
    'an asynchronous one besides an own resource of its statuses',
    () => shop({ orders: { ...open, operations: { quotes: { ...quotes, asynchronous: true } } }, operations: open }),
    `${at}.quotes.asynchronous`,
    'is declared',
  ],
  ['the name of a transition', () => orders({ states, operations: { closures: { at: 'item' } } }), `${at}.closures`],
  [
    'the name of an owned list',
    () => shop({ orders: { ...open, operations: { lines: { at: 'item' } } }, lines: { ...open, parent: 'orders' } }),
    `${at}.lines`,
    'same URL',
  ],
  [
    'no collection of its own',
    () => shop({ orders: open, slots: { ...open, parent: 'orders', key: 'name', operations: { quotes } } }),
    'resources.slots.operations.quotes.at',
    "at: 'item' of `orders`",
  ],
  ['an unknown scope', () => orders({ operations: { quotes: { ...quotes, access: 'x' } } }), `${at}.quotes.access`],
  [
    'no rule',
    () => orders({ access: { read: 'public' }, methods: ['list', 'read'], operations: { quotes } }),
    `${at}.quotes`,
    'No rule',
  ],
  [
    'a wrong input and output',
    () => orders({ operations: { quotes: { at: 'item', input: 1, output: { Total: f.integer() } } } }),
    `${at}.quotes.input, ${at}.quotes.output.Total`,
    'as input: {',
  ],
])

const key = { idempotencyKey: f.text() }
table('the field of the idempotency key (R93)', [
  [
    'as an input of an operation',
    () => orders({ operations: { quotes: { ...quotes, input: key } } }),
    `${at}.quotes.input.idempotencyKey`,
    'carries the idempotency key',
  ],
  [
    'as an input of a transition',
    () => orders({ states: { ...states, transitions: { closures: { from: ['open'], to: 'closed', input: key } } } }),
    'resources.orders.states.transitions.closures.input.idempotencyKey',
  ],
  [
    'as an input, with a name of its own',
    () =>
      orders({
        operations: { quotes: { ...quotes, input: { ...key, myKey: f.text() } } },
        settings: { idempotency: { bodyField: 'myKey' } },
      }),
    `${at}.quotes.input.myKey`,
  ],
  [
    'turned off',
    () =>
      orders({
        operations: { quotes: { ...quotes, input: key } },
        settings: { idempotency: { bodyField: 'off' } },
      }),
    '',
  ],
  [
    'as an output, or inside an input',
    () =>
      orders({
        operations: { quotes: { at: 'item', input: { inner: f.object(key) }, output: key } },
      }),
    '',
  ],
  ...['id', 'createdAt', 'updatedAt'].map(
    (name): Row => [
      `called ${name}`,
      () => orders({ settings: { idempotency: { bodyField: name } } }),
      'resources.orders.settings.idempotency.bodyField',
      `'${name}'`,
      "'idempotencyKey'",
    ],
  ),
  [
    'called like the id of the parent',
    () =>
      shop(
        { customers: open, orders: { ...open, parent: 'customers' } },
        { settings: { idempotency: { bodyField: 'customerId' } } },
      ),
    'settings.idempotency.bodyField',
    '`orders`',
  ],
])

test('all mistakes are reported at once', () => {
  const found = orders({ operations: { quote: 1, checks: { at: 'x', access: 'y', input: 2 } } })
  assert.deepEqual(
    found.map(({ place }) => place.replace(`${at}.`, '')),
    ['quote', 'quote', 'checks.at', 'checks.access', 'checks.input'],
  )
})

const nightly = { cron: '0 2 * * *', run: 'exports' }
const scheduled = (input: object, schedule: object = nightly) =>
  orders({
    operations: { exports: { at: 'collection', asynchronous: true, input } },
    schedules: { nightly: schedule },
  })
const scheduleAt = 'resources.orders.schedules.nightly'

table('schedules', [
  ['a sound one', () => scheduled({}), ''],
  ['inputs that may be left out', () => scheduled({ ids: f.list(f.text()), note: f.text({ optional: true }) }), ''],
  ['an input that is needed', () => scheduled({ note: f.text() }), `${scheduleAt}.run`, 'needs input'],
  [
    'a list that may not be empty',
    () => scheduled({ ids: f.list(f.text(), { min: 1 }) }),
    `${scheduleAt}.run`,
    'needs',
  ],
  ['no calendar', () => scheduled({}, { ...nightly, cron: '0 2' }), scheduleAt, 'is not valid'],
  ['an unknown zone', () => scheduled({}, { ...nightly, zone: 'Mars/Rome' }), scheduleAt, 'Mars/Rome'],
  ['an unknown operation', () => scheduled({}, { ...nightly, run: 'imports' }), `${scheduleAt}.run`, '"imports"'],
])
