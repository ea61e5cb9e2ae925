/** Proves that transitions by the clock take place exactly once, if a node is killed or slow and if the database is away. R223. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { conflictProblem, unavailableProblem } from '../../src/catalog/steps.ts'
import type { Store } from '../../src/flow/store.ts'
import { runDueTimers, runTimersEvery } from '../../src/timers/run-timers.ts'
import { cluster } from '../help/cluster.ts'
import { places } from '../help/places.ts'
import { remindingNode } from '../help/timer-node.ts'
import { until } from '../help/until.ts'

const script = fileURLToPath(new URL('../help/timer-node.ts', import.meta.url))
/** More than the lease of a node: the time that has certainly passed may be some seconds behind. */
const lease = 90_000

/** Starts a process that carries out due timers, and kills itself when transition number `count` begins. */
async function killedAt(count: number, url: string, ahead: number): Promise<void> {
  const child = spawn(process.execPath, ['--conditions=bylaw-source', script, url, `${ahead}`, `${count}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  assert.deepEqual(await once(child, 'close'), [null, 'SIGKILL'])
}

async function opened(t: TestContext, url: string, ahead = 0, heed?: (store: Store) => Store) {
  const node = await remindingNode(url, ahead, heed)
  t.after(node.close)
  return node
}
type Node = Awaited<ReturnType<typeof opened>>

const past = '2026-01-01T00:00:00.000Z'
async function make({ send }: Pick<Node, 'send'>, count: number): Promise<void> {
  const client = async () => {
    for (let i = 0; i < count / 10; i++)
      assert.equal((await send('POST', '/tasks', { json: { remindAt: past } })).status, 201)
  }
  await Promise.all(Array.from({ length: 10 }, client))
}

/** How many rows were changed how often since they were made. */
const transitions = 'SELECT revision - 1 AS moved, count(*) AS tasks FROM tasks GROUP BY 1 ORDER BY 1'
const numbers = (rows: Record<string, unknown>[]) => rows.map(({ moved, tasks }) => [Number(moved), Number(tasks)])

for (const [name, place] of places)
  test(`R223: what a killed node had begun is finished by another, late and once, ${name}`, async (t) => {
    const where = await place(t)
    const node = await opened(t, where.url)
    await make(node, 330)
    const kills = [1, 60, 90]
    for (const [round, count] of kills.entries()) await killedAt(count, where.url, round * lease)
    const [none, once] = numbers(await where.rows(transitions))
    const begun = kills.reduce((one, other) => one + other)
    assert.deepEqual([none?.[0], once?.[0]], [0, 1])
    assert.ok((once?.[1] ?? 0) >= begun - kills.length && (once?.[1] ?? 0) < 330, JSON.stringify(once))
    const early = await opened(t, where.url, (kills.length - 1) * lease)
    await runDueTimers(early.timers)
    const held = numbers(await where.rows(transitions)).find(([moved]) => moved === 0)?.[1] ?? 0
    const late = await opened(t, where.url, kills.length * lease)
    assert.equal(await runDueTimers(late.timers), held <= 100 ? held : -1)
    assert.deepEqual(numbers(await where.rows(transitions)), [[1, 330]])
    assert.equal(await runDueTimers(late.timers), 0)
  })

for (const [name, place] of places)
  test(`R223: what another node has carried out after the lease of a slow one is not done again by that, ${name}`, async (t) => {
    const where = await place(t)
    const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const waiting = (store: Store): Store => ({
      ...store,
      execute: async (plan) => {
        if (plan.do === 'decide') begun.resolve()
        if (plan.do === 'decide') await released.promise
        return store.execute(plan)
      },
    })
    const slow = await opened(t, where.url, 0, waiting)
    await make(slow, 10)
    const late = runDueTimers(slow.timers)
    await begun.promise
    const other = await opened(t, where.url, lease)
    assert.equal(await runDueTimers(other.timers), 10)
    released.resolve()
    assert.equal(await late, 0)
    assert.deepEqual(numbers(await where.rows(transitions)), [[1, 10]])
  })

for (const [name, place] of places)
  test(`R223: two runs of one process carry out each transition once and leave none, ${name}`, async (t) => {
    const where = await place(t)
    const { send, timers } = await opened(t, where.url)
    await make({ send }, 130)
    const [one, other] = await Promise.all([runDueTimers(timers), runDueTimers(timers)])
    assert.equal(one + other, 130)
    assert.deepEqual(numbers(await where.rows(transitions)), [[1, 130]])
  })

const storeFailures = { overloaded: conflictProblem, 'dependency-unavailable': unavailableProblem }
for (const [name, place] of places)
  for (const [type, problem] of Object.entries(storeFailures))
    test(`R223: a transition that the store refuses as ${type} is tried again within 10 s, ${name}`, async (t) => {
      const where = await place(t)
      let fails = 2
      const failing = (store: Store): Store => ({
        ...store,
        execute: (plan) => {
          if (plan.do === 'decide' && fails-- > 0) throw problem(null)
          return store.execute(plan)
        },
      })
      const ahead = { by: 0 }
      const node = await opened(t, where.url, 0, failing)
      await make(node, 10)
      const clock = { ...node.timers.world, due: () => node.timers.world.due() + ahead.by }
      const run = () => runDueTimers({ ...node.timers, world: clock })
      assert.equal(await run(), 8)
      ahead.by = 10_000
      assert.equal(await run(), 2)
      assert.deepEqual(numbers(await where.rows(transitions)), [[1, 10]])
    })

test('R223: a database that is away delays transitions, and each takes place once', async (t) => {
  const server = await cluster()
  t.after(server.close)
  const nodes = [await opened(t, server.url), await opened(t, server.url)]
  await make(nodes[0] as Node, 800)
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
  const held = 800 - (await moved()) // by the two nodes, whose leases the outages left behind
  const late = await opened(t, server.url, lease)
  assert.equal(await runDueTimers(late.timers), held)
  assert.equal(server.psql('SELECT revision, count(*) FROM tasks GROUP BY 1'), '2|800')
})
