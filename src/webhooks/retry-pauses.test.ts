/** The schedules of retries, and what may lengthen a pause. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliveryPause, disablesEndpoint, reactionPause } from './retry-pauses.ts'

const [second, minute, hour] = [1000, 60_000, 3_600_000]
const now = Date.UTC(2026, 0, 1)
const after = (failures: number, retryAfter: string | null = null, random = 0) =>
  deliveryPause({ failures, retryAfter, now, random })
const pauses = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]

test('a delivery is tried ten times', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((failures) => after(failures)),
    [...pauses, null, null],
  )
})

test('a pause is up to a fifth longer at random, and never shorter', () => {
  for (const [i, pause] of pauses.entries()) {
    assert.equal(after(i + 1, null, 0.5), (pause * 11) / 10)
    assert.equal(after(i + 1, null, 1), (pause * 12) / 10)
  }
})

test('Retry-After can only lengthen a pause, up to a day', () => {
  assert.equal(after(1, '60'), minute)
  assert.equal(after(1, '2'), 5 * second)
  assert.equal(after(1, '60', 1), minute)
  assert.equal(after(2, '301', 1), 6 * minute)
  assert.equal(after(1, '999999999'), 24 * hour)
  assert.equal(after(9, '999999999', 1), (12 * 24 * hour) / 10)
  assert.equal(after(10, '60'), null)
})

test('Retry-After may be a date', () => {
  const at = (time: number) => new Date(time).toUTCString()
  assert.equal(after(1, at(now + hour)), hour)
  assert.equal(after(1, at(now - hour)), 5 * second)
  assert.equal(after(1, at(now + 100 * hour)), 24 * hour)
  assert.equal(after(1, 'Thursday, 01-Jan-26 01:00:00 GMT'), hour)
})

test('a malformed Retry-After is ignored', () => {
  for (const text of [
    '',
    'soon',
    '-60',
    '1e3',
    '60.5',
    '60, 60',
    '9'.repeat(10),
    'Thu, 32 Jan 2026 00:00:00 GMT',
    '2027-01-01',
  ])
    assert.equal(after(1, text), 5 * second, text)
})

test('a reaction is tried eight times, then parked', () => {
  const expected = [second, 10 * second, minute, 10 * minute, hour, 6 * hour, 24 * hour, null]
  assert.deepEqual([1, 2, 3, 4, 5, 6, 7, 8].map(reactionPause), expected)
})

test('410 alone disables an endpoint', () => {
  assert.deepEqual([410, 404, 500, 200, 301, null].map(disablesEndpoint), [true, false, false, false, false, false])
})
