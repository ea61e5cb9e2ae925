/** Intake: incomplete bodies have a bound; stalled uploads are aborted while others wait. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { Problem } from '../errors/problem.ts'
import { makeFlow, makeIntake } from './intake.ts'

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

/** Content that arrives at once. */
async function* fast(bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += MiB / 2) yield new Uint8Array(MiB / 2)
}

test('content that is passed on in parts counts with the part that its reader holds', async () => {
  const { flow, held } = makeIntake(testWorld())
  const seen = new Set<number>()
  for await (const _ of flow(fast(40 * MiB), 1000, 5 * MiB)) seen.add(held())
  assert.deepEqual([...seen], [5 * MiB])
  for await (const _ of flow(fast(40 * MiB), 1000)) assert.equal(held(), 0)
  assert.equal(held(), 0)
})

test('contents wait for the memory of a part, and each of them arrives', async () => {
  const world = testWorld()
  const flow = makeFlow(world)
  const lengths = Array.from({ length: 80 }, async () => {
    let bytes = 0
    for await (const piece of flow(fast(12 * MiB), 60_000, 5 * MiB)) {
      bytes += piece.length
      await new Promise(setImmediate)
    }
    return bytes
  })
  assert.deepEqual(new Set(await Promise.all(lengths)), new Set([12 * MiB]))
})

test('stalled contents that hold a part are refused while others wait', async () => {
  const world = testWorld()
  const flow = makeFlow(world)
  const stalled = Array.from({ length: 51 }, () => flow(stopped(MiB), 600_000, 5 * MiB))
  for (const one of stalled) await one.next()
  const cut = Promise.all(stalled.map((one) => assert.rejects(one.next(), isOverload)))
  const late = flow(stopped(MiB), 600_000, 5 * MiB)
  const taken = late.next()
  await world.pass(45_000)
  await cut
  assert.equal((await taken).done, false)
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
