/** Proves that asynchronous operations survive the process that runs them, and that each of their steps is done once. R228. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { payingNode } from '../help/job-node.ts'
import { places } from '../help/places.ts'
import { until } from '../help/until.ts'

const script = fileURLToPath(new URL('../help/job-node.ts', import.meta.url))
/** More than the lease of a node: the time that has certainly passed may be some seconds behind. */
const lease = 40_000

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

async function opened(t: TestContext, url: string, ahead = 0, before?: () => Promise<void>) {
  const node = await payingNode(url, ahead, before)
  t.after(node.close)
  return node
}

async function started({ send }: { send: Awaited<ReturnType<typeof opened>>['send'] }, times: number) {
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

for (const [name, place] of places) {
  test(`R228: a killed worker's operation is run again, and no step twice, ${name}`, async (t) => {
    const { url } = await place(t)
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
  })

  test(`R228: two workers do each step once, ${name}`, async (t) => {
    const { url } = await place(t)
    const nodes = [await opened(t, url), await opened(t, url)] as const
    const all = []
    for (let i = 0; i < 6; i++) all.push(await started(nodes[0], 5))
    await Promise.all(nodes.map(({ worker }) => worker.finish()))
    for (const { balances, status } of all) {
      assert.deepEqual(await balances(), [-5, 5])
      assert.equal((await status()).status, 'succeeded')
    }
  })

  test(`R28: a caller that prefers to wait gets the output, ${name}`, async (t) => {
    const { url } = await place(t)
    const node = await opened(t, url)
    const { send, stop } = node.working(50)
    const { id } = (await send('POST', '/accounts', { json: {} })).json
    const json = { from: id, to: id, times: 1 }
    const waited = await send('POST', '/accounts/payments', { json, headers: { prefer: 'wait=20' } })
    assert.deepEqual([waited.status, waited.json], [200, { paid: 1 }])
    const late = await send('POST', '/accounts/naps', { headers: { prefer: 'respond-async, wait=0' } })
    assert.equal(late.status, 202)
    assert.equal(late.headers['preference-applied'], 'respond-async')
    assert.equal(late.headers['retry-after'], '2')
    await until(() => node.logged.includes('It naps.'))
    await send('POST', `${late.headers.location}/cancellations`)
    const long = await send('POST', '/accounts/naps', { headers: { prefer: 'wait=1' } })
    assert.equal(long.status, 202)
    assert.equal(long.headers['preference-applied'], 'wait=1')
    await stop()
  })

  test(`R228: a node that stops hands its operations back at once, ${name}`, async (t) => {
    const { url } = await place(t)
    const node = await opened(t, url)
    const { send, stop } = node.working(50)
    const { headers } = await send('POST', '/accounts/naps')
    await until(() => node.logged.includes('It naps.'))
    await stop()
    const other = await opened(t, url)
    const { stop: stopOther } = other.working(50)
    await until(() => other.logged.includes('It naps.'))
    await send('POST', `${headers.location}/cancellations`)
    await until(async () => (await send('GET', String(headers.location))).json.status === 'cancelled')
    await stopOther()
  })

  test(`R228: an operation that is handed back before its next try begins keeps the tries it had, ${name}`, async (t) => {
    const { url } = await place(t)
    const lost = await opened(t, url)
    const { headers } = await lost.send('POST', '/accounts/naps')
    await lost.worker.start()
    await until(() => lost.logged.includes('Try 1.'))
    const stopping = await opened(t, url, lease)
    void stopping.worker.start()
    await stopping.worker.stop()
    assert.deepEqual(stopping.logged, [])
    const last = await opened(t, url, lease)
    const { send, stop } = last.working(50)
    await until(() => last.logged.includes('It naps.'))
    assert.ok(last.logged.includes('Try 2.'), last.logged.join())
    await send('POST', `${headers.location}/cancellations`)
    await until(async () => (await send('GET', String(headers.location))).json.status === 'cancelled')
    await stop()
    await lost.worker.stop()
  })

  test(`R228: a node whose lease has run out commits no step any more, ${name}`, async (t) => {
    const { url } = await place(t)
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = await opened(t, url, 0, () => {
      reached.resolve()
      return gate.promise
    })
    const { balances, status } = await started(slow, 3)
    const running = slow.worker.finish()
    await reached.promise
    const [taken, later] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const other = await opened(t, url, lease, () => {
      taken.resolve()
      return later.promise
    })
    const finished = other.worker.finish()
    await taken.promise
    gate.resolve()
    await running
    const between = await balances() // the other node is in its first step
    later.resolve()
    await finished
    assert.deepEqual(between, [0, 0])
    assert.deepEqual(await balances(), [-3, 3])
    assert.deepEqual((await status()).result, { paid: 3 })
  })

  test(`R228: a cancelled operation commits no step any more, ${name}`, async (t) => {
    const { url } = await place(t)
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const node = await opened(t, url, 0, () => {
      reached.resolve()
      return gate.promise
    })
    const { balances, status } = await started(node, 3)
    const running = node.worker.finish()
    await reached.promise
    const { id } = await status()
    assert.equal((await node.send('POST', `/operations/${id}/cancellations`)).status, 200)
    gate.resolve()
    await running
    assert.deepEqual(await balances(), [0, 0])
    assert.equal((await status()).status, 'cancelled')
  })
}
