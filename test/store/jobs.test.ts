/** Proves that asynchronous operations survive the process that runs them, and that each of their steps is done once. R228. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lease, opened, outlastsFailures, outlastsKills, sharesWork, started } from '../help/job-trials.ts'
import { places } from '../help/places.ts'
import { until } from '../help/until.ts'

for (const [name, place] of places) {
  test(`R228: a killed worker's operation is run again, and no step twice, ${name}`, async (t) =>
    outlastsKills(t, await place(t)))

  test(`R228: two workers do each step once, ${name}`, async (t) => sharesWork(t, await place(t)))

  test(`R228: a step that the store refuses is tried again at once, and one whose commit seemed to fail is not, ${name}`, async (t) =>
    outlastsFailures(t, await place(t)))

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
    const between = await balances() // the other node is running its first step
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
