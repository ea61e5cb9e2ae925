/** Events of the client: an iterator that resumes. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { errorOf, shopOf, soon } from '../../test/help/client-shop.ts'
import type { Fault } from '../../test/help/faulty-proxy.ts'

describe('events', () => {
  test('R213: they come as they happen, and go on after the last one when the connection is lost', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    const ids: string[] = []
    const first = await direct.orders.create({})
    let last = ''
    const stream = shop.events({ types: ['order.created', 'order.placed'], since: '2020-01-01T00:00:00Z' })
    for await (const event of stream) {
      ids.push(`${event.type} ${event.data.id}`)
      last = event.id
      if (ids.length === 1) {
        proxy.cut()
        proxy.faults.push('lose-request', soon)
        await direct.orders.update(first.id, { note: 'not followed' })
        await direct.orders.placements(first.id)
      }
      if (ids.length === 2) break
    }
    assert.deepEqual(ids, [`order.created ${first.id}`, `order.placed ${first.id}`])
    assert.equal(proxy.seen.at(-1)?.headers['last-event-id']?.toString().slice(0, 4), 'evt_')
    const second = await direct.orders.create({})
    for await (const event of shop.events({ after: last, item: second.id, resources: ['orders'] })) {
      assert.equal(event.data.id, second.id)
      break
    }
  })
  test('R213: they end with the signal, and fail if they are refused, missed, or cannot be opened in time', async (t) => {
    const { shop, proxy } = await shopOf(t, { deadline: 1000 })
    const reason = new Error('enough')
    const ending = new AbortController()
    setTimeout(() => ending.abort(reason), 100)
    await assert.rejects(Array.fromAsync(shop.events({}, { signal: ending.signal })), reason)
    const missed = await errorOf(Array.fromAsync(shop.events({ after: 'evt_01h455vb4pex5vsknk084sn02q' })))
    assert.equal(missed.type, 'events-missed')
    assert.equal((await errorOf(Array.fromAsync(shop.events({ types: ['x' as never] })))).type, 'invalid-query')
    proxy.faults.push(...Array<Fault>(20).fill('lose-request'))
    assert.equal((await errorOf(Array.fromAsync(shop.events()))).type, 'no-answer')
  })
})
