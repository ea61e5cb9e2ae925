/** JSON: gives the same result as JSON.parse if nothing is lost, otherwise a refusal. Part 7. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Problem } from '../errors/problem.ts'
import { parseObject } from './json.ts'

const bounds = { maxDepth: 32, maxKeys: 1000 }
const parse = (text: string | Uint8Array) => parseObject(Buffer.from(text as string), bounds)

/** The type and the place of a refusal; those of the violation if it has one. */
function refusal(text: string | Uint8Array): string {
  try {
    parse(text)
  } catch (problem) {
    assert.ok(problem instanceof Problem, String(problem))
    const { type, pointer } = problem.violations[0] ?? { type: problem.type, pointer: problem.extra.pointer }
    return pointer === undefined ? type : `${type} ${pointer}`
  }
  return 'none'
}

function refused(rows: readonly (readonly [text: string, refusal: string])[]): void {
  for (const [text, expected] of rows) assert.equal(refusal(text), expected, text.slice(0, 80))
}

const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 })

test('JSON without loss of precision is read like JSON.parse reads it', () => {
  fc.assert(
    fc.property(json, fc.constantFrom('', ' ', '\n\t'), (value, indent) => {
      const text = JSON.stringify({ value }, null, indent)
      fc.pre(!text.includes('\\u0000'))
      assert.deepEqual(parse(text), JSON.parse(text))
    }),
    { numRuns: 1000 },
  )
})

test('escapes are read as JSON.parse reads them', () => {
  const written = (text: string) =>
    text.replace(/[^"\\]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.string({ unit: 'grapheme' })), (value) => {
      const pairs = Object.entries(value).map(([key, one]) => `"${written(plain(key))}":"${written(plain(one))}"`)
      const text = `{${[...new Map(pairs.map((pair) => [pair.split('":')[0], pair])).values()].join()}}`
      assert.deepEqual(parse(text), JSON.parse(text))
    }),
  )
  function plain(text: string): string {
    return text.replace(/["\\\0]/g, '')
  }
})

test('a broken text gives a refusal or the value of JSON.parse', () => {
  const place = fc.nat(400)
  const piece = fc.constantFrom(
    '',
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '0',
    '-',
    '1e9',
    '\\u',
    '\ud800',
    '\0',
    'null',
    '/',
  )
  fc.assert(
    fc.property(json, place, fc.nat(5), piece, (value, at, length, inserted) => {
      const text = JSON.stringify({ a: value, b: 'ä"\\\u{1f600}' })
      const start = at % (text.length + 1)
      const broken = Buffer.from(text.slice(0, start) + inserted + text.slice(start + length))
      if (refusal(broken) === 'none') assert.deepEqual(parse(broken as never), JSON.parse(broken.toString()))
    }),
    { numRuns: 3000 },
  )
})

test('any bytes give a refusal or an object', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void refusal(bytes)),
    { numRuns: 1000 },
  )
})

test('a refused repeated key is one that JSON.parse would have lost', () => {
  refused([
    ['{"a":1,"a":2}', 'duplicate-json-key /a'],
    ['{"a":1,"a":1}', 'duplicate-json-key /a'],
    ['{"a":1,"\\u0061":2}', 'duplicate-json-key /a'],
    ['{"a":{"b":1,"b":2}}', 'duplicate-json-key /a/b'],
    ['{"a":[0,{"b":1,"b":2}]}', 'duplicate-json-key /a/1/b'],
    ['{"a/b":1,"a\\/b":2}', 'duplicate-json-key /a~1b'],
    ['{"~":1,"~":2}', 'duplicate-json-key /~0'],
    ['{"":1,"":2}', 'duplicate-json-key /'],
    ['{"__proto__":1,"__proto__":2}', 'duplicate-json-key /__proto__'],
    ['{"\u{1f600}":1,"\\ud83d\\ude00":2}', 'duplicate-json-key /\u{1f600}'],
  ])
  assert.deepEqual(
    parse('{"a":{"b":1},"b":{"a":1},"c":[{"a":1},{"a":1}]}'),
    JSON.parse('{"a":{"b":1},"b":{"a":1},"c":[{"a":1},{"a":1}]}'),
  )
})

test('numbers that a double does not give back are refused', () => {
  refused([
    ['{"qty":9007199254740993}', 'out-of-range /qty'],
    ['{"a":[1,{"b":-9007199254740993}]}', 'out-of-range /a/1/b'],
    ['{"qty":1e400}', 'out-of-range /qty'],
    ['{"qty":-1e400}', 'out-of-range /qty'],
    ['{"qty":1e-400}', 'out-of-range /qty'],
    ['{"qty":0.1234567890123456789}', 'out-of-range /qty'],
    ['{"qty":12345678901234567890}', 'out-of-range /qty'],
    ['{"qty":1e99999999999999999999}', 'out-of-range /qty'],
    [`{"qty":${'9'.repeat(400)}}`, 'out-of-range /qty'],
  ])
  for (const text of [
    '1.0',
    '1e2',
    '-0',
    '-0.0',
    '0e99',
    '1E+2',
    '100e-2',
    '0.1',
    '0.30000000000000004',
    '1.7976931348623157e308',
    '5e-324',
    '1e20',
    '1.10000000000000000000',
    '9007199254740992',
    '0.000000000000000000000000000001',
  ])
    assert.deepEqual(parse(`{"n":${text}}`), JSON.parse(`{"n":${text}}`), text)
})

test('broken strings are refused at their place', () => {
  refused([
    ['{"name":"\\ud800"}', 'invalid-encoding /name'],
    ['{"name":"\\udc00\\ud800"}', 'invalid-encoding /name'],
    ['{"name":"a\\u0000b"}', 'invalid-encoding /name'],
    ['{"a":{"b":["x","\\ud800"]}}', 'invalid-encoding /a/b/1'],
    ['{"a":1,"\\ud800":2}', 'invalid-encoding '],
    ['{"a":{"b":1,"x\\u0000":2}}', 'invalid-encoding /a'],
  ])
  assert.deepEqual(parse('{"a":"\\ud83d\\ude00","b":"\\\\ud800","c":"\\\\u0000"}'), {
    a: '\u{1f600}',
    b: '\\ud800',
    c: '\\u0000',
  })
})

test('bytes that are not UTF-8 are refused', () => {
  const within = (...bytes: number[]) => Uint8Array.from([...Buffer.from('{"a":"'), ...bytes, ...Buffer.from('"}')])
  for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80]])
    assert.equal(refusal(within(...bytes)), 'invalid-encoding')
})

test('malformed JSON is refused with the position, without quoting it', () => {
  const texts = [
    '',
    ' ',
    '{',
    '{"a":',
    '{"a":1',
    '{"a":1}{}',
    '{"a":1}x',
    '{"a":1,}',
    '{a:1}',
    "{'a':1}",
    '// x\n{}',
    '{"a":/**/1}',
  ]
  const more = [
    '{"a":NaN}',
    '{"a":Infinity}',
    '{"a":undefined}',
    '{"a":01}',
    '{"a":.5}',
    '{"a":1.}',
    '{"a":+1}',
    '{"a":0x1}',
  ]
  const last = [
    '{"a":"\n"}',
    '{"a":"\\x41"}',
    '{"a":"\\u12"}',
    '{"a" 1}',
    '{"a":[1,]}',
    '{"a":[1 2]}',
    '\ufeff{}',
    '{"a":True}',
    '{,}',
    '\0{}',
    '{"a":1}\0',
  ]
  for (const text of [...texts, ...more, ...last]) assert.equal(refusal(text), 'malformed-json', JSON.stringify(text))
  assert.throws(() => parse('{"secret":}'), { message: 'The content is not valid JSON: "}" is out of place.' })
  assert.throws(() => parse('{"secret":1,}'), {
    message: 'The content is not valid JSON: it goes wrong at character 12.',
  })
  assert.throws(() => parse('{"at position 9":"'), {
    message: /^The content is not valid JSON: it goes wrong at character 18\.$/,
  })
})

test('JSON other than an object is refused', () => {
  for (const text of ['[]', '[{}]', 'null', 'true', '1', '"a"']) assert.equal(refusal(text), 'invalid-type ', text)
})

test('nesting and keys are bounded', () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
  assert.equal(refusal(nested(32)), 'none')
  assert.equal(refusal(nested(33)), 'malformed-json')
  assert.equal(refusal(`{"a":${'['.repeat(31)}${']'.repeat(31)}}`), 'none')
  assert.equal(refusal(`{"a":${'['.repeat(32)}${']'.repeat(32)}}`), 'malformed-json')
  const keys = (count: number) => `{${Array.from({ length: count }, (_, i) => `"k${i}":0`).join()}}`
  assert.equal(refusal(keys(1000)), 'none')
  assert.equal(refusal(keys(1001)), 'malformed-json')
})

test('keys with a meaning in JavaScript are ordinary', () => {
  const value = parse('{"__proto__":{"admin":true},"constructor":1,"toString":2}')
  assert.deepEqual(Object.keys(value), ['__proto__', 'constructor', 'toString'])
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  assert.equal(({} as { admin?: boolean }).admin, undefined)
})

test('adversarial texts are read in linear time', () => {
  const million = 1_000_000
  const texts = [
    `{"a":0.1${'0'.repeat(million)}1}`,
    `{"a":1${'0'.repeat(million)}.0}`,
    `{"a":"${'\\\\'.repeat(million / 2)}"}`,
    `{"a":"${'\\"'.repeat(million / 2)}"}`,
    `{"${'\\u0041'.repeat(million / 6)}":1}`,
    '['.repeat(million),
    `${'['.repeat(million / 2)}${']'.repeat(million / 2)}`,
    `{"a":[${'{},'.repeat(million / 3)}0]}`,
    `{"a":[${'"",'.repeat(million / 3)}0]}`,
    '{"a":'.repeat(million / 5),
  ]
  for (const text of texts) assert.match(refusal(text), /^(none|out-of-range|malformed-json|invalid-type)/)
})
