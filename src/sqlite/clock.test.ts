/** Clock: which time a file has if the machine's clock is set between starts. The store. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { metaTable } from '../sql/statements.ts'
import { sqliteClock } from './clock.ts'
import { statementRunner } from './sqlite.ts'

const [minute, hour] = [60_000, 3_600_000]

/** A database, and the clocks of its machine. */
function place() {
  const db = new DatabaseSync(':memory:')
  db.exec(`CREATE TABLE ${metaTable} (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT`)
  const own = { date: 1_800_000_000_000, steady: 5000.5 }
  const pass = (milliseconds: number) => {
    own.date += milliseconds
    own.steady += milliseconds
  }
  return {
    own,
    pass,
    start: () => sqliteClock(statementRunner(db), { now: () => own.date, monotonic: () => own.steady }),
  }
}

test('a new file has the time of the machine, and continues without it', () => {
  const { own, pass, start } = place()
  const { now, due, issued, ahead } = start()
  assert.equal(ahead, null)
  for (const step of [0, 2 * hour, -4 * hour]) {
    own.date += step
    pass(minute)
  }
  for (const time of [now, due, issued]) assert.equal(time(), 1_800_000_000_000 + 3 * minute)
})

test('time that passes between two calls does not change how far the clock is ahead', () => {
  const db = new DatabaseSync(':memory:')
  db.exec(`CREATE TABLE ${metaTable} (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT`)
  let steady = 0
  const { lead } = sqliteClock(statementRunner(db), { now: () => 1_800_000_000_000, monotonic: () => (steady += 1) })
  for (let times = 0; times < 3; times++) assert.equal(lead(), 0)
})

test('time never goes back at a start, and includes the time between two starts', () => {
  const { own, pass, start } = place()
  const first = start()
  pass(hour)
  first.save()
  const ended = first.now()
  own.date -= 2 * hour
  const second = start()
  assert.deepEqual([second.now(), second.due(), second.ahead], [ended, ended, null])
  own.date += 2 * hour
  pass(4 * minute)
  const third = start()
  assert.deepEqual([third.now(), third.due(), third.ahead], [ended + 4 * minute, ended + 4 * minute, null])
})

test('a clock that is more than five minutes ahead is reported, and nothing expires by it for an hour', () => {
  const { own, pass, start } = place()
  const first = start()
  first.save()
  const ended = first.now()
  own.date += 2 * hour
  const second = start()
  assert.deepEqual([second.ahead, second.now(), second.due()], [2 * hour, ended + 2 * hour, ended])
  assert.equal(second.issued(), ended + 2 * hour, 'tokens that have expired are not taken')
  pass(hour - 1)
  assert.equal(second.due(), ended + hour - 1)
  pass(1)
  assert.equal(second.due(), ended + 3 * hour)
})

test('a wrong clock that is corrected within the hour expires nothing', () => {
  const { own, pass, start } = place()
  const first = start()
  first.save()
  const ended = first.now()
  own.date += 2 * hour
  const wrong = start()
  pass(10 * minute)
  wrong.save()
  own.date -= 2 * hour
  const right = start()
  assert.equal(right.ahead, null)
  assert.deepEqual([right.due(), right.issued()], [ended + 10 * minute, ended + 10 * minute])
  assert.equal(right.now(), ended + 2 * hour + 10 * minute, 'times that were told are not told again')
})

test('of two processes, the one whose clock is behind does not set the file back', () => {
  const { own, start } = place()
  const [first, second] = [start(), start()]
  own.steady += minute
  second.save()
  own.steady -= minute
  first.save()
  own.date -= hour
  assert.equal(start().now(), 1_800_000_000_000 + minute)
})
