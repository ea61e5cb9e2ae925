/** Number texts: whole numbers of 64 bits and decimals, as texts. Part 2. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bigintText, decimalText, scaledInteger, sortableText } from './number-texts.ts'

test('a whole number of 64 bits', () => {
  for (const text of ['0', '42', '-1', '9007199254740993', '9223372036854775807', '-9223372036854775808'])
    assert.equal(bigintText(text), text)
  assert.equal(bigintText('-0'), '0')
})

test('a number that does not fit 64 bits is out of range', () => {
  for (const text of ['9223372036854775808', '-9223372036854775809', '99999999999999999999', `1${'0'.repeat(1000)}`])
    assert.equal(bigintText(text), 'range', text.slice(0, 30))
})

test('other texts are not whole numbers', () => {
  const texts = [
    '',
    ' ',
    '+1',
    '01',
    '-01',
    '00',
    '1.0',
    '1e3',
    '0x10',
    '1_000',
    '1,000',
    ' 1',
    '1 ',
    '1\n',
    '--1',
    '١',
    'NaN',
  ]
  for (const text of texts) assert.equal(bigintText(text), 'format', JSON.stringify(text))
})

test('a decimal is padded to its scale', () => {
  const rows: [text: string, becomes: string][] = [
    ['10', '10.00'],
    ['10.5', '10.50'],
    ['10.50', '10.50'],
    ['0', '0.00'],
    ['-0', '0.00'],
    ['-0.00', '0.00'],
    ['-0.01', '-0.01'],
    ['9999999999999999.99', '9999999999999999.99'],
  ]
  for (const [text, becomes] of rows) assert.equal(decimalText(text, 18, 2), becomes, text)
  assert.equal(decimalText('7', 18, 0), '7')
  assert.equal(decimalText('0.123', 3, 3), '0.123')
})

test('a decimal with more digits than declared is refused', () => {
  for (const text of ['1.005', '1.000', '0.001', `0.${'1'.repeat(500)}`])
    assert.equal(decimalText(text, 18, 2), 'digits', text)
  assert.equal(decimalText('1.5', 18, 0), 'digits')
  for (const text of ['10000000000000000', '-10000000000000000', '9'.repeat(500)])
    assert.equal(decimalText(text, 18, 2), 'range', text)
  assert.equal(decimalText('1', 3, 3), 'range')
})

test('other texts are not decimals', () => {
  for (const text of [
    '',
    '.5',
    '5.',
    '+5',
    '05',
    '1e2',
    '1,5',
    '1 000',
    ' 1',
    '1 ',
    '1\n',
    'NaN',
    'Infinity',
    '0x1',
    '--1',
    '1.2.3',
  ])
    assert.equal(decimalText(text, 18, 2), 'format', JSON.stringify(text))
})

test('decimals are compared as whole numbers of their smallest step', () => {
  assert.equal(scaledInteger('10.50', 2), 1050n)
  assert.equal(scaledInteger('-0.50', 2), -50n)
  assert.equal(scaledInteger('3', 2), 300n)
  assert.equal(scaledInteger('0', 0), 0n)
})

test('texts of whole numbers of any size are in the order of the numbers', () => {
  const digits = fc.bigInt({ min: -(10n ** 30n) + 1n, max: 10n ** 30n - 1n })
  fc.assert(
    fc.property(digits, digits, (a, b) => {
      const [one, other] = [sortableText(a, 30), sortableText(b, 30)]
      assert.equal(one < other, a < b)
      assert.equal(one === other, a === b)
    }),
  )
})
