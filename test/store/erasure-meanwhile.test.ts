/** An erasure while consumers of its item run: they store nothing of what they have read before. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { endingAfter, erased, tablesWith } from '../help/erasing.ts'
import { places } from '../help/places.ts'
import { until } from '../help/until.ts'
import { receiver, webhookNode } from '../help/webhooks.ts'

for (const [name, place] of places)
  for (const [kind, tried] of [
    ['reaction', 1],
    ['reaction', 2],
    ['transition by the clock', 2],
  ] as const)
    test(`try ${tried} of a ${kind} during the erasure stores no reason, and the next one gets the empty value, on ${name}`, async (t) => {
      const at = await place(t)
      const tasks = service({
        name: 'tasks',
        events: true,
        errors: { 'not-now': { parents: ['conflict'], status: 409 } },
        resources: {
          tasks: endingAfter(kind === 'reaction' ? 'P9D' : 'PT0.1S'),
        },
      })
      const texts: (string | null)[] = []
      const erasing = Promise.withResolvers<void>()
      const isRefused = async (text: string | null) => {
        texts.push(text)
        if (texts.length === tried) await erasing.promise
        return text !== null
      }
      const { call, pass, close } = testing(
        kind === 'reaction'
          ? tasks.handlers({
              reactions: {
                copies: {
                  on: ['task.created'],
                  async run({ event: { data } }) {
                    if (await isRefused(data.text ?? null)) throw new Error(`${data.text} is refused.`)
                  },
                },
              },
            })
          : tasks.handlers({
              tasks: {
                async endings({ item, refuse }) {
                  if (await isRefused(item.text)) throw refuse('not-now', { message: `${item.text} is refused.` })
                },
              },
            }),
        { database: at.url },
      )
      t.after(close)
      const { id } = (await (await call('/tasks', { method: 'POST', json: { text: 'marked' } })).json()) as {
        id: string
      }
      if (tried === 2) {
        await pass('PT0.2S')
        assert.deepEqual(texts, ['marked'])
      }
      const passed = pass(tried === 2 ? 'PT100S' : 'PT0.1S')
      await until(() => texts.length === tried)
      const { counts } = await erased(tasks as unknown as Service, at, 'tasks', { id })
      assert.deepEqual(counts, { tasks: { items: 1, events: 1, ...(tried === 2 && { reasons: 1 }) } })
      erasing.resolve()
      await passed
      assert.deepEqual(await tablesWith('marked', at), [])
      await pass('PT1H')
      assert.deepEqual([texts.slice(0, tried).filter((text) => text !== 'marked'), texts.at(-1)], [[], null])
    })

for (const [name, place] of places)
  test(`operations that have read an item without being called on it are found, on ${name}`, async (t) => {
    const at = await place(t)
    const shop = service({
      name: 'shop',
      resources: {
        guests: {
          prefix: 'gst',
          fields: { name: f.text({ optional: true, personal: true }) },
          access: 'public',
          operations: {
            reports: {
              at: 'collection',
              output: { ids: f.list(f.text()), names: f.text({ optional: true }) },
              asynchronous: true,
            },
          },
        },
      },
    })
    const reading = Promise.withResolvers<void>()
    const erasing = Promise.withResolvers<void>()
    let isQuiet = false
    const api = shop.handlers({
      guests: {
        async reports({ step, list }) {
          await step('note', async ({ list: listed }) => listed('guests'))
          const guests = await list('guests')
          reading.resolve()
          await erasing.promise
          return isQuiet
            ? { ids: [] }
            : { ids: guests.map(({ id }) => id), names: guests.map((one) => one.name).join() }
        },
      },
    })
    const { call, pass, close } = testing(api, { database: at.url })
    t.after(() => erasing.resolve())
    t.after(close)
    const ask = async (path: string, json = {}) =>
      ((await (await call(path, { method: 'POST', json })).json()) as { id: string }).id
    const id = await ask('/guests', { name: 'marked' })
    const operation = await ask('/guests/reports')
    const passed = pass('PT1S')
    await reading.promise
    const eraseIt = () => erased(shop as unknown as Service, at, 'guests', { id })
    assert.deepEqual(await eraseIt(), { counts: { guests: { items: 1 } }, unended: [operation] })
    erasing.resolve()
    await passed
    assert.deepEqual(await tablesWith('marked', at), ['bylaw_steps', 'operations'])
    assert.deepEqual(await eraseIt(), { counts: { guests: { operations: 1 } }, unended: [] })
    assert.deepEqual(await tablesWith('marked', at), [])
    await call(`/guests/${id}`, { method: 'PATCH', json: { name: 'marked' } })
    isQuiet = true
    await ask('/guests/reports')
    await pass('PT1S')
    assert.deepEqual(await eraseIt(), { counts: { guests: { items: 1, operations: 1 } }, unended: [] })
    assert.deepEqual(await tablesWith('marked', at), [])
  })

for (const [name, place] of places)
  test(`a delivery that is retried while deliveries are read is emptied, on ${name}`, async (t) => {
    const at = await place(t)
    const shop = service({
      name: 'shop',
      events: true,
      settings: { events: { webhooks: true } },
      resources: { guests: { fields: { name: f.text({ optional: true, personal: true }) }, access: 'public' } },
    })
    const { url } = await receiver(t, () => 410)
    const { send, pass } = webhookNode(t, at.url, shop as never, ['webhook-endpoints:read', 'webhook-endpoints:write'])
    const endpoint = await send('POST', '/webhook-endpoints', { url, eventTypes: ['guest.created'] })
    assert.equal(endpoint.status, 201)
    const guest = await send('POST', '/guests', { name: 'marked' })
    await pass('PT1S')
    const [delivery] = (await send('GET', '/webhook-deliveries')).body.data
    assert.equal(delivery.status, 'failed')
    let retries = 0
    const { counts } = await erased(shop as unknown as Service, at, 'guests', guest.body, {
      afterPlan: async (plan) => {
        if (!('collection' in plan) || plan.collection !== 'webhook-deliveries' || retries++ > 0) return
        const { status, body } = await send('POST', `/webhook-deliveries/${delivery.id}/retries`)
        assert.deepEqual([status, body.status], [202, 'pending'])
      },
    })
    assert.ok(retries > 0)
    assert.deepEqual(counts, { guests: { items: 1, events: 1, deliveries: 1 } })
    assert.deepEqual(await tablesWith('marked', at), [])
  })
