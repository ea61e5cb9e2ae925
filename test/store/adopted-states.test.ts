/** Proves that rows keep their values when their field becomes a state, and that values which are no state stop the migration. R220. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { f, type Service, service } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'

const versions = { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } }
const plain = (values: readonly string[], options = {}) =>
  service({
    name: 'shop',
    resources: { orders: { prefix: 'ord', fields: { status: f.enum(values, options) }, access: 'public' } },
  } as never) as unknown as Service
const states = {
  field: 'status',
  initial: 'draft',
  transitions: { placements: { from: ['draft'], to: 'placed' } },
}
const stated = (more = {}) =>
  service({
    name: 'shop',
    ...more,
    resources: { orders: { prefix: 'ord', fields: {}, states, access: 'public' } },
  } as never) as unknown as Service & { change: (...given: unknown[]) => Service }

for (const [name, place] of places) {
  test(`rows keep their values when an enum becomes a state (${name})`, async (t) => {
    const where = await place(t)
    const first = nodeOn(where, plain(['draft', 'placed']))
    t.after(first.close)
    const { id } = (await first.ask('POST', '/orders', { status: 'placed' })).json
    await first.close()
    const next = nodeOn(where, stated())
    t.after(next.close)
    assert.equal((await next.ask('GET', `/orders/${id}`)).json.status, 'placed')
    const again = await next.ask('POST', `/orders/${id}/placements`)
    assert.equal(again.json.message, 'Order is placed; placements are possible while it is draft.')
  })

  test(`rows keep their values when states end, and no timer runs any more (${name})`, async (t) => {
    const where = await place(t)
    const expiries = { from: ['draft', 'placed'], to: 'expired', after: 'PT1S' }
    const timed = { ...states, transitions: { ...states.transitions, expiries } }
    const make = (more: object) =>
      service({ name: 'shop', resources: { orders: { prefix: 'ord', access: 'public', ...more } } } as never) as never
    const first = nodeOn(where, make({ fields: {}, states: timed }))
    t.after(first.close)
    const { id } = (await first.ask('POST', '/orders', {})).json
    await first.ask('POST', `/orders/${id}/placements`)
    await first.close()
    const fields = { status: f.enum(['draft', 'placed', 'expired'], { default: 'draft' }) }
    const next = nodeOn(where, make({ fields }))
    t.after(next.close)
    assert.equal((await next.ask('GET', `/orders/${id}`)).json.status, 'placed')
    await setTimeout(1500)
    await next.ask('PATCH', `/orders/${id}`, { status: 'draft' })
    await setTimeout(1500)
    assert.equal((await next.ask('GET', `/orders/${id}`)).json.status, 'draft')
  })

  test(`values that are no state stop the migration, whatever is allowed, and a change maps them (${name})`, async (t) => {
    const where = await place(t)
    const old = f.enum(['draft', 'placed', 'lost'], { optional: true })
    const first = nodeOn(where, plain(['draft', 'placed', 'lost'], { optional: true }))
    t.after(first.close)
    const made = ['lost', 'draft', null].map((status) => first.ask('POST', '/orders', { status }))
    const [lost, , none] = (await Promise.all(made)).map(({ json }) => json.id as string)
    await first.close()
    const starts = async () => nodeOn(where, stated()).ask('GET', '/orders')
    await assert.rejects(starts, (error: Error) => {
      assert.match(error.message, /2 rows of orders would not fit `status`/)
      assert.ok(
        [lost, none].every((id) => error.message.includes(id as string)),
        error.message,
      )
      assert.match(error.message, /Every item has one of the states, and only transitions write it\./)
      assert.match(error.message, /mapped: \{ status: \{ 'the value': 'draft' \} \}/)
      assert.doesNotMatch(error.message, /fill|--allow-misfits/)
      return true
    })
    const mapped = stated({ versions }).change('v2', 'orders', {
      about: 'Orders have states.',
      retyped: { status: old },
      mapped: { status: { placed: 'placed', draft: 'draft', lost: 'draft' } },
      required: { status: 'draft' },
      transitions: { written: { placed: 'placements' } },
    })
    const next = nodeOn(where, mapped)
    t.after(next.close)
    const { data } = (await next.ask('GET', '/orders?version=v2')).json
    assert.deepEqual(
      data.map(({ status }: { status: string }) => status),
      ['draft', 'draft', 'draft'],
    )
  })
}
