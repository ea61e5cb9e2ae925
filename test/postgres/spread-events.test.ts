/** On a database sharded like Citus, events reach every consumer. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshCitus, planned, watched } from '../help/spread.ts'
import { allGot, followedApi, followedNode, followers } from './followed.ts'

test('R206, R213, R231: events of a sharded database reach the list, a stream, a webhook and a reaction', async (t) => {
  const { url, drop } = await freshCitus()
  t.after(drop)
  await planned(followedApi, url)
  const judged = watched(url)
  const own = await followers(t)
  const { send, create, list, stream, close } = await followedNode(t, url, own)
  await send('POST', '/webhook-endpoints', { url: own.url, eventTypes: ['order.*'] })
  const { notes, leave } = await stream()
  const made = Array.from({ length: 12 }, (_, n) => `note ${n}`)
  await create(...made)
  await allGot(made, own.delivered, own.reacted, notes)
  assert.deepEqual((await list('')).notes.toSorted(), made.toSorted())
  assert.equal((await send('GET', '/receipts?page=1')).pagination.totalRecords, 12)
  leave()
  await close()
  assert.deepEqual(await judged(), [])
})
