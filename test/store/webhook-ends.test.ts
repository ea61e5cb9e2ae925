/** Webhooks: what disables an endpoint, and the reason in the endpoint and in the log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issueKey, listKeys, revokeKeys } from '../../src/auth/key-table.ts'
import { newApiKey, sealKey } from '../../src/auth/keys.ts'
import { sweepOldEvents } from '../../src/events/event-relay.ts'
import { openStore } from '../../src/terminal/open.ts'
import { places } from '../help/places.ts'
import { receiver, scopes, webhookNode, webhookShop } from '../help/webhooks.ts'

const day = 86_400_000
const disabledLine = 'An endpoint of webhooks was disabled.'

for (const [name, place] of places) {
  test(`R210: an endpoint at which nothing succeeds for five days is disabled, one that recovers is not, on ${name}`, async (t) => {
    const [status, recovering] = [[500], [500]]
    const { url, received } = await receiver(t, () => status[0] as number)
    const other = await receiver(t, () => recovering[0] as number)
    const { send, pass, logged } = webhookNode(t, (await place(t)).url)
    const make = async (to: string) =>
      (await send('POST', '/webhook-endpoints', { url: to, eventTypes: ['order.created'] })).body.id
    const [id, id2] = [await make(url), await make(other.url)]
    const read = async (one: string) => (await send('GET', `/webhook-endpoints/${one}`)).body
    await send('POST', '/orders', { note: 'first' })
    await pass('PT0.1S')
    await pass('P4D')
    assert.deepEqual([received.length > 1, (await read(id)).status], [true, 'enabled'])
    recovering[0] = 204
    await send('POST', '/orders', { note: 'second' })
    await pass('PT1S')
    recovering[0] = 500
    await pass('PT23H')
    assert.equal((await read(id)).status, 'enabled', 'not yet five days')
    await send('POST', '/orders', { note: 'third' })
    await pass('PT2H')
    const [failed, recovered] = [await read(id), await read(id2)]
    assert.deepEqual([failed.status, failed.disabledReason], ['disabled', 'Nothing could be delivered for five days.'])
    assert.deepEqual([recovered.status, recovered.disabledReason], ['enabled', null])
    const told = logged.filter(({ message }) => message === disabledLine).map(({ about }) => about)
    assert.deepEqual(told, [{ endpoint: id, reason: failed.disabledReason }])
    const before = received.length
    await pass('P2D')
    assert.equal(received.length, before, 'a disabled endpoint gets nothing')
    const left = await send('GET', `/webhook-deliveries?endpointId=${id}&status=pending`)
    assert.deepEqual(left.body.data, [])
    status[0] = 204
    await send('PATCH', `/webhook-endpoints/${id}`, { status: 'enabled' })
    await send('POST', '/orders', { note: 'fourth' })
    await pass('PT1S')
    assert.equal(received.length, before + 1, 'the five days begin again')
  })

  test(`R212: an endpoint whose next events are kept no longer is disabled, one without new events is not, on ${name}`, async (t) => {
    const { url, received } = await receiver(t)
    const { url: database } = await place(t)
    const store = await openStore(webhookShop, database, 'apply')
    t.after(() => store.close())
    const { send, pass, logged } = webhookNode(t, database)
    const { body: made } = await send('POST', '/webhook-endpoints', { url, eventTypes: ['order.created'] })
    const sweep = (): Promise<void> => {
      const world = { due: () => store.clock.due() + 40 * day }
      return sweepOldEvents({ store, world, retention: 30 * day } as Parameters<typeof sweepOldEvents>[0])
    }
    for (const note of ['a', 'b']) await send('POST', '/orders', { note })
    await pass('PT1S')
    await sweep()
    await send('POST', '/orders', { note: 'c' })
    await pass('PT1S')
    assert.equal(received.length, 3, 'it had all events that were deleted')
    for (const note of ['d', 'e', 'f']) await send('POST', '/orders', { note })
    await send('GET', '/orders') // gives the last event its position
    await sweep()
    await pass('PT1S')
    const { body: endpoint } = await send('GET', `/webhook-endpoints/${made.id}`)
    assert.deepEqual(
      [endpoint.status, endpoint.disabledReason],
      ['disabled', 'Events that it has not got are kept no longer.'],
    )
    assert.equal(received.length, 3)
    assert.ok(
      logged.some(
        ({ level, message, about }) => level === 'warn' && message === disabledLine && about.endpoint === made.id,
      ),
    )
  })

  test(`R212: revoking the key that made an endpoint disables it, also for deliveries that wait, on ${name}`, async (t) => {
    const status = [500]
    const { url, received } = await receiver(t, () => status[0] as number)
    const { url: database } = await place(t)
    const store = await openStore(webhookShop, database, 'apply')
    t.after(() => store.close())
    const { send, call, pass, logged } = webhookNode(t, database)
    const issue = async (keyName: string, id: string): Promise<string> => {
      const key = newApiKey(crypto.getRandomValues(new Uint8Array(32)))
      const holder = { account: 'acc_1', scopes, tier: null, features: [] }
      const own = { id, name: keyName, hash: sealKey(key, store.secret), created: 1, expires: null, revoked: null }
      assert.ok(await issueKey(store, { ...own, ...holder }, 2))
      return key
    }
    const make = async (key: string) => {
      const headers = { authorization: `Bearer ${key}` }
      const json = { url, eventTypes: ['order.created'] }
      const answer = await call('/webhook-endpoints', { method: 'POST', headers, json })
      assert.equal(answer.status, 201)
      return ((await answer.json()) as { id: string }).id
    }
    const id = await make(await issue('ci', 'key_1'))
    await issue('ci', 'key_2')
    const read = async () => (await send('GET', `/webhook-endpoints/${id}`)).body
    await send('POST', '/orders', { note: 'a' })
    await pass('PT0.1S')
    assert.equal(received.length, 1)
    await revokeKeys(store, ['key_1'], store.clock.due())
    await pass('PT10S')
    assert.deepEqual([received.length, (await read()).status], [2, 'enabled'], 'another key of its name is in force')
    await revokeKeys(store, ['key_2'], store.clock.due())
    assert.ok((await listKeys(store, 'ci')).every(({ revoked }) => revoked !== null))
    status[0] = 204
    await pass('PT10M')
    assert.equal(received.length, 2, 'the retry is not sent')
    const endpoint = await read()
    assert.deepEqual(
      [endpoint.status, endpoint.disabledReason],
      ['disabled', 'The API key that made it is not valid any more.'],
    )
    assert.ok(logged.some(({ message, about }) => message === disabledLine && about.endpoint === id))
    const { body } = await send('GET', `/webhook-deliveries?endpointId=${id}`)
    assert.deepEqual(
      body.data.map((one: { status: string }) => one.status),
      ['failed'],
    )
  })
}
