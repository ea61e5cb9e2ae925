/** Log throttle: refusals by overload are counted, not logged one by one. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { logThrottled } from './log-throttle.ts'

test('the first refusal is logged at once, the others of each second in one line with their count', () => {
  const world = testWorld()
  const lines: object[] = []
  const log = { error: (about: object) => lines.push(about) }
  for (let n = 0; n < 1000; n++)
    logThrottled({ log, world }, 'overloaded', { requestId: `r${n}`, type: 'overloaded' }, 'Too much.')
  assert.deepEqual(lines, [{ requestId: 'r0', type: 'overloaded', refused: 1 }])
  world.tick(1000)
  assert.deepEqual(lines.slice(1), [{ type: 'overloaded', refused: 999 }])
  for (let n = 0; n < 5; n++) logThrottled({ log, world }, 'overloaded', {}, 'Too much.')
  world.tick(1000)
  assert.deepEqual(lines.slice(2), [{ type: 'overloaded', refused: 5 }])
  world.tick(1000)
  logThrottled({ log, world }, 'overloaded', { requestId: 'later' }, 'Too much.')
  assert.equal(lines.length, 4)
})
