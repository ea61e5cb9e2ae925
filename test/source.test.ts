/** The reader of source text that the checks of the source text use. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { empty } from './help/house.ts'
import { imports, mask, type Source } from './help/source.ts'

const made = (texts: Record<string, string>): Source[] => Object.entries(texts).map(([path, text]) => ({ path, text }))

describe('reading source', () => {
  test('comments and strings are blanked, positions stay', () => {
    const text = "a('//b') /* c */ + `d${e('f')}g` // h"
    assert.equal(mask(text).code, "a('//b')         + `d${e('f')}g`     ")
    assert.equal(mask(text).bare, "a('   ')         + ` ${e(' ')} `     ")
  })
  test('a division is not a regular expression', () => {
    assert.equal(mask("a / b + 'c' / d").bare, "a / b + ' ' / d")
    assert.equal(mask("x = /a'[/]b/ + 'c'").bare, "x = /      / + ' '")
  })
  test('imports are found however they are written', () => {
    const text = [
      "import a, { b } from './a.ts'",
      "import type {\n  C,\n} from '../c.ts'",
      "import 'node:fs'",
      "export { d } from './d.ts'",
      "// import e from './e.ts'",
      "const f = `\nimport f from './f.ts'\n`",
      "const g = await import('./g.ts')",
    ].join('\n')
    const found = imports({ path: 'src/lists/list-query.ts', text }).map(({ name, file, line, typeOnly }) => [
      name,
      file,
      line,
      typeOnly,
    ])
    assert.deepEqual(found, [
      ['./a.ts', 'src/lists/a.ts', 1, false],
      ['../c.ts', 'src/c.ts', 2, true],
      ['node:fs', undefined, 5, false],
      ['./d.ts', 'src/lists/d.ts', 6, false],
      ['./g.ts', 'src/lists/g.ts', 11, false],
    ])
  })
  test('a test file without a test is reported', () => {
    const [complaint] = empty(
      made({ 'src/lists/list-query.test.ts': "// test('a')\nimport { test } from 'node:test'" }),
    )
    assert.match(complaint ?? '', /holds no test/)
    assert.deepEqual(empty(made({ 'src/lists/list-query.test.ts': "test('a', () => {})" })), [])
  })
})
