/** Reactions: called for each event at least once, for each item in order, with retries. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { places } from '../help/places.ts'

const api = service({
  name: 'shop',
  events: true,
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text() },
      states: { field: 'status', initial: 'draft', transitions: { placements: { from: ['draft'], to: 'placed' } } },
      access: 'public',
    },
    receipts: { prefix: 'rec', fields: { orderId: f.text(), note: f.text() }, access: 'public', events: false },
  },
})

const sender =
  (call: ReturnType<typeof testing>['call']) =>
  // biome-ignore lint/suspicious/noExplicitAny: answers are read as they are
  async (method: string, path: string, json?: object): Promise<any> =>
    (await call(path, { method, ...(json && { json }) })).json()

for (const [name, place] of places)
  test(`R231: a reaction runs once for each event, and creates nothing twice when it is repeated, on ${name}`, async (t) => {
    const { url } = await place(t)
    const seen: string[] = []
    let failing = true
    const handlers = api.handlers({
      reactions: {
        receipts: {
          on: ['order.placed'],
          from: 'start',
          async run({ event, call, attempt }) {
            const { status, body } = await call('POST', '/receipts', {
              body: { orderId: event.data.id, note: event.data.note },
            })
            seen.push(`${event.data.note} ${attempt} ${status} ${body.note}`)
            if (failing && event.data.note === 'b') throw new Error('The printer is out of paper.')
          },
        },
      },
    })
    const { call, pass, close, logged } = testing(handlers, { database: url })
    t.after(close)
    const send = sender(call)
    for (const note of ['a', 'b', 'c']) {
      const { id } = await send('POST', '/orders', { note })
      await send('POST', `/orders/${id}/placements`)
    }
    await pass('PT0.1S')
    assert.deepEqual(seen.sort(), ['a 1 201 a', 'b 1 201 b', 'c 1 201 c'])
    assert.ok(
      logged.some(({ message }) => message.startsWith('The reaction receipts failed; it is tried again in 1 s.')),
    )
    failing = false
    seen.length = 0
    await pass('PT1S')
    assert.deepEqual(seen, ['b 2 201 b'])
    await pass('P1D')
    assert.deepEqual(seen, ['b 2 201 b'])
    const { data } = await send('GET', '/receipts')
    assert.equal(data.length, 3)
  })

test('R231: later events of an item wait for the first one, and those of other items go on', async (t) => {
  const seen: string[] = []
  let failing = true
  const handlers = api.handlers({
    reactions: {
      copies: {
        on: ['order.created', 'order.updated'],
        from: 'start',
        async run({ event }) {
          if (failing && event.data.note.startsWith('bad')) throw new Error('Not now.')
          seen.push(`${event.type} ${event.data.note}`)
        },
      },
    },
  })
  const { call, pass, close } = testing(handlers)
  t.after(close)
  const send = sender(call)
  const { id } = await send('POST', '/orders', { note: 'bad 1' })
  await send('PATCH', `/orders/${id}`, { note: 'good 2' })
  await send('POST', '/orders', { note: 'good' })
  await pass('PT0.1S')
  assert.deepEqual(seen, ['order.created good'])
  await send('PATCH', `/orders/${id}`, { note: 'good 3' })
  await pass('PT5S')
  assert.deepEqual(seen, ['order.created good'])
  failing = false
  await pass('PT10S')
  assert.deepEqual(seen.slice(1), ['order.created bad 1', 'order.updated good 2', 'order.updated good 3'])
})

test('R227 R231: what user code throws is logged and retried, whatever value it is', async (t) => {
  const circular: Record<string, unknown> = {}
  circular.own = circular
  for (const [thrown, text] of [
    [Object.create(null), 'null prototype'],
    [circular, 'Circular'],
    [10n, '10n'],
    [undefined, 'undefined'],
  ] as const) {
    const fail = () => {
      throw thrown
    }
    const handlers = api.handlers({
      orders: { placements: fail },
      reactions: { receipts: { on: ['order.created'], from: 'start', run: fail } },
    })
    const { call, pass, close, logged } = testing(handlers)
    t.after(close)
    const send = sender(call)
    const { id } = await send('POST', '/orders', { note: 'a' })
    assert.equal((await send('POST', `/orders/${id}/placements`)).type, 'internal-error')
    await pass('PT0.1S')
    const causes = logged.flatMap(({ about }) => (about.err === undefined ? [] : String((about.err as Error).message)))
    assert.equal(causes.length, 2, causes.join())
    assert.match(causes[0] ?? '', /^The handler orders\.placements failed: it throws /)
    for (const one of causes) assert.ok(one.includes(text), one)
  }
})

test('a reaction with a wrong name, type or function is refused with all mistakes', () => {
  const wrong = { reactions: { 'Bad name': { on: ['order.gone'], from: 'then', run: 1, when: 2 } } }
  assert.throws(
    () => api.handlers(wrong as never),
    (error: Error) => {
      for (const part of ['when', 'Bad name', 'order.gone', '"then"', '.run'])
        assert.ok(error.message.includes(part), part)
      return true
    },
  )
})
