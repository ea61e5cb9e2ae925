/** Proves that transitions by the clock take place once, late rather than never, on both stores. R223. The store. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { caller, f, now, type Service, service } from 'bylaw'
import { callerOf } from '../../src/flow/credential.ts'
import { rowsIn } from '../../src/flow/outcome.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { tablePlan } from '../../src/flow/table.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { openStore } from '../../src/terminal/open.ts'
import { runDueTimers } from '../../src/timers/run-timers.ts'
import { findTimers, retryTimers, stopTimer } from '../../src/timers/timer-table.ts'
import { type Place, places } from '../help/places.ts'

const hour = 3_600_000
const fields = {
  note: f.text({ default: '' }),
  code: f.text({ optional: true, unique: true, readOnly: true }),
  endsAt: f.timestamp({ optional: true }),
  movedAt: f.timestamp({ optional: true, readOnly: true }),
  movedBy: f.text({ optional: true, readOnly: true }),
}
const transitions = {
  placements: { from: ['draft'], to: 'placed' },
  renewals: { from: ['draft'], to: 'draft' },
  expiries: { from: ['draft'], to: 'expired', after: 'PT1H', set: { movedAt: now, movedBy: caller } },
  endings: { from: ['placed'], to: 'ended', at: 'endsAt' },
  numberings: { from: ['expired'], to: 'numbered', after: 'PT1H', set: { code: 'the one' } },
} as const
const declared = (states: object | null): Service =>
  service({
    name: 'shop',
    resources: {
      orders: {
        prefix: 'ord',
        fields,
        owner: 'accountId',
        access: 'authenticated',
        ...(states && { states: { field: 'status', initial: 'draft', transitions: states } }),
      },
    },
  } as never) as Service
const shop = declared(transitions)

/** A node whose clock the test sets, and which runs its timers only when the test asks. */
async function nodeOn(t: TestContext, { url }: Place, api = shop, ahead = { by: 0 }) {
  const store = await openStore(api, url, 'apply', {})
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= store.close()
    return closed
  }
  t.after(close)
  const clock = { now: () => store.clock.now() + ahead.by, due: () => store.clock.due() + ahead.by }
  const world = { ...serviceWorld(realWorld, store), ...clock }
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const authenticate = (account: string) => () => callerOf('test', { account, scopes: [], tier: null, features: [] })
  const door = (account: string) =>
    fetchDoor({ service: api, store, world, authenticate: authenticate(account), log, open: () => true })
  const ask = async (method: string, path: string, json?: object, account = 'one') => {
    const body = json && { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }
    const answer = await door(account)(new Request(`http://localhost${path}`, { method, ...body }))
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? null : JSON.parse(text) }
  }
  const run = () => runDueTimers({ resources: api.resources, writer: api.writer, store, world, log })
  const timers = async () => rowsIn(await store.execute(tablePlan(findTimers))).filter(({ id }) => id !== '')
  const retry = () => store.execute(tablePlan(retryTimers, { now: world.due(), none: 0 }))
  return { ask, run, timers, retry, close, ahead, execute: store.execute }
}
type Node = Awaited<ReturnType<typeof nodeOn>>

const make = async ({ ask }: Node, body = {}, account = 'one') => (await ask('POST', '/orders', body, account)).json.id
const statusOf = async ({ ask }: Node, id: string, account = 'one') =>
  (await ask('GET', `/orders/${id}`, undefined, account)).json.status

for (const [name, place] of places)
  describe(`transitions by the clock, ${name}`, () => {
    test('R223: take place after their time, as the service, and have no URL', async (t) => {
      const node = await nodeOn(t, await place(t))
      const [one, other] = [await make(node), await make(node, {}, 'two')]
      assert.equal((await node.ask('POST', `/orders/${one}/expiries`)).status, 404)
      assert.equal(await node.run(), 0)
      node.ahead.by = hour + 1000
      assert.equal(await node.run(), 2)
      const { json } = await node.ask('GET', `/orders/${one}`)
      assert.deepEqual([json.status, json.movedBy, typeof json.movedAt], ['expired', null, 'string'])
      assert.equal(await statusOf(node, other, 'two'), 'expired')
      assert.equal(await node.run(), 0)
    })

    test('leaving a state stops its timer, entering it again starts it anew, removal forgets it', async (t) => {
      const node = await nodeOn(t, await place(t))
      const [left, renewed, removed, changed] = [await make(node), await make(node), await make(node), await make(node)]
      node.ahead.by = hour / 2
      await node.ask('POST', `/orders/${left}/placements`)
      await node.ask('POST', `/orders/${renewed}/renewals`)
      await node.ask('DELETE', `/orders/${removed}`)
      await node.ask('PATCH', `/orders/${changed}`, { note: 'x' })
      assert.equal((await node.timers()).length, 2)
      node.ahead.by = hour + 1000
      assert.equal(await node.run(), 1)
      assert.deepEqual(
        [await statusOf(node, left), await statusOf(node, renewed), await statusOf(node, changed)],
        ['placed', 'draft', 'expired'],
      )
      node.ahead.by = 2 * hour
      await node.run()
      assert.equal(await statusOf(node, renewed), 'expired')
    })

    test('follow the time in a field', async (t) => {
      const node = await nodeOn(t, await place(t))
      const at = (time: number) => new Date(Date.now() + time).toISOString()
      const id = await make(node, { endsAt: at(2 * hour) })
      await node.ask('POST', `/orders/${id}/placements`)
      await node.ask('PATCH', `/orders/${id}`, { endsAt: at(5 * hour) })
      node.ahead.by = 3 * hour
      assert.equal(await node.run(), 0)
      await node.ask('PATCH', `/orders/${id}`, { endsAt: null })
      assert.equal((await node.timers()).length, 0)
      await node.ask('PATCH', `/orders/${id}`, { endsAt: at(-hour) })
      assert.equal(await node.run(), 1)
      assert.equal(await statusOf(node, id), 'ended')
    })

    test('R223: two nodes that run at once move each row once', async (t) => {
      const where = await place(t)
      const nodes: readonly [Node, Node] = [await nodeOn(t, where), await nodeOn(t, where)]
      const ids = await Promise.all(Array.from({ length: 130 }, () => make(nodes[0])))
      for (const node of nodes) node.ahead.by = hour + 1000
      const [one, other] = await Promise.all([nodes[0].run(), nodes[1].run()])
      nodes[0].ahead.by += 10_000 // a busy database may have refused some, which are put off for a moment
      assert.equal(one + other + (await nodes[0].run()), 130)
      assert.equal(await statusOf(nodes[0], ids.at(-1)), 'expired')
    })

    test('R223: a clock that jumps back or a node that dies delays them, and a refusal is tried again later', async (t) => {
      const node = await nodeOn(t, await place(t))
      const [one, two] = [await make(node), await make(node)]
      node.ahead.by = -5 * hour
      assert.equal(await node.run(), 0)
      node.ahead.by = hour + 1000
      assert.equal(await node.run(), 2)
      node.ahead.by = 3 * hour // both get a number, but only one can have the code
      assert.equal(await node.run(), 1)
      const [failed] = await node.timers()
      assert.deepEqual([failed?.transition, failed?.tries, typeof failed?.failure], ['numberings', 1, 'string'])
      assert.equal(await node.run(), 0)
      const states = [await statusOf(node, one), await statusOf(node, two)]
      assert.deepEqual(states.toSorted(), ['expired', 'numbered'])
      await node.ask('DELETE', `/orders/${states[0] === 'numbered' ? one : two}`)
      await node.retry()
      assert.equal(await node.run(), 1)
    })

    test('a timer that was started anew while an older one was looked at is kept', async (t) => {
      const where = await place(t)
      const node = await nodeOn(t, where)
      const id = await make(node)
      const [before] = await node.timers()
      await node.ask('POST', `/orders/${id}/renewals`)
      const [after] = await node.timers()
      assert.notEqual(after?.due, before?.due)
      await node.execute(tablePlan(stopTimer, { ...before }))
      assert.equal((await node.timers()).length, 1)
      await node.execute(tablePlan(stopTimer, { ...after }))
      assert.equal((await node.timers()).length, 0)
    })

    test('keep their time where the resource is renamed', async (t) => {
      const where = await place(t)
      const versions = { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } }
      const orders = { prefix: 'ord', fields: {}, owner: 'accountId', access: 'authenticated' } as const
      const states = { field: 'status', initial: 'draft', transitions: { expiries: transitions.expiries } }
      const named = { ...orders, fields, states }
      const v1 = service({ name: 'shop', versions: { v1: versions.v1 }, resources: { orders: named } } as never)
      const v2 = service({ name: 'shop', versions, resources: { purchases: named } } as never) as unknown as {
        change: (version: string, resource: string, change: object) => Service
      }
      const old = await nodeOn(t, where, v1 as Service)
      const left = await make(old)
      const id = await make(old)
      await old.close()
      const api = v2.change('v2', 'purchases', { about: 'Orders are called purchases.', was: 'orders' })
      const node = await nodeOn(t, where, api, { by: hour / 2 })
      assert.equal(await node.run(), 0)
      assert.deepEqual(
        (await node.timers()).map(({ collection }) => collection),
        ['purchases', 'purchases'],
      )
      assert.equal((await node.ask('DELETE', `/orders/${left}`)).status, 204)
      assert.equal((await node.timers()).length, 1)
      node.ahead.by = hour + 1000
      assert.equal(await node.run(), 1)
      assert.equal((await node.ask('GET', `/orders/${id}`)).json.status, 'expired')
    })

    test('keep their time if another transition by the clock is added or changed', async (t) => {
      const where = await place(t)
      const { expiries } = transitions
      const old = await nodeOn(t, where, declared({ expiries, lapses: { ...expiries, after: 'PT5H' } }))
      await make(old)
      await old.run()
      const dueOf = async (node: Node, name: string) =>
        (await node.timers()).find(({ transition }) => transition === name)?.due
      const [before, lapses] = [await dueOf(old, 'expiries'), await dueOf(old, 'lapses')]
      await old.close()
      const ends = { ...expiries, after: 'PT3H' }
      const changed = declared({ expiries, ends, lapses: { ...expiries, after: 'PT6H' } })
      const node = await nodeOn(t, where, changed, { by: hour / 2 })
      await node.run()
      assert.equal(await dueOf(node, 'expiries'), before)
      assert.ok(Number(await dueOf(node, 'lapses')) > Number(lapses) + hour)
      assert.ok(Number(await dueOf(node, 'ends')) > Number(before) + 2 * hour)
    })

    test('rows from before count from now on, or from their last change with catchUp', async (t) => {
      for (const catchUp of [false, true]) {
        const where = await place(t)
        const old = await nodeOn(t, where, declared({ placements: transitions.placements }))
        const id = await make(old)
        await old.close()
        const expiries = { ...transitions.expiries, ...(catchUp && { catchUp: true }) }
        const later = declared({ placements: transitions.placements, expiries })
        const node = await nodeOn(t, where, later, { by: hour + 1000 })
        assert.equal(await node.run(), catchUp ? 1 : 0)
        assert.equal(await statusOf(node, id), catchUp ? 'expired' : 'draft')
        node.ahead.by = 3 * hour
        assert.equal(await node.run(), catchUp ? 0 : 1)
      }
    })
  })
