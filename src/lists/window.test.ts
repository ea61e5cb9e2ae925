/** Windows: the three styles of pagination, read from their parameters. Part 4, pagination. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testWorld } from '../../test/help/world.ts'
import type { Violation } from '../errors/problem.ts'
import type { Term } from '../flow/plan.ts'
import { serviceWorld, trustedClock } from '../flow/world.ts'
import type { ResourceSettings } from '../settings.ts'
import { writeCursor } from './cursor.ts'
import { type ListRules, listRules } from './list-rules.ts'
import { parsePairs } from './query-string.ts'
import { readWindow } from './window.ts'

function made(list: ResourceSettings['list'] = {}): ListRules {
  const { resources } = service({
    name: 'paged',
    resources: {
      orders: { fields: { total: f.bigint({ optional: true, sort: true }) }, settings: { list }, access: 'public' },
    },
  })
  return listRules(resources.get('orders') as never, resources)
}

const world = serviceWorld(testWorld(), { clock: trustedClock(() => 0), secret: 's' })
const byTotal: Term[] = [
  { column: 'by_total', descending: false, nulls: 'last' },
  { column: 'id', descending: false, nulls: 'none' },
]
const place = (...values: (string | null)[]) =>
  writeCursor({ position: values, back: false, including: false }, { list: 'orders', bound: '', ttl: null }, world)

function read(query: string, by: ListRules = all) {
  const faults: Violation[] = []
  const asked = readWindow(
    new Map(parsePairs(query)),
    { rules: by, list: 'orders', bound: '', order: byTotal, world },
    faults,
  )
  return {
    ...asked,
    faults: faults.map(({ type, name }) => `${type} ${name}`),
    messages: faults.map(({ message }) => message).join(' '),
  }
}

const all = made()
const offset = (style: string, from: number, limit: number) => ({
  style,
  window: { from: 'offset', offset: from, limit },
})

function table(rows: [query: string, asked: ReturnType<typeof offset>][], by?: ListRules): void {
  for (const [query, expected] of rows) {
    const { style, window, faults } = read(query, by)
    assert.deepEqual({ style, window, faults }, { ...expected, faults: [] }, query)
  }
}

test('each style has its parameters, and limit alone means offset', () => {
  table([
    ['', offset('page', 0, 20)],
    ['page=1', offset('page', 0, 20)],
    ['page=3', offset('page', 40, 20)],
    ['page=3&page_size=7', offset('page', 14, 7)],
    ['page_size=7', offset('page', 0, 7)],
    ['page=101&page_size=100', offset('page', 10_000, 100)],
    ['limit=5', offset('offset', 0, 5)],
    ['offset=5', offset('offset', 5, 20)],
    ['offset=0&limit=100', offset('offset', 0, 100)],
    ['offset=10000', offset('offset', 10_000, 20)],
    ['cursor=', offset('cursor', 0, 20)],
    ['cursor', offset('cursor', 0, 20)],
    ['cursor=&limit=1', offset('cursor', 0, 1)],
  ])
})

test('a list enables a set of styles and a default one', () => {
  const cursors = made({ pagination: { styles: ['cursor'], style: 'cursor' } })
  table(
    [
      ['', offset('cursor', 0, 20)],
      ['limit=5', offset('cursor', 0, 5)],
    ],
    cursors,
  )
  const pages = made({ pagination: { styles: ['page'] } })
  table(
    [
      ['', offset('page', 0, 20)],
      ['page_size=5', offset('page', 0, 5)],
    ],
    pages,
  )
  const two = made({ pagination: { styles: ['page', 'cursor'], style: 'cursor' } })
  table(
    [
      ['', offset('cursor', 0, 20)],
      ['limit=5', offset('cursor', 0, 5)],
      ['page=1', offset('page', 0, 20)],
    ],
    two,
  )
  const three = made({ pagination: { style: 'cursor' } })
  table(
    [
      ['', offset('cursor', 0, 20)],
      ['limit=5', offset('offset', 0, 5)],
    ],
    three,
  )
})

test('parameters of styles that a list does not offer are refused one by one', () => {
  const cursors = made({ pagination: { styles: ['cursor'], style: 'cursor' } })
  assert.deepEqual(read('page=2', cursors).faults, ['unsupported-pagination page'])
  assert.match(read('page=2', cursors).messages, /^page is not offered by this list\. Offered: cursor, limit\.$/)
  assert.deepEqual(read('page=2&page_size=5&offset=1', cursors).faults, [
    'unsupported-pagination page',
    'unsupported-pagination page_size',
    'unsupported-pagination offset',
  ])
  assert.deepEqual(read('page=2&limit=5', cursors).faults, ['unsupported-pagination page'])
  const pages = made({ pagination: { styles: ['page'] } })
  assert.deepEqual(read('limit=5', pages).faults, ['unsupported-pagination limit'])
  assert.match(read('cursor=', pages).messages, /Offered: page, page_size\./)
})

test('parameters of different styles conflict', () => {
  for (const query of [
    'page=2&offset=10',
    'cursor=x&offset=5',
    'page=1&limit=5',
    'page_size=5&limit=5',
    'cursor=x&page_size=5',
    'cursor=&page=1',
    'limit=5&page=1',
    'page=1&page_size=2&limit=5&offset=1',
  ]) {
    assert.deepEqual(read(query).faults, [`pagination-conflict ${query.split('&')[1]?.split('=')[0]}`], query)
  }
  assert.match(
    read('page=2&offset=10').messages,
    /^page and offset belong to different styles .*: page, page_size; limit, offset; cursor, limit\.$/,
  )
})

test('numbers are plain digits', () => {
  for (const text of [
    '-1',
    '1.0',
    '1e1',
    '%2B5',
    '+5',
    '05',
    '',
    'abc',
    '0x1',
    '12345678901',
    '5%20',
    'NaN',
    '%D9%A1',
  ]) {
    assert.deepEqual(read(`limit=${text}`).faults, ['invalid-parameter-value limit'], text)
    assert.deepEqual(read(`offset=${text}`).faults, ['invalid-parameter-value offset'], text)
    assert.deepEqual(read(`page=${text}`).faults, ['invalid-parameter-value page'], text)
    assert.deepEqual(read(`page_size=${text}`).faults, ['invalid-parameter-value page_size'], text)
  }
  assert.deepEqual(read('page=0').faults, ['invalid-parameter-value page'])
  assert.deepEqual(read('page=0&page_size=0').faults, [
    'invalid-parameter-value page_size',
    'invalid-parameter-value page',
  ])
  assert.deepEqual(read('page=x&limit=y').faults, [
    'pagination-conflict limit',
    'invalid-parameter-value limit',
    'invalid-parameter-value page',
  ])
})

test('a size above the maximum is refused or clamped', () => {
  for (const name of ['limit', 'page_size']) {
    assert.match(
      read(`${name}=101`).messages,
      new RegExp(`^${name} must be a whole number between 1 and 100: at most 100 rows at a time\\.$`),
    )
    assert.match(read(`${name}=0`).messages, /between 1 and 100\.$/)
    assert.deepEqual(read(`${name}=9999999999`).faults, [`invalid-parameter-value ${name}`])
  }
  const clamped = made({ overMax: 'clamp', maxPageSize: 50 })
  table(
    [
      ['limit=51', offset('offset', 0, 50)],
      ['page=2&page_size=9999999999', offset('page', 50, 50)],
      ['limit=49', offset('offset', 0, 49)],
    ],
    clamped,
  )
  assert.deepEqual(read('limit=0', clamped).faults, ['invalid-parameter-value limit'])
  table([['', offset('page', 0, 7)]], made({ pageSize: 7 }))
  table([['', offset('page', 0, 5)]], made({ maxPageSize: 5 }))
})

test('only maxOffset rows can be skipped', () => {
  assert.deepEqual(read('offset=10001').faults, ['invalid-parameter-value offset'])
  assert.match(read('offset=10001').messages, /At most 10000 rows can be skipped\. Go further with cursor\./)
  assert.deepEqual(read('page=502').faults, ['invalid-parameter-value page'])
  assert.deepEqual(read('page=9999999999&page_size=100').faults, ['invalid-parameter-value page'])
  assert.deepEqual(read('page=9999&page_size=x').faults, ['invalid-parameter-value page_size'])
  const few = made({ maxOffset: 0, pagination: { styles: ['page'] } })
  assert.match(read('page=2', few).messages, /At most 0 rows can be skipped\. Narrow the list with filters\./)
  table([['page=1', offset('page', 0, 20)]], few)
})

test('a cursor is a position in the order, in the types of its columns', () => {
  const { window, faults } = read(`limit=3&cursor=${place('9007199254740993', 'ord_1')}`)
  assert.deepEqual(
    { window, faults },
    {
      window: { from: 'place', position: [9007199254740993n, 'ord_1'], back: false, including: false, limit: 3 },
      faults: [],
    },
  )
  const { window: none } = read(`cursor=${place(null, 'ord_1')}`)
  assert.deepEqual(none, { from: 'place', position: [null, 'ord_1'], back: false, including: false, limit: 20 })
  assert.deepEqual(read('cursor=x').faults, ['invalid-cursor cursor'])
  assert.deepEqual(read('cursor=x&limit=0').faults, ['invalid-parameter-value limit', 'invalid-cursor cursor'])
})
