/** Shard key: the shard of generated ids and of other texts. Part 2, identifiers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { colocateId, shardKeyOf } from './shard-key.ts'

const first = 'ord_01hzxw3k5qf7m8n9p0r1s2t3v4'

const table: readonly (readonly [text: string, home: number, why: string])[] = [
  [first, 27 * 32 + 4, 'the last ten bits of an id that was made here'],
  [`${first.slice(0, -2)}00`, 0, 'none set'],
  [`${first.slice(0, -2)}zz`, 1023, 'all set'],
  ['acme', 684, 'a digest of what somebody chose'],
  ['', 755, 'a digest of nothing'],
]

test('a text has the shard key of its ending or its digest', () => {
  for (const [text, home, why] of table) assert.equal(shardKeyOf(text), home, why)
})

test('chosen texts that differ little are spread over all shard keys', () => {
  const count = new Map<number, number>()
  for (let i = 0; i < 102_400; i++) count.set(shardKeyOf(`cus_${i}`), (count.get(shardKeyOf(`cus_${i}`)) ?? 0) + 1)
  assert.equal(count.size, 1024)
  assert.ok(Math.max(...count.values()) < 200)
  assert.ok(Math.min(...count.values()) > 30)
})

test('an id gets the shard key of another key, and keeps the rest', () => {
  for (const key of ['a', 'b', 'Zm9vYmFyYmF6cXV4Zm9vYg', '']) {
    const id = colocateId(first, key)
    assert.equal(shardKeyOf(id), shardKeyOf(key))
    assert.equal(id.slice(0, -2), first.slice(0, -2))
    assert.equal(id.length, first.length)
  }
})
