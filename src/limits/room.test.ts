/** Requests wait where the memory for answers is taken, and are refused where that lasts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Problem } from '../errors/problem.ts'
import { enter, expected, hold, isFull, isWanted, learn, mostHeld, type Space } from './room.ts'

const quarter = Math.floor(mostHeld / 4)

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await turn()
}

test('answers beyond the bound wait until others have left, in their order', async () => {
  const first = hold(quarter * 3)
  const second = hold(quarter)
  const order: number[] = []
  const waiting = [1, 2, 3].map(async (n) => {
    const space = await enter(quarter)
    order.push(n)
    return space
  })
  await turns(10)
  assert.deepEqual([order, isWanted()], [[], true])
  second.leave()
  await turns(10)
  assert.deepEqual(order, [1])
  first.set(quarter) // most of it is sent
  await turns(10)
  assert.deepEqual([order, isWanted()], [[1, 2, 3], false])
  first.leave()
  for (const space of await Promise.all(waiting)) space.leave()
})

test('one large answer is made in a turn of the loop, small ones pass', async () => {
  const [one, two] = [enter(1_000_000) as Space, enter(1_000_000)]
  assert.ok(two instanceof Promise)
  const small = enter(1000)
  assert.ok(!(small instanceof Promise))
  for (const space of [one, await two, small]) space.leave()
})

test('an answer that is larger than the bound is made alone', async () => {
  const space = await enter(mostHeld * 2)
  assert.equal(isFull(), true)
  space.leave()
  assert.equal(isFull(), false)
})

test('who waits too long is refused, and leaves nothing behind', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const all = hold(mostHeld)
  const late = Promise.resolve(enter(quarter))
  const refused = assert.rejects(late, (error) => error instanceof Problem && error.type === 'overloaded')
  t.mock.timers.tick(5000)
  await refused
  assert.equal(isWanted(), false)
  all.leave()
})

test('the size of a page is expected from those before, by their rows', () => {
  const list = {}
  assert.equal(expected(list, 1000), 4_096_000)
  learn(list, 1000, 6_000_000)
  assert.equal(expected(list, 10), 60_000)
  learn(list, 10, 20)
  assert.ok(expected(list, 1000) > 5_900_000)
})
