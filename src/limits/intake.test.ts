/** Intake: incomplete bodies have a bound; stalled uploads are aborted while others wait. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { Problem } from '../errors/problem.ts'
import { makeIntake } from './intake.ts'

const MiB = 1024 * 1024
const isOverload = (error: unknown): boolean => error instanceof Problem && error.type === 'overloaded'

/** An upload that sends these bytes and stops. */
async function* stopped(bytes: number): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(bytes)
  await new Promise(() => {})
}

test('beyond the bound an upload waits until another one is complete', async () => {
  const { receive, held } = makeIntake(testWorld())
  const uploads = Array.from({ length: 64 }, () => receive(stopped(MiB)))
  for (const one of uploads) await one.next()
  assert.equal(held(), 64 * MiB)
  const late = receive(stopped(MiB))
  let isTaken = false
  const adding = late.next().then(() => {
    isTaken = true
  })
  await new Promise(setImmediate)
  assert.equal(isTaken, false)
  await uploads[0]?.return()
  await adding
  for (const one of [...uploads, late]) await one.return()
  assert.equal(held(), 0)
})

test('an upload that has stopped is refused while others wait', async () => {
  const world = testWorld()
  const { receive, held } = makeIntake(world)
  const uploads = Array.from({ length: 64 }, () => receive(stopped(MiB)))
  for (const one of uploads) await one.next()
  const cut = Promise.all(uploads.map((one) => assert.rejects(one.next(), isOverload)))
  const late = receive(stopped(MiB))
  const taken = late.next()
  await world.pass(4500)
  await Promise.all([taken, cut])
  await late.return()
  assert.equal(held(), 0)
})

test('two services of one process have an intake each', async () => {
  const [one, other] = [makeIntake(testWorld()), makeIntake(testWorld())]
  const uploads = Array.from({ length: 64 }, () => one.receive(stopped(MiB)))
  for (const upload of uploads) await upload.next()
  const own = other.receive(stopped(MiB))
  assert.equal((await own.next()).done, false)
  assert.equal(other.held(), MiB)
  for (const upload of [...uploads, own]) await upload.return()
})
