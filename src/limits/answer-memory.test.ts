/** Answer memory: requests wait while it is full, and are refused if that lasts. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { testWorld } from '../../test/help/world.ts'
import { Problem } from '../errors/problem.ts'
import { type AnswerSpace, makeAnswerMemory, mostAnswerMemory } from './answer-memory.ts'

const quarter = Math.floor(mostAnswerMemory / 4)
const of = (bytes: number) => () => bytes

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await turn()
}

test('answers beyond the bound wait until others have left, in their order', async () => {
  const { enter, hold, isWanted } = makeAnswerMemory({ store: {}, world: testWorld() })
  const first = hold(quarter * 3)
  const second = hold(quarter)
  const order: number[] = []
  const waiting = [1, 2, 3].map(async (n) => {
    const space = await enter(of(quarter))
    order.push(n)
    space.set(quarter) // it is made
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

test('one large answer is built in a turn of the event loop, small ones pass', async () => {
  const { enter } = makeAnswerMemory({ store: {}, world: testWorld() })
  const [one, two] = [enter(of(1_000_000)) as AnswerSpace, enter(of(1_000_000))]
  assert.ok(two instanceof Promise)
  const small = enter(of(1000))
  assert.ok(!(small instanceof Promise))
  for (const space of [one, await two, small]) space.leave()
})

test('an answer that is larger than the bound is built alone', async () => {
  const { enter, isFull } = makeAnswerMemory({ store: {}, world: testWorld() })
  const space = await enter(of(mostAnswerMemory * 2))
  assert.equal(isFull(), true)
  space.leave()
  assert.equal(isFull(), false)
})

test('a request that waits too long is refused, and frees its place', async () => {
  const world = testWorld()
  const { enter, hold, isWanted } = makeAnswerMemory({ store: {}, world })
  const all = hold(mostAnswerMemory)
  const late = Promise.resolve(enter(of(quarter)))
  const refused = assert.rejects(late, (error) => error instanceof Problem && error.type === 'overloaded')
  world.tick(5000)
  await refused
  assert.equal(isWanted(), false)
  all.leave()
})

test('the size of a page is estimated from former ones, by their rows', () => {
  const { expected, learn } = makeAnswerMemory({ store: {}, world: testWorld() })
  const list = {}
  assert.equal(expected(list, 1000), 4_096_000)
  learn(list, 1000, 6_000_000)
  assert.equal(expected(list, 10), 60_000)
  learn(list, 10, 20)
  assert.ok(expected(list, 1000) > 5_900_000)
})

test('two services of one process have separate memory', () => {
  const [one, other] = [
    makeAnswerMemory({ store: {}, world: testWorld() }),
    makeAnswerMemory({ store: {}, world: testWorld() }),
  ]
  const all = one.hold(mostAnswerMemory + 1)
  assert.deepEqual([one.isFull(), other.isFull()], [true, false])
  assert.ok(!(other.enter(of(quarter)) instanceof Promise))
  all.leave()
})

test('while a store is awaited, few answers of unknown size are built at a time', async () => {
  const { enter, held } = makeAnswerMemory({ store: {}, world: testWorld() })
  const first = Array.from({ length: 16 }, () => enter(of(100)) as AnswerSpace)
  const late = enter(of(100))
  assert.ok(late instanceof Promise)
  first[0]?.set(quarter) // it is larger than expected
  const space = await late
  assert.equal(held(), quarter + 1600)
  for (const one of [...first, space]) one.leave()
  assert.equal(held(), 0)
})

test('a request whose client has disconnected gets no memory', async () => {
  const { enter, hold, held, isWanted } = makeAnswerMemory({ store: {}, world: testWorld() })
  const all = hold(mostAnswerMemory)
  let left = false
  const gone = assert.rejects(Promise.resolve(enter(of(quarter), () => left)))
  left = true
  all.leave()
  await gone
  assert.deepEqual([held(), isWanted()], [0, false])
})
