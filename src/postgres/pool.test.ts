/** Pool: how connections are divided between the workers of a sharded database. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Connection } from './connect.ts'
import { connectionPool } from './pool.ts'
import { allWorkers } from './shard-areas.ts'

const connection: Connection = {
  ask: async () => [],
  waiting: () => 0,
  stalled: () => 0,
  warnings: () => 0,
  isOpen: () => true,
  ended: new Promise(() => {}),
  close: () => {},
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A pool with ten connections for one user at a time; the text of a statement is the number of its area. */
function pooled() {
  let now = 0
  const areas = { count: 6, of: (first?: { text: string }) => Number(first?.text ?? allWorkers) }
  const make = { own: async () => connection, shared: async () => connection }
  const limits = { connections: 16, patience: 1000, coalesces: false, areas }
  const pool = connectionPool(make, limits, { after: () => () => {}, monotonic: () => now })
  const ends = new Map<number, (() => void)[]>()
  /** Asks for connections for an area, and returns how many it holds then. */
  const use = async (area: number, count: number): Promise<number> => {
    const own = ends.get(area) ?? []
    ends.set(area, own)
    const act = () => new Promise<void>((end) => own.push(end))
    for (let i = 0; i < count; i++) void pool.use(act, { text: String(area), values: [] })
    await turn()
    return own.length
  }
  const end = async (area: number): Promise<void> => {
    ends.get(area)?.shift()?.()
    await turn()
  }
  return { use, end, held: (area: number) => ends.get(area)?.length ?? 0, wait: (time: number) => (now += time) }
}
const [hanging, healthy] = [2, 3]

test('a quarter of the connections is left for workers that hold less', async () => {
  const { use, end, held } = pooled()
  assert.equal(await use(hanging, 12), 8)
  assert.equal(await use(allWorkers, 3), 2)
  await end(allWorkers)
  assert.equal(held(allWorkers), 2)
  await end(hanging)
  assert.deepEqual([held(hanging), held(allWorkers)], [7, 2])
  assert.equal(await use(healthy, 3), 1)
  await end(healthy)
  await end(healthy)
  assert.deepEqual([held(hanging), held(healthy)], [7, 1])
})

test('a worker whose oldest statement waits for more than 200 ms holds a quarter at most', async () => {
  const { use, end, held, wait } = pooled()
  await use(hanging, 12)
  wait(201)
  for (let i = 0; i < 8; i++) await end(hanging)
  assert.equal(held(hanging), 4)
  await use(hanging, 8)
  wait(201)
  for (let left = held(hanging); left > 2; left--) await end(hanging)
  assert.equal(held(hanging), 2)
  assert.equal(await use(healthy, 12), 6)
})

test('a statement after the close opens no connection', async () => {
  let opened = 0
  const shared = async () => {
    opened++
    return { ...connection, isOpen: () => false }
  }
  const limits = { connections: 6, patience: 1000, coalesces: false, areas: null }
  const pool = connectionPool({ own: shared, shared }, limits, { after: () => () => {}, monotonic: () => 0 })
  await pool.share()
  const before = opened
  await pool.close()
  assert.throws(() => pool.share(), { message: 'The store is closed.', code: 'ECONNRESET' })
  for (const use of [pool.use, pool.useCoalesced])
    await assert.rejects(
      use(async () => {}),
      { message: 'The store is closed.', code: 'ECONNRESET' },
    )
  assert.equal(opened, before)
})
