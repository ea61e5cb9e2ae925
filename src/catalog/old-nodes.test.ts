/**
 * Old nodes: requests during a rolling upgrade wait for rows that old nodes wrote before, not for rows that they keep
 * writing. The store.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '../flow/outcome.ts'
import { sharedCatchUp } from './old-nodes.ts'

/** Batches that end when the test says so, with what they left. */
function batches() {
  const begun: PromiseWithResolvers<Outcome>[] = []
  const convertBatch = () => {
    const batch = Promise.withResolvers<Outcome>()
    begun.push(batch)
    return batch.promise
  }
  const end = (i: number, more: boolean) => begun[i]?.resolve({ is: 'caughtUp', more })
  return { begun, convertBatch, end }
}

const turn = () => new Promise<void>((done) => setImmediate(done))

test('a request goes on after the rows that it found, while old nodes write more without a pause', async () => {
  const { begun, convertBatch, end } = batches()
  const keptUp = sharedCatchUp(() => true, convertBatch)()
  await turn()
  end(0, true)
  await turn()
  end(1, false)
  await keptUp
  assert.equal(begun.length, 2)
})

test('a request that arrives during a batch waits for the next batch, which several requests share', async () => {
  const { begun, convertBatch, end } = batches()
  const keepUp = sharedCatchUp(() => true, convertBatch)
  const first = keepUp()
  await turn()
  let isOver = false
  const later = Promise.all([keepUp(), keepUp()]).then(() => {
    isOver = true
  })
  await turn()
  end(0, false)
  await first
  await turn()
  assert.deepEqual([begun.length, isOver], [2, false])
  end(1, false)
  await later
  assert.equal(begun.length, 2)
})

test('without such rows nothing is converted', async () => {
  const { begun, convertBatch } = batches()
  await sharedCatchUp(() => false, convertBatch)()
  assert.equal(begun.length, 0)
})
