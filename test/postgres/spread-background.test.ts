/** On a database sharded like Citus, timers and asynchronous operations take place once. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runDueTimers } from '../../src/timers/run-timers.ts'
import { bank, payingNode } from '../help/job-node.ts'
import { freshCitus, planned, watched } from '../help/spread.ts'
import { reminding, remindingNode } from '../help/timer-node.ts'

test('R223: timers of a sharded database take place once', async (t) => {
  const { url, drop } = await freshCitus()
  t.after(drop)
  await planned(reminding, url)
  const judged = watched(url)
  const { send, timers, close } = await remindingNode(url, 3_600_000)
  const remindAt = new Date(Date.now() + 60_000).toISOString()
  const made = await Promise.all(
    Array.from({ length: 8 }, async () => (await send('POST', '/tasks', { json: { remindAt } })).json),
  )
  await runDueTimers(timers)
  await runDueTimers(timers)
  for (const { id } of made) {
    const { json, headers } = await send('GET', `/tasks/${id}`)
    assert.equal(json.remindAt, null)
    assert.match(String(headers.etag), /2/)
  }
  await close()
  // A start reads the rows of a state as a list, to find those without a timer.
  const complaints = (await judged()).filter((one) => !/ WHERE "by_status" = \$1 ORDER BY id LIMIT 100$/.test(one))
  assert.deepEqual(complaints, [])
})

test('R228: an asynchronous operation on a sharded database does each step once', async (t) => {
  const { url, drop } = await freshCitus()
  t.after(drop)
  await planned(bank, url)
  const judged = watched(url)
  const { send, worker, close } = await payingNode(url)
  const [from, to] = await Promise.all([0, 1].map(async () => (await send('POST', '/accounts', { json: {} })).json.id))
  const { status, headers } = await send('POST', '/accounts/payments', { json: { from, to, times: 9 } })
  assert.equal(status, 202)
  await worker.finish()
  assert.equal((await send('GET', String(headers.location))).json.status, 'succeeded')
  assert.equal((await send('GET', `/accounts/${from}`)).json.balance, -9)
  assert.equal((await send('GET', `/accounts/${to}`)).json.balance, 9)
  await close()
  assert.deepEqual(await judged(), [])
})
