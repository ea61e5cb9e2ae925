/** Cursors: one text for each position, and altered ones are refused. Part 4, pagination. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { codePoint } from '../../test/help/unit.ts'
import { testWorld } from '../../test/help/world.ts'
import { type ServiceWorld, serviceWorld, trustedClock } from '../flow/world.ts'
import { type CursorBinding, readCursor, writeCursor } from './cursor.ts'

const world = (time = 0, ...secrets: string[]): ServiceWorld =>
  serviceWorld(testWorld(), { clock: trustedClock(() => time), secret: 's' }, secrets.length > 0 ? secrets : ['s'])
const binding: CursorBinding = { list: 'orders', bound: 'status=paid', ttl: null }
const position = { position: ['a', null, 'ord_1'], back: false, including: false }
const given = writeCursor(position, binding, world())

test('a cursor is plain text for URLs and gives its position back', () => {
  assert.match(given, /^[A-Za-z0-9_-]+$/)
  assert.deepEqual(readCursor(given, binding, world()), position)
  const back = { ...position, back: true }
  assert.deepEqual(readCursor(writeCursor(back, binding, world()), binding, world()), back)
})

test('the same position has the same text, and another position another text', () => {
  assert.equal(writeCursor(position, binding, world(1)), given)
  const others = [
    { ...position, back: true },
    { ...position, position: ['a', '', 'ord_1'] },
    { ...position, position: ['a', null, 'ord_2'] },
  ]
  for (const other of others) assert.notEqual(writeCursor(other, binding, world()), given)
})

test('any position is read back, and long ones fit into a URL', () => {
  const value = fc.option(fc.string({ unit: 'grapheme', maxLength: 400 }))
  fc.assert(
    fc.property(fc.array(value, { maxLength: 4 }), fc.boolean(), fc.boolean(), (place, back, including) => {
      const text = writeCursor({ position: place, back, including }, binding, world())
      assert.match(text, /^[A-Za-z0-9_-]+$/)
      assert.deepEqual(readCursor(text, binding, world()), { position: place, back, including })
    }),
  )
  const long = writeCursor(
    { position: ['The quick brown fox. '.repeat(450), 'ord_1'], back: false, including: false },
    binding,
    world(),
  )
  assert.ok(long.length < 1000, String(long.length))
})

test('one changed character makes it invalid, at any place', () => {
  const long = writeCursor({ position: ['x'.repeat(600), 'ord_1'], back: false, including: false }, binding, world())
  for (const text of [given, long]) {
    for (let i = 0; i < text.length; i++) {
      const other = text[i] === 'A' ? 'B' : 'A'
      assert.equal(
        readCursor(text.slice(0, i) + other + text.slice(i + 1), binding, world()),
        'invalid-cursor',
        `at ${i}`,
      )
    }
  }
})

test('other text is invalid', () => {
  const texts = [
    '',
    'x',
    'AAAA',
    'null',
    '{}',
    `${given}=`,
    `${given} `,
    ` ${given}`,
    given.slice(1),
    given.slice(0, -1),
    `${given}AA`,
    given + given,
    '😀',
    'A'.repeat(8000),
  ]
  for (const text of texts) assert.equal(readCursor(text, binding, world()), 'invalid-cursor', text.slice(0, 40))
  fc.assert(
    fc.property(fc.string({ unit: codePoint }), (text) => readCursor(text, binding, world()) === 'invalid-cursor'),
  )
})

test('a cursor belongs to its list, and to its filters and sort', () => {
  assert.equal(readCursor(given, { ...binding, list: 'customers' }, world()), 'invalid-cursor')
  assert.equal(readCursor(given, { ...binding, bound: 'status=lost' }, world()), 'cursor-mismatch')
  assert.equal(readCursor(given, { ...binding, bound: '' }, world()), 'cursor-mismatch')
})

test('keys may be rotated, and another service has other keys', () => {
  assert.deepEqual(readCursor(given, binding, world(0, 'new', 's')), position)
  assert.equal(readCursor(given, binding, world(0, 'new')), 'invalid-cursor')
  assert.notEqual(writeCursor(position, binding, world(0, 'new', 's')), given)
})

test('with a time to live the text holds for a quarter of it, and the cursor for at least three', () => {
  const day = 86_400_000
  const living = { ...binding, ttl: day }
  const start = 20_000 * day
  const text = writeCursor(position, living, world(start))
  assert.equal(writeCursor(position, living, world(start + day / 4 - 1)), text)
  assert.notEqual(writeCursor(position, living, world(start + day / 4)), text)
  const late = writeCursor(position, living, world(start + day / 4 - 1))
  assert.deepEqual(readCursor(late, living, world(start + day - 1)), position)
  assert.equal(readCursor(late, living, world(start + day)), 'cursor-expired')
})

test('a time to live that is declared later applies to older cursors, and a longer one does not revive them', () => {
  const hour = 3_600_000
  const start = 500_000 * hour
  assert.equal(readCursor(given, { ...binding, ttl: hour }, world(start)), 'cursor-expired')
  const short = writeCursor(position, { ...binding, ttl: hour }, world(start))
  assert.deepEqual(readCursor(short, { ...binding, ttl: 24 * hour }, world(start + 23 * hour)), position)
  assert.equal(readCursor(short, { ...binding, ttl: 24 * hour }, world(start + 25 * hour)), 'cursor-expired')
  assert.deepEqual(readCursor(short, { ...binding, ttl: null }, world(start + 99 * hour)), position)
})
