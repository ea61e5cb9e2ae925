/** Content that is not whole yet has a bound; who stops sending is cut where others wait. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../errors/problem.ts'
import { intake } from './intake.ts'

const now = (): number => performance.now()
const MiB = 1024 * 1024
const isOverload = (error: unknown): boolean => error instanceof Problem && error.type === 'overloaded'

test('beyond the bound an upload waits until another one is whole', async () => {
  const uploads = Array.from({ length: 64 }, () => intake(now))
  for (const one of uploads) await one.add(MiB)
  const late = intake(now)
  let taken = false
  const adding = late.add(MiB).then(() => {
    taken = true
  })
  await new Promise(setImmediate)
  assert.equal(taken, false)
  uploads[0]?.end()
  await adding
  for (const one of [...uploads, late]) one.end()
})

test('who has stopped sending is refused where others wait', async () => {
  const uploads = Array.from({ length: 64 }, () => intake(now))
  for (const one of uploads) await one.add(MiB)
  const never = new Promise<never>(() => {})
  const cut = Promise.all(uploads.map((one) => assert.rejects(one.next(never), isOverload).then(() => one.end())))
  const late = intake(now)
  await late.add(MiB)
  await cut
  late.end()
})
