/** Reactions over HTTP: callers with the scopes list the failures of all accounts, and retry or skip them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { undescribed } from '../help/overseen.ts'
import { places } from '../help/places.ts'

const declaration = {
  name: 'shop',
  events: true,
  scopes: { 'orders:use': 'Read and write orders' },
  resources: {
    orders: {
      prefix: 'ord',
      owner: 'account',
      fields: { note: f.text() },
      access: { read: 'orders:use', write: 'orders:use' },
    },
  },
} as const
const api = service({ ...declaration, settings: { events: { reactions: true } } })

const reader = { account: null, scopes: ['reactions:read'] }
const operator = { account: null, scopes: ['reactions:read', 'reactions:write'] }
const customer = (account: string) => ({ account, scopes: ['orders:use'] })
type As = typeof reader | ReturnType<typeof customer>

/** A service whose reaction fails for notes that begin with `bad`, until `mended` is true. */
function failingShop(t: TestContext, database: string, made: typeof api = api) {
  const seen: string[] = []
  /** `during` is called in each try before it fails. */
  const state = { mended: false, during: async (_: { readonly id: string; readonly attempt: number }) => {} }
  const handlers = made.handlers({
    reactions: {
      copies: {
        on: ['order.created', 'order.updated'],
        from: 'start',
        async run({ event, attempt }) {
          await state.during({ id: event.id, attempt })
          if (!state.mended && event.data.note.startsWith('bad')) throw new Error('The printer is out of paper.')
          seen.push(event.data.note)
        },
      },
    },
  })
  const { call, pass, close } = testing(handlers, { database })
  t.after(close)
  const send = async (as: As | undefined, method: string, path: string, json?: object, headers = {}) => {
    const response = await call(path, { method, headers, ...(as && { as }), ...(json && { json }) })
    const text = await response.text()
    const exchange = {
      method,
      target: path,
      status: response.status,
      headers: Object.fromEntries(response.headers),
      text,
    }
    const sent = json && { sent: { kind: 'application/json', value: json } }
    // The description of a batch leaves the members of its answers open.
    if (path !== '/batches' || response.status !== 200)
      assert.deepEqual(undescribed(handlers, { ...exchange, ...sent }), [], `${method} ${path}`)
    // biome-ignore lint/suspicious/noExplicitAny: answers are read as they are
    const body: any = text === '' ? null : JSON.parse(text)
    return { status: response.status, headers: response.headers, body, text }
  }
  return { seen, state, send, pass }
}

const failures = '/reactions/copies/failures'

for (const [name, place] of places) {
  test(`R231: failures of all accounts are listed to callers with the scope, and to no others, on ${name}`, async (t) => {
    const { url } = await place(t)
    const { send, pass } = failingShop(t, url)
    const first = (await send(customer('a'), 'POST', '/orders', { note: 'bad 1' })).body
    await send(customer('a'), 'PATCH', `/orders/${first.id}`, { note: 'fine 2' })
    await send(customer('b'), 'POST', '/orders', { note: 'bad 3' })
    await send(customer('b'), 'POST', '/orders', { note: 'fine 4' })
    await pass('PT0.1S')

    for (const path of ['/reactions', failures, `${failures}/evt_1`]) {
      const refused = await send(customer('a'), 'GET', path)
      assert.equal(refused.status, 403)
      assert.equal(refused.body.type, 'insufficient-scope')
      assert.equal((await send(undefined, 'GET', path)).status, 401)
    }
    const listed = await send(reader, 'GET', '/reactions')
    assert.deepEqual(listed.body, {
      data: [{ name: 'copies', behind: 0, waiting: 3, parked: 0 }],
      pagination: { limit: 20, nextCursor: null, hasMore: false },
    })
    const { body, headers, text } = await send(reader, 'GET', failures)
    const [one, two, three] = body.data
    assert.equal(body.data.length, 3)
    assert.deepEqual(
      { ...one, eventId: '', nextTry: '' },
      {
        ...{
          eventId: '',
          eventType: 'order.created',
          resource: 'orders',
          item: first.id,
          account: 'a',
          status: 'waiting',
          tries: 1,
          nextTry: '',
        },
        error: 'Error: The printer is out of paper.',
      },
    )
    assert.match(one.nextTry, /^\d{4}-.*Z$/)
    assert.deepEqual(
      [two, three].map(({ account, eventType, status, tries, error }) => [account, eventType, status, tries, error]),
      [
        ['a', 'order.updated', 'behind', 0, null],
        ['b', 'order.created', 'waiting', 1, 'Error: The printer is out of paper.'],
      ],
    )
    assert.ok(!text.includes('.ts'), 'an answer names no file of the service')
    const same = await send(reader, 'GET', failures, undefined, { 'If-None-Match': String(headers.get('etag')) })
    assert.equal(same.status, 304)
    assert.deepEqual((await send(reader, 'GET', `${failures}/${one.eventId}`)).body, one)

    const pages = [await send(reader, 'GET', `${failures}?limit=2`)]
    pages.push(await send(reader, 'GET', `${failures}?limit=2&cursor=${pages[0]?.body.pagination.nextCursor}`))
    assert.deepEqual(
      pages.flatMap(({ body }) => body.data),
      body.data,
    )
    assert.deepEqual(pages[1]?.body.pagination, { limit: 2, nextCursor: null, hasMore: false })
    for (const query of ['limit=0', 'cursor=no', 'status=parked'])
      assert.equal((await send(reader, 'GET', `${failures}?${query}`)).status, 400)
  })

  test(`R231: a retry runs the reaction again, on ${name}`, async (t) => {
    const { url } = await place(t)
    const { send, pass, state, seen } = failingShop(t, url)
    await send(customer('a'), 'POST', '/orders', { note: 'bad' })
    for (const pause of ['PT1S', 'PT1S', 'PT10S', 'PT1M', 'PT10M', 'PT1H', 'PT6H', 'P1D', 'P7D']) await pass(pause)
    const [parked] = (await send(reader, 'GET', failures)).body.data
    assert.deepEqual([parked.status, parked.tries, parked.nextTry], ['parked', 8, null])
    assert.deepEqual((await send(reader, 'GET', '/reactions')).body.data[0].parked, 1)
    state.mended = true
    await pass('P7D')
    assert.deepEqual(seen, [], 'a parked event is not tried')

    const path = `${failures}/${parked.eventId}/retries`
    for (const as of [reader, customer('a')]) assert.equal((await send(as, 'POST', path)).status, 403)
    const dry = await send(operator, 'POST', `${path}?dryRun=true`)
    assert.deepEqual([dry.status, dry.headers.get('dry-run'), dry.body.status], [202, 'true', 'waiting'])
    await pass('PT1S')
    assert.deepEqual(seen, [])
    const key = { 'Idempotency-Key': 'retry-1' }
    const retried = await send(operator, 'POST', path, undefined, key)
    assert.deepEqual([retried.status, retried.body.status, retried.body.tries], [202, 'waiting', 0])
    await pass('PT1S')
    assert.deepEqual(seen, ['bad'])
    assert.deepEqual((await send(reader, 'GET', failures)).body.data, [])
    const repeated = await send(operator, 'POST', path, undefined, key)
    assert.deepEqual([repeated.status, repeated.body], [202, retried.body])
    assert.equal(repeated.headers.get('idempotency-replayed'), 'true')
    const other = await send(operator, 'POST', `${failures}/evt_other/retries`, undefined, key)
    assert.equal(other.status, 422)
    assert.equal((await send(operator, 'POST', path)).status, 404)
  })

  test(`R231: a retry or a skip during a try that fails is not lost, on ${name}`, async (t) => {
    const { url } = await place(t)
    const { send, pass, state, seen } = failingShop(t, url)
    const { id } = (await send(customer('a'), 'POST', '/orders', { note: 'bad' })).body
    await pass('PT0.1S')
    state.during = async (tried) => {
      state.during = async () => {}
      assert.equal((await send(operator, 'POST', `${failures}/${tried.id}/retries`)).status, 202)
    }
    const tries: number[] = []
    await pass('PT1S')
    const [retried] = (await send(reader, 'GET', failures)).body.data
    assert.deepEqual([retried.status, retried.tries], ['waiting', 1], 'it was tried again at once, as the first try')
    state.during = async (tried) => {
      tries.push(tried.attempt)
      state.during = async () => {}
      assert.equal((await send(operator, 'POST', `${failures}/${tried.id}/skips`)).status, 200)
    }
    await send(customer('a'), 'PATCH', `/orders/${id}`, { note: 'fine' })
    await pass('PT1S')
    assert.deepEqual(tries, [2])
    assert.deepEqual((await send(reader, 'GET', failures)).body.data, [])
    await pass('PT1S')
    assert.deepEqual(seen, ['fine'])
  })

  test(`R231: a skip lets later events of the item go on, on ${name}`, async (t) => {
    const { url } = await place(t)
    const { send, pass, seen } = failingShop(t, url)
    const { id } = (await send(customer('a'), 'POST', '/orders', { note: 'bad' })).body
    await send(customer('a'), 'PATCH', `/orders/${id}`, { note: 'fine' })
    await pass('PT0.1S')
    const [first, second] = (await send(reader, 'GET', failures)).body.data
    const waits = await send(operator, 'POST', `${failures}/${second.eventId}/retries`)
    assert.deepEqual([waits.status, waits.body.type], [409, 'conflict'])
    assert.equal((await send(reader, 'POST', `${failures}/${first.eventId}/skips`)).status, 403)
    const wrong = await send(operator, 'POST', `${failures}/${first.eventId}/skips`, { reason: 'old' })
    assert.equal(wrong.status, 400)
    const skipped = await send(operator, 'POST', `${failures}/${first.eventId}/skips`, {})
    assert.deepEqual([skipped.status, skipped.body.eventId], [200, first.eventId])
    await pass('PT0.1S')
    assert.deepEqual(seen, ['fine'])
    assert.deepEqual((await send(reader, 'GET', failures)).body.data, [])
    assert.equal((await send(operator, 'POST', `${failures}/${first.eventId}/skips`)).status, 404)
  })
}

test('an unknown reaction and an unknown event are not found', async (t) => {
  const { send, pass } = failingShop(t, 'sqlite::memory:')
  await pass('PT0.1S')
  for (const path of ['/reactions/other/failures', `${failures}/evt_1`]) {
    const { status, body } = await send(operator, 'GET', path)
    assert.deepEqual([status, body.type], [404, 'resource-not-found'])
  }
  assert.equal((await send(operator, 'POST', '/reactions/other/failures/evt_1/skips')).status, 404)
})

test('failures have names in the case of the service', async (t) => {
  const settings = { naming: 'snake', events: { reactions: true } } as const
  const { send, pass } = failingShop(t, 'sqlite::memory:', service({ ...declaration, settings }) as never)
  await send(customer('a'), 'POST', '/orders', { note: 'bad' })
  await pass('PT0.1S')
  const { body } = await send(reader, 'GET', failures)
  assert.equal(body.data[0].event_id.slice(0, 4), 'evt_')
  assert.ok('next_try' in body.data[0])
  assert.equal(body.pagination.has_more, false)
})

test('a batch may skip several failures, all or none', async (t) => {
  const settings = { batches: 10, events: { reactions: true } } as const
  const { send, pass } = failingShop(t, 'sqlite::memory:', service({ ...declaration, settings }) as never)
  for (const account of ['a', 'b']) await send(customer(account), 'POST', '/orders', { note: 'bad' })
  await pass('PT0.1S')
  const skipsOf = (ids: readonly string[]) => ({
    operations: ids.map((id) => ({ method: 'POST', path: `${failures}/${id}/skips` })),
  })
  const ids = (await send(reader, 'GET', failures)).body.data.map(({ eventId }: { eventId: string }) => eventId)
  assert.equal((await send(reader, 'POST', '/batches', skipsOf(ids))).status, 403)
  assert.equal((await send(operator, 'POST', '/batches', skipsOf([...ids, 'evt_1']))).status, 404)
  assert.equal((await send(reader, 'GET', failures)).body.data.length, 2)
  assert.equal((await send(operator, 'POST', '/batches', skipsOf(ids))).status, 200)
  assert.deepEqual((await send(reader, 'GET', failures)).body.data, [])
})

test('without the setting there is no such path, and no such scope', async () => {
  const off = service(declaration)
  const { call, close } = testing(off)
  assert.equal((await call('/reactions', { as: operator })).status, 404)
  assert.ok(!('reactions:read' in (off.declaration.scopes ?? {})))
  await close()
})
