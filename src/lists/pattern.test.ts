/** Patterns: their literal parts, and what is refused. Part 4, filtering. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parts } from './pattern.ts'

test('a percent sign stands for any run of characters; without one the text may stand anywhere', () => {
  const table: [pattern: string, parts: readonly string[]][] = [
    ['ann', ['', 'ann', '']],
    ['', ['', '', '']],
    ['%', ['', '']],
    ['%%', ['', '', '']],
    ['%ann%', ['', 'ann', '']],
    ['ann%', ['ann', '']],
    ['%ann', ['', 'ann']],
    ['a%b%c', ['a', 'b', 'c']],
    ['a_b', ['', 'a_b', '']],
    ['50\\%', ['', '50%', '']],
    ['50\\%%', ['50%', '']],
    ['a\\\\b', ['', 'a\\b', '']],
    ['\\\\%', ['\\', '']],
    ['\\\\\\%', ['', '\\%', '']],
    ['*?[a]', ['', '*?[a]', '']],
    ['😀%', ['😀', '']],
  ]
  for (const [pattern, expected] of table) assert.deepEqual(parts(pattern), expected, pattern)
})

test('other backslashes, many wildcards and long patterns are refused', () => {
  for (const pattern of ['a\\b', '\\', 'a\\', '\\_', '%\\n%'])
    assert.match(String(parts(pattern)), /backslash/, pattern)
  assert.deepEqual(parts('%a%b%c%d%'), ['', 'a', 'b', 'c', 'd', ''])
  assert.match(String(parts('%a%b%c%d%e%')), /at most 5 wildcards/)
  assert.match(String(parts('%%%%%%')), /at most 5 wildcards/)
  assert.deepEqual(parts('😀'.repeat(256)), ['', '😀'.repeat(256), ''])
  assert.match(String(parts('a'.repeat(257))), /at most 256 characters/)
})
