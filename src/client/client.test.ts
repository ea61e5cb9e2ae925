/** The typed client through HTTP: its methods, errors and versions, and that it runs in browsers. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { describe, test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { f, service } from 'bylaw'
import { client, entityTag } from 'bylaw/client'
import { type Api, errorOf, shopOf } from '../../test/help/client-shop.ts'
import { keyFor } from '../../test/help/door.ts'
import { imports } from '../../test/help/source.ts'
import { streamingNode } from '../../test/help/streaming.ts'

describe('methods', () => {
  test('R4, R88: create, read, change, replace, remove, transitions and operations', async (t) => {
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
  test('R237: the revisions of an item, one as it was, and the difference between two', async (t) => {
    const { shop, proxy } = await shopOf(t)
    const { id } = await shop.orders.create({ note: 'a' })
    for (const note of ['b', null]) await shop.orders.update(id, { note })
    const all = []
    for await (const { id: number, type, by, changes } of shop.orders.history(id, { pageSize: 2 }))
      all.push([number, type, by, changes.note])
    assert.deepEqual(all, [
      ['3', 'updated', null, null],
      ['2', 'updated', null, 'b'],
      ['1', 'created', null, 'a'],
    ])
    assert.equal((await shop.orders.revision(id, 2)).note, 'b')
    const { note, ...rest } = await shop.orders.revision(id, '1', { against: 2 })
    assert.deepEqual([note, Object.keys(rest)], ['a', ['updatedAt']])
    assert.equal(proxy.seen.at(-1)?.url, `/orders/${id}/revisions/1?against=2`)
    assert.equal((await errorOf(shop.orders.revision(id, 9))).status, 404)
  })

  test('R236: summaries of a list, and of one below a parent', async (t) => {
    const { shop, proxy } = await shopOf(t)
    const order = await shop.orders.create({ total: '2.50' })
    await shop.orders.create({ total: '1' })
    await shop.orders(order)['order-lines'].create({ quantity: 2 })
    const groups = await shop.orders.summaries.byStatus({ where: { total: { gte: '2' } }, or: { note: null } })
    assert.deepEqual(groups, [
      { id: 'status=draft', status: 'draft', count: 1, sumTotal: '2.50', averageLineCount: '1.00' },
    ])
    assert.equal((await shop.orders.summaries.byStatus())[0]?.count, 2)
    assert.deepEqual(await shop.orders(order)['order-lines'].summaries.total(), [
      { id: '', count: 1, sumQuantity: '2' },
    ])
    assert.equal(proxy.seen.at(-1)?.url, `/orders/${order.id}/order-lines/summaries/total`)
    assert.deepEqual(
      await shop['order-lines'].summaries.total({ where: { orderId: 'ord_00000000000000000000000000' } }),
      [{ id: '', count: 0, sumQuantity: '0' }],
    )
  })
  test('R8: ids that are no segment of a path are refused before anything is sent', async (t) => {
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

describe('errors', () => {
  test('R150, R154, R160: they are discriminated by type, and have all mistakes', async (t) => {
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
  test('R198: what the callback throws is thrown by the call, which is not repeated', async (t) => {
    const { port } = await streamingNode(t, notes as never)
    const reason = new Error('old')
    let called = 0
    const onDeprecation = () => {
      called++
      throw reason
    }
    const all = client<typeof notes>({ url: `http://127.0.0.1:${port}`, version: 'v1', onDeprecation }).notes
    await assert.rejects(Array.fromAsync(all.list()), reason)
    assert.equal(called, 1)
  })
  test('R188: an answer of another version is an error', async (t) => {
    const { port } = await streamingNode(t, { ...notes, choice: { ...notes.choice, carriers: ['path'] } } as never)
    const all = client<typeof notes>({ url: `http://127.0.0.1:${port}`, version: 'v2' }).notes
    assert.equal((await errorOf(Array.fromAsync(all.list()))).type, 'version-mismatch')
  })
})

test('R175, R176: a page of another origin may send and read all headers that the client uses', async (t) => {
  const resources = { notes: { fields: { text: f.text() }, access: 'public' } } as const
  const notes = service({ name: 'notes', resources, settings: { cors: { origins: ['https://app.example.com'] } } })
  const { send } = await streamingNode(t, notes)
  const asked = { origin: 'https://app.example.com', 'access-control-request-method': 'POST' }
  const { headers } = await send('OPTIONS', '/notes', { headers: asked })
  const { headers: exposed } = await send('GET', '/notes', { headers: asked })
  const namesOf = (text = '') => text.toLowerCase().split(', ')
  const sent = ['authorization', 'content-type', 'idempotency-key', 'if-match', 'last-event-id', 'version']
  const read = ['date', 'deprecation', 'etag', 'link', 'request-id', 'retry-after', 'sunset', 'version']
  const [allowed, shown] = [headers['access-control-allow-headers'], exposed['access-control-expose-headers']].map(
    namesOf,
  )
  assert.deepEqual(
    [sent.filter((one) => !allowed?.includes(one)), read.filter((one) => !shown?.includes(one))],
    [[], []],
  )
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
