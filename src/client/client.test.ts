/** The typed client through HTTP: what it sends, what it makes of answers, and what it does when they do not come. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { describe, type TestContext, test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { count, f, service } from 'bylaw'
import { type ClientOptions, client, type ErrorOf, entityTag, isApiError } from 'bylaw/client'
import { keyFor } from '../../test/help/door.ts'
import { type Fault, faultyProxy } from '../../test/help/faulty-proxy.ts'
import { imports } from '../../test/help/source.ts'
import { streamingNode } from '../../test/help/streaming.ts'

const api = service({
  name: 'shop',
  events: true,
  errors: { 'too-much': { status: 409, parents: ['conflict'] } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        note: f.text({ optional: true, filter: 'like', sort: true }),
        total: f.decimal({ scale: 2, default: '0.00', filter: ['range', 'ne'], sort: true }),
        dueAt: f.timestamp({ optional: true }),
        secret: f.text({ optional: true, writeOnly: true }),
        lineCount: f.integer({ derived: count('order-lines') }),
        buyer: f.object({ name: f.text({ filter: true }) }, { default: { name: 'Ann' } }),
      },
      sorts: { worth: ['-total', 'note'] },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          cancellations: { from: ['draft', 'placed'], to: 'cancelled', input: { reason: f.text() } },
        },
      },
      operations: {
        quotes: { at: 'collection', input: { quantity: f.integer() }, output: { total: f.decimal({ scale: 2 }) } },
        reminders: { at: 'item', output: { sentTo: f.text() } },
        exports: { at: 'collection', output: { count: f.integer() }, asynchronous: true },
      },
      access: 'public',
    },
    'order-lines': {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { quantity: f.integer({ min: 1 }) },
      access: 'public',
    },
    slots: {
      parent: { resource: 'orders', onDelete: 'cascade' },
      key: 'number',
      fields: { number: f.text({ pattern: '^[0-9]{1,4}$', immutable: true }), free: f.boolean({ default: true }) },
      access: 'public',
    },
    files: { fields: { text: f.text() }, access: 'authenticated', events: false },
  },
  settings: { events: { stream: true } },
})
type Api = typeof api

const handled = api.handlers({
  orders: {
    quotes: ({ input, refuse }) => {
      if (input.quantity > 9) throw refuse('too-much', { pointer: '/quantity' })
      return { total: `${input.quantity}.00` }
    },
    reminders: ({ item, set }) => {
      set({ note: 'reminded' })
      return { sentTo: item.buyer.name }
    },
    exports: () => ({ count: 1 }),
  },
})

/** A client whose requests go through a proxy with faults, and one without. */
async function shopOf(t: TestContext, options: Partial<ClientOptions<Api>> = {}) {
  const node = await streamingNode(t, handled as never)
  const proxy = await faultyProxy(t, node.port)
  const direct = client<Api>({ url: `http://127.0.0.1:${node.port}` })
  return { shop: client<Api>({ url: proxy.url, ...options }), direct, proxy, ...node }
}

/** The error that a call is rejected with. */
async function errorOf(call: Promise<unknown>): Promise<ErrorOf<Api>> {
  const error = await call.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  )
  assert.ok(isApiError<Api>(error), String(error))
  return error
}

const soon: Fault = { status: 503, headers: { 'retry-after': '0' } }

describe('methods', () => {
  test('R88, R92: create, read, change, replace, remove, transitions and operations', async (t) => {
    const { shop, proxy } = await shopOf(t)
    const order = await shop.orders.create({ note: 'first' })
    assert.match(order.id, /^ord_/)
    assert.match(order[entityTag] ?? '', /^"1-/)
    assert.equal((await shop.orders.get(order.id)).note, 'first')
    const changed = await shop.orders.update(order, { note: 'second' })
    assert.equal(changed.note, 'second')
    const replaced = await shop.orders.replace(changed, { ...changed, note: 'third' })
    assert.deepEqual([replaced.note, replaced.id], ['third', order.id])
    assert.equal((await shop.orders.placements(replaced)).status, 'placed')
    assert.equal((await shop.orders.cancellations(order.id, { reason: 'late' })).status, 'cancelled')
    assert.deepEqual(await shop.orders.quotes({ quantity: 2 }), { total: '2.00' })
    assert.deepEqual(await shop.orders.reminders(order.id), { sentTo: 'Ann' })
    const started = await shop.orders.exports()
    assert.equal((await shop.operations.get<typeof started>(started.id)).status, 'queued')
    assert.equal((await shop.operations.cancellations(started.id)).status, 'cancelled')
    assert.equal(await shop.orders.remove(order.id), undefined)
    assert.equal((await errorOf(shop.orders.get(order.id))).type, 'resource-deleted')
    const keys = proxy.seen.filter(({ method }) => method === 'POST').map(({ headers }) => headers['idempotency-key'])
    assert.equal(new Set(keys).size, keys.length)
    assert.ok(!keys.includes(undefined))
  })
  test('R4: what is below a parent, with ids of its own or a key', async (t) => {
    const { shop } = await shopOf(t)
    const order = await shop.orders.create({})
    const { 'order-lines': lines, slots } = shop.orders(order)
    const line = await lines.create({ quantity: 2 })
    assert.equal(line.orderId, order.id)
    assert.equal((await shop['order-lines'].update(line, { quantity: 3 })).quantity, 3)
    assert.equal((await Array.fromAsync(lines.list())).length, 1)
    const slot = await slots.replace('17', {})
    assert.deepEqual([slot.id, slot.orderId], ['17', order.id])
    assert.equal((await slots.update(slot, { free: false })).free, false)
    assert.equal((await shop.orders(order.id).slots.get('17')).free, false)
  })
  test('R160: ids that are no segment of a path are refused before anything is sent', async (t) => {
    const { shop, proxy } = await shopOf(t)
    for (const id of ['', '.', '..']) await assert.rejects(async () => shop.orders.remove(id), TypeError)
    assert.equal((await errorOf(shop.orders.get('../files?x=1#'))).type, 'resource-not-found')
    assert.deepEqual(
      proxy.seen.map(({ url }) => url),
      ['/orders/..%2Ffiles%3Fx%3D1%23'],
    )
  })
  test('R163: the key is sent with each request, and a function is asked for it', async (t) => {
    const keys = ['wrong']
    const { shop, store } = await shopOf(t, { key: async () => keys.at(-1) as string })
    const { authorization = '' } = await keyFor(store, 'client', {}, Date.now())
    assert.equal((await errorOf(shop.files.create({ text: 'a' }))).status, 401)
    keys.push(authorization.replace('Bearer ', ''))
    assert.equal((await shop.files.create({ text: 'a' })).text, 'a')
  })
  test('the client is no promise and has no other properties', async (t) => {
    const { shop } = await shopOf(t)
    assert.equal(await shop, shop)
    assert.equal(JSON.stringify({ shop, orders: shop.orders }), '{"shop":{}}')
  })
})

describe('lists', () => {
  test('R71, R86: items come page by page, filtered and sorted', async (t) => {
    const { shop, proxy } = await shopOf(t)
    for (const [note, total] of [
      ['a', '1'],
      ['b,"\\', '2'],
      ['c', '3'],
      [null, '4'],
    ] as const)
      await shop.orders.create({ note, total })
    proxy.seen.length = 0
    const notes = async (query: Parameters<typeof shop.orders.list>[0]) =>
      (await Array.fromAsync(shop.orders.list(query))).map(({ note }) => note)
    assert.deepEqual(await notes({ sort: '-total', pageSize: 3 }), [null, 'c', 'b,"\\', 'a'])
    assert.equal(proxy.seen.length, 2)
    assert.deepEqual(await notes({ where: { note: ['a', 'b,"\\'] }, sort: 'note' }), ['a', 'b,"\\'])
    assert.deepEqual(await notes({ where: { total: { gte: '1.5', ne: '3' } }, sort: 'total' }), ['b,"\\', null])
    assert.deepEqual(await notes({ where: { note: null } }), [null])
    assert.deepEqual(await notes({ where: { 'buyer.name': 'Ann', status: 'draft' }, sort: 'note', nulls: 'first' }), [
      null,
      'a',
      'b,"\\',
      'c',
    ])
    assert.deepEqual(await notes({ customSort: 'worth' }), [null, 'c', 'b,"\\', 'a'])
    const sizes: number[] = []
    for await (const { data } of shop.orders.list({ pageSize: 3 }).pages()) sizes.push(data.length)
    assert.deepEqual(sizes, [3, 1])
    proxy.seen.length = 0
    for await (const order of shop.orders.list({ pageSize: 1 })) if (order.note === 'a') break
    assert.equal(proxy.seen.length, 1)
  })
  for (const list of [
    { links: 'body' },
    { links: 'none' },
    { pagination: { styles: ['page'], style: 'page' }, pageSize: 1 },
    { pagination: { styles: ['offset'], style: 'offset' }, links: 'body', pageSize: 1 },
  ] as const)
    test(`R86: all items come with ${JSON.stringify(list)}, in both cases of names`, async (t) => {
      for (const naming of ['camel', 'snake'] as const) {
        const notes = service({
          name: 'notes',
          resources: { notes: { fields: { text: f.text() }, access: 'public' } },
          settings: { naming, list },
        })
        const { port } = await streamingNode(t, notes)
        const { notes: all } = client<typeof notes>({ url: `http://127.0.0.1:${port}/` })
        for (const text of ['a', 'b', 'c']) await all.create({ text })
        const options = 'pageSize' in list ? {} : { pageSize: 1 }
        assert.deepEqual(
          (await Array.fromAsync(all.list(options))).map(({ text }) => text),
          ['a', 'b', 'c'],
        )
      }
    })
  test('R86: a list that does not say where its next page is fails, and does not seem to end', async (t) => {
    const notes = service({
      name: 'notes',
      resources: { notes: { fields: { text: f.text() }, access: 'public' } },
      settings: { list: { links: 'none', pagination: { names: { nextCursor: 'more', hasMore: 'on' } } } },
    })
    const { port } = await streamingNode(t, notes)
    const { notes: all } = client<typeof notes>({ url: `http://127.0.0.1:${port}` })
    await all.create({ text: 'a' })
    const error = await errorOf(Array.fromAsync(all.list()))
    assert.match(error.message, /list\.links/)
  })
})

describe('retries', () => {
  test('R100: a create whose answers are lost makes one item, and returns it', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    for (const fault of [
      'lose-answer',
      'break-answer',
      'lose-request',
      soon,
      { status: 502, body: '<html>' },
    ] as const) {
      proxy.seen.length = 0
      proxy.faults.push(fault)
      const order = await shop.orders.create({ note: JSON.stringify(fault) })
      assert.ok(order[entityTag])
      assert.equal((await Array.fromAsync(direct.orders.list({ where: { note: JSON.stringify(fault) } }))).length, 1)
      const [first, second] = proxy.seen
      assert.equal(first?.headers['idempotency-key'], second?.headers['idempotency-key'])
    }
    const order = await direct.orders.create({})
    for (const below of ['order-lines', 'slots'] as const) {
      proxy.faults.push('lose-answer')
      const made =
        below === 'slots'
          ? shop.orders(order).slots.create({ number: '1' })
          : shop.orders(order)[below].create({ quantity: 1 })
      assert.equal((await made).orderId, order.id)
    }
  })
  test('R96: 409 with old_id is an error unless this call has lost an answer', async (t) => {
    const { shop, proxy } = await shopOf(t)
    const { id } = await shop.orders.create({}, { idempotencyKey: 'own' })
    const reused = await errorOf(shop.orders.create({}, { idempotencyKey: 'own' }))
    assert.deepEqual([reused.type, reused.oldId, reused.uncertain], ['idempotency-key-reused', id, false])
    proxy.faults.push({ status: 429, headers: { 'retry-after': '0' } })
    assert.equal((await errorOf(shop.orders.create({}, { idempotencyKey: 'own' }))).oldId, id)
    proxy.faults.push('lose-request')
    assert.equal((await shop.orders.create({}, { idempotencyKey: 'own' })).id, id)
    proxy.faults.push('lose-request')
    assert.equal(
      (await errorOf(shop.orders.create({ note: 'other' }, { idempotencyKey: 'own' }))).type,
      'idempotency-key-payload-mismatch',
    )
  })
  test('R135: if the created item cannot be read, the refusal of the read is reported', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    proxy.faults.push('lose-answer')
    proxy.meanwhile = async () => {
      for await (const { id } of direct.orders.list()) await direct.orders.remove(id)
    }
    const error = await errorOf(shop.orders.create({}))
    assert.deepEqual([error.type, error.status, error.oldId?.slice(0, 4)], ['resource-deleted', 410, 'ord_'])
    for (const status of [403, 404]) {
      proxy.faults.push('lose-answer', 'none', { status, body: `{"message":"No.","type":"t${status}"}` })
      assert.deepEqual(await errorOf(shop.orders.create({})).then(({ type }) => type as string), `t${status}`)
    }
  })
  test('R98: a transition and an operation are carried out once', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    const order = await direct.orders.create({})
    proxy.faults.push('lose-answer')
    assert.equal((await shop.orders.placements(order)).status, 'placed')
    proxy.faults.push('lose-answer', 'lose-answer')
    assert.deepEqual(await shop.orders.reminders(order.id), { sentTo: 'Ann' })
  })
  test('R110: reads and removals are repeated, writes without a condition are not', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    const order = await direct.orders.create({})
    proxy.faults.push('lose-answer', soon)
    assert.equal((await shop.orders.get(order.id)).id, order.id)
    for (const write of [() => shop.orders.update(order.id, { note: 'a' }), () => shop.orders.replace(order.id, {})]) {
      proxy.faults.push('lose-answer')
      proxy.seen.length = 0
      const error = await errorOf(write())
      assert.deepEqual([error.type, error.uncertain, proxy.seen.length], ['no-answer', true, 1])
    }
    proxy.faults.push('lose-answer', 'lose-answer')
    await shop.orders.remove(order.id)
    assert.equal((await errorOf(direct.orders.get(order.id))).status, 410)
  })
  test('R133: a removal is done if the service forgets deletions and the first answer was lost', async (t) => {
    const notes = service({
      name: 'notes',
      resources: { notes: { fields: {}, access: 'public' } },
      settings: { delete: { repeat: 'gone' } },
    })
    const node = await streamingNode(t, notes)
    const proxy = await faultyProxy(t, node.port)
    // biome-ignore lint/suspicious/noExplicitAny: the types of this service are not of interest
    const { notes: all } = client<any>({ url: proxy.url }) as any
    const note = await all.create({})
    proxy.faults.push('lose-answer')
    await all.remove(note)
    const error = await errorOf(all.remove(note.id))
    assert.equal(error.uncertain, false)
  })
  test('what no repeat can mend is not repeated', async (t) => {
    const { shop, proxy } = await shopOf(t)
    for (const status of [400, 401, 403, 404, 501]) {
      proxy.seen.length = 0
      proxy.faults.push({ status, body: '{"message":"No.","type":"no"}' })
      assert.equal((await errorOf(shop.orders.get('ord_1'))).status, status)
      assert.equal(proxy.seen.length, 1)
    }
  })
  test('Retry-After is waited for, and not if it lies beyond the deadline', async (t) => {
    const { shop, proxy } = await shopOf(t)
    proxy.faults.push({ status: 503, headers: { 'retry-after': '1' } })
    const begin = performance.now()
    await Array.fromAsync(shop.orders.list())
    assert.ok(performance.now() - begin >= 1000)
    const date = new Date(Date.now() + 3_600_000).toUTCString()
    for (const later of ['3600', date]) {
      proxy.faults.push({
        status: 429,
        headers: { 'retry-after': later },
        body: '{"message":"No.","type":"quota-exceeded"}',
      })
      const error = await errorOf(shop.orders.create({}))
      assert.deepEqual([error.type, error.uncertain], ['quota-exceeded', false])
      assert.ok((error.retryAfter ?? 0) > 3_000_000)
    }
  })
  test('a try ends after `timeout`, and a call after `deadline`', async (t) => {
    const { shop, proxy } = await shopOf(t, { timeout: 50, deadline: 2000 })
    proxy.faults.push('hang')
    assert.match((await shop.orders.create({})).id, /^ord_/)
    proxy.faults.push(...Array<Fault>(100).fill('hang'))
    const error = await errorOf(shop.orders.create({}, { deadline: 300 }))
    assert.deepEqual([error.type, error.uncertain], ['no-answer', true])
    assert.equal((error.cause as Error).name, 'TimeoutError')
  })
  test('a signal ends a call that waits for an answer, for a repeat, or has not begun', async (t) => {
    const { shop, proxy } = await shopOf(t)
    const reason = new Error('enough')
    for (const fault of ['hang', { status: 503, headers: { 'retry-after': '20' } }] as const) {
      proxy.faults.push(fault)
      const ending = new AbortController()
      const call = shop.orders.create({}, { signal: ending.signal })
      setTimeout(() => ending.abort(reason), 50)
      await assert.rejects(call, reason)
    }
    proxy.seen.length = 0
    await assert.rejects(shop.orders.create({}, { signal: AbortSignal.abort(reason) }), reason)
    await assert.rejects(Array.fromAsync(shop.orders.list({}, { signal: AbortSignal.abort(reason) })), reason)
    assert.equal(proxy.seen.length, 0)
  })
})

describe('writes of what was read', () => {
  test('R119: a write of an item that has changed since is 412, and one of its id is not', async (t) => {
    const { shop, direct } = await shopOf(t)
    const order = await shop.orders.create({})
    await direct.orders.update(order.id, { note: 'other' })
    for (const write of [
      () => shop.orders.update(order, { total: '1' }),
      () => shop.orders.replace(order, {}),
      () => shop.orders.placements(order),
      () => shop.orders.remove(order),
    ]) {
      const error = await errorOf(write())
      assert.deepEqual([error.type, error.status, error.uncertain], ['precondition-failed', 412, false])
    }
    assert.equal((await shop.orders.update(order.id, { total: '1' })).total, '1.00')
  })
  test('R119: a change that is a function is applied again to the item as it is', async (t) => {
    const { shop, direct } = await shopOf(t)
    const order = await shop.orders.create({ total: '1' })
    await direct.orders.update(order.id, { total: '5' })
    const seen: string[] = []
    const more = await shop.orders.update(order, ({ total }) => {
      seen.push(total)
      return { total: `${Number(total) + 1}.00` }
    })
    assert.deepEqual([more.total, seen], ['6.00', ['1.00', '5.00']])
    const adding = Array.from({ length: 8 }, () =>
      shop.orders.update(order.id, async ({ total }) => ({ total: `${Number(total) + 1}.00` })),
    )
    await Promise.all(adding)
    assert.equal((await direct.orders.get(order.id)).total, '14.00')
  })
  test('R119: 412 after a lost answer is a success if the item has what was written, in any form', async (t) => {
    const { shop, proxy } = await shopOf(t)
    const order = await shop.orders.create({})
    proxy.faults.push('lose-answer')
    const change = { total: '7.5', dueAt: '2027-01-01T00:00:00Z', buyer: { name: 'Bob' }, note: null }
    const changed = await shop.orders.update(order, change)
    assert.deepEqual([changed.total, changed.buyer], ['7.50', { name: 'Bob' }])
    assert.match(changed[entityTag] ?? '', /^"2-/)
    proxy.faults.push('lose-answer')
    assert.equal((await shop.orders.replace(changed, { ...changed, note: 'put' })).note, 'put')
  })
  test('R119: it is an error if the item has another value, or the value cannot be read', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    const order = await shop.orders.create({})
    proxy.faults.push('lose-answer')
    proxy.meanwhile = () => direct.orders.update(order.id, { note: 'other' })
    const error = await errorOf(shop.orders.update(order, { note: 'mine' }))
    assert.deepEqual([error.type, error.uncertain], ['precondition-failed', true])
    proxy.faults.push('lose-answer')
    for (const secret of ['x', null]) {
      proxy.faults.splice(0, 1, 'lose-answer')
      const hidden = await errorOf(shop.orders.update(await direct.orders.get(order.id), { secret }))
      assert.equal(hidden.type, 'precondition-failed')
    }
    proxy.faults.push('lose-answer')
    proxy.meanwhile = () => direct.orders.remove(order.id)
    const gone = await errorOf(shop.orders.update(await direct.orders.get(order.id), { note: 'gone' }))
    assert.deepEqual([gone.status, gone.uncertain], [410, true])
  })
  test('R119: a function is not applied twice when nobody knows whether it was applied once', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    const order = await shop.orders.create({ total: '5' })
    const less = () => shop.orders.update(order, ({ total }) => ({ total: `${Number(total) - 1}.00` }))
    proxy.faults.push('lose-request')
    proxy.meanwhile = () => direct.orders.update(order.id, { total: '4' })
    const error = await errorOf(less())
    assert.deepEqual([error.type, error.uncertain], ['precondition-failed', true])
    assert.equal((await direct.orders.get(order.id)).total, '4.00')
  })
  test('an item without a tag is refused before anything is sent', async (t) => {
    const notes = service({
      name: 'notes',
      resources: { notes: { fields: { text: f.text() }, access: 'public' } },
      settings: { etag: { mode: 'weak' } },
    })
    const { port } = await streamingNode(t, notes)
    const { notes: all } = client<typeof notes>({ url: `http://127.0.0.1:${port}` })
    const note = await all.create({ text: 'a' })
    assert.equal(note[entityTag], null)
    await assert.rejects(async () => all.update(note, { text: 'b' }), /no strong ETag.*give its id/)
    assert.equal((await all.update(note.id, { text: 'b' })).text, 'b')
  })
  test('R116: a caller that may change but not read gets null', async (t) => {
    const notes = service({
      name: 'notes',
      scopes: { 'notes:read': 'Read notes' },
      resources: { notes: { fields: { text: f.text() }, access: { read: 'notes:read', write: 'public' } } },
    })
    const { port } = await streamingNode(t, notes)
    const { notes: all } = client<typeof notes>({ url: `http://127.0.0.1:${port}` })
    const { id } = await all.create({ text: 'a' })
    assert.equal(await all.update(id, { text: 'b' }), null)
  })
})

describe('errors', () => {
  test('R150: they are discriminated by type, and have all mistakes', async (t) => {
    const { shop } = await shopOf(t)
    const error = await errorOf(shop.orders.create({ note: 1, totl: '2' } as never))
    if (error.type !== 'validation-failed') assert.fail(error.type)
    assert.equal(error.status satisfies 400, 400)
    assert.deepEqual(
      error.errors.map(({ type, pointer }) => [type, pointer]),
      [
        ['invalid-type', '/note'],
        ['unknown-field', '/totl'],
      ],
    )
    assert.ok(error.types.includes('client-error'))
    assert.ok(error.headers.get('request-id'))
    const declared = await errorOf(shop.orders.quotes({ quantity: 10 }))
    if (declared.type === 'too-much') assert.equal(declared.status satisfies 409, 409)
    else assert.fail(declared.type)
  })
  test('an answer that is not of the service is an error, and so is a redirect', async (t) => {
    const { shop, proxy } = await shopOf(t)
    for (const fault of [
      { status: 200, body: '<html>Log in</html>' },
      { status: 404, body: 'not here' },
      { status: 301, headers: { location: '/elsewhere' } },
      { status: 204 },
    ]) {
      proxy.faults.push(fault)
      proxy.seen.length = 0
      const error = await errorOf(Array.fromAsync(shop.orders.list()))
      assert.deepEqual([error.type, proxy.seen.length], ['unexpected-answer', 1])
    }
  })
  test('a service that cannot be reached is named, with the cause', async () => {
    const shop = client<Api>({ url: 'http://127.0.0.1:1', deadline: 300 })
    const error = await errorOf(shop.orders.get('ord_1'))
    assert.match(error.message, /GET \/orders\/ord_1 got no answer/)
    assert.ok(error.cause instanceof Error)
    assert.throws(() => client<Api>({ url: 'orders' }), TypeError)
    assert.throws(
      () => client<Api>({ url: 'http://me:secret@127.0.0.1/' }),
      (thrown) => !/secret/.test(String(thrown)),
    )
    const header = client<Api>({ url: 'http://127.0.0.1:1', key: 'a\nb' })
    await assert.rejects(header.orders.get('ord_1'), TypeError)
  })
})

describe('versions', () => {
  const old = {
    from: {
      released: '2025-01-01',
      deprecated: '2026-01-01',
      sunset: '2099-12-31',
      guide: 'https://docs.example.com/v2',
    },
  }
  const notes = service({
    name: 'notes',
    versions: { v1: old.from, v2: { released: '2026-01-01' } },
    resources: { notes: { fields: { text: f.text() }, access: 'public' } },
  }).change('v2', 'notes', { about: '`body` is called `text`.', renamed: { body: 'text' } })

  test('R188, R198: the version is sent, and deprecations are reported', async (t) => {
    const { port } = await streamingNode(t, notes as never)
    const url = `http://127.0.0.1:${port}`
    const notices: object[] = []
    const onDeprecation = (notice: object) => notices.push(notice)
    const newest = client<typeof notes>({ url, version: 'v2', onDeprecation })
    const note = await newest.notes.create({ text: 'a' })
    assert.deepEqual([note.text, notices], ['a', []])
    assert.equal((await client<typeof notes>({ url: `${url}/v2/`, onDeprecation }).notes.get(note.id)).text, 'a')
    await client<typeof notes>({ url, version: 'v1', onDeprecation }).notes.get(note.id)
    const { deprecation, ...notice } = notices[0] as Readonly<Record<string, unknown>>
    assert.equal(deprecation, 'true')
    assert.deepEqual(notice, {
      ...{ method: 'GET', path: `/notes/${note.id}`, sunset: new Date('2099-12-31') },
      ...{ guide: 'https://docs.example.com/v2', successor: `/v2/notes/${note.id}` },
    })
  })
  test('R188: an answer of another version is an error', async (t) => {
    const { port } = await streamingNode(t, { ...notes, choice: { ...notes.choice, carriers: ['path'] } } as never)
    const all = client<typeof notes>({ url: `http://127.0.0.1:${port}`, version: 'v2' }).notes
    assert.equal((await errorOf(Array.fromAsync(all.list()))).type, 'version-mismatch')
  })
})

describe('events', () => {
  test('R213: they come as they happen, and go on after the last one when the connection is lost', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    const ids: string[] = []
    const first = await direct.orders.create({})
    let last = ''
    const stream = shop.events({ types: ['order.created', 'order.placed'], since: '2020-01-01T00:00:00Z' })
    for await (const event of stream) {
      ids.push(`${event.type} ${event.data.id}`)
      last = event.id
      if (ids.length === 1) {
        proxy.cut()
        proxy.faults.push('lose-request', soon)
        await direct.orders.update(first.id, { note: 'not followed' })
        await direct.orders.placements(first.id)
      }
      if (ids.length === 2) break
    }
    assert.deepEqual(ids, [`order.created ${first.id}`, `order.placed ${first.id}`])
    assert.equal(proxy.seen.at(-1)?.headers['last-event-id']?.toString().slice(0, 4), 'evt_')
    const second = await direct.orders.create({})
    for await (const event of shop.events({ after: last, item: second.id, resources: ['orders'] })) {
      assert.equal(event.data.id, second.id)
      break
    }
  })
  test('R213: they end with the signal, and fail if they are refused, missed, or cannot be opened in time', async (t) => {
    const { shop, proxy } = await shopOf(t, { deadline: 100 })
    const reason = new Error('enough')
    const ending = new AbortController()
    setTimeout(() => ending.abort(reason), 100)
    await assert.rejects(Array.fromAsync(shop.events({}, { signal: ending.signal })), reason)
    const missed = await errorOf(Array.fromAsync(shop.events({ after: 'evt_01h455vb4pex5vsknk084sn02q' })))
    assert.equal(missed.type, 'events-missed')
    assert.equal((await errorOf(Array.fromAsync(shop.events({ types: ['x' as never] })))).type, 'invalid-query')
    proxy.faults.push(...Array<Fault>(20).fill('lose-request'))
    assert.equal((await errorOf(Array.fromAsync(shop.events()))).type, 'no-answer')
  })
})

/** The files that a module loads, those that others need first. */
function loadedFiles(path: string, known: string[] = []): string[] {
  const source = { path, text: readFileSync(path, 'utf8') }
  for (const { file, name, typeOnly } of imports(source)) {
    if (typeOnly) continue
    assert.ok(file, `${path} imports ${name}`)
    if (!known.includes(file)) loadedFiles(file, known)
  }
  known.push(path)
  return known
}

test('it runs with the globals of a browser alone', async (t) => {
  const { direct, proxy } = await shopOf(t)
  const scripts = loadedFiles('src/client/client.ts').map((path) =>
    stripTypeScriptTypes(readFileSync(path, 'utf8')).replaceAll(
      /^import [^']*'[^']*'$|^export \{[^']*'[^']*'$|^export /gm,
      '',
    ),
  )
  const browser = {
    ...{ AbortController, AbortSignal, Headers, TextDecoderStream, URL, URLSearchParams },
    ...{ clearTimeout, crypto, fetch, performance, setTimeout },
  }
  const made = runInNewContext(`${scripts.join('\n')};client`, browser) as typeof client
  const shop = made<Api>({ url: proxy.url })
  proxy.faults.push('lose-answer')
  const order = await shop.orders.create({})
  await shop.orders.update(order, () => ({ note: 'changed' }))
  for await (const { note } of shop.orders.list({ where: { status: 'draft' } })) assert.equal(note, 'changed')
  for await (const { type } of shop.events({ since: '2020-01-01T00:00:00Z' })) {
    assert.equal(type, 'order.created')
    break
  }
  assert.equal((await direct.orders.get(order.id)).note, 'changed')
})
