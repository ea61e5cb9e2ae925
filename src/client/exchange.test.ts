/** Retries of the client: which calls are repeated, how long, and what becomes of lost answers. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { service } from 'bylaw'
import { client, entityTag } from 'bylaw/client'
import { errorOf, shopOf, soon } from '../../test/help/client-shop.ts'
import { type Fault, faultyProxy } from '../../test/help/faulty-proxy.ts'
import { streamingNode } from '../../test/help/streaming.ts'
import { pauseBefore } from './exchange.ts'

const busy: Fault = {
  ...{ status: 409, headers: { 'retry-after': '0' } },
  body: '{"message":"Wait.","type":"idempotency-in-progress"}',
}

describe('retries', () => {
  test('R105: a create whose answers are lost makes one item, and returns it', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    for (const fault of [
      'lose-answer',
      'break-answer',
      'lose-request',
      soon,
      { status: 502, body: '<html>' },
      busy,
    ] as const) {
      proxy.seen.length = 0
      proxy.faults.push(fault)
      const order = await shop.orders.create({ note: JSON.stringify(fault) })
      assert.ok(order[entityTag])
      assert.equal((await Array.fromAsync(direct.orders.list({ where: { note: JSON.stringify(fault) } }))).length, 1)
      const [first, second] = proxy.seen
      assert.equal(first?.headers['idempotency-key'], second?.headers['idempotency-key'])
    }
    const order = await direct.orders.create({})
    for (const below of ['order-lines', 'slots'] as const) {
      proxy.faults.push('lose-answer')
      const made =
        below === 'slots'
          ? shop.orders(order).slots.create({ number: '1' })
          : shop.orders(order)[below].create({ quantity: 1 })
      assert.equal((await made).orderId, order.id)
    }
  })
  test('R96: 409 with old_id is an error unless this call has lost an answer', async (t) => {
    const { shop, proxy } = await shopOf(t)
    const { id } = await shop.orders.create({}, { idempotencyKey: 'own' })
    const reused = await errorOf(shop.orders.create({}, { idempotencyKey: 'own' }))
    assert.deepEqual([reused.type, reused.oldId, reused.uncertain], ['idempotency-key-reused', id, false])
    proxy.faults.push({ status: 429, headers: { 'retry-after': '0' } })
    assert.equal((await errorOf(shop.orders.create({}, { idempotencyKey: 'own' }))).oldId, id)
    proxy.faults.push('lose-request')
    assert.equal((await shop.orders.create({}, { idempotencyKey: 'own' })).id, id)
    proxy.faults.push('lose-request')
    assert.equal(
      (await errorOf(shop.orders.create({ note: 'other' }, { idempotencyKey: 'own' }))).type,
      'idempotency-key-payload-mismatch',
    )
  })
  test('R104, R105: if the created item cannot be read, the refusal of the read is reported', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    proxy.faults.push('lose-answer')
    proxy.meanwhile = async () => {
      for await (const { id } of direct.orders.list()) await direct.orders.remove(id)
    }
    const error = await errorOf(shop.orders.create({}))
    assert.deepEqual([error.type, error.status, error.oldId?.slice(0, 4)], ['resource-deleted', 410, 'ord_'])
    for (const status of [403, 404]) {
      proxy.faults.push('lose-answer', 'none', { status, body: `{"message":"No.","type":"t${status}"}` })
      assert.deepEqual(await errorOf(shop.orders.create({})).then(({ type }) => type as string), `t${status}`)
    }
  })
  test('R108: a transition and an operation are carried out once', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    const order = await direct.orders.create({})
    proxy.faults.push('lose-answer')
    assert.equal((await shop.orders.placements(order)).status, 'placed')
    proxy.faults.push('lose-answer', 'lose-answer')
    assert.deepEqual(await shop.orders.reminders(order.id), { sentTo: 'Ann' })
  })
  test('R133: reads and removals are repeated, writes without a condition are not', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    const order = await direct.orders.create({})
    proxy.faults.push('lose-answer', soon)
    assert.equal((await shop.orders.get(order.id)).id, order.id)
    for (const write of [() => shop.orders.update(order.id, { note: 'a' }), () => shop.orders.replace(order.id, {})]) {
      proxy.faults.push('lose-answer')
      proxy.seen.length = 0
      const error = await errorOf(write())
      assert.deepEqual([error.type, error.uncertain, proxy.seen.length], ['no-answer', true, 1])
    }
    proxy.faults.push('lose-answer', 'lose-answer')
    await shop.orders.remove(order.id)
    assert.equal((await errorOf(direct.orders.get(order.id))).status, 410)
  })
  test('R133: a removal is done if the service forgets deletions and the first answer was lost', async (t) => {
    const notes = service({
      name: 'notes',
      resources: { notes: { fields: {}, access: 'public' } },
      settings: { delete: { repeat: 'gone' } },
    })
    const node = await streamingNode(t, notes)
    const proxy = await faultyProxy(t, node.port)
    // biome-ignore lint/suspicious/noExplicitAny: the types of this service are not of interest
    const { notes: all } = client<any>({ url: proxy.url }) as any
    const note = await all.create({})
    proxy.faults.push('lose-answer')
    await all.remove(note)
    const error = await errorOf(all.remove(note.id))
    assert.equal(error.uncertain, false)
  })
  test('requests that a repeat cannot mend are not repeated', async (t) => {
    const { shop, proxy } = await shopOf(t)
    for (const status of [400, 401, 403, 404, 501]) {
      proxy.seen.length = 0
      proxy.faults.push({ status, body: '{"message":"No.","type":"no"}' })
      assert.equal((await errorOf(shop.orders.get('ord_1'))).status, status)
      assert.equal(proxy.seen.length, 1)
    }
  })
  test('Retry-After is waited for, and not if it lies beyond the deadline', async (t) => {
    const { shop, proxy } = await shopOf(t)
    proxy.faults.push({ status: 503, headers: { 'retry-after': '1' } })
    const begin = performance.now()
    await Array.fromAsync(shop.orders.list())
    assert.ok(performance.now() - begin >= 990) // a timer may be a millisecond early
    const date = new Date(Date.now() + 3_600_000).toUTCString()
    for (const later of ['3600', date]) {
      proxy.faults.push({
        status: 429,
        headers: { 'retry-after': later },
        body: '{"message":"No.","type":"quota-exceeded"}',
      })
      const error = await errorOf(shop.orders.create({}))
      assert.deepEqual([error.type, error.uncertain], ['quota-exceeded', false])
      assert.ok((error.retryAfter ?? 0) > 3_000_000)
    }
  })
  test('a try ends after `timeout`, and a call after `deadline`', async (t) => {
    const { shop, proxy } = await shopOf(t, { timeout: 250, deadline: 20_000 })
    proxy.faults.push('hang')
    assert.match((await shop.orders.create({})).id, /^ord_/)
    proxy.faults.push(...Array<Fault>(100).fill('hang'))
    const error = await errorOf(shop.orders.create({}, { deadline: 600 }))
    assert.deepEqual([error.type, error.uncertain], ['no-answer', true])
    assert.equal((error.cause as Error).name, 'TimeoutError')
  })
  test('a signal ends a call that waits for an answer, for a repeat, or has not begun', async (t) => {
    const { shop, proxy } = await shopOf(t)
    const reason = new Error('enough')
    for (const fault of ['hang', { status: 503, headers: { 'retry-after': '20' } }] as const) {
      proxy.faults.push(fault)
      const ending = new AbortController()
      const call = shop.orders.create({}, { signal: ending.signal })
      setTimeout(() => ending.abort(reason), 50)
      await assert.rejects(call, reason)
    }
    proxy.seen.length = 0
    await assert.rejects(shop.orders.create({}, { signal: AbortSignal.abort(reason) }), reason)
    await assert.rejects(Array.fromAsync(shop.orders.list({}, { signal: AbortSignal.abort(reason) })), reason)
    assert.equal(proxy.seen.length, 0)
  })
})

test('pauses double up to a limit, are shortened by chance, and are never shorter than Retry-After', () => {
  const pauses = (random: number) => [1, 2, 6, 7, 50].map((tries) => pauseBefore(tries, null, random))
  assert.deepEqual(pauses(1), [200, 400, 6400, 8000, 8000])
  assert.deepEqual(pauses(0), [100, 200, 3200, 4000, 4000])
  assert.equal(pauseBefore(1, 3000, 0), 3100)
})
