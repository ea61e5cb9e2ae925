/** Proves that states and totals begin with the second phase of a change, so that no former node bypasses them. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, max, sum } from 'bylaw'
import { rowsIn } from '../../src/flow/outcome.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { tablePlan } from '../../src/flow/table.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { openMigration, openStore } from '../../src/terminal/open.ts'
import { startService } from '../../src/terminal/start.ts'
import { runDueTimers } from '../../src/timers/run-timers.ts'
import { findTimers } from '../../src/timers/timer-table.ts'
import { nodeOn, places } from '../help/places.ts'
import {
  after,
  before,
  below,
  lines,
  made,
  orders,
  seen,
  shop,
  sides,
  states,
  totals,
  transitions,
} from './growing-shop.ts'

const refusal = { type: 'maintenance', types: ['maintenance', 'unavailable', 'server-error', 'error'] }
const unknown = { total: null, lineCount: null, greatest: null, large: null }

for (const [name, make] of places)
  describe(`the second phase (${name})`, () => {
    test('opens transitions and their links without a restart of the node', async (t) => {
      const { old, young, finish } = await sides(t, make)
      const id = await made(old)
      const first = await young.ask('GET', `/orders/${id}`)
      assert.deepEqual([first.json.status, Object.keys(first.json._links)], ['draft', ['self']])
      const closed = await young.ask('POST', `/orders/${id}/placements`)
      assert.equal(closed.status, 503)
      assert.deepEqual({ type: closed.json.type, types: closed.json.types }, refusal)
      assert.match(closed.headers.get('retry-after') ?? '', /^\d+$/)
      assert.deepEqual(Object.keys((await young.ask('GET', '/orders')).json.data[0]._links), ['self'])
      await finish()
      const listed = (await young.ask('GET', '/orders')).json.data[0]
      assert.deepEqual(Object.keys(listed._links), ['self', 'placements', 'cancellations'])
      const open = await young.ask('GET', `/orders/${id}`, undefined, {
        'if-none-match': first.headers.get('etag') as string,
      })
      assert.deepEqual([open.status, open.json._links], [200, listed._links])
      assert.equal((await young.ask('POST', `/orders/${id}/placements`)).json.status, 'placed')
    })

    test('begins to hold writes by the state', async (t) => {
      const guarded = shop(
        {
          states: {
            field: 'status',
            initial: 'new',
            transitions: { openings: { from: ['new'], to: 'open' } },
            writable: { change: ['open'], remove: [] },
          },
        },
        { parent: { ...lines.parent, while: ['open'] } },
      )
      const { old, young, finish } = await sides(t, make, before, guarded)
      const id = await made(young)
      for (const node of [old, young]) {
        assert.equal((await node.ask('PATCH', `/orders/${id}`, { note: 'a' })).status, 200)
        const line = (await node.ask('POST', `/orders/${id}/lines`, { amount: '1.00' })).json
        assert.equal((await node.ask('PATCH', `/lines/${line.id}`, { amount: '2.00' })).status, 200)
        assert.equal((await node.ask('DELETE', `/orders/${await made(node)}`)).status, 204)
      }
      await finish()
      assert.equal((await young.ask('PATCH', `/orders/${id}`, { note: 'b' })).json.type, 'invalid-state')
      assert.equal((await young.ask('POST', `/orders/${id}/lines`, { amount: '1.00' })).json.type, 'invalid-state')
      assert.equal((await young.ask('DELETE', `/orders/${id}`)).json.type, 'invalid-state')
    })

    test('fills totals, which are null until then on nodes of the new declaration', async (t) => {
      const { old, young, finish } = await sides(t, make)
      const [mine, theirs] = [await made(young), await made(old)]
      for (const id of [mine, theirs])
        for (const node of [old, young]) await node.ask('POST', `/orders/${id}/lines`, { amount: '60.00' })
      for (const id of [mine, theirs]) assert.deepEqual(await seen(young, id), { ...unknown, status: 'draft' })
      assert.equal((await young.ask('PATCH', `/orders/${mine}`, { note: 'a' })).json.total, null)
      const refused = await young.ask('GET', '/orders?total[gte]=1')
      assert.equal(refused.status, 503)
      assert.match(refused.json.message, /^The field total of orders is still being migrated/)
      assert.equal((await young.ask('GET', '/orders?large=true')).status, 503)
      const schema = async () => (await young.ask('GET', '/openapi.json')).json.components.schemas.Order.properties
      assert.deepEqual((await schema()).lineCount.type, ['integer', 'null'])
      const tag = (await young.ask('GET', `/orders/${theirs}`)).headers.get('etag') as string
      await finish()
      const whole = { total: '120.00', lineCount: 2, greatest: '60.00', large: true, status: 'draft' }
      for (const id of [mine, theirs]) assert.deepEqual(await seen(young, id), whole)
      assert.equal((await young.ask('GET', `/orders/${theirs}`, undefined, { 'if-none-match': tag })).status, 200)
      assert.equal((await young.ask('GET', '/orders?total[gte]=1&large=true')).json.data.length, 2)
      assert.equal((await schema()).lineCount.type, 'integer')
      await young.ask('POST', `/orders/${mine}/lines`, { amount: '0.50' })
      assert.equal((await seen(young, mine)).total, '120.50')
      assert.deepEqual(await seen(young, await made(young)), {
        total: '0.00',
        lineCount: 0,
        greatest: null,
        large: false,
        status: 'draft',
      })
    })

    test('is not needed where no other node runs', async (t) => {
      const place = await make(t)
      const old = nodeOn(place, before)
      const id = await made(old)
      await old.ask('POST', `/orders/${id}/lines`, { amount: '5.00' })
      await old.close()
      const node = nodeOn(place, after)
      t.after(node.close)
      assert.deepEqual((await seen(node, id)).total, '5.00')
      assert.equal((await node.ask('POST', `/orders/${id}/placements`)).status, 200)
    })

    test('of a state that is added leaves the transitions open that nodes already know', async (t) => {
      const more = { ...states, transitions: { ...transitions, returns: { from: ['placed'], to: 'returned' } } }
      const { old, young, finish } = await sides(t, make, shop({ states }, below), shop({ states: more }, below))
      const id = await made(old)
      assert.equal((await young.ask('POST', `/orders/${id}/placements`)).status, 200)
      assert.equal((await young.ask('POST', `/orders/${id}/lines`, { amount: '1.00' })).status, 409)
      assert.equal((await young.ask('POST', `/orders/${id}/returns`)).status, 503)
      await finish()
      assert.equal((await young.ask('POST', `/orders/${id}/returns`)).status, 200)
    })

    test('is not awaited by a rule that both declarations have, with other states', async (t) => {
      const wider = { ...states, writable: { change: ['draft', 'placed'], remove: ['draft'] } }
      const { old, young, finish } = await sides(t, make, shop({ states }, below), shop({ states: wider }, below))
      const [id, other] = [await made(old), await made(old)]
      for (const one of [id, other]) await young.ask('POST', `/orders/${one}/cancellations`)
      assert.equal((await young.ask('PATCH', `/orders/${id}`, { note: 'a' })).status, 409)
      assert.equal((await young.ask('POST', `/orders/${id}/lines`, { amount: '1.00' })).status, 409)
      assert.equal((await young.ask('DELETE', `/orders/${other}`)).status, 204)
      await finish()
      assert.equal((await young.ask('DELETE', `/orders/${id}`)).status, 409)
    })

    test('keeps totals that nodes of both declarations know', async (t) => {
      const more = { ...totals, fields: { ...totals.fields, code: f.text({ optional: true }) } }
      const { old, young, finish } = await sides(t, make, shop(totals), shop(more))
      const id = await made(old)
      for (const node of [old, young]) await node.ask('POST', `/orders/${id}/lines`, { amount: '7.00' })
      for (const node of [old, young]) assert.equal((await seen(node, id)).total, '14.00')
      await finish()
      assert.equal((await seen(young, id)).total, '14.00')
    })

    test('does not show totals of another meaning', async (t) => {
      const greatest = {
        fields: { ...orders.fields, total: f.decimal({ scale: 2, optional: true, derived: max('lines', 'amount') }) },
      }
      const summed = { fields: { ...orders.fields, total: f.decimal({ scale: 2, derived: sum('lines', 'amount') }) } }
      const { old, young, finish } = await sides(t, make, shop(greatest), shop(summed))
      const id = await made(old)
      for (const node of [old, young]) await node.ask('POST', `/orders/${id}/lines`, { amount: '7.00' })
      assert.equal((await seen(young, id)).total, null)
      await finish()
      assert.equal((await seen(young, id)).total, '14.00')
    })

    test('is awaited with a warning at the start of a node', async (t) => {
      const { place } = await sides(t, make)
      const warnings: string[] = []
      const log = { error: () => {}, warn: (_: object, says: string) => warnings.push(says), info: () => {} }
      const store = await openStore(after, place.url, 'apply', {})
      const { stop } = await startService(after, { store, place: { port: 0, host: '127.0.0.1' }, log })
      await stop({ grace: 0, drain: 0 })
      assert.match(warnings.join('\n'), /^States or totals of orders and lines begin when `bylaw migrate apply`/)
    })

    test('is named by the steps that are missing, with what it opens', async (t) => {
      const { place } = await sides(t, make)
      const migration = await openMigration(after, place.url)
      const steps = migration.steps.map(({ about }) => about).join('\n')
      migration.close()
      assert.match(
        steps,
        /begin the transitions to draft, placed, cancelled and the states that writes need and the totals in total, lineCount, greatest of orders, which/,
      )
    })

    test('starts the timers of rows that former nodes moved into their state. R223', async (t) => {
      const timed = {
        ...states,
        transitions: { ...transitions, expiries: { from: ['draft'], to: 'cancelled', after: 'PT1H' } },
      }
      const next = shop({ states: timed }, below)
      const { place, old, finish } = await sides(t, make, shop({ states }, below), next)
      const store = await openStore(next, place.url, 'apply', {})
      t.after(store.close)
      const ahead = { by: 0 }
      const due = () => store.clock.due() + ahead.by
      const log = { error: () => {}, warn: () => {}, info: () => {} }
      const world = { ...serviceWorld(realWorld, store), due }
      const run = () => runDueTimers({ resources: next.resources, writer: next.writer, store, world, log })
      const timers = async () => rowsIn(await store.execute(tablePlan(findTimers))).filter(({ id }) => id !== '')
      await run()
      const id = await made(old)
      await run()
      assert.deepEqual(await timers(), [])
      await finish()
      await run()
      assert.deepEqual(
        (await timers()).map((one) => one.id),
        [id],
      )
      ahead.by = 3_700_000
      assert.equal(await run(), 1)
    })
  })
