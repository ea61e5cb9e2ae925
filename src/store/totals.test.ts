/** Totals: cached with the state that they were counted in, up to a bound, and not at all if the bound is 0. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { totalCache } from './totals.ts'

const list = (name: string) =>
  ({ do: 'list', collection: name, where: [], parent: null, account: null, countTo: 100 }) as never

test('a total is returned with its state until the cache is cleared', () => {
  const totals = totalCache<string>()
  totals.put(list('orders'), { state: 'a', total: 3 })
  assert.deepEqual(totals.get(list('orders')), { state: 'a', total: 3 })
  totals.clear()
  assert.equal(totals.get(list('orders')), undefined)
})

test('beyond the bound the cache starts again, and with a bound of 0 nothing is cached', () => {
  for (const [bound, last] of [
    [1, 3],
    [0, undefined],
  ] as const) {
    const totals = totalCache<number>(bound)
    for (const name of ['orders', 'lines']) totals.put(list(name), { state: 1, total: 3 })
    assert.equal(totals.get(list('orders')), undefined)
    assert.equal(totals.get(list('lines'))?.total, last)
  }
})
