/** Log throttle: refusals by overload are counted, not logged one by one. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { serviceWorld, trustedClock } from '../flow/world.ts'
import { logThrottled } from './log-throttle.ts'

test('the first refusal is logged at once, the others of each second in one line with their count', () => {
  const clock = testWorld()
  const world = serviceWorld(clock, { clock: trustedClock(clock.now), secret: 's' })
  const lines: object[] = []
  const log = { error: (about: object) => lines.push(about) }
  for (let n = 0; n < 1000; n++)
    logThrottled({ log, world }, 'overloaded', { requestId: `r${n}`, type: 'overloaded' }, 'Too much.')
  assert.deepEqual(lines, [{ requestId: 'r0', type: 'overloaded', refused: 1 }])
  clock.tick(1000)
  assert.deepEqual(lines.slice(1), [{ type: 'overloaded', refused: 999 }])
  for (let n = 0; n < 5; n++) logThrottled({ log, world }, 'overloaded', {}, 'Too much.')
  clock.tick(1000)
  assert.deepEqual(lines.slice(2), [{ type: 'overloaded', refused: 5 }])
  clock.tick(1000)
  logThrottled({ log, world }, 'overloaded', { requestId: 'later' }, 'Too much.')
  assert.equal(lines.length, 4)
})
