/** Trials of asynchronous operations during kills, lost connections and refusals of the store; on any database. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { conflictProblem, unknownOutcome } from '../../src/catalog/steps.ts'
import type { Store } from '../../src/flow/store.ts'
import { payingNode } from './job-node.ts'
import type { Place } from './places.ts'
import { cutDuring, withCuts } from './timer-trials.ts'

const script = fileURLToPath(new URL('./job-node.ts', import.meta.url))
/** More than the lease of a node: the time that has certainly passed may be some seconds behind. */
export const lease = 40_000

/** Starts a process that runs due operations, and kills it when step number `count` begins. */
async function killedAt(count: number, url: string, ahead: number): Promise<void> {
  const given = [url, ahead, count + 3].map(String)
  const child = spawn(process.execPath, ['--conditions=bylaw-source', script, ...given], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  let begun = 0
  for await (const _ of createInterface(child.stdout)) if (++begun === count) child.kill('SIGKILL')
  assert.deepEqual(await closed, [null, 'SIGKILL'])
}

export async function opened(
  t: TestContext,
  url: string,
  ahead = 0,
  before?: () => Promise<void>,
  heed?: (store: Store) => Store,
) {
  const node = await payingNode(url, ahead, before, heed)
  t.after(node.close)
  return node
}

export async function started({ send }: { send: Awaited<ReturnType<typeof opened>>['send'] }, times: number) {
  const ids: string[] = []
  for (let i = 0; i < 2; i++) ids.push((await send('POST', '/accounts', { json: {} })).json.id)
  const [from, to] = ids
  const asked = await send('POST', '/accounts/payments', { json: { from, to, times } })
  assert.equal(asked.status, 202)
  const balances = async () =>
    Promise.all(ids.map(async (id) => (await send('GET', `/accounts/${id}`)).json.balance as number))
  const status = async () => (await send('GET', asked.headers.location as string)).json
  return { balances, status }
}

export async function outlastsKills(t: TestContext, { url }: Place): Promise<void> {
  const { balances, status } = await started(await opened(t, url), 40)
  const kills = [1, 7, 15]
  for (const [round, count] of kills.entries()) {
    await killedAt(count, url, round * lease)
    const [from = 0, to = 0] = await balances()
    assert.equal(from + to, 0)
    assert.equal((await status()).status, 'running')
  }
  const early = await opened(t, url, (kills.length - 1) * lease)
  await early.worker.finish()
  assert.equal((await status()).status, 'running') // the killed process has it until its lease ends
  const late = await opened(t, url, kills.length * lease)
  await late.worker.finish()
  const { status: ended, result } = await status()
  assert.deepEqual([ended, result], ['succeeded', { paid: 40 }])
  assert.deepEqual(await balances(), [-40, 40])
}

export async function sharesWork(t: TestContext, { url }: Place): Promise<void> {
  const nodes = [await opened(t, url), await opened(t, url)] as const
  const all = []
  for (let i = 0; i < 6; i++) all.push(await started(nodes[0], 5))
  await Promise.all(nodes.map(({ worker }) => worker.finish()))
  for (const { balances, status } of all) {
    assert.deepEqual(await balances(), [-5, 5])
    assert.equal((await status()).status, 'succeeded')
  }
}

export async function outlastsCuts(t: TestContext, where: Place): Promise<void> {
  const calls = await opened(t, where.url)
  const all = []
  for (let i = 0; i < 4; i++) all.push(await started(calls, 30))
  const nodes = [await opened(t, withCuts(where.url)), await opened(t, withCuts(where.url))]
  assert.ok((await cutDuring(where, Promise.allSettled(nodes.map(({ worker }) => worker.finish())))) > 1)
  for (let round = 1; round < 4; round++) await (await opened(t, where.url, round * lease)).worker.finish()
  for (const { balances, status } of all) {
    assert.deepEqual(await balances(), [-30, 30])
    assert.equal((await status()).status, 'succeeded')
  }
}

/** The store refuses the first of all writes, and says of a later one that its outcome is unknown after it has committed it. */
export async function outlastsFailures(t: TestContext, { url }: Place): Promise<void> {
  let writes = 0
  const failing = (store: Store): Store => ({
    ...store,
    execute: async (plan) => {
      const isWrite = plan.do === 'decide'
      if (isWrite && ++writes === 1) throw conflictProblem(null)
      const outcome = await store.execute(plan)
      if (isWrite && [4, 7].includes(writes)) throw unknownOutcome(null)
      return outcome
    },
  })
  const node = await opened(t, url, 0, undefined, failing)
  const { balances, status } = await started(node, 6)
  await node.worker.finish()
  assert.deepEqual(await balances(), [-6, 6])
  const { status: ended, result } = await status()
  assert.deepEqual([ended, result], ['succeeded', { paid: 6 }])
}
