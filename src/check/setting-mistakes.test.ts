/** Setting mistakes: wrong settings and contradictions between them, as tables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, orders, shop, table } from '../../test/help/mistakes.ts'

const saying = (more: object) => shop({ orders: open }, more)

table('settings', [
  ['an unknown one', () => saying({ settings: { namin: 'snake' } }), 'settings.namin', '`naming`'],
  [
    'an unknown one further in',
    () => saying({ settings: { list: { maxPagesize: 5 } } }),
    'settings.list.maxPagesize',
    '`maxPageSize`',
  ],
  [
    'a value that does not fit',
    () => saying({ settings: { deleted: { status: 404.5 } } }),
    'settings.deleted.status',
    '410 or 404',
  ],
  ['no object', () => saying({ settings: 5 }), 'settings', '`settings`', 'an object'],
  [
    'one style, and none for where nothing is asked',
    () => saying({ settings: { list: { pagination: { styles: ['cursor'] } } } }),
    '',
  ],
  ['smaller pages than usual', () => orders({ settings: { list: { maxPageSize: 5 } } }), ''],
  [
    'pages of the service above the maximum',
    () =>
      shop({ orders: { ...open, settings: { list: { maxPageSize: 5 } } } }, { settings: { list: { pageSize: 6 } } }),
    'resources.orders.settings.list.pageSize',
    '6',
  ],
  ['pages as large as they may be', () => saying({ settings: { list: { pageSize: 50, maxPageSize: 50 } } }), ''],
  [
    'what the declaration cannot say',
    () => saying({ settings: { server: { drain: 1 }, errors: { exposeInternals: true }, database: 'x', secret: 'x' } }),
    'settings.server.drain, settings.errors.exposeInternals, settings.database, settings.secret',
    'flag',
    'environment',
  ],
  [
    'one for the whole service at a resource',
    () => orders({ settings: { naming: 'snake' } }),
    'resources.orders.settings.naming',
    'whole service',
  ],
  ['one for a resource', () => orders({ settings: { deleted: { status: 404 }, list: { maxPageSize: 50 } } }), ''],
  [
    'no style of pagination',
    () => saying({ settings: { list: { pagination: { styles: [] } } } }),
    'settings.list.pagination.styles',
    'empty',
  ],
  [
    'a style that is not enabled',
    () => saying({ settings: { list: { pagination: { styles: ['page'], style: 'cursor' } } } }),
    'settings.list.pagination.style',
    "style: 'page'",
  ],
  [
    'pages above the maximum',
    () => orders({ settings: { list: { pageSize: 60, maxPageSize: 50 } } }),
    'resources.orders.settings.list.pageSize',
    '60',
    '50',
  ],
  [
    'page information in the place of the items',
    () => saying({ settings: { list: { pagination: { field: 'data' } } } }),
    'settings.list.pagination.field',
    '`data`',
  ],
  [
    'two members of one name',
    () => saying({ settings: { list: { pagination: { names: { totalPages: 'n', totalRecords: 'n' } } } } }),
    'settings.list.pagination.names',
    "'n'",
  ],
  [
    'the name of another member of the same style',
    () => saying({ settings: { list: { pagination: { names: { totalRecords: 'hasMore' } } } } }),
    'settings.list.pagination.names',
    "'hasMore'",
  ],
  [
    'the name that another member has by `naming`',
    () => saying({ settings: { naming: 'snake', list: { pagination: { names: { limit: 'next_cursor' } } } } }),
    'settings.list.pagination.names',
    "'next_cursor'",
  ],
  [
    'the name of a member of another style, and two members that change names',
    () =>
      saying({
        settings: { list: { pagination: { names: { limit: 'pageSize', totalPages: 'offset' } } } },
        resources: {
          orders: {
            ...open,
            settings: { list: { pagination: { names: { nextCursor: 'prevCursor', prevCursor: 'nextCursor' } } } },
          },
        },
      }),
    '',
  ],
  [
    'a key of the other naming',
    () => saying({ settings: { idempotency: { bodyField: 'my_key' } } }),
    'settings.idempotency.bodyField',
    "'idempotencyKey'",
  ],
  ['that key turned off', () => saying({ settings: { idempotency: { bodyField: 'off' } } }), ''],
  [
    'keys of PATCH without replay',
    () => saying({ settings: { idempotency: { methods: ['POST', 'PATCH'] } } }),
    'settings.idempotency.methods',
    "mode: 'replay'",
  ],
  [
    'no keys of POST',
    () => orders({ settings: { idempotency: { mode: 'replay', methods: ['PATCH'] } } }),
    'resources.orders.settings.idempotency.methods',
    "['POST', 'PATCH']",
  ],
  [
    'keys of PATCH with replay',
    () => saying({ settings: { idempotency: { mode: 'replay', methods: ['POST', 'PATCH'] } } }),
    '',
  ],
])

test('a wrong setting of a resource is reported at the resource, and one of the service once', () => {
  const wrong = { list: { pagination: { names: { totalRecords: 'hasMore' } } } }
  const place = 'settings.list.pagination.names'
  const placesOf = (found: readonly { readonly place: string }[]) => found.map((one) => one.place)
  assert.deepEqual(placesOf(orders({ settings: wrong })), [`resources.orders.${place}`])
  assert.deepEqual(placesOf(shop({ orders: open, others: { ...open, prefix: 'oth' } }, { settings: wrong })), [place])
})
