/** Publishing to NATS: nothing is lost or reordered when the broker or the process stops, and repeats are stored once. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { EventPublisher } from 'bylaw'
import { natsPublisher } from 'bylaw/nats'
import { testing } from 'bylaw/testing'
import { nats } from '../help/nats.ts'
import { places } from '../help/places.ts'
import { without } from '../help/programs.ts'
import { publisherTo, publishingShop } from '../help/publishing.ts'

const script = fileURLToPath(new URL('../help/publishing.ts', import.meta.url))
const skip = without('nats-server')
const as = { account: 'acc_1' }

function shopOn(database: string, publisher: EventPublisher, format?: 'cloudevents') {
  const { call, ...node } = testing(publishingShop(publisher, format), { database })
  const send = async (method: string, path: string, json?: object): Promise<{ readonly id: string }> => {
    const answer = await call(path, { method, as, ...(json && { json }) })
    assert.ok(answer.ok, await answer.clone().text())
    return (await answer.json()) as { id: string }
  }
  /** Creates items, each of which is changed and placed. */
  const write = async (...notes: readonly string[]): Promise<void> => {
    for (const note of notes) {
      const { id } = await send('POST', '/orders', { note })
      await send('PATCH', `/orders/${id}`, { note: `${note} again` })
      await send('POST', `/orders/${id}/placements`)
    }
  }
  return { ...node, send, write }
}

const typesOf = (notes: readonly string[]) =>
  notes.flatMap((note) => [`created ${note}`, `updated ${note} again`, `placed ${note} again`])

const shown = ({
  event: { type, data },
}: {
  readonly event: { readonly type: string; readonly data: { note: string } }
}) => `${type.slice('order.'.length)} ${data.note}`

for (const [name, place] of places)
  describe(`publishing to NATS on ${name}`, { skip }, () => {
    test('events are stored in their order, with the id, the type and the account', async (t) => {
      const broker = await nats(t, 'shop')
      const own = shopOn((await place(t)).url, publisherTo(broker.url))
      t.after(own.close)
      await own.write('a', 'b')
      await own.pass('PT1S')
      const messages = await broker.messages('shop')
      assert.deepEqual(messages.map(shown), typesOf(['a', 'b']))
      for (const { subject, id, account, mediaType, event } of messages)
        assert.deepEqual(
          [subject, id, account, mediaType],
          [`shop.${event.type}`, event.id, 'acc_1', 'application/json'],
        )
    })

    test('nothing is lost while the broker is down, and its stream has each event once', async (t) => {
      const broker = await nats(t, 'shop')
      const own = shopOn((await place(t)).url, publisherTo(broker.url))
      t.after(own.close)
      await own.write('a')
      await own.pass('PT1S')
      await broker.kill()
      await own.write('b')
      await own.pass('PT1S')
      await own.write('c')
      await own.pass('PT1S')
      await broker.start()
      await own.pass('PT1M')
      assert.deepEqual((await broker.messages('shop')).map(shown), typesOf(['a', 'b', 'c']))
    })

    test('the broker drops the repeats of a process that was killed before it stored its position', async (t) => {
      const { url, rows } = await place(t)
      const broker = await nats(t, 'shop')
      let acknowledged = 0
      const { publish, close } = publisherTo(broker.url)
      const counting: EventPublisher = {
        publish: async (events) => {
          await publish(events)
          acknowledged += events.length
        },
        close,
      }
      const own = shopOn(url, counting)
      t.after(own.close)
      await own.write('a', 'b')
      const child = spawn(process.execPath, ['--conditions=bylaw-source', script, url, broker.url], {
        stdio: ['ignore', 'inherit', 'inherit'],
      })
      const [, signal] = await once(child, 'exit')
      assert.equal(signal, 'SIGKILL')
      const [{ position } = {}] = await rows("SELECT position FROM bylaw_reactions WHERE name = 'events.publish'")
      assert.deepEqual([Number(position), (await broker.messages('shop')).length], [0, 1])
      await own.pass('PT1S')
      assert.equal(acknowledged, 0) // the killed process still has the lease
      await own.pass('PT31S')
      assert.equal(acknowledged, 6)
      assert.deepEqual((await broker.messages('shop')).map(shown), typesOf(['a', 'b']))
    })

    test('two nodes together store each event once, and those of an item in order', async (t) => {
      const { url } = await place(t)
      const broker = await nats(t, 'shop')
      let [publishing, most] = [0, 0]
      const counted = (): EventPublisher => {
        const { publish, close } = publisherTo(broker.url)
        return {
          close,
          publish: async (events) => {
            most = Math.max(most, ++publishing)
            await publish(events).finally(() => publishing--)
          },
        }
      }
      const nodes = [shopOn(url, counted()), shopOn(url, counted())]
      for (const { close } of nodes) t.after(close)
      const notes = Array.from({ length: 20 }, (_, n) => `n${n}`)
      await Promise.all(
        nodes.map(async ({ write, pass }, i) => {
          for (const note of notes) {
            await write(`${i} ${note}`)
            await pass('PT0.1S')
          }
        }),
      )
      for (const { pass } of nodes) await pass('PT1S')
      const messages = await broker.messages('shop')
      assert.deepEqual([messages.length, new Set(messages.map(({ id }) => id)).size, most], [120, 120, 1])
      for (const own of Map.groupBy(messages, ({ event }) => event.data.id).values())
        assert.deepEqual(
          own.map(({ event }) => event.sequence),
          [1, 2, 3],
        )
    })
  })

describe('publishing to NATS', { skip }, () => {
  test('R231: a large event is stored, and a too large one is tried again while those of other items go on', async (t) => {
    const broker = await nats(t, 'shop')
    const own = shopOn('sqlite::memory:', publisherTo(broker.url))
    t.after(own.close)
    await own.send('POST', '/orders', { note: 'l'.repeat(900_000) })
    await own.pass('PT1S')
    assert.equal((await broker.messages('shop')).at(0)?.event.data.note.length, 900_000)
    const { id } = await own.send('POST', '/orders', { note: 'é'.repeat(600_000) })
    await own.send('PATCH', `/orders/${id}`, { note: 'behind' })
    await own.write('small')
    await own.pass('PT0.1S')
    const lengths = async () => (await broker.messages('shop')).map(({ event }) => event.data.note.length)
    assert.deepEqual(await lengths(), [900_000, 5, 11, 11])
    assert.match(
      own.logged.map(({ about }) => about.err).join(),
      /The event evt_\w+ has 12\d{5} bytes, and the server takes .* 1048576. Raise max_payload/,
    )
    await broker.kill()
    await broker.start(4_000_000)
    await own.pass('PT1M')
    assert.deepEqual((await lengths()).slice(4), [600_000, 6])
  })

  test('R231: an event that is larger than its stream takes stops only later ones of its item', async (t) => {
    const broker = await nats(t, 'shop')
    await broker.limit('shop', 1000)
    const own = shopOn('sqlite::memory:', publisherTo(broker.url))
    t.after(own.close)
    await own.send('POST', '/orders', { note: 'l'.repeat(2000) })
    await own.write('small')
    await own.pass('PT1S')
    assert.deepEqual((await broker.messages('shop')).map(shown), typesOf(['small']))
    assert.match(String(own.logged[0]?.about.err), /evt_\w+ has 2\d{3} bytes, more than the stream shop takes/)
    await broker.limit('shop', 4000)
    await own.pass('PT1M')
    assert.equal((await broker.messages('shop')).at(-1)?.event.data.note.length, 2000)
  })

  test('CloudEvents have their media type', async (t) => {
    const broker = await nats(t, 'shop')
    const own = shopOn('sqlite::memory:', publisherTo(broker.url), 'cloudevents')
    t.after(own.close)
    await own.send('POST', '/orders', { note: 'a' })
    await own.pass('PT1S')
    const [{ mediaType, event } = {}] = await broker.messages('shop')
    assert.deepEqual(
      [mediaType, event.specversion, event.type],
      ['application/cloudevents+json', '1.0', 'order.created'],
    )
  })

  test('a missing stream and another one are named in the log, and the events wait', async (t) => {
    const broker = await nats(t, 'shop', 'other')
    const wrong = [
      [{ stream: 'SHOP', subject: 'gone' }, "nats stream add SHOP --subjects 'gone.>'"],
      [{ stream: 'SHOP', subject: 'other' }, 'expected stream does not match'],
    ] as const
    for (const [options, part] of wrong) {
      const own = shopOn('sqlite::memory:', natsPublisher({ servers: broker.url, ...options }))
      await own.send('POST', '/orders', { note: 'a' })
      await own.pass('PT1S')
      assert.ok(
        own.logged.some(({ about }) => (about.err as Error | undefined)?.message.includes(part)),
        JSON.stringify(own.logged.map(({ about }) => String(about.err))),
      )
      await own.close()
    }
    assert.deepEqual(await broker.messages('other'), [])
  })
})
