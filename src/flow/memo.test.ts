/** Memo: evicts the least recently used values, and never exceeds its size. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Memo } from './memo.ts'

test('used entries stay, unused ones are evicted and reported', () => {
  const dropped: string[] = []
  const memo = new Memo<number, string>(4, { dropped: (one) => dropped.push(one) })
  for (let n = 0; n < 100; n++) {
    assert.equal(memo.get(-1) ?? memo.set(-1, 'used'), 'used')
    memo.set(n, `${n}`)
  }
  assert.equal(memo.get(-1), 'used')
  assert.equal(memo.get(0), undefined)
  assert.ok(!dropped.includes('used') && dropped.includes('0'))
})

test('a value larger than half of the bound is not kept, and nothing with a bound of 0', () => {
  const memo = new Memo<string, string>(10, { sizeOf: ({ length }) => length })
  memo.set('a', 'x'.repeat(6))
  memo.set('b', 'x'.repeat(5))
  assert.deepEqual([memo.get('a'), memo.get('b')?.length], [undefined, 5])
  const none = new Memo<string, string>(0)
  assert.deepEqual([none.set('a', 'x'), none.get('a')], ['x', undefined])
})

test('it returns the value that was set last, and never exceeds its bound', () => {
  const step = fc.tuple(fc.nat(20), fc.integer({ min: 1, max: 10 }), fc.boolean())
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const memo = new Memo<number, { size: number }>(16, { sizeOf: ({ size }) => size })
      const last = new Map<number, { size: number }>()
      for (const [key, size, drops] of steps) {
        memo.delete(key)
        last.delete(key)
        if (!drops) last.set(key, memo.set(key, { size }))
        const kept = Array.from({ length: 21 }, (_, n) => [n, memo.get(n)] as const)
        for (const [n, value] of kept) assert.ok(value === undefined || value === last.get(n))
        assert.ok(kept.reduce((sum, [, value]) => sum + (value?.size ?? 0), 0) <= 16)
      }
    }),
  )
})
