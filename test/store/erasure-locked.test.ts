/** An erasure while a write on another connection, which has read the item already, waits for a lock. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { endingAfter, erased, tablesWith } from '../help/erasing.ts'
import { nodeOn, type Place, places } from '../help/places.ts'
import { connected } from '../help/postgres.ts'
import { until } from '../help/until.ts'

const [, onPostgres] = places[1] ?? assert.fail()
/** A place whose connections have a name of their own: other tests wait for locks in the same database. */
let count = 0
async function postgres(t: TestContext): Promise<Place & { readonly connections: string }> {
  const at = await onPostgres(t)
  const connections = `erasure-${process.pid}-${++count}`
  return { ...at, url: `${at.url}&application_name=${connections}`, connections }
}
const optional = { optional: true, personal: true } as const

/** Keeps a lock until the returned function is called. */
async function locked(t: TestContext, { url }: Place, statement: string): Promise<() => Promise<unknown>> {
  const client = await connected(t, url)
  await client.query(`BEGIN; ${statement}`)
  return () => client.query('ROLLBACK')
}

const waiting = async ({ rows, connections }: Awaited<ReturnType<typeof postgres>>): Promise<number> =>
  (
    await rows(
      `SELECT pid FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE application_name = '${connections}')`,
    )
  ).length

/** Begins an erasure, and ends the lock once the erasure has ended or waits too. */
async function erasedDuring(
  at: Awaited<ReturnType<typeof postgres>>,
  api: unknown,
  [name, id]: readonly [name: string, id: string],
  unlock: () => Promise<unknown>,
) {
  await until(async () => (await waiting(at)) === 1)
  let isOver = false
  const erasure = erased(api as Service, at, name, { id }).finally(() => {
    isOver = true
  })
  await until(async () => isOver || (await waiting(at)) === 2)
  await unlock()
  return erasure
}

test('a PATCH that changes nothing stores no erased value with its key', async (t) => {
  const at = await postgres(t)
  const api = service({
    name: 'shop',
    settings: { idempotency: { mode: 'replay', methods: ['POST', 'PATCH'] } },
    resources: {
      guests: { fields: { name: f.text(optional), tier: f.text({ default: 'plain' }) }, access: 'public' },
    },
  })
  const node = nodeOn(at, api as unknown as Service)
  t.after(node.close)
  const { id } = (await node.ask('POST', '/guests', { name: 'marked' })).json
  const unlock = await locked(t, at, 'LOCK TABLE bylaw_keys IN SHARE MODE')
  const patch = () => node.ask('PATCH', `/guests/${id}`, { tier: 'plain' }, { 'Idempotency-Key': 'k1' })
  const patched = patch()
  await erasedDuring(at, api, ['guests', id], unlock)
  assert.deepEqual([(await patched).status, (await patch()).json.name], [200, null])
  assert.deepEqual(await tablesWith('marked', at), [])
})

test('an event of another item stores no erased value for older versions', async (t) => {
  const at = await postgres(t)
  const api = service({
    name: 'shop',
    events: true,
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: {
      accounts: { prefix: 'acc', fields: { phone: f.text(optional) }, access: 'public' },
      orders: {
        prefix: 'ord',
        fields: { accountId: f.ref('accounts', { optional: true }) },
        access: 'public',
        history: { read: 'public' },
      },
    },
  }).change('v2', 'orders', { about: 'Moved.', moved: { phone: { by: 'accountId', to: 'phone' } } })
  const node = nodeOn(at, api as unknown as Service)
  t.after(node.close)
  const accountId = (await node.ask('POST', '/v2/accounts', { phone: 'marked' })).json.id
  const order = (await node.ask('POST', '/v2/orders', {})).json.id
  const unlock = await locked(t, at, 'LOCK TABLE bylaw_event_rows IN SHARE MODE')
  const patched = node.ask('PATCH', `/v2/orders/${order}`, { accountId })
  await erasedDuring(at, api, ['accounts', accountId], unlock)
  assert.equal((await patched).status, 200)
  assert.deepEqual(await tablesWith('marked', at), [])
})

for (const shown of ['another item', 'an item that it does not change'])
  test(`the stored answer of a batch has no erased value of ${shown}`, async (t) => {
    const at = await postgres(t)
    const api = service({
      name: 'shop',
      settings: { batches: 5 },
      versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
      resources: {
        accounts: { prefix: 'acc', fields: { phone: f.text(optional) }, access: 'public' },
        orders: {
          prefix: 'ord',
          fields: { accountId: f.ref('accounts', { optional: true }), note: f.text({ optional: true }) },
          access: 'public',
        },
      },
    }).change('v2', 'orders', { about: 'Moved.', moved: { phone: { by: 'accountId', to: 'phone' } } })
    const node = nodeOn(at, api as unknown as Service)
    t.after(node.close)
    const accountId = (await node.ask('POST', '/v2/accounts', { phone: 'marked' })).json.id
    const [one, other] = [
      (await node.ask('POST', '/v2/orders', { accountId })).json.id,
      (await node.ask('POST', '/v2/orders', {})).json.id,
    ]
    const unlock = await locked(t, at, `SELECT 1 FROM orders WHERE id = '${other}' FOR UPDATE`)
    const first = shown === 'another item' ? `/orders/${one}` : `/accounts/${accountId}`
    const operations = [first, `/orders/${other}`].map((path) => ({
      ...{ method: 'PATCH', path, body: path.startsWith('/orders') ? { note: 'new' } : {} },
    }))
    const send = () => node.ask('POST', '/v1/batches', { operations }, { 'Idempotency-Key': 'k1' })
    const sent = send()
    await erasedDuring(at, api, ['accounts', accountId], unlock)
    const answer = await sent
    assert.equal(answer.status, 200, JSON.stringify(answer.json))
    assert.deepEqual(await tablesWith('marked', at), [])
  })

test('a transition by the clock that has failed before the erasure stores no reason', async (t) => {
  const at = await postgres(t)
  const tasks = service({
    name: 'tasks',
    errors: { 'not-now': { parents: ['conflict'], status: 409 } },
    resources: {
      tasks: endingAfter('PT0.1S'),
    },
  })
  const began = Promise.withResolvers<void>()
  const going = Promise.withResolvers<void>()
  const texts: (string | null)[] = []
  const api = tasks.handlers({
    tasks: {
      async endings({ item, refuse }) {
        texts.push(item.text)
        began.resolve()
        await going.promise
        if (item.text) throw refuse('not-now', { message: `${item.text} is refused.` })
      },
    },
  })
  const { call, pass, close } = testing(api, { database: at.url })
  t.after(close)
  const made = await call('/tasks', { method: 'POST', json: { text: 'marked' } })
  const { id } = (await made.json()) as { id: string }
  const passed = pass('PT1S')
  await began.promise
  const unlock = await locked(t, at, 'SELECT 1 FROM bylaw_timers FOR UPDATE')
  going.resolve()
  await erasedDuring(at, tasks, ['tasks', id], unlock)
  await passed
  assert.deepEqual(await tablesWith('marked', at), [])
  await pass('PT2H')
  assert.deepEqual(
    [texts.at(-1), ((await (await call(`/tasks/${id}`)).json()) as { status: string }).status],
    [null, 'done'],
  )
})
