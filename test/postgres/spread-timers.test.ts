/** On a database sharded like Citus, timers outlast kills, lost connections and locks. R223. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runDueTimers } from '../../src/timers/run-timers.ts'
import { connected } from '../help/postgres.ts'
import { spreadPlace } from '../help/spread.ts'
import { reminding } from '../help/timer-node.ts'
import {
  failureTypes,
  makeTasks,
  moves,
  opened,
  outlastsCuts,
  outlastsFailures,
  outlastsFirstStart,
  outlastsKills,
  outlastsSlowNode,
  sharesRuns,
} from '../help/timer-trials.ts'

const trials = {
  'what a killed node had begun is finished by another, late and once': outlastsKills,
  'what another node has carried out after the lease of a slow one is not done again by that': outlastsSlowNode,
  'what another node has carried out is not done again by one that starts meanwhile': outlastsFirstStart,
  'two runs of one process carry out each transition once and leave none': sharesRuns,
  'transitions take place once while the connections of the nodes are cut': outlastsCuts,
}
for (const [name, trial] of Object.entries(trials))
  test(`R223: ${name}, sharded`, async (t) => trial(t, await spreadPlace(t, reminding)))

for (const type of failureTypes)
  test(`R223: a transition that the store refuses as ${type} is tried again within 10 s, sharded`, async (t) =>
    outlastsFailures(t, await spreadPlace(t, reminding), type))

test('R223: a row that another transaction has locked is moved within 10 s after it is free', async (t) => {
  const where = await spreadPlace(t, reminding)
  const node = await opened(t, where.url)
  await runDueTimers(node.timers) // a first start looks for rows without a timer
  await makeTasks(node, 10)
  const client = await connected(t, where.url)
  await client.query('BEGIN; /* beside */ SELECT id FROM tasks ORDER BY id LIMIT 1 FOR UPDATE')
  const moved = await runDueTimers(node.timers).finally(() => client.end())
  assert.equal(moved, 9)
  const later = await opened(t, where.url, 10_000)
  assert.equal(await runDueTimers(later.timers), 1)
  assert.deepEqual(await moves(where), [[1, 10]])
})
