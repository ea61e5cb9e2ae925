/** Requests that wait for an operation are woken by its change, each of them, and by no other one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realWorld } from '../flow/real-world.ts'
import { serviceWorld, trustedClock } from '../flow/world.ts'
import { announceChange, nextChange } from './status-changes.ts'

const world = serviceWorld(realWorld, { clock: trustedClock(Date.now), secret: '' })

test('R28: a change wakes all that wait for it', async () => {
  const woken: string[] = []
  const waits = ['a', 'a', 'b'].map((id) => nextChange(world, id, 2 ** 30).then(() => woken.push(id)))
  announceChange(world, 'a')
  await Promise.all(waits.slice(0, 2))
  assert.deepEqual(woken, ['a', 'a'])
  announceChange(world, 'a')
  announceChange(world, 'b')
  await waits[2]
  assert.deepEqual(woken, ['a', 'a', 'b'])
})

test('R28: without a change the wait ends after its time', async () => {
  await nextChange(world, 'a', 1)
})
