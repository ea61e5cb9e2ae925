/** Publishing: each event reaches the publisher at least once, for each item in order, by one process at a time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EventPublisher, type PublishedEvent, type RefusedEvent, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { places } from '../help/places.ts'
import { publishingShop } from '../help/publishing.ts'

const as = { account: 'acc_1', scopes: ['secrets', 'reactions:read', 'reactions:write'] }

/** A shop whose publisher records the events that it receives, and the functions with which a test uses it. */
function recordingShop(
  database: string,
  act: (events: readonly PublishedEvent[]) => void | Promise<void> | readonly RefusedEvent[] = () => {},
) {
  const calls: (readonly PublishedEvent[])[] = []
  let closed = 0
  const publish: EventPublisher['publish'] = async (events) => {
    calls.push(events)
    return (await act(events)) ?? []
  }
  const close = async () => void closed++
  const { call, ...node } = testing(publishingShop({ publish, close }), { database })
  // biome-ignore lint/suspicious/noExplicitAny: answers are read as they are
  const send = async (method: string, path: string, json?: object): Promise<any> =>
    (await call(path, { method, as, ...(json && { json }) })).json()
  return { ...node, send, calls, closed: () => closed }
}

const notes = (calls: readonly (readonly PublishedEvent[])[]) =>
  calls.map((events) => events.map(({ body }) => JSON.parse(body).data.note))

for (const [name, place] of places) {
  test(`a publisher gets the events of an item one after the other, with their whole content, on ${name}`, async (t) => {
    const { url, rows } = await place(t)
    const { send, pass, close, calls, closed } = recordingShop(url)
    const { id } = await send('POST', '/orders', { note: 'a1', margin: 7, pin: '1234' })
    await send('POST', '/orders', { note: 'b1' })
    await send('PATCH', `/orders/${id}`, { note: 'a2' })
    await send('POST', `/orders/${id}/placements`)
    await pass('PT1S')
    assert.deepEqual(notes(calls), [['a1', 'b1'], ['a2'], ['a2']])
    const [first] = calls.flat()
    const { data, ...event } = JSON.parse(first?.body ?? '')
    assert.deepEqual(first, {
      ...first,
      type: 'order.created',
      item: id,
      account: 'acc_1',
      contentType: 'application/json',
    })
    assert.deepEqual([event.id, event.type, event.sequence, event.version], [first?.id, 'order.created', 1, 'v1'])
    assert.deepEqual([data.id, data.margin, data.pin], [id, 7, undefined])
    assert.equal(calls.flat().at(-1)?.type, 'order.placed')
    const row = await rows('SELECT * FROM bylaw_reactions')
    await pass('PT1S')
    assert.equal(calls.length, 3)
    assert.deepEqual(await rows('SELECT * FROM bylaw_reactions'), row) // an idle publisher writes only to renew its lease
    await close()
    assert.equal(closed(), 1)
  })

  test(`later events wait until a publisher succeeds, and a restarted process goes on behind them, on ${name}`, async (t) => {
    const { url } = await place(t)
    let failing = true
    const own = recordingShop(url, ([event]) => {
      if (failing && JSON.parse(event?.body ?? '').data.note === 'a2') throw new Error('The broker is full.')
    })
    const { id } = await own.send('POST', '/orders', { note: 'a1' })
    await own.send('PATCH', `/orders/${id}`, { note: 'a2' })
    await own.send('POST', '/orders', { note: 'b1' })
    await own.pass('PT0.1S')
    await own.pass('PT0.1S')
    assert.deepEqual(notes(own.calls), [['a1'], ['a2', 'b1']])
    assert.ok(own.logged.some(({ message }) => message === 'Events could not be published; the next try is in 1 s.'))
    await own.pass('PT1S')
    assert.deepEqual(notes(own.calls).slice(2), [['a2', 'b1']])
    assert.ok(own.logged.some(({ message }) => message === 'Events could not be published; the next try is in 2 s.'))
    failing = false
    await own.pass('PT2S')
    assert.deepEqual(notes(own.calls).slice(3), [['a2', 'b1']])
    assert.equal(own.logged.at(-1)?.message, 'Events are published again.')
    await own.send('POST', '/orders', { note: 'c1' })
    await own.close()
    const next = recordingShop(url)
    t.after(next.close)
    await next.pass('PT1S')
    assert.deepEqual(notes(next.calls), [['c1']])
  })

  test(`R231: a refused event is tried again, then parked with later ones of its item, and retried or skipped by hand, on ${name}`, async (t) => {
    const { url } = await place(t)
    let refusing = true
    const own = recordingShop(url, (events) =>
      events.flatMap(({ id, body }) =>
        refusing && JSON.parse(body).data.note.startsWith('bad') ? [{ id, reason: 'The note is bad.' }] : [],
      ),
    )
    t.after(own.close)
    const failures = '/reactions/events.publish/failures'
    const { id } = await own.send('POST', '/orders', { note: 'bad 1' })
    await own.send('PATCH', `/orders/${id}`, { note: 'a2' })
    await own.send('POST', '/orders', { note: 'b1' })
    await own.send('POST', '/orders', { note: 'bad 2' })
    await own.pass('PT0.1S')
    assert.deepEqual(notes(own.calls), [['bad 1'], ['b1', 'bad 2']])
    const refused = own.logged.filter(({ level }) => level === 'warn')
    assert.deepEqual(
      refused.map(({ message, about }) => [message, about.err]),
      Array(2).fill(['The publisher failed; it is tried again in 1 s.', 'The note is bad.']),
    )
    const { data } = await own.send('GET', failures)
    assert.deepEqual(
      data.map((one: Record<string, unknown>) => [one.status, one.tries, one.error]),
      [
        ['waiting', 1, 'The note is bad.'],
        ['behind', 0, null],
        ['waiting', 1, 'The note is bad.'],
      ],
    )
    for (const pause of ['PT1S', 'PT10S', 'PT1M', 'PT10M', 'PT1H', 'PT6H', 'PT24H']) await own.pass(pause)
    const [listed] = (await own.send('GET', '/reactions')).data
    assert.deepEqual(listed, { name: 'events.publish', behind: 0, waiting: 1, parked: 2 })
    const before = own.calls.length
    refusing = false
    await own.pass('P3D')
    assert.equal(own.calls.length, before, 'parked events are not tried')
    await own.send('POST', `${failures}/${data[0].eventId}/retries`)
    await own.send('POST', `${failures}/${data[2].eventId}/skips`)
    await own.pass('PT0.1S')
    assert.deepEqual(notes(own.calls.slice(before)), [['bad 1'], ['a2']])
    assert.deepEqual((await own.send('GET', failures)).data, [])
  })

  test(`one process at a time publishes, and the other one continues when it stops, on ${name}`, async (t) => {
    const { url } = await place(t)
    const entered = Promise.withResolvers<void>()
    const leaving = Promise.withResolvers<void>()
    const one = recordingShop(url, () => {
      entered.resolve()
      return leaving.promise
    })
    await one.send('POST', '/orders', { note: 'a1' })
    const other = recordingShop(url)
    t.after(other.close)
    await other.send('POST', '/orders', { note: 'b1' })
    const passing = one.pass('PT1S')
    await entered.promise
    await other.pass('PT1S')
    assert.deepEqual(notes(other.calls), [])
    leaving.resolve()
    await passing
    assert.deepEqual(notes(one.calls), [['a1', 'b1']])
    await other.send('POST', '/orders', { note: 'c1' })
    await other.pass('PT1S')
    assert.deepEqual(notes(other.calls), [])
    await one.close()
    await other.pass('PT1S')
    assert.deepEqual(notes(other.calls), [['c1']])
  })
}

test('events that were deleted before they were published are counted in the log', async (t) => {
  let failing = false
  const own = recordingShop('sqlite::memory:', () => {
    if (failing) throw new Error('The broker is down.')
  })
  t.after(own.close)
  await own.send('POST', '/orders', { note: 'a1' })
  await own.pass('PT1S')
  failing = true
  for (const note of ['b1', 'c1', 'd1']) await own.send('POST', '/orders', { note })
  await own.pass('PT1S')
  await own.pass('P31D')
  failing = false
  await own.pass('PT1M')
  assert.deepEqual(notes(own.calls).at(-1), ['d1']) // the newest event is always kept
  assert.ok(
    own.logged.some(({ level, message }) => level === 'error' && message.startsWith('2 events were deleted before')),
  )
})

test('a publisher without its two functions, or without events, is a mistake', () => {
  const close = async () => {}
  for (const [wrong, events, part] of [
    [{ close }, true, 'natsPublisher of bylaw/nats'],
    ['nats://127.0.0.1', true, 'natsPublisher of bylaw/nats'],
    [{ close, publish: close }, false, 'No resource has events'],
  ] as const)
    assert.throws(
      () => {
        const { declaration } = publishingShop({ publish: close, close })
        const settings = { events: { publish: wrong } }
        return service({ ...declaration, events, settings } as never)
      },
      (error: Error) => error.message.includes('settings.events.publish') && error.message.includes(part),
    )
})
