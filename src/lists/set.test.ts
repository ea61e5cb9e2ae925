/** Sets of values: members, and invalid sets. Part 4, filtering. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { codePoint } from '../../test/help/unit.ts'
import { setMembers } from './set.ts'

const read = (inner: string, most = 100) => setMembers(`in:(${inner})`, most)

test('members are separated by commas, and spaces around them are ignored', () => {
  const table: [inner: string, members: readonly string[]][] = [
    ['', []],
    ['   ', []],
    ['a', ['a']],
    ['a,b', ['a', 'b']],
    ['  a ,  b  ', ['a', 'b']],
    ['a b, c', ['a b', 'c']],
    ['a,a', ['a', 'a']],
    ['""', ['']],
    ['"",a', ['', 'a']],
    [' "a" , "b" ', ['a', 'b']],
    ['"Paris, TX", "a (b)", Rome', ['Paris, TX', 'a (b)', 'Rome']],
    ['"say \\"hi\\""', ['say "hi"']],
    ['"a\\\\b"', ['a\\b']],
    ['" a "', [' a ']],
    ['in:x', ['in:x']],
    ['\ta\u00a0', ['\ta\u00a0']],
    ['-1,2.50', ['-1', '2.50']],
    ['é,😀', ['é', '😀']],
  ]
  for (const [inner, expected] of table) assert.deepEqual(read(inner), expected, inner)
})

test('a malformed set is refused with the wrong member', () => {
  const table: [text: string, says: RegExp][] = [
    ['in:(', /closing parenthesis/],
    ['in:(a', /closing parenthesis/],
    ['in:(a)b', /closing parenthesis/],
    ['in:(a) ', /closing parenthesis/],
    ['in:(a,,b)', /Member 2 of the set is empty; write the empty text as ""/],
    ['in:(,)', /Member 1 of the set is empty/],
    ['in:(a,)', /Member 2 of the set is empty/],
    ['in:( ,a)', /Member 1 of the set is empty/],
    ['in:(a))', /Member 1 .* double quotes/],
    ['in:(a)b)', /Member 1 .* double quotes/],
    ['in:(x,f(a))', /Member 2 .* double quotes/],
    ['in:(a"b)', /Member 1 .* double quotes/],
    ['in:(a\\b)', /Member 1 .* double quotes/],
    ['in:(")', /Member 1 .* double quotes/],
    ['in:("a)', /Member 1 .* double quotes/],
    ['in:("a"b)', /Member 1 .* double quotes/],
    ['in:("a" "b")', /Member 1 .* double quotes/],
    ['in:("a\\n")', /Member 1 .* double quotes/],
    ['in:("a",b")', /Member 2 .* double quotes/],
  ]
  for (const [text, says] of table) {
    const fault = setMembers(text, 100)
    assert.equal(typeof fault, 'string', text)
    assert.match(fault as string, says, text)
  }
})

test('there are at most as many members as are allowed, repeated ones counted', () => {
  assert.deepEqual(read('1,2,3', 3), ['1', '2', '3'])
  assert.match(String(read('1,2,3,4', 3)), /at most 3 members/)
  assert.match(String(read('1,1,1,1', 3)), /at most 3 members/)
  assert.match(String(read('1,2,3,"', 3)), /Member 4/)
})

test('quoted members are read back unchanged', () => {
  const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`
  fc.assert(
    fc.property(fc.array(fc.string({ unit: codePoint, maxLength: 8 }), { maxLength: 6 }), (texts) => {
      assert.deepEqual(read(texts.map(quoted).join(', ')), texts)
    }),
  )
})

test('every text is refused quickly', () => {
  for (const text of [
    ' '.repeat(100_000),
    '"'.repeat(100_000),
    `"${'\\\\'.repeat(50_000)}`,
    `${' '.repeat(100_000)}"`,
  ]) {
    assert.equal(typeof read(`${text}(`), 'string')
  }
})
