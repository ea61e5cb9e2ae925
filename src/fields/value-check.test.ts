/** Value check: accepted values, their canonical form, and the violations of all others. Part 2, fields. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { codePoint } from '../../test/help/unit.ts'
import type { Violation } from '../errors/problem.ts'
import { readSettings } from '../settings.ts'
import { type Field, f } from './field.ts'
import type { ValueRules } from './kind.ts'
import { standardKinds } from './kinds.ts'
import { absentValue, typeInWords, valueCheckOf } from './value-check.ts'

const rules = (given: object = {}): ValueRules => ({
  settings: readSettings(given, undefined, false, () => {}),
  isId: (resource, text) => text.startsWith(`${resource}_`),
  kinds: standardKinds,
})

interface Judged {
  readonly value: unknown
  readonly faults: readonly Violation[]
}

function judge(field: Field, value: unknown, settings?: object): Judged {
  const faults: Violation[] = []
  return { value: valueCheckOf(field, rules(settings))(value, '/at', faults), faults }
}

/** The types and places of the violations, relative to the field. */
const wrong = (field: Field, value: unknown, settings?: object): string[] =>
  judge(field, value, settings).faults.map(({ type, pointer }) => `${type} ${pointer?.slice(3)}`.trim())

function taken(field: Field, rows: readonly (readonly [given: unknown, becomes: unknown])[], settings?: object): void {
  for (const [given, becomes] of rows) {
    const { value, faults } = judge(field, given, settings)
    assert.deepEqual(faults, [], JSON.stringify(given))
    assert.deepEqual(value, becomes, JSON.stringify(given))
    assert.ok(!Object.is(value, -0))
  }
}

function refused(field: Field, type: string, values: readonly unknown[], settings?: object): void {
  for (const value of values)
    assert.deepEqual(wrong(field, value, settings), [type], JSON.stringify(value)?.slice(0, 80))
}

const same = (...values: unknown[]): [unknown, unknown][] => values.map((value) => [value, value])
const notTexts = [1, true, [], {}]

test('text counts code points', () => {
  const field = f.text({ min: 2, max: 3 })
  taken(field, same('ab', 'abc', '😀😀😀', 'éé', '  '))
  refused(field, 'too-short', ['', 'a', '😀'])
  refused(field, 'too-long', ['abcd', '😀😀😀😀', 'e\u0301e\u0301'])
  refused(field, 'invalid-type', notTexts)
  taken(f.text(), same('', 'x'.repeat(10_000), '😀'.repeat(10_000)))
  refused(f.text(), 'too-long', ['x'.repeat(10_001), '😀'.repeat(10_001)])
})

test('a pattern sees whole characters', () => {
  taken(f.text({ pattern: '^.$' }), same('a', '😀'))
  refused(f.text({ pattern: '^.$' }), 'invalid-format', ['', 'ab', 'e\u0301', 'a\n'])
  taken(f.text({ pattern: '^\\p{Lu}' }), same('Ärger', 'Zoo'))
})

test('lengths agree with counting for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: codePoint }), fc.nat(12), fc.nat(12), (text, a, b) => {
      const [min, max] = [Math.min(a, b), Math.max(a, b)]
      const length = [...text].length
      const expected = length > max ? ['too-long'] : length < min ? ['too-short'] : []
      assert.deepEqual(wrong(f.text({ min, max }), text), expected)
    }),
  )
})

test('whole numbers', () => {
  const most = Number.MAX_SAFE_INTEGER
  taken(f.integer(), [...same(0, 1, -1, most, -most), [-0, 0], [1e2, 100]])
  refused(f.integer(), 'invalid-type', ['1', 1.5, true, [], {}, 1e-7])
  refused(f.integer(), 'out-of-range', [2 ** 53, -(2 ** 53), 1e300])
  refused(f.integer({ min: 1, max: 5 }), 'out-of-range', [0, -0, 6])
})

test('numbers that are sent as strings', () => {
  taken(f.bigint({ min: '-5', max: '5' }), [...same('5', '-5'), ['-0', '0']])
  refused(f.bigint({ min: '-5', max: '5' }), 'out-of-range', ['6', '-6', '10', '9223372036854775808'])
  refused(f.bigint(), 'invalid-type', [5, true])
  refused(f.bigint(), 'invalid-format', ['', '1.0', '05'])
  const price = f.decimal({ scale: 2, precision: 5, min: '-1', max: '99.5' })
  taken(price, [...same('99.50', '-1.00'), ['9', '9.00'], ['-0.0', '0.00']])
  refused(price, 'out-of-range', ['99.51', '-1.01', '1000', '1.234'])
  refused(price, 'invalid-type', [5, 5.5])
  refused(price, 'invalid-format', ['', '.5', '1e1'])
})

test('switches, codes and references', () => {
  taken(f.boolean(), same(true, false))
  refused(f.boolean(), 'invalid-type', ['true', 0, 1, [], {}])
  taken(f.enum(['a', 'b']), same('a', 'b'))
  refused(f.enum(['a', 'b']), 'invalid-value', ['A', '', 'c', 'toString'])
  refused(f.enum(['a', 'b']), 'invalid-type', notTexts)
  taken(f.country(), same('IT', 'DE'))
  refused(f.country(), 'invalid-value', ['it', 'ITA', 'XX', '', 'UK'])
  taken(f.currency(), same('EUR', 'JPY'))
  refused(f.currency(), 'invalid-value', ['eur', 'EURO', 'XYZ', ''])
  taken(f.ref('customers'), same('customers_1'))
  refused(f.ref('customers'), 'invalid-format', ['orders_1', ''])
  refused(f.ref('customers'), 'invalid-type', [5])
})

test('addresses of mail and of pages', () => {
  taken(
    f.email(),
    same('ann@example.com', 'a.b+c@x-y.example', "o'neil@example.co.uk", `${'a'.repeat(64)}@example.com`),
  )
  refused(f.email(), 'invalid-format', [
    'ann',
    'ann@',
    '@example.com',
    'ann@example',
    'a b@example.com',
    'ann@exa_mple.com',
  ])
  refused(f.email(), 'invalid-format', [
    'a@b@example.com',
    '.a@example.com',
    'a..b@example.com',
    'a@-x.com',
    'a@x-.com',
    'ann@example.com\n',
  ])
  refused(f.email(), 'invalid-format', [`${'a'.repeat(65)}@example.com`, `a@${'b'.repeat(64)}.com`, ''])
  refused(f.email(), 'too-long', [`a@${'b.'.repeat(150)}com`])
  taken(f.url(), same('https://example.com', 'http://example.com:8080/a?b=c#d', 'https://[::1]/'))
  refused(f.url(), 'invalid-format', [
    'example.com',
    '/a',
    'ftp://example.com',
    'javascript:alert(1)',
    'https://',
    'https://a b',
    '',
  ])
  refused(f.url(), 'too-long', [`https://example.com/${'a'.repeat(2048)}`])
})

test('times', () => {
  taken(f.timestamp(), [['2026-11-20T09:04:00Z', '2026-11-20T09:04:00.000Z']])
  refused(f.timestamp(), 'invalid-format', [
    '2026-02-30T00:00:00Z',
    1_763_629_440,
    true,
    {},
    '2026-11-20T12:04:00+03:00',
  ])
  taken(f.timestamp(), [['2026-11-20T12:04:00+03:00', '2026-11-20T09:04:00.000Z']], { dates: { acceptOffsets: true } })
  const year = f.timestamp({ min: '2026-01-01T00:00:00Z', max: '2026-12-31T23:59:59Z' })
  taken(year, same('2026-01-01T00:00:00.000Z', '2026-12-31T23:59:59.000Z'))
  refused(year, 'out-of-range', ['2025-12-31T23:59:59.999Z', '2026-12-31T23:59:59.001Z'])
  refused(f.date({ min: '2026-01-01', max: '2026-01-31' }), 'out-of-range', ['2025-12-31', '2026-02-01'])
  refused(f.date(), 'invalid-format', ['2026-02-29', 20_260_101])
  refused(f.duration(), 'invalid-format', ['P', 86_400])
  refused(f.interval(), 'invalid-format', ['P1M/P1M', 5, 'x'.repeat(1_000_000)])
})

test('lists are checked item by item, after their length', () => {
  const field = f.list(f.integer({ min: 1 }), { min: 1, max: 3 })
  taken(field, [
    [
      [1, 2, 3],
      [1, 2, 3],
    ],
  ])
  assert.deepEqual(wrong(field, [0, 'a', 3]), ['out-of-range /0', 'invalid-type /1'])
  refused(field, 'too-many-items', [[0, 0, 0, 0]])
  refused(field, 'too-short', [[]])
  refused(field, 'invalid-type', ['a', {}, 1])
  assert.deepEqual(wrong(field, [null]), ['field-required /0'])
  assert.equal(wrong(f.list(f.boolean()), Array(1000).fill(true)).length, 0)
  refused(f.list(f.boolean()), 'too-many-items', [Array(1001).fill(true)])
})

test('objects have all their members, in the declared order', () => {
  const field = f.object({
    city: f.text(),
    zip: f.text({ optional: true }),
    lines: f.list(f.text()),
    floor: f.decimal({ scale: 1, default: '0' }),
  })
  const { value } = judge(field, { lines: ['a'], city: 'Rome' })
  assert.equal(JSON.stringify(value), '{"city":"Rome","zip":null,"lines":["a"],"floor":"0.0"}')
  assert.deepEqual(wrong(field, { street: 1, zip: 2 }), [
    'field-required /city',
    'unknown-field /street',
    'invalid-type /zip',
  ])
  assert.deepEqual(wrong(field, { city: null, floor: null }), ['field-required /city', 'field-required /floor'])
  assert.deepEqual(wrong(field, JSON.parse('{"city":"x","__proto__":{"zip":"1"}}')), ['unknown-field /__proto__'])
  refused(field, 'invalid-type', ['a', [], 1, true])
  const { value: lax } = judge(field, { city: 'x', more: 1 }, { body: { unknownFields: 'ignore' } })
  assert.deepEqual(Object.keys(lax as object), ['city', 'zip', 'lines', 'floor'])
})

test('metadata has open keys and text values, within its limits, in one order', () => {
  const { value } = judge(f.metadata(), JSON.parse('{"b":"","__proto__":"x","a":"1"}'))
  assert.equal(JSON.stringify(value), '{"__proto__":"x","a":"1","b":""}')
  assert.deepEqual(wrong(f.metadata(), { n: 1, 'a/b': null, '': 'x' }), [
    'invalid-type /n',
    'invalid-type /a~1b',
    'too-short /',
  ])
  assert.deepEqual(
    wrong(f.metadata(), { ['k'.repeat(41)]: 'x', ok: 'v'.repeat(501) }).map((one) => one.slice(0, 8)),
    ['too-long', 'too-long'],
  )
  taken(f.metadata(), same({ ['😀'.repeat(40)]: '😀'.repeat(500) }))
  const many = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, '']))
  refused(f.metadata(), 'too-many-items', [many])
  taken(f.metadata(), [[many, many]], { metadata: { keys: 51 } })
})

test('null is for optional fields only', () => {
  assert.deepEqual(judge(f.text({ optional: true }), null), { value: null, faults: [] })
  refused(f.text({ default: 'x' }), 'field-required', [null])
  refused(f.metadata(), 'field-required', [null])
})

test('the value of a missing field has the form of the field', () => {
  const of = (field: Field) => absentValue(field, rules(), valueCheckOf(field, rules()))
  assert.equal(of(f.text()), undefined)
  assert.equal(of(f.text({ optional: true })), null)
  assert.deepEqual(of(f.list(f.text())), [])
  assert.equal(of(f.list(f.text(), { optional: true })), null)
  assert.equal(of(f.list(f.text(), { min: 1 })), undefined)
  assert.deepEqual(of(f.list(f.text(), { min: 0 })), [])
  assert.deepEqual(of(f.metadata()), {})
  assert.equal(of(f.decimal({ scale: 2, default: '5' })), '5.00')
  assert.equal(of(f.timestamp({ default: '2026-01-01T00:00:00Z' })), '2026-01-01T00:00:00.000Z')
  assert.equal(of(f.text({ optional: true, default: 'x' })), 'x')
  const address = f.object({ city: f.text(), zip: f.text({ optional: true }) }, { default: { city: 'Rome' } })
  assert.deepEqual(of(address), { city: 'Rome', zip: null })
})

test('messages say what was wrong, where, and what is allowed', () => {
  const message = (field: Field, value: unknown) => judge(field, value).faults[0]?.message
  assert.equal(message(f.integer({ min: 1 }), 0), 'at must be at least 1.')
  assert.equal(message(f.list(f.text({ max: 1 })), ['ab']), 'at[0] must be at most 1 characters long.')
  assert.equal(message(f.enum(['low', 'high']), 'no'), 'at must be one of low or high.')
  assert.equal(
    message(f.object({ price: f.text() }, {}), { prise: 1, price: '' }),
    'prise is not a field here. Did you mean price?',
  )
  assert.equal(message(f.object({ price: f.text() }), { price: '', '': 1 }), '"" is not a field here.')
  const long = message(f.object({ price: f.text() }), { price: '', ['x'.repeat(10_000)]: 1 })
  assert.ok((long as string).length < 200)
})

test('kinds of values in words', () => {
  const kinds = [null, [], {}, 'a', 1, true, undefined].map(typeInWords)
  assert.deepEqual(kinds, ['null', 'a list', 'an object', 'a string', 'a number', 'a boolean', 'missing'])
})

test('any field accepts or refuses any JSON value, and an accepted value stays accepted', () => {
  const inner = f.object({ a: f.text({ optional: true }), b: f.decimal({ scale: 2, default: '0' }) })
  const fields: Field[] = [f.text(), f.email(), f.url(), f.integer(), f.bigint(), f.decimal({ scale: 3 }), f.boolean()]
  fields.push(f.timestamp(), f.date(), f.duration(), f.interval(), f.enum(['a']), f.list(f.text()), inner, f.metadata())
  fields.push(f.country(), f.currency(), f.ref('orders'), f.list(inner, { optional: true }))
  fc.assert(
    fc.property(fc.constantFrom(...fields), fc.jsonValue({ maxDepth: 4 }), (field, given) => {
      const { value, faults } = judge(field, given)
      if (faults.length === 0) assert.deepEqual(judge(field, value), { value, faults: [] })
    }),
    { numRuns: 2000 },
  )
})
