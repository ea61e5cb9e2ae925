/** Row cache: cached up to a bound, and not at all if the bound is 0. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Read } from '../flow/plan.ts'
import type { Collection } from '../rows/collection.ts'
import { rowCache } from './row-cache.ts'

const collection = { name: 'orders', dependents: [], account: null, composite: false } as unknown as Collection
const read: Read = { do: 'read', collection: 'orders', key: { id: 'ord_1', parent: null, account: null }, time: 0 }
const row = { is: 'found', doc: '{"id":"ord_1"}', hidden: null, revision: 1 } as never

test('a row is returned from the cache until the collection is cleared', () => {
  const cache = rowCache(new Map([['orders', collection]]))
  cache.put(read, row)
  assert.equal(cache.get(read), row)
  cache.clear()
  assert.equal(cache.get(read), undefined)
})

test('a row that is larger than the bound is not cached, and leaves the others there', () => {
  const cache = rowCache(new Map([['orders', collection]]), 20)
  const large = { is: 'found', doc: 'x'.repeat(100), hidden: null, revision: 1 } as never
  cache.put(read, row)
  cache.put({ ...read, key: { ...read.key, id: 'ord_2' } }, large)
  assert.equal(cache.get(read), row)
})

test('with a bound of 0 no row is cached', () => {
  const cache = rowCache(new Map([['orders', collection]]), 0)
  cache.put(read, row)
  assert.equal(cache.get(read), undefined)
})
