/** Webhooks: endpoints, and deliveries of events to them with signatures and retries. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { verify } from 'bylaw/webhooks'
import { places } from '../help/places.ts'
import { sink } from '../help/sinks.ts'
import { until } from '../help/until.ts'
import { type Answer, type Received, receiver, scopes, webhookNode } from '../help/webhooks.ts'

const late = { tolerance: 1e9 }

for (const [name, place] of places) {
  test(`R209 R210 R212: an event is delivered with a signature, and again after a failure, on ${name}`, async (t) => {
    const answers = [500, 204]
    const { url, received } = await receiver(t, () => answers.shift() ?? 204)
    const { send, pass } = webhookNode(t, (await place(t)).url)
    const made = await send('POST', '/webhook-endpoints', { url, eventTypes: ['order.*'] })
    assert.equal(made.status, 201, JSON.stringify(made.body))
    const { id, secret } = made.body
    assert.match(secret, /^whsec_/)
    const { body: order } = await send('POST', '/orders', { note: 'a' })
    await pass('PT0.1S')
    assert.equal(received.length, 1)
    const [first] = received as [Received]
    const event = await verify(first.headers as never, first.body, [secret])
    assert.equal(event.type, 'order.created')
    assert.equal(event.data.id, order.id)
    const { body: pending } = await send('GET', `/webhook-deliveries?endpointId=${id}`)
    assert.equal(pending.data[0].status, 'pending')
    assert.equal(pending.data[0].attempts[0].responseStatus, 500)
    await pass('PT8S')
    assert.equal(received.length, 2)
    assert.equal(received[1]?.headers['webhook-id'], first.headers['webhook-id'])
    assert.notEqual(received[1]?.headers['webhook-timestamp'], first.headers['webhook-timestamp'])
    const { body: done } = await send('GET', '/webhook-deliveries?status=succeeded')
    assert.equal(done.data[0].attempts.length, 2)
    assert.match(done.data[0].attempts[0].duration, /^PT[0-9.]+S$/)
    await pass('P1D')
    assert.equal(received.length, 2)
  })

  test(`R210 R211: a redirect is a failure, Retry-After lengthens a pause, and 410 disables the endpoint, on ${name}`, async (t) => {
    const answers: Answer[] = [
      { status: 302, headers: { location: '/elsewhere' } },
      { status: 503, headers: { 'retry-after': '7200' } },
      410,
    ]
    const { url, received } = await receiver(t, () => answers.shift() ?? 204)
    const { send, pass, logged } = webhookNode(t, (await place(t)).url)
    const { body: made } = await send('POST', '/webhook-endpoints', { url, eventTypes: ['order.created'] })
    await send('POST', '/orders', { note: 'a' })
    await pass('PT0.1S')
    await pass('PT7S')
    assert.equal(received.length, 2)
    await pass('PT10M')
    assert.equal(received.length, 2, 'Retry-After is longer than the pause')
    await pass('PT2H')
    assert.equal(received.length, 3)
    const { body: endpoint } = await send('GET', `/webhook-endpoints/${made.id}`)
    assert.equal(endpoint.status, 'disabled')
    assert.equal(endpoint.disabledReason, 'The endpoint answered 410.')
    assert.ok(logged.some(({ message }) => message === 'An endpoint of webhooks was disabled.'))
    const { body: failed } = await send('GET', '/webhook-deliveries?status=failed')
    const told = failed.data[0].attempts.map((one: { responseStatus: number }) => one.responseStatus)
    assert.deepEqual(told, [302, 503, 410])
    await send('POST', '/orders', { note: 'missed' })
    await pass('PT1S')
    const enabled = await send('PATCH', `/webhook-endpoints/${made.id}`, { status: 'enabled' })
    assert.equal(enabled.status, 200)
    assert.equal(enabled.body.disabledReason, null)
    await send('POST', '/orders', { note: 'new' })
    await pass('PT1S')
    assert.equal(received.length, 4)
    assert.ok(received[3]?.body.includes('"new"'), 'new events only')
    const replays = await send('POST', `/webhook-endpoints/${made.id}/replays`, { since: '2020-01-01T00:00:00Z' })
    assert.equal(replays.status, 202)
    await pass('PT1S')
    assert.equal(received.length, 7)
  })

  test(`R209 R212: secrets are shown once, rotate with an overlap, and are in no list or delivery, on ${name}`, async (t) => {
    const { url, received } = await receiver(t)
    const { send, pass, logged } = webhookNode(t, (await place(t)).url)
    for (const signature of ['v1', 'v1a']) {
      received.length = 0
      const made = await send('POST', '/webhook-endpoints', { url, eventTypes: ['order.created'], signature })
      const { id, secret, publicKey } = made.body
      const key = { 'idempotency-key': `"rotation-${signature}"` }
      const rotate = () => send('POST', `/webhook-endpoints/${id}/secret-rotations`, { overlap: 'PT1H' }, key)
      const rotated = await rotate()
      assert.equal(rotated.status, 200, JSON.stringify(rotated.body))
      assert.notEqual(rotated.body.secret, secret)
      const again = await rotate()
      assert.equal(again.headers.get('idempotency-replayed'), 'true')
      assert.equal(again.body.secret, null)
      const sample = await send('POST', `/webhook-endpoints/${id}/tests`)
      assert.equal(sample.status, 202, JSON.stringify(sample.body))
      assert.equal(sample.body.endpointId, id)
      await pass('PT0.1S')
      const keys = signature === 'v1' ? [secret, rotated.body.secret] : [publicKey, rotated.body.publicKey]
      for (const one of keys) await verify(received[0]?.headers as never, received[0]?.body as string, [one], late)
      await pass('PT2H')
      await send('POST', `/webhook-endpoints/${id}/tests`)
      await pass('PT0.1S')
      const [, second] = received as [Received, Received]
      await verify(second.headers as never, second.body, [keys[1]], late)
      await assert.rejects(verify(second.headers as never, second.body, [keys[0]], late), {
        fault: 'no-matching-signature',
      })
      const lists = await Promise.all(['endpoints', 'deliveries'].map((one) => send('GET', `/webhook-${one}`)))
      for (const one of [secret, rotated.body.secret])
        assert.ok(!JSON.stringify([lists, logged]).includes(one.slice(6)), 'the secret is nowhere else')
      await send('DELETE', `/webhook-endpoints/${id}`)
    }
  })

  test(`R212: a failing event of an ordered endpoint stops only later ones of its item, on ${name}`, async (t) => {
    let failing = true
    const { url, received } = await receiver(t, ({ body }) => (failing && body.includes('"bad') ? 500 : 204))
    const { send, pass } = webhookNode(t, (await place(t)).url)
    await send('POST', '/webhook-endpoints', { url, eventTypes: ['order.*'], ordered: true })
    const { body: bad } = await send('POST', '/orders', { note: 'bad 1' })
    await send('PATCH', `/orders/${bad.id}`, { note: 'later 2' })
    await send('POST', '/orders', { note: 'other' })
    await pass('PT0.1S')
    const notes = () => received.map(({ body }) => JSON.parse(body).data.note)
    assert.deepEqual(notes().sort(), ['bad 1', 'other'])
    failing = false
    received.length = 0
    await pass('PT7S')
    assert.deepEqual(notes(), ['bad 1', 'later 2'])
  })

  test(`R212: other accounts see nothing, wrong endpoints are refused, and a delivery is repeated by hand, on ${name}`, async (t) => {
    const { url, received } = await receiver(t)
    const { send, other, pass } = webhookNode(t, (await place(t)).url)
    const refused = await send('POST', '/webhook-endpoints', {
      url: 'https://a:b@c.example',
      eventTypes: ['ordr.placed'],
    })
    assert.equal(refused.status, 400)
    assert.equal(
      refused.body.errors[1].message,
      'There are no events of the type "ordr.placed" in v1, the version of the endpoint. Did you mean order.placed? Allowed: order.*, order.created, order.updated, order.deleted and order.placed.',
    )
    const pointers = refused.body.errors.map((one: { pointer: string }) => one.pointer)
    assert.deepEqual(pointers, ['/url', '/eventTypes/0'])
    const { body: made } = await send('POST', '/webhook-endpoints', { url, eventTypes: ['order.created'] })
    assert.deepEqual(made.scopes.toSorted(), scopes)
    assert.equal((await send('PATCH', `/webhook-endpoints/${made.id}`, { url: 'https://a:b@c.example' })).status, 400)
    assert.equal((await other('GET', `/webhook-endpoints/${made.id}`)).status, 404)
    await other('POST', '/orders', { note: 'of others' })
    await send('POST', '/orders', { note: 'own' })
    await pass('PT0.1S')
    assert.equal(received.length, 1)
    assert.equal((await other('GET', '/webhook-deliveries')).body.data.length, 0)
    const { body: all } = await send('GET', '/webhook-deliveries')
    const [{ id }] = all.data
    assert.equal((await other('POST', `/webhook-deliveries/${id}/retries`)).status, 404)
    const again = await send('POST', `/webhook-deliveries/${id}/retries`)
    assert.equal(again.status, 202, JSON.stringify(again.body))
    assert.equal(again.body.status, 'pending')
    await pass('PT0.1S')
    assert.equal(received.length, 2)
    assert.equal(received[1]?.headers['webhook-id'], received[0]?.headers['webhook-id'])
    await pass('P40D')
    assert.equal((await send('GET', '/webhook-deliveries')).body.data.length, 0, 'kept as long as events')
  })

  test(`R212: two processes send each delivery once, and an endpoint that hangs delays no other, on ${name}`, async (t) => {
    const { url, received } = await receiver(t)
    const hanging = await sink(t, () => {})
    const place1 = await place(t)
    const [one, two] = [webhookNode(t, place1.url), webhookNode(t, place1.url)]
    for (let n = 0; n < 12; n++) await one.send('POST', '/orders', { note: 'before' })
    await one.send('POST', '/webhook-endpoints', { url, eventTypes: ['order.created'] })
    for (let n = 0; n < 30; n++) await one.send('POST', '/orders', { note: `${n}` })
    await Promise.all([one.pass('PT0.1S'), two.pass('PT0.1S')])
    await one.pass('PT0.1S')
    assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 30)
    assert.equal(received.length, 30)
    const stuck = hanging.url.replace('hooks.example', '127.0.0.1')
    await one.send('POST', '/webhook-endpoints', { url: stuck, eventTypes: ['order.created'] })
    for (let n = 0; n < 12; n++) await one.send('POST', '/orders', { note: 'more' })
    const passed = one.pass('PT0.1S')
    await until(() => received.length >= 42)
    // The hanging connections end now, so that the test need not wait for the 20 s of an attempt.
    const ending = setInterval(() => hanging.sockets.forEach((socket) => void socket.destroy()), 20)
    await passed
    clearInterval(ending)
  })

  test(`R210 R212: a retry by hand during an attempt is sent after it, whatever it was answered, on ${name}`, async (t) => {
    const held: ServerResponse[] = []
    const { url } = await sink(t, (_, response) => void held.push(response))
    const { send, pass } = webhookNode(t, (await place(t)).url)
    const to = url.replace('hooks.example', '127.0.0.1')
    await send('POST', '/webhook-endpoints', { url: to, eventTypes: ['order.created'] })
    await send('POST', '/orders', { note: 'a' })
    const passed = pass('PT0.1S')
    for (const [n, status] of [204, 500, 204].entries()) {
      await until(() => held.length > n)
      const { data } = (await send('GET', '/webhook-deliveries')).body
      assert.deepEqual([data[0].status, data[0].attempts.length], ['pending', n])
      if (n < 2) assert.equal((await send('POST', `/webhook-deliveries/${data[0].id}/retries`)).status, 202)
      held[n]?.writeHead(status).end()
    }
    await passed
    const [delivery] = (await send('GET', '/webhook-deliveries')).body.data
    assert.deepEqual([delivery.status, delivery.attempts.length, held.length], ['succeeded', 3, 3])
    await pass('P1D')
    assert.equal(held.length, 3)
  })
}
