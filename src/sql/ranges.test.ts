/** Key ranges: tests how ordered rows are split, with nulls and mixed directions. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Term } from '../flow/plan.ts'
import type { Cell } from '../rows/collection.ts'
import { allRanges, type KeyBound, type KeyRange, rangesAfter, reverseOrder, withoutFixedTerms } from './ranges.ts'

/** An order in short: `-a?first b id`. */
const terms = (text: string): Term[] =>
  text.split(' ').map((one) => {
    const [, sign, column = '', nulls] = /^(-?)(\w+)(?:\?(first|last))?$/.exec(one) ?? []
    return { column, descending: sign === '-', nulls: (nulls ?? 'none') as Term['nulls'] }
  })
const short = (order: readonly Term[]) =>
  order
    .map(({ column, descending, nulls }) => `${descending ? '-' : ''}${column}${nulls === 'none' ? '' : `?${nulls}`}`)
    .join(' ')
function boundText(one: KeyBound): string {
  if ('columns' in one) return `(${one.columns}) ${one.is} (${one.values})`
  return 'value' in one ? `${one.column} ${one.is} ${one.value}` : `${one.column} ${one.is}`
}
const shown = (ranges: readonly KeyRange[]) =>
  ranges.map(({ bounds, order }) => `${bounds.map(boundText).join(', ') || 'all'} by ${short(order)}`.trim())

test('all rows are one range, or two if the first term may be null', () => {
  const table: [order: string, ranges: string[]][] = [
    ['id', ['all by id']],
    ['-a -id', ['all by -a -id']],
    ['a?last id', ['a present by a id', 'a null by id']],
    ['a?first id', ['a null by id', 'a present by a id']],
    ['-a?last b?first id', ['a present by -a b?first id', 'a null by b?first id']],
    ['a b?last id', ['all by a b?last id']],
  ]
  for (const [order, ranges] of table) assert.deepEqual(shown(allRanges(terms(order))), ranges, order)
  assert.deepEqual(shown(allRanges([])), ['all by'])
})

test('after a position in one direction one comparison finds the rest, and nulls follow if they come last', () => {
  const table: [order: string, place: Cell[], ranges: string[]][] = [
    ['id', ['x'], ['(id) beyond (x) by id']],
    ['-id', ['x'], ['(id) before (x) by -id']],
    ['a id', [1, 'x'], ['(a,id) beyond (1,x) by a id']],
    ['-a -b -id', [1, 2, 'x'], ['(a,b,id) before (1,2,x) by -a -b -id']],
    ['a?last id', [1, 'x'], ['(a,id) beyond (1,x) by a id', 'a null by id']],
    ['a?first id', [1, 'x'], ['(a,id) beyond (1,x) by a id']],
    ['-a?last -id', [1, 'x'], ['(a,id) before (1,x) by -a -id', 'a null by -id']],
  ]
  for (const [order, place, ranges] of table) assert.deepEqual(shown(rangesAfter(terms(order), place)), ranges, order)
})

test('after a null come nulls with a greater identifier, then all values if they come later', () => {
  assert.deepEqual(shown(rangesAfter(terms('a?last id'), [null, 'x'])), ['a null, (id) beyond (x) by id'])
  assert.deepEqual(shown(rangesAfter(terms('a?first id'), [null, 'x'])), [
    'a null, (id) beyond (x) by id',
    'a present by a id',
  ])
  assert.deepEqual(shown(rangesAfter(terms('-a?first -id'), [null, 'x'])), [
    'a null, (id) before (x) by -id',
    'a present by -a -id',
  ])
})

test('mixed directions are compared from the last term to the first', () => {
  assert.deepEqual(shown(rangesAfter(terms('a -b id'), [1, 2, 'x'])), [
    'a at 1, b at 2, (id) beyond (x) by id',
    'a at 1, b before 2 by -b id',
    'a beyond 1 by a -b id',
  ])
  assert.deepEqual(shown(rangesAfter(terms('-a?last b?first -id'), [1, null, 'x'])), [
    'a at 1, b null, (id) before (x) by -id',
    'a at 1, b present by b -id',
    'a before 1 by -a b?first -id',
    'a null by b?first -id',
  ])
})

test('backwards, nulls that were first are last', () => {
  assert.equal(short(reverseOrder(terms('-a?last b?first id'))), 'a?first -b?last -id')
  assert.deepEqual(reverseOrder(reverseOrder(terms('-a?last b?first id'))), terms('-a?last b?first id'))
})

test('terms that filters fix are left out, with their part of the position', () => {
  const order = terms('a -b?last id')
  const by = (column: string, is: 'eq' | 'gte') => ({ column, is, value: 1 })
  const none = withoutFixedTerms({ order, where: [by('a', 'gte')] }, [1, 2, 'x'])
  assert.deepEqual([short(none.order), none.place], ['a -b?last id', [1, 2, 'x']])
  const equal = withoutFixedTerms({ order, where: [by('a', 'eq')] }, [1, 2, 'x'])
  assert.deepEqual([short(equal.order), equal.place], ['-b?last id', [2, 'x']])
  const empty = withoutFixedTerms({ order, where: [{ column: 'b', is: 'null' }] }, [1, null, 'x'])
  assert.deepEqual([short(empty.order), empty.place], ['a id', [1, 'x']])
  assert.deepEqual(
    shown(rangesAfter(withoutFixedTerms({ order: terms('id'), where: [by('id', 'eq')] }, ['x']).order, [])),
    [],
  )
})

type Row = Record<string, Cell>

/** Whether a row is in a key range, as a database would decide. */
function lies(row: Row, bound: KeyBound): boolean {
  if ('columns' in bound) {
    const i = bound.columns.findIndex((column, at) => row[column] !== bound.values[at])
    const [left, right] = [row[bound.columns[i] as string] ?? null, bound.values[i] ?? null]
    return i >= 0 && left !== null && right !== null && (bound.is === 'beyond' ? left > right : left < right)
  }
  const value = row[bound.column] ?? null
  if (!('value' in bound)) return (value === null) === (bound.is === 'null')
  if (value === null || bound.value === null) return false
  return bound.is === 'at' ? value === bound.value : bound.is === 'beyond' ? value > bound.value : value < bound.value
}

/** Less than 0 if the first row is before the second. */
function compared(a: Row, b: Row, order: readonly Term[]): number {
  for (const { column, descending, nulls } of order) {
    const [left, right] = [a[column] ?? null, b[column] ?? null]
    if (left === right) continue
    if (left === null || right === null) return (left === null) === (nulls === 'first') ? -1 : 1
    return left < right === descending ? 1 : -1
  }
  return 0
}

const cell = fc.option(fc.integer({ min: 0, max: 2 }))
const anyRows = fc.array(fc.record({ a: cell, b: cell, c: cell }), { maxLength: 8 })
const sides = fc.constantFrom('first' as const, 'last' as const)
const anyOrder = fc.uniqueArray(
  fc.record({ column: fc.constantFrom('a', 'b', 'c'), descending: fc.boolean(), nulls: sides }),
  { selector: ({ column }) => column },
)

test('for any order and position the ranges contain every later row once, in order', () => {
  fc.assert(
    fc.property(anyRows, anyOrder, fc.boolean(), fc.nat(7), (given, some, down, at) => {
      const rows: Row[] = given.map((row, id) => ({ ...row, id }))
      const order: Term[] = [...some, { column: 'id', descending: down, nulls: 'none' }]
      const all = rows.toSorted((a, b) => compared(a, b, order))
      const start = all[at % Math.max(1, all.length)]
      const walk = (ranges: readonly KeyRange[]) =>
        ranges.flatMap(({ bounds, order: inside }) =>
          rows.filter((row) => bounds.every((bound) => lies(row, bound))).sort((a, b) => compared(a, b, inside)),
        )
      assert.deepEqual(walk(allRanges(order)), all)
      if (!start) return
      const place = order.map(({ column }) => start[column] ?? null)
      assert.deepEqual(walk(rangesAfter(order, place)), all.slice(all.indexOf(start) + 1))
      assert.deepEqual(walk(rangesAfter(reverseOrder(order), place)), all.slice(0, all.indexOf(start)).reverse())
    }),
    { numRuns: 3000 },
  )
})
