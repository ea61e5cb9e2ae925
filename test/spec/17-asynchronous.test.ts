/** Asynchronous operations: 202 with a status, a worker, steps, retries, cancellation, later ones and schedules. R28, R228. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from '../../src/index.ts'
import { testing } from '../../src/testing.ts'

const api = service({
  name: 'shop',
  errors: { 'no-orders': { status: 409, parents: ['conflict'] } },
  scopes: { 'orders:read': 'Read orders', 'orders:export': 'Export orders' },
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        total: f.integer({ filter: 'range' }),
        remindedAt: f.timestamp({ optional: true, readOnly: true }),
      },
      access: 'public',
      operations: {
        exports: {
          at: 'collection',
          input: { least: f.integer({ default: 0 }) },
          output: { count: f.integer(), sum: f.integer() },
          asynchronous: true,
        },
        reminders: { at: 'item', output: { late: f.boolean() }, asynchronous: true },
        audits: { at: 'collection', access: 'orders:export', asynchronous: true },
      },
      schedules: { nightly: { cron: '0 2 * * *', zone: 'Europe/Rome', run: 'exports' } },
    },
  },
})

interface Behaviour {
  failures: number
  readonly ran: string[]
}

const handlersWith = (behaviour: Behaviour) =>
  api.handlers({
    orders: {
      async create({ input, later }) {
        if (input.total > 1000) later('orders.reminders', {}, { id: input.id, after: 'P1D' })
      },
      async exports({ input, pages, step, report, refuse, id, attempt }) {
        const sum = await step('sum', async ({ list }) => {
          behaviour.ran.push(`sum ${attempt}`)
          const all = await list('orders')
          return all.filter(({ total }) => total >= input.least).reduce((sum, { total }) => sum + total, 0)
        })
        await report(50)
        assert.match(id, /^opr_/)
        if (behaviour.failures-- > 0) throw new Error('The disk is full.')
        let count = 0
        for await (const page of pages('orders', { where: { total: { gte: input.least } } })) count += page.length
        if (count === 0) throw refuse('no-orders')
        return { count, sum }
      },
      async reminders({ item, step, now }) {
        await step('mark', ({ change }) => change('orders', item.id, { remindedAt: now }))
        return { late: true }
      },
      async audits() {},
    },
  })

function opened({ failures = 0 } = {}) {
  const behaviour: Behaviour = { failures, ran: [] }
  const door = testing(handlersWith(behaviour))
  const send = async (method: string, path: string, json?: unknown, init: object = {}) => {
    const response = await door.call(path, { method, ...(json === undefined ? {} : { json }), ...init })
    const text = await response.text()
    return { status: response.status, headers: response.headers, json: text === '' ? null : JSON.parse(text) }
  }
  return { ...door, send, behaviour }
}

describe('asynchronous operations', () => {
  test('R28 R228: a request is answered 202 with a status, which a worker brings to its result', async () => {
    const { send, pass, close, behaviour } = opened()
    for (const total of [5, 7]) assert.equal((await send('POST', '/orders', { total })).status, 201)
    const asked = await send('POST', '/orders/exports', { least: 6 })
    assert.equal(asked.status, 202, JSON.stringify(asked.json))
    const { id, status, operation, progress, result, error, _links: links } = asked.json
    assert.deepEqual([status, operation, progress, result, error], ['queued', 'orders.exports', 0, null, null])
    assert.equal(asked.headers.get('location'), `/operations/${id}`)
    assert.deepEqual(links, { self: `/operations/${id}`, cancellations: `/operations/${id}/cancellations` })
    assert.equal((await send('GET', `/operations/${id}`)).json.status, 'queued')
    assert.deepEqual(behaviour.ran, [])
    await pass('PT0S')
    const ended = await send('GET', `/operations/${id}`)
    assert.equal(ended.status, 200)
    assert.deepEqual(
      [ended.json.status, ended.json.progress, ended.json.result],
      ['succeeded', 100, { count: 1, sum: 7 }],
    )
    assert.ok(!JSON.stringify(ended.json).includes('request'))
    await close()
  })
  test('R228: a try that fails is repeated, and a step that was committed is not', async () => {
    const { send, pass, close, behaviour, logged } = opened({ failures: 2 })
    await send('POST', '/orders', { total: 5 })
    const { json } = await send('POST', '/orders/exports', {})
    await pass('PT0S')
    const waiting = (await send('GET', `/operations/${json.id}`)).json
    assert.deepEqual([waiting.status, waiting.progress], ['queued', 50])
    for (let i = 0; i < 3; i++) await pass('PT10M')
    assert.equal((await send('GET', `/operations/${json.id}`)).json.status, 'succeeded')
    assert.deepEqual(new Set(behaviour.ran), new Set(['sum 1'])) // within a try it may run again before it is committed
    const failed = logged.filter(({ about }) => String((about.err as Error)?.message).includes('The disk is full.'))
    assert.deepEqual(new Set(failed.map(({ about }) => about.handler)), new Set(['orders.exports']))
    await close()
  })
  test('R228: after the last try it has failed, and the cause is only in the log', async () => {
    const { send, pass, close } = opened({ failures: 100 })
    await send('POST', '/orders', { total: 5 })
    const { json } = await send('POST', '/orders/exports', {})
    for (let i = 0; i < 8; i++) await pass('PT10M')
    const { status, error } = (await send('GET', `/operations/${json.id}`)).json
    assert.equal(status, 'failed')
    const types = ['internal-error', 'server-error', 'error']
    assert.deepEqual(error, { message: 'The operation failed. The cause is in the log.', type: types[0], types })
    await close()
  })
  test('R160: a refusal ends it with the declared error', async () => {
    const { send, pass, close } = opened()
    const { json } = await send('POST', '/orders/exports', {})
    await pass('PT0S')
    const { status, error } = (await send('GET', `/operations/${json.id}`)).json
    const types = ['no-orders', 'conflict', 'client-error', 'error']
    assert.deepEqual([status, error], ['failed', { message: 'No orders.', type: 'no-orders', types }])
    await close()
  })
  test('it can be cancelled until it has ended', async () => {
    const { send, pass, close, behaviour } = opened()
    const { json } = await send('POST', '/orders/exports', {})
    const cancelled = await send('POST', `/operations/${json.id}/cancellations`)
    assert.deepEqual([cancelled.status, cancelled.json.status], [200, 'cancelled'])
    await pass('PT0S')
    assert.deepEqual(behaviour.ran, [])
    const again = await send('POST', `/operations/${json.id}/cancellations`)
    assert.deepEqual([again.status, again.json.type], [409, 'invalid-state'])
    await close()
  })
  test('R228: its status exists only for callers that may call it, and until its retention is over', async () => {
    const { send, pass, close } = opened()
    const as = { as: { scopes: ['orders:export'] } }
    const { json, status } = await send('POST', '/orders/audits', {}, as)
    assert.equal(status, 202)
    assert.equal((await send('GET', `/operations/${json.id}`, undefined, as)).status, 200)
    assert.equal((await send('GET', `/operations/${json.id}`)).status, 404)
    assert.equal((await send('POST', `/operations/${json.id}/cancellations`)).status, 404)
    await pass('PT0S')
    await pass('P6D')
    assert.equal((await send('GET', `/operations/${json.id}`, undefined, as)).json.status, 'succeeded')
    await pass('P2D')
    assert.equal((await send('GET', `/operations/${json.id}`, undefined, as)).status, 410)
    await pass('P8D')
    assert.equal((await send('GET', `/operations/${json.id}`, undefined, as)).status, 404)
    await close()
  })
  test('R108: a repeat with the key of the first request starts nothing', async () => {
    const { send, pass, close, behaviour } = opened()
    await send('POST', '/orders', { total: 5 })
    const keyed = { headers: { 'idempotency-key': 'k1' } }
    const first = await send('POST', '/orders/exports', {}, keyed)
    const again = await send('POST', '/orders/exports', {}, keyed)
    assert.deepEqual([again.status, again.json.id], [202, first.json.id])
    assert.equal(again.headers.get('idempotency-replayed'), 'true')
    await pass('PT0S')
    assert.equal(behaviour.ran.length, 1)
    await close()
  })
  test('an input that does not fit and a dry run are refused', async () => {
    const { send, close } = opened()
    assert.equal((await send('POST', '/orders/exports', { least: 'x' })).status, 400)
    assert.equal((await send('POST', '/orders/exports?dryRun=true', {})).status, 400)
    assert.equal((await send('POST', '/orders/ord_00000000000000000000000000/reminders', {})).status, 404)
    await close()
  })
  test('a handler starts operations for later, which are committed with its change', async () => {
    const { send, pass, close } = opened()
    const { json } = await send('POST', '/orders', { total: 2000 })
    await pass('PT23H')
    assert.equal((await send('GET', `/orders/${json.id}`)).json.remindedAt, null)
    await pass('PT2H')
    assert.notEqual((await send('GET', `/orders/${json.id}`)).json.remindedAt, null)
    await close()
  })
  test('a schedule starts its operation once for each time, and once for all that were missed', async () => {
    const { send, pass, at, close, behaviour } = opened()
    await send('POST', '/orders', { total: 5 })
    await pass('PT0S')
    const start = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
    await at(`${start}T04:00:00Z`)
    const once = behaviour.ran.length
    assert.ok(once >= 1)
    await pass('PT1H')
    assert.equal(behaviour.ran.length, once)
    await pass('P3D')
    assert.equal(behaviour.ran.length, once + 1)
    await close()
  })
})

describe('handlers of asynchronous operations that go wrong', () => {
  const open = { at: 'collection', asynchronous: true } as const
  const notes = service({
    name: 'notes',
    settings: { operations: { attempts: 2, timeout: 'PT0.2S' } },
    resources: {
      notes: {
        prefix: 'not',
        fields: { text: f.text({ unique: true, max: 100 }) },
        access: 'public',
        operations: {
          waits: open,
          repeats: open,
          reports: open,
          numbers: { ...open, output: { count: f.integer() } },
          twins: open,
          copies: { at: 'item', asynchronous: true },
          removals: open,
          delays: open,
          misspellings: open,
        },
      },
    },
  }).handlers({
    notes: {
      waits: () => new Promise(() => {}),
      async repeats({ step }) {
        await step('one', () => 1)
        await step('one', () => 2)
      },
      reports: ({ report }) => report(101),
      numbers: () => ({ count: 'many' }) as never,
      async twins({ step }) {
        await step('two', ({ create }) => {
          create('notes', { text: 'same' })
          create('notes', { text: 'same' })
        })
      },
      copies: () => {},
      async removals({ step }) {
        await step('remove', ({ remove }) => remove('notes', 'not_00000000000000000000000000'))
      },
      async delays({ step }) {
        const both = { after: 'P1D', at: '2030-01-01T00:00:00Z' } as { readonly after: string }
        await step('delay', ({ later }) => later('notes.waits', {}, both))
      },
      async misspellings({ step }) {
        await step('delay', ({ later }) => later('notes.waits', {}, { afer: 'P1D' } as never))
      },
    },
  })
  const outcomeOf = async (path: string) => {
    const { call, pass, close, logged } = testing(notes)
    const { id } = (await (await call('/notes', { method: 'POST', json: { text: 'a' } })).json()) as { id: string }
    const asked = await call(path.replace('{id}', id), { method: 'POST', json: {} })
    assert.equal(asked.status, 202)
    if (path.includes('{id}')) await call(`/notes/${id}`, { method: 'DELETE' })
    for (let i = 0; i < 3; i++) await pass('PT10M')
    const { status, error } = (await (await call(String(asked.headers.get('location')))).json()) as {
      status: string
      error: { type: string; message: string } | null
    }
    const { data } = (await (await call('/notes')).json()) as { data: unknown[] }
    await close()
    const causes = logged.map(({ about }) => String((about.err as Error)?.message ?? ''))
    return { status, type: error?.type, causes: causes.join(), notes: data.length }
  }
  for (const [path, type, cause] of [
    ['/notes/waits', 'timeout', ''],
    ['/notes/repeats', 'internal-error', 'takes the step one twice'],
    ['/notes/reports', 'internal-error', 'the progress 101'],
    ['/notes/numbers', 'internal-error', 'Its output is not as declared'],
    ['/notes/twins', 'conflict', ''],
    ['/notes/removals', 'internal-error', 'which does not exist'],
    ['/notes/delays', 'internal-error', 'write either after'],
    ['/notes/misspellings', 'internal-error', 'with afer; allowed are'],
  ] as const)
    test(`${path} fails, and changes nothing`, async () => {
      const { causes, ...outcome } = await outcomeOf(path)
      assert.deepEqual(outcome, { status: 'failed', type, notes: 1 })
      assert.ok(causes.includes(cause), causes)
    })
  test('an operation on an item that was removed meanwhile fails', async () => {
    const { status, type } = await outcomeOf('/notes/{id}/copies')
    assert.deepEqual([status, type], ['failed', 'resource-not-found'])
  })
})
