/** Ids: their form, their order, and texts that are not ids. Part 2. */
import assert from 'node:assert/strict'
import { randomFillSync } from 'node:crypto'
import { test } from 'node:test'
import { chosenIdCheck, idSource, prefixPattern, requestIdSource, typeIdCheck } from './id.ts'

const random = (bytes: Uint8Array) => void randomFillSync(bytes)
const zeros = (bytes: Uint8Array) => void bytes.fill(0)
const ones = (bytes: Uint8Array) => void bytes.fill(0xff)

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** The bytes of a suffix, as TypeID defines them. */
function bytesOf(id: string): string {
  const digits = [...id.slice(id.lastIndexOf('_') + 1)]
  const value = digits.reduce((sum, digit) => sum * 32n + BigInt(alphabet.indexOf(digit)), 0n)
  return value.toString(16).padStart(32, '0')
}

test('an identifier is a prefix and a UUIDv7 in base 32', () => {
  const time = Date.UTC(2026, 10, 20, 9, 4)
  const hex = bytesOf(idSource(() => time, random)('ord'))
  assert.equal(Number.parseInt(hex.slice(0, 12), 16), time)
  assert.equal(hex[12], '7')
  assert.match(hex[16] as string, /[89ab]/)
})

test('the known pair of the TypeID specification is a possible identifier', () => {
  assert.equal(bytesOf('ord_01h455vb4pex5vsknk084sn02q'), '01890a5dac967 74bbcceb302099a8057'.replace(' ', ''))
  assert.ok(typeIdCheck('ord')('ord_01h455vb4pex5vsknk084sn02q'))
})

test('later identifiers are greater, even if the clock goes back', () => {
  const times = [5, 5, 5, 4, 3, 6, 6, 0, 7]
  let i = 0
  const next = idSource(() => times[Math.min(i++, times.length - 1)] as number, random)
  const ids = Array.from({ length: 20_000 }, () => next('x'))
  assert.deepEqual(ids.toSorted(), ids)
  assert.equal(new Set(ids).size, ids.length)
})

test('thousands in one millisecond stay in order and keep their form, also from the highest random start', () => {
  for (const source of [zeros, ones]) {
    const next = idSource(() => 1000, source)
    const ids = Array.from({ length: 10_000 }, () => next('x'))
    assert.deepEqual(ids.toSorted(), ids)
    assert.equal(new Set(ids).size, ids.length)
    assert.ok(ids.every(typeIdCheck('x')))
    assert.ok(ids.every((id) => bytesOf(id)[12] === '7'))
  }
})

test('texts that cannot be generated identifiers', () => {
  const check = typeIdCheck('ord')
  assert.ok(check('ord_7zzzzzzzzzzzzzzzzzzzzzzzzz'))
  const suffix = '01h455vb4pex5vsknk084sn02q'
  const wrong = [
    '',
    'ord',
    'ord_',
    suffix,
    `cus_${suffix}`,
    `ORD_${suffix}`,
    `ord_${suffix.toUpperCase()}`,
    `ord-${suffix}`,
    `ord_${suffix}0`,
    `ord_${suffix.slice(1)}`,
    `ord_8${suffix.slice(1)}`,
    `ord_z${suffix.slice(1)}`,
    `ord_${suffix}\n`,
    ` ord_${suffix}`,
    `ord_${suffix.slice(0, -1)}i`,
    `ord_${suffix.slice(0, -1)}l`,
    `ord_${suffix.slice(0, -1)}o`,
    `ord_${suffix.slice(0, -1)}u`,
    'x'.repeat(3000),
  ]
  for (const text of wrong) assert.equal(check(text), false, text.slice(0, 40))
})

test('a chosen identifier is a prefix and a short text that is safe in URLs', () => {
  const check = chosenIdCheck('doc')
  for (const text of ['doc_1', 'doc_A-b_9', `doc_${'x'.repeat(100)}`]) assert.ok(check(text), text)
  for (const text of [
    'doc_',
    'doc',
    '1',
    'doc_a/b',
    'doc_a b',
    'doc_ä',
    'doc_%41',
    `doc_${'x'.repeat(101)}`,
    'doc_1\n',
  ])
    assert.equal(check(text), false, text.slice(0, 40))
})

test('prefixes are small letters with underscores inside', () => {
  for (const text of ['o', 'ord', 'order_line']) assert.match(text, prefixPattern)
  for (const text of ['', '_o', 'o_', 'Ord', 'o1', 'o-l', 'o'.repeat(64)]) assert.doesNotMatch(text, prefixPattern)
})

test('a request is known by a UUIDv7', () => {
  const newRequestId = requestIdSource(
    () => 1_763_629_440_000,
    (bytes) => bytes.fill(0xab),
  )
  assert.match(newRequestId(), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
