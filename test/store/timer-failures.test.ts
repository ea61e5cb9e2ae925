/** Proves that transitions by the clock take place exactly once, if a node is killed or slow and if the database is away. R223. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { runDueTimers, runTimersEvery } from '../../src/timers/run-timers.ts'
import { cluster } from '../help/cluster.ts'
import { places } from '../help/places.ts'
import {
  failureTypes,
  lease,
  makeTasks,
  opened,
  outlastsCuts,
  outlastsFailures,
  outlastsFirstStart,
  outlastsKills,
  outlastsSlowNode,
  sharesRuns,
} from '../help/timer-trials.ts'
import { until } from '../help/until.ts'

for (const [name, place] of places) {
  test(`R223: what a killed node had begun is finished by another, late and once, ${name}`, async (t) =>
    outlastsKills(t, await place(t)))

  test(`R223: a slow node does not repeat transitions that another node carried out after its lease ended, ${name}`, async (t) =>
    outlastsSlowNode(t, await place(t)))

  test(`R223: a node that starts does not repeat transitions that another node has carried out meanwhile, ${name}`, async (t) =>
    outlastsFirstStart(t, await place(t)))

  test(`R223: two runs of one process carry out each transition once and leave none, ${name}`, async (t) =>
    sharesRuns(t, await place(t)))

  for (const type of failureTypes)
    test(`R223: a transition that the store refuses as ${type} is tried again within 10 s, ${name}`, async (t) =>
      outlastsFailures(t, await place(t), type))
}

test('R223: transitions take place once while the connections of the nodes are cut', async (t) =>
  outlastsCuts(t, await (places[1] as (typeof places)[number])[1](t)))

test('R223: a database that is away delays transitions, and each takes place once', async (t) => {
  const server = await cluster()
  t.after(server.close)
  const nodes = [await opened(t, server.url), await opened(t, server.url)]
  await makeTasks(nodes[0] as Awaited<ReturnType<typeof opened>>, 800)
  // Asks without blocking the event loop, as the two nodes work in this process.
  const moved = async () => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    const { rows } = await client.query('SELECT count(*) FROM tasks WHERE revision > 1')
    await client.end()
    return Number(rows[0].count)
  }
  const stops = nodes.map(({ timers }) => runTimersEvery(timers, 20))
  const goOn = async () => {
    const before = await moved()
    // On a slow machine all may be moved but those that the two nodes had taken when the database went away twice.
    await until(async () => {
      const now = await moved()
      return now > before || 800 - now <= 400
    })
  }
  await goOn()
  for (const how of ['immediate', 'kill'] as const) {
    await server.stop(how)
    await server.start()
    await goOn()
  }
  for (const stop of stops) await stop()
  const held = 800 - (await moved()) // leases of the two nodes that the outages left behind
  const late = await opened(t, server.url, lease)
  assert.equal(await runDueTimers(late.timers), held)
  assert.equal(server.psql('SELECT revision, count(*) FROM tasks GROUP BY 1'), '2|800')
})
