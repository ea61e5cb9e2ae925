/** Contract section 5: rules that depend on the item, in streams, webhooks, handlers and asynchronous operations. R170. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caller, f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { places } from '../help/places.ts'
import { streamingNode } from '../help/streaming.ts'
import { until } from '../help/until.ts'
import { receiver } from '../help/webhooks.ts'

const rule = [{ scope: 'all' }, { where: { assigneeId: caller } }] as const
const office = service({
  name: 'office',
  events: true,
  settings: { events: { webhooks: true, stream: true } },
  scopes: { all: 'All orders' },
  resources: {
    orders: {
      prefix: 'ord',
      owner: 'account',
      fields: {
        title: f.text({ max: 50 }),
        assigneeId: f.text({ max: 100 }),
        twinId: f.ref('orders', { optional: true }),
      },
      operations: {
        reports: { at: 'item', asynchronous: true, output: { title: f.text() } },
        copies: { at: 'item', output: { titles: f.list(f.text()) } },
      },
      access: { read: rule, write: rule },
    },
  },
}).handlers({
  orders: {
    change: ({ item, next, set, caller }) => {
      if (next.title === 'take') set({ assigneeId: String(caller.id) })
      if (next.title === 'give') set({ assigneeId: 'nobody' })
      if (next.title === 'seen') set({ title: `${item?.title} seen` })
    },
    reports: ({ item }) => ({ title: item.title }),
    copies: async ({ list, item }) => ({
      titles: [item.title, ...(await list('orders')).map(({ title }) => title)].sort(),
    }),
  },
})

const hooks = ['webhook-endpoints:read', 'webhook-endpoints:write']
const people = {
  ann: { id: 'ann', account: 'north', scopes: hooks },
  bob: { id: 'bob', account: 'north', scopes: hooks },
  boss: { id: 'boss', account: 'north', scopes: ['all', ...hooks] },
}

for (const [name, place] of places) {
  test(`R170 R212: endpoints of webhooks are for those who may read all items, on ${name}`, async (t) => {
    const { url, received } = await receiver(t)
    const { call, pass, close } = testing(office, { database: (await place(t)).url })
    t.after(close)
    const send = async (who: keyof typeof people, method: string, path: string, json?: object) => {
      const answer = await call(path, { method, as: people[who], ...(json && { json }) })
      return { status: answer.status, json: JSON.parse((await answer.text()) || 'null') }
    }
    const endpoint = { url, eventTypes: ['order.*'] }
    assert.deepEqual((await send('ann', 'POST', '/webhook-endpoints', endpoint)).status, 403)
    const made = await send('boss', 'POST', '/webhook-endpoints', endpoint)
    assert.equal(made.status, 201)
    await send('boss', 'POST', '/orders', { title: 'a', assigneeId: 'ann' })
    await pass('PT0.1S')
    assert.equal(received.length, 1)
    assert.equal((await send('boss', 'GET', '/webhook-deliveries')).json.data.length, 1)
    assert.deepEqual((await send('ann', 'GET', '/webhook-deliveries')).json.data, [])
    assert.deepEqual((await send('ann', 'GET', '/webhook-endpoints')).json.data, [])
    const id = made.json.id
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/test-deliveries'],
    ] as const)
      assert.equal((await send('ann', method, `/webhook-endpoints/${id}${path}`)).status, 404, `${method} ${path}`)
    assert.equal((await send('ann', 'PATCH', `/webhook-endpoints/${id}`, { url: `${url}/b` })).status, 404)
  })

  test(`R170 R226: handlers act for the service, and the row that they leave has to be in the rule, on ${name}`, async (t) => {
    const { call, close } = testing(office, { database: (await place(t)).url })
    t.after(close)
    const send = async (who: keyof typeof people, method: string, path: string, json?: object, headers = {}) => {
      const answer = await call(path, { method, as: people[who], headers, ...(json && { json }) })
      return { status: answer.status, json: JSON.parse((await answer.text()) || 'null') }
    }
    const mine = (await send('ann', 'POST', '/orders', { title: 'a', assigneeId: 'ann' })).json
    const his = (await send('bob', 'POST', '/orders', { title: 'b', assigneeId: 'bob' })).json
    assert.equal((await send('ann', 'PATCH', `/orders/${mine.id}`, { title: 'seen' })).json.title, 'a seen')
    assert.equal((await send('ann', 'PATCH', `/orders/${mine.id}`, { title: 'give' })).status, 403)
    assert.equal((await send('boss', 'PATCH', `/orders/${mine.id}`, { title: 'give' })).status, 200)
    assert.equal((await send('ann', 'GET', `/orders/${mine.id}`)).status, 404)
    const calls = await send('bob', 'POST', `/orders/${his.id}/copies`, {})
    assert.deepEqual(calls.json.titles, ['b', 'b', 'give'])
    assert.equal((await send('ann', 'POST', `/orders/${his.id}/copies`, {})).status, 404)
    assert.equal((await send('ann', 'POST', `/orders/${his.id}/reports`, {})).status, 404)
    const started = await send('bob', 'POST', `/orders/${his.id}/reports`, {})
    assert.equal(started.status, 202)
    assert.equal((await send('bob', 'GET', `/operations/${started.json.id}`)).status, 200)
    assert.equal((await send('ann', 'GET', `/operations/${started.json.id}`)).status, 404)
    assert.equal((await send('ann', 'POST', `/operations/${started.json.id}/cancellations`, {})).status, 404)
    assert.equal((await send('boss', 'GET', `/operations/${started.json.id}`)).status, 200)
  })
}

for (const [name, place] of places)
  test(`R170: a rule can be declared when there are rows, on ${name}`, async (t) => {
    const { url } = await place(t)
    const plans = (access: object | string) =>
      service({
        name: 'plans',
        scopes: { all: 'All' },
        resources: { plans: { prefix: 'pla', owner: 'account', fields: { who: f.text({ max: 50 }) }, access } },
      } as never)
    const before = testing(plans('authenticated') as typeof office, { database: url })
    for (const who of ['ann', 'bob', 'ann'])
      await before.call('/plans', { method: 'POST', json: { who }, as: { account: 'north' } })
    await before.close()
    const access = { read: [{ scope: 'all' }, { where: { who: caller } }], write: 'all' }
    const { call, close } = testing(plans(access) as typeof office, { database: url })
    t.after(close)
    const { data, pagination } = JSON.parse(await (await call('/plans', { as: people.ann })).text())
    assert.deepEqual([data.length, pagination.totalRecords], [2, 2])
  })

test('R170 R213: a stream has the events of the rows that the caller may read', async (t) => {
  const { send, open, store } = await streamingNode(t, office as never)
  const { keyFor } = await import('../help/door.ts')
  const keys: Record<string, Record<string, string>> = {}
  for (const who of ['ann', 'boss'] as const) {
    const { account, scopes } = people[who]
    keys[who] = await keyFor(store, who, { account, scopes, tier: null, features: [] }, Date.now())
  }
  for (const door of ['node:http', 'fetch'] as const) {
    const [hers, all] = [await open[door]('/events', keys.ann), await open[door]('/events', keys.boss)]
    const post = (title: string, to: string) =>
      send('POST', '/orders', {
        json: { title, assigneeId: `key:${to}` },
        headers: keys.boss as Record<string, string>,
      })
    await post('hidden one', 'bob')
    await post('shown', 'ann')
    await post('hidden two', 'bob')
    await post('last', 'ann')
    await until(() => hers.text().includes('last') && all.text().includes('last'))
    assert.ok(all.text().includes('hidden two'))
    assert.ok(hers.text().includes('shown') && !hers.text().includes('hidden'))
    const id = /id: (evt_\w+)/.exec(hers.text())?.[1] as string
    const again = await open[door]('/events', { ...keys.ann, 'last-event-id': id })
    await until(() => again.text().includes('last'))
    assert.ok(!again.text().includes('hidden'))
    for (const one of [hers, all, again]) one.leave()
  }
})
