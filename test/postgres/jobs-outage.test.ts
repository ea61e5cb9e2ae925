/** The database goes away while an asynchronous operation runs, and comes back: no step is lost or done twice. R228. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cluster } from '../help/cluster.ts'
import { payingNode } from '../help/job-node.ts'
import { until } from '../help/until.ts'

const times = 6

for (const how of ['fast', 'kill'] as const)
  test(`R228: an operation ends after its database was away (${how})`, { timeout: 300_000 }, async (t) => {
    const server = await cluster()
    t.after(server.close)
    let step = 0
    const node = await payingNode(server.url, 0, async () => {
      if (++step === 3) await server.stop(how)
    })
    t.after(node.close)
    const made = async (balance: number) => (await node.send('POST', '/accounts', { json: { balance } })).json.id
    const [from, to] = [await made(times), await made(0)]
    const { json } = await node.send('POST', '/accounts/payments', { json: { from, to, times } })
    await node.worker.finish().catch(() => {}) // it looks for another operation while the database is unavailable
    assert.ok(step >= 3)
    await server.start()
    const statusOf = async () => (await node.send('GET', `/operations/${json.id}`)).json
    await until(async () => (await statusOf()).operation === 'accounts.payments')
    assert.notEqual((await statusOf()).status, 'succeeded')
    const later = await payingNode(server.url, 3_600_000) // after the lease
    t.after(later.close)
    await later.worker.finish()
    assert.equal((await statusOf()).status, 'succeeded')
    const balances = await Promise.all(
      [from, to].map(async (id) => (await node.send('GET', `/accounts/${id}`)).json.balance),
    )
    assert.deepEqual(balances, [0, times])
  })
