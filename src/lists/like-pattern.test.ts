/** Like patterns: literal parts, and refused patterns. Part 4, filtering. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { likePatternParts } from './like-pattern.ts'

test('a percent sign matches any run of characters; a pattern without one matches anywhere', () => {
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
  for (const [pattern, expected] of table) assert.deepEqual(likePatternParts(pattern), expected, pattern)
})

test('other backslashes, many wildcards and long patterns are refused', () => {
  for (const pattern of ['a\\b', '\\', 'a\\', '\\_', '%\\n%'])
    assert.match(String(likePatternParts(pattern)), /backslash/, pattern)
  assert.deepEqual(likePatternParts('%a%b%c%d%'), ['', 'a', 'b', 'c', 'd', ''])
  assert.match(String(likePatternParts('%a%b%c%d%e%')), /at most 5 wildcards/)
  assert.match(String(likePatternParts('%%%%%%')), /at most 5 wildcards/)
  assert.deepEqual(likePatternParts('😀'.repeat(256)), ['', '😀'.repeat(256), ''])
  assert.match(String(likePatternParts('a'.repeat(257))), /at most 256 characters/)
})
