/** Lanes under a lease: how many work at once, and where they go on after a lock. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realWorld } from '../flow/real-world.ts'
import type { Connection } from './connect.ts'
import { inFencedLanes } from './lease.ts'

test('parts are worked on by a few connections, and one that meets a lock goes on where it was', async () => {
  const [opened, closed]: [Connection[], Connection[]] = [[], []]
  const connect = async (): Promise<Connection> => {
    const own = { ask: async () => [], close: () => closed.push(own) } as unknown as Connection
    opened.push(own)
    return own
  }
  let fences = 0
  const lease = { assertHeld: async () => void fences++, release: async () => {} }
  const steps: string[] = []
  let isLocked = true
  const work = { ask: async () => [], lease, connect, world: realWorld }
  const count = await inFencedLanes(work, 4, [...'abcdefghi'], async (_, part, after: number | null) => {
    const next = (after ?? 0) + 1
    if (part === 'b' && next === 2 && isLocked) {
      isLocked = false
      throw Object.assign(new Error('canceled'), { code: '55P03' })
    }
    steps.push(part + next)
    return next === 3 ? null : next
  })
  assert.equal(count, 27)
  assert.equal(opened.length, 4)
  assert.deepEqual(new Set(closed), new Set(opened))
  assert.equal(fences, 2)
  assert.deepEqual(
    steps.toSorted(),
    [...'abcdefghi'].flatMap((part) => [1, 2, 3].map((n) => part + n)),
  )
})

test('lanes end with an error that is no lock, and their connections are closed', async () => {
  let open = 0
  const connect = async () => {
    open++
    return { ask: async () => [], close: () => open-- } as unknown as Connection
  }
  const lease = { assertHeld: async () => {}, release: async () => {} }
  const fail = () => Promise.reject(new Error('a row does not fit'))
  const work = { ask: async () => [], lease, connect, world: realWorld }
  await assert.rejects(inFencedLanes(work, 4, [1, 2], fail), /a row does not fit/)
  assert.equal(open, 0)
})
