/** Requests that wait for an operation are woken by its change, and otherwise look at an interval. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { serviceWorld, trustedClock } from '../flow/world.ts'
import { announceChange, endWaiting, waitForEnd } from './status-changes.ts'

const hour = 3_600_000

function opened() {
  const own = testWorld()
  const world = serviceWorld(own, { clock: trustedClock(own.now), secret: '' })
  const ended = new Set<string>()
  const looks: string[] = []
  const wait = (id: string, time = hour, duringLook = async () => {}) =>
    waitForEnd(world, id, { time, interval: 1000 }, async () => {
      looks.push(id)
      const isEnded = ended.has(id)
      await duringLook()
      return isEnded
    })
  return { world, pass: own.pass, timers: own.timers, ended, looks, wait }
}

test('R28: a change wakes all requests that wait for it, and no others', async () => {
  const { world, pass, timers, ended, looks, wait } = opened()
  const [first, second, other] = [wait('a'), wait('a'), wait('b', 500)]
  await pass(0)
  ended.add('a')
  announceChange(world, 'a')
  await Promise.all([first, second])
  assert.deepEqual(looks, ['a', 'a', 'b', 'a', 'a'])
  await pass(500)
  await other
  assert.deepEqual([looks.at(-1), timers()], ['b', 0])
})

test('R28: a change during the look is not missed', async () => {
  const { world, ended, looks, wait } = opened()
  await wait('a', hour, async () => {
    ended.add('a')
    announceChange(world, 'a')
  })
  assert.equal(looks.length, 2)
})

test('R28: without a change it looks once in an interval, until its time is over', async () => {
  const { pass, looks, wait } = opened()
  const waited = wait('a', 10_500)
  await pass(10_499)
  assert.equal(looks.length, 11)
  await pass(1)
  await waited
  assert.equal(looks.length, 12)
})

test('R28: when the process stops, all waiting requests end', async () => {
  const { world, pass, timers, wait } = opened()
  const waited = wait('a')
  await pass(0)
  endWaiting(world)
  await waited
  await wait('b')
  assert.equal(timers(), 0)
})
