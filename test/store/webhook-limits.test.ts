/** Webhooks: the number of endpoints, and the tables, which stay bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { places } from '../help/places.ts'
import { webhookNode } from '../help/webhooks.ts'

const endpoint = { url: 'https://hooks.example/in', eventTypes: ['order.created'] }

for (const [name, place] of places)
  test(`R212: an account gets 100 endpoints, also of processes that make them at the same time, on ${name}`, async (t) => {
    const { url, rows } = await place(t)
    const nodes = [1, 2, 3, 4].map(() => webhookNode(t, url))
    const [{ send, other }] = nodes as [(typeof nodes)[number]]
    await Promise.all(Array.from({ length: 99 }, () => send('POST', '/webhook-endpoints', endpoint)))
    const all = nodes.flatMap((node) =>
      Array.from({ length: 5 }, () => node.send('POST', '/webhook-endpoints', endpoint)),
    )
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
