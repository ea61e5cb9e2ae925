import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compare, divide, minus, plus, round, times } from './decimal.ts'

test('sums, differences and products are exact', () => {
  assert.deepEqual([plus('0.1', '0.2'), minus('0.3', '0.1'), times('19.99', 3)], ['0.3', '0.2', '59.97'])
  assert.deepEqual([plus('-1', '0.50'), minus('1', '1.00'), times('-0.5', '0.5')], ['-0.50', '0.00', '-0.25'])
  assert.equal(times('99999999999999999999.99', '10'), '999999999999999999999.90')
})

test('rounding takes a half away from zero, or to the even neighbour', () => {
  assert.deepEqual(
    ['2.345', '-2.345', '2.344', '2'].map((one) => round(one, 2)),
    ['2.35', '-2.35', '2.34', '2.00'],
  )
  assert.deepEqual(
    ['2.5', '3.5', '-2.5', '2.51'].map((one) => round(one, 0, 'half-even')),
    ['2', '4', '-2', '3'],
  )
  assert.deepEqual(
    [divide('10', '3', 2), divide('-1', '8', 2), divide('1', '-8', 2, 'half-even')],
    ['3.33', '-0.13', '-0.12'],
  )
  assert.throws(() => divide('1', '0.0', 2), /divided by zero/)
})

test('comparisons are by value', () => {
  assert.deepEqual([compare('10.0', '10.00'), compare('-1', '0'), compare('2', '10')], [0, -1, -1].with(2, -1))
})

test('a value that is not a decimal is refused with a message', () => {
  for (const odd of ['', '1.', '.5', '1e3', '0x1', 'NaN', '+1', ' 1'])
    assert.throws(() => plus(odd, '1'), /is not a decimal/, odd)
})

test('arithmetic with random decimals agrees with that of whole numbers', () => {
  const cents = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n })
  const text = (units: bigint) => round(`${units}`, 0) && divide(units, 100, 2)
  fc.assert(
    fc.property(cents, cents, (a, b) => {
      assert.equal(plus(text(a), text(b)), text(a + b))
      assert.equal(minus(text(a), text(b)), text(a - b))
      assert.equal(compare(text(a), text(b)), a < b ? -1 : a > b ? 1 : 0)
      assert.equal(times(text(a), b), text(a * b))
    }),
  )
})
