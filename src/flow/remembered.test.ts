/** Remembered: a value is valid only in the state that it was read in; the size is limited. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Remembered } from './remembered.ts'

test('a value is returned for its state only, and the latest one for any', () => {
  const all = new Remembered<number | null>(100)
  all.put('orders', '1', 3, 10)
  assert.deepEqual([all.get('orders', '1'), all.get('orders', '2'), all.latest('orders')], [3, undefined, 3])
  all.put('orders', '2', null, 10)
  assert.deepEqual([all.get('orders', '1'), all.get('orders', '2')], [undefined, null])
  all.delete('orders')
  assert.equal(all.latest('orders'), undefined)
  all.put('lines', '2', 1, 10)
  all.clear()
  assert.equal(all.latest('lines'), undefined)
})

test('a value that is replaced counts once, and with a bound of 0 nothing is cached', () => {
  const all = new Remembered<string>(100)
  all.put('other', '1', 'here', 10)
  for (let n = 0; n < 50; n++) all.put('one', '1', `${n}`, 30)
  assert.deepEqual([all.latest('one'), all.latest('other')], ['49', 'here'])
  const none = new Remembered<string>(0)
  none.put('one', '1', 'x', 1)
  assert.equal(none.latest('one'), undefined)
})
