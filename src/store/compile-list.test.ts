/** Tests the statements of lists after a position and below an owner. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import type { Condition, ListRows, Term } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'
import type { Cell, Collection } from '../rows/collection.ts'
import { sqliteDialect } from '../sql/dialect.ts'
import { listStatement } from '../sql/list-statements.ts'
import { allRanges, rangesAfter, reverseOrder } from '../sql/ranges.ts'

const { resources } = service({
  name: 'windows',
  resources: {
    orders: {
      fields: {
        name: f.text({ filter: ['like', 'range'], sort: true }),
        total: f.integer({ filter: ['range', 'gt', 'lt'], sort: true }),
      },
      access: 'public',
    },
    lines: { parent: 'orders', fields: { total: f.integer({ filter: true, sort: true }) }, access: 'public' },
    slots: {
      parent: 'orders',
      key: 'number',
      fields: { number: f.integer(), depth: f.integer({ optional: true, filter: true, sort: true }) },
      access: 'public',
    },
  },
})
const of = (name: string) => resources.get(name)?.collection as Collection

const by = (column: string, nulls: Term['nulls'] = 'none'): Term => ({ column, descending: false, nulls })
const window = { from: 'offset', offset: 0, limit: 20 } as const

interface Asked {
  readonly where?: readonly Condition[]
  readonly order?: readonly Term[]
  readonly parent?: ListRows['parent']
  readonly places?: boolean
}

function shown(
  name: string,
  { where = [], order = [by('id')], parent = null, places = false }: Asked,
  place?: Cell[],
  back = false,
): string[] {
  const plan: ListRows = {
    do: 'list',
    prepared: new Prepared(),
    collection: name,
    parent,
    account: null,
    time: 0,
    where,
    order,
    window,
    countTo: null,
    withPositions: places,
  }
  const ranges = place ? rangesAfter(back ? reverseOrder(order) : order, place) : allRanges(order)
  return ranges.map((range) => {
    const { text, values } = listStatement(of(name), plan, range, { offset: 0, limit: 21 }, sqliteDialect)
    return text
      .replace(/\?(\d+)/g, (_, n) => JSON.stringify(values[n - 1]))
      .replace(/^SELECT doc, shape(.*) FROM "\w+" ?/, '$1')
  })
}

const byTotal = [by('by_total'), by('id')]
const total = (is: 'gt' | 'gte' | 'lt' | 'lte', value: number): Condition => ({ column: 'by_total', is, value })

test('after a position its column needs no lower bound; before it, no upper one', () => {
  const both = [total('gte', 1), total('lte', 9)]
  assert.deepEqual(shown('orders', { where: both, order: byTotal }), [
    'WHERE "by_total" >= 1 AND "by_total" <= 9 ORDER BY "by_total", "id" LIMIT 0 + 21',
  ])
  assert.deepEqual(shown('orders', { where: both, order: byTotal }, [5, 'x']), [
    'WHERE "by_total" <= 9 AND ("by_total", "id") > (5, "x") ORDER BY "by_total", "id" LIMIT 0 + 21',
  ])
  assert.deepEqual(shown('orders', { where: both, order: byTotal }, [5, 'x'], true), [
    'WHERE "by_total" >= 1 AND ("by_total", "id") < (5, "x") ORDER BY "by_total" DESC, "id" DESC LIMIT 0 + 21',
  ])
  assert.deepEqual(shown('orders', { where: [total('gt', 1)], order: byTotal }, [5, 'x']), [
    'WHERE ("by_total", "id") > (5, "x") ORDER BY "by_total", "id" LIMIT 0 + 21',
  ])
})

test('bounds of another column are kept', () => {
  assert.deepEqual(shown('orders', { where: [total('gte', 1)], order: [by('by_name'), by('id')] }, ['n', 'x']), [
    'WHERE "by_total" >= 1 AND ("by_name", "id") > ("n", "x") ORDER BY "by_name", "id" LIMIT 0 + 21',
  ])
  const down = { ...by('by_total'), descending: true }
  assert.deepEqual(
    shown('orders', { where: [total('gte', 1)], order: [by('by_name'), down, by('id')] }, ['n', 5, 'x']),
    [
      'WHERE "by_total" >= 1 AND "by_name" = "n" AND "by_total" = 5 AND ("id") > ("x") ORDER BY "id" LIMIT 0 + 21',
      'WHERE "by_total" >= 1 AND "by_name" = "n" AND "by_total" < 5 ORDER BY "by_total" DESC, "id" LIMIT 0 + 21',
      'WHERE "by_total" >= 1 AND "by_name" > "n" ORDER BY "by_name", "by_total" DESC, "id" LIMIT 0 + 21',
    ],
  )
})

test('the beginning of a pattern is a range, and a position keeps one side of it', () => {
  const where: Condition[] = [{ column: 'by_name', is: 'like', parts: ['ab', ''] }]
  const order = [by('by_name'), by('id')]
  assert.deepEqual(shown('orders', { where, order }), [
    'WHERE "by_name" >= "ab" AND "by_name" < "ac" AND +"by_name" GLOB "ab*" ORDER BY "by_name", "id" LIMIT 0 + 21',
  ])
  assert.deepEqual(shown('orders', { where, order }, ['abc', 'x']), [
    'WHERE "by_name" < "ac" AND +"by_name" GLOB "ab*" AND ("by_name", "id") > ("abc", "x") ORDER BY "by_name", "id" LIMIT 0 + 21',
  ])
  const starts: [start: string, range: string][] = [
    ['\u{10ffff}', 'WHERE +"by_name" GLOB "\u{10ffff}*" ORDER'],
    ['\uffff', 'WHERE "by_name" >= "\uffff" AND "by_name" < "\u{10000}" AND'],
    ['\ud7ff', 'WHERE "by_name" >= "\ud7ff" AND "by_name" < "\ue000" AND'],
    ['a😀', 'WHERE "by_name" >= "a😀" AND "by_name" < "a😁" AND'],
  ]
  for (const [start, range] of starts) {
    const [text = ''] = shown('orders', { where: [{ column: 'by_name', is: 'like', parts: [start, ''] }] })
    assert.ok(text.startsWith(range), text)
  }
})

test('the parent comes first; if it begins the primary key, equal values are marked as rare', () => {
  const parent = { collection: 'orders', id: 'o' }
  const where: Condition[] = [{ column: 'by_total', is: 'eq', value: 1 }]
  assert.deepEqual(shown('lines', { parent, where }), [
    'WHERE "by_orderId" = "o" AND "by_total" = 1 ORDER BY "id" LIMIT 0 + 21',
  ])
  assert.deepEqual(shown('lines', { where }), ['WHERE "by_total" = 1 ORDER BY "id" LIMIT 0 + 21'])
  const order = [by('by_depth', 'first'), by('id')]
  assert.deepEqual(shown('slots', { parent, order }, [null, 'x']), [
    'WHERE "parent" = "o" AND unlikely("by_depth" IS NULL) AND ("id") > ("x") ORDER BY "id" LIMIT 0 + 21',
    'WHERE "parent" = "o" AND "by_depth" IS NOT NULL ORDER BY "by_depth", "id" LIMIT 0 + 21',
  ])
  assert.deepEqual(shown('slots', { parent, where: [{ column: 'by_depth', is: 'eq', value: 1 }] }), [
    'WHERE "parent" = "o" AND unlikely("by_depth" = 1) ORDER BY "id" LIMIT 0 + 21',
  ])
})

test('nulls are placed if a later term may be null, and positions are text', () => {
  const order = [by('by_total'), { ...by('by_name', 'last'), descending: true }, by('id')]
  assert.deepEqual(shown('orders', { order, places: true }), [
    ', CAST("by_total" AS TEXT) AS place0, CAST("by_name" AS TEXT) AS place1, CAST("id" AS TEXT) AS place2ORDER BY "by_total", "by_name" DESC NULLS LAST, "id" LIMIT 0 + 21',
  ])
})
