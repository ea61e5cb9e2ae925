/** Webhooks: the number of endpoints, and the tables, which stay bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { places } from '../help/places.ts'
import { receiver, webhookNode } from '../help/webhooks.ts'

const endpoint = { url: 'https://hooks.example/in', eventTypes: ['order.created'] }

const ownTables = [
  'bylaw_outbox',
  'bylaw_positions',
  'bylaw_webhook_sends',
  'bylaw_webhook_cursors',
  'bylaw_tombstones',
  'webhook_deliveries',
]

const keeping = (retention: string): Service =>
  service({
    name: 'shop',
    scopes: {
      'orders:read': 'Read orders',
      'webhook-endpoints:read': 'Read endpoints',
      'webhook-endpoints:write': 'Change endpoints',
    },
    events: true,
    settings: { events: { webhooks: true, retention } },
    resources: { orders: { fields: { note: f.text() }, owner: 'account', access: 'orders:read' } },
  } as never) as unknown as Service

for (const [name, place] of places) {
  test(`R212: an account gets 100 endpoints, also of processes that make them at the same time, on ${name}`, async (t) => {
    const { url, rows } = await place(t)
    const nodes = [1, 2, 3, 4].map(() => webhookNode(t, url))
    const [{ send, other }] = nodes as [(typeof nodes)[number]]
    const make = async (one: (typeof nodes)[number]) => {
      for (let left = 50; ; left--) {
        const answer = await one.send('POST', '/webhook-endpoints', endpoint)
        if (answer.status !== 503 || left === 0) return answer // on a busy machine, the others keep the lock for too long
      }
    }
    await Promise.all(Array.from({ length: 99 }, () => make(nodes[0] as (typeof nodes)[number])))
    const all = nodes.flatMap((node) => Array.from({ length: 5 }, () => make(node)))
    const answers = await Promise.all(all)
    const count = (status: number) => answers.filter((one) => one.status === status).length
    assert.deepEqual([count(201), count(409)], [1, 19])
    const refused = answers.find(({ status }) => status === 409)
    assert.match(JSON.stringify(refused?.body), /There are 100 endpoints already; remove one that is not used/)
    const [{ made } = {}] = await rows('SELECT count(*) AS made FROM bylaw_webhook_cursors')
    assert.equal(Number(made), 100)
    assert.equal((await other('POST', '/webhook-endpoints', endpoint)).status, 201, 'other accounts have their own')
    await send('DELETE', `/webhook-endpoints/${answers.find(({ status }) => status === 201)?.body.id}`)
    assert.equal((await send('POST', '/webhook-endpoints', endpoint)).status, 201)
    assert.equal((await send('POST', '/webhook-endpoints', endpoint)).status, 409)
  })

  test(`R212: after their retention deliveries and events are gone from all tables, on ${name}`, async (t) => {
    const { url: sinkUrl, received } = await receiver(t)
    const { url, rows } = await place(t)
    const { send, pass } = webhookNode(t, url)
    for (const ordered of [true, false, false])
      await send('POST', '/webhook-endpoints', { url: sinkUrl, eventTypes: ['order.*'], ordered })
    const sizes = async () => {
      const counts = ownTables.map(async (one) => [one, Number((await rows(`SELECT count(*) AS n FROM ${one}`))[0]?.n)])
      return Object.fromEntries(await Promise.all(counts))
    }
    const work = async (): Promise<void> => {
      const make = async () => (await send('POST', '/orders', { note: 'a' })).body.id
      const ids = await Promise.all(Array.from({ length: 150 }, make))
      await Promise.all(ids.map((id) => send('PATCH', `/orders/${id}`, { note: 'b' })))
      received.length = 0
      await pass('PT1S')
      assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 300)
      assert.equal(received.length, 900)
    }
    const empty = await sizes()
    await work()
    const full = await sizes()
    assert.equal(full.bylaw_webhook_sends, 900)
    await pass('P31D')
    await pass('P31D')
    const swept = await sizes()
    // The newest event stays, as it names the end of the list. Deliveries leave no tombstones.
    assert.deepEqual(swept, { ...empty, bylaw_outbox: 1, bylaw_positions: 1 })
    await work()
    await pass('P31D')
    await pass('P31D')
    assert.deepEqual(await sizes(), swept)
    assert.equal((await send('GET', '/webhook-deliveries')).body.data.length, 0)
  })

  test(`R212: deliveries of a retention without an end go if it is limited later, on ${name}`, async (t) => {
    const { url: sinkUrl, received } = await receiver(t)
    const { url, rows } = await place(t)
    const counted = async () => Number((await rows('SELECT count(*) AS n FROM bylaw_webhook_sends'))[0]?.n)
    const former = webhookNode(t, url, keeping('forever'))
    await former.send('POST', '/webhook-endpoints', { url: sinkUrl, eventTypes: ['order.*'] })
    await former.send('POST', '/orders', { note: 'a' })
    await former.pass('PT1S')
    await former.pass('P400D')
    assert.deepEqual([received.length, await counted()], [1, 1])
    await former.close()
    const { send, pass } = webhookNode(t, url, keeping('P10D'))
    await pass('P9D')
    assert.equal(await counted(), 1)
    await pass('P2D')
    await pass('PT1M')
    assert.equal(await counted(), 0)
    assert.deepEqual((await send('GET', '/webhook-deliveries')).body.data, [])
  })
}
