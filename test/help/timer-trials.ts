/** Trials of timers during kills, slow nodes, lost connections and refusals of the store; on any database. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { conflictProblem, unavailableProblem } from '../../src/catalog/steps.ts'
import type { Store } from '../../src/flow/store.ts'
import { runDueTimers } from '../../src/timers/run-timers.ts'
import type { Place } from './places.ts'
import { remindingNode } from './timer-node.ts'

const script = fileURLToPath(new URL('./timer-node.ts', import.meta.url))
/** More than the lease of a node: the time that has certainly passed may be some seconds behind. */
export const lease = 90_000

/** Starts a process that carries out due timers, and kills itself when transition number `count` begins. */
async function killedAt(count: number, url: string, ahead: number): Promise<void> {
  const child = spawn(process.execPath, ['--conditions=bylaw-source', script, url, `${ahead}`, `${count}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  assert.deepEqual(await once(child, 'close'), [null, 'SIGKILL'])
}

export async function opened(t: TestContext, url: string, ahead = 0, heed?: (store: Store) => Store) {
  const node = await remindingNode(url, ahead, heed)
  t.after(node.close)
  return node
}
type Node = Awaited<ReturnType<typeof opened>>

const past = '2026-01-01T00:00:00.000Z'
export async function makeTasks({ send }: Pick<Node, 'send'>, count: number): Promise<void> {
  const client = async () => {
    for (let i = 0; i < count / 10; i++)
      assert.equal((await send('POST', '/tasks', { json: { remindAt: past } })).status, 201)
  }
  await Promise.all(Array.from({ length: 10 }, client))
}

/** For each number of changes, the number of rows that were changed so often since their creation. */
export async function moves({ rows }: Pick<Place, 'rows'>): Promise<number[][]> {
  const found = await rows('SELECT revision - 1 AS moved, count(*) AS tasks FROM tasks GROUP BY 1 ORDER BY 1')
  return found.map(({ moved, tasks }) => [Number(moved), Number(tasks)])
}

export async function outlastsKills(t: TestContext, where: Place): Promise<void> {
  const node = await opened(t, where.url)
  await makeTasks(node, 330)
  const kills = [1, 60, 90]
  for (const [round, count] of kills.entries()) await killedAt(count, where.url, round * lease)
  const [none, once] = await moves(where)
  const begun = kills.reduce((one, other) => one + other)
  assert.deepEqual([none?.[0], once?.[0]], [0, 1])
  assert.ok((once?.[1] ?? 0) >= begun - kills.length && (once?.[1] ?? 0) < 330, JSON.stringify(once))
  const early = await opened(t, where.url, (kills.length - 1) * lease)
  await runDueTimers(early.timers)
  const held = (await moves(where)).find(([moved]) => moved === 0)?.[1] ?? 0
  const late = await opened(t, where.url, kills.length * lease)
  assert.equal(await runDueTimers(late.timers), held <= 100 ? held : -1)
  assert.deepEqual(await moves(where), [[1, 330]])
  assert.equal(await runDueTimers(late.timers), 0)
}

export async function outlastsSlowNode(t: TestContext, where: Place): Promise<void> {
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const waiting = (store: Store): Store => ({
    ...store,
    execute: async (plan) => {
      if (isMove(plan)) begun.resolve()
      if (isMove(plan)) await released.promise
      return store.execute(plan)
    },
  })
  const slow = await opened(t, where.url, 0, waiting)
  await makeTasks(slow, 10)
  const late = runDueTimers(slow.timers)
  await begun.promise
  const other = await opened(t, where.url, lease)
  assert.equal(await runDueTimers(other.timers), 10)
  released.resolve()
  assert.equal(await late, 0)
  assert.deepEqual(await moves(where), [[1, 10]])
}

/** Another node carries out the transitions of rows that this one has read at its first start, to see whether they have a timer. */
export async function outlastsFirstStart(t: TestContext, where: Place): Promise<void> {
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const waiting = (store: Store): Store => ({
    ...store,
    execute: async (plan) => {
      const outcome = await store.execute(plan)
      if (plan.do === 'family') begun.resolve()
      if (plan.do === 'family') await released.promise
      return outcome
    },
  })
  const starting = await opened(t, where.url, 0, waiting)
  await makeTasks(starting, 10)
  const late = runDueTimers(starting.timers)
  await begun.promise
  const other = await opened(t, where.url)
  assert.equal(await runDueTimers(other.timers), 10)
  released.resolve()
  assert.equal(await late, 0)
  assert.deepEqual(await moves(where), [[1, 10]])
}

export async function sharesRuns(t: TestContext, where: Place): Promise<void> {
  const { send, timers } = await opened(t, where.url)
  await makeTasks({ send }, 130)
  const [one, other] = await Promise.all([runDueTimers(timers), runDueTimers(timers)])
  assert.equal(one + other, 130)
  assert.deepEqual(await moves(where), [[1, 130]])
}

/** Ends the connections of nodes on PostgreSQL, again and again, until an act has ended; returns how many. At most `most` are ended. */
export async function cutDuring(
  where: Pick<Place, 'rows'>,
  act: Promise<unknown>,
  most = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  let [isOver, cut] = [false, 0]
  const ended = act.finally(() => {
    isOver = true
  })
  for (; !isOver; await pause(20 + Math.random() * 60)) {
    if (cut < most) cut += (await cutConnections(where)).length
  }
  await ended
  return cut
}
const nodesOfCuts = `cut-${process.pid}`
/** Ends the connections of URLs of `withCuts`, and no others: all tests share the server. */
export const cutConnections = (where: Pick<Place, 'rows'>) =>
  where.rows(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${nodesOfCuts}'`)
/** The URL for nodes whose connections may be cut. */
export const withCuts = (url: string): string => `${url}${url.includes('?') ? '&' : '?'}application_name=${nodesOfCuts}`

export async function outlastsCuts(t: TestContext, where: Place): Promise<void> {
  const nodes = [await opened(t, withCuts(where.url)), await opened(t, withCuts(where.url))] as const
  await makeTasks(nodes[0], 400)
  const run = async ({ timers }: Node) => {
    for (let i = 0; i < 40; i++) await runDueTimers(timers).catch(() => pause(10))
  }
  assert.ok((await cutDuring(where, Promise.all(nodes.map(run)))) > 5)
  const held = (await moves(where)).find(([moved]) => moved === 0)?.[1] ?? 0
  const late = await opened(t, where.url, lease)
  assert.equal(await runDueTimers(late.timers), held)
  assert.deepEqual(await moves(where), [[1, 400]])
}

const storeFailures = { overloaded: conflictProblem, 'dependency-unavailable': unavailableProblem }
export const failureTypes = ['overloaded', 'dependency-unavailable'] as const

export async function outlastsFailures(t: TestContext, where: Place, type: keyof typeof storeFailures): Promise<void> {
  let fails = 2
  const failing = (store: Store): Store => ({
    ...store,
    execute: (plan) => {
      if (isMove(plan) && fails-- > 0) throw storeFailures[type](null)
      return store.execute(plan)
    },
  })
  const ahead = { by: 0 }
  const node = await opened(t, where.url, 0, failing)
  await makeTasks(node, 10)
  const clock = { ...node.timers.world, due: () => node.timers.world.due() + ahead.by }
  const run = () => runDueTimers({ ...node.timers, world: clock })
  assert.equal(await run(), 8)
  ahead.by = 10_000
  assert.equal(await run(), 2)
  assert.deepEqual(await moves(where), [[1, 10]])
}

const isMove = (plan: Parameters<Store['execute']>[0]): boolean => plan.do === 'decide' && plan.read.do === 'read'
