/** A version renames states during a rolling upgrade: transitions to them go on, and each node has its own names. R222, R224. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Service, service } from 'bylaw'
import { alive, applied, type Node, nodeOn, places } from '../help/places.ts'

const v1 = { v1: { released: '2025-01-01' } }
const shop = (states: object, versions: object): Service =>
  service({
    name: 'shop',
    events: true,
    versions,
    settings: { versions: { carriers: ['path'] } },
    resources: {
      orders: {
        prefix: 'ord',
        fields: {},
        states: { field: 'status', initial: 'draft', ...states },
        history: { read: 'public' },
        access: 'public',
      },
    },
  } as never) as never

const before = shop({ transitions: { placements: { from: ['draft'], to: 'placed' } } }, v1)
const after = (
  shop(
    {
      transitions: {
        placements: { from: ['draft'], to: 'ordered' },
        shipments: { from: ['ordered'], to: 'shipped' },
      },
    },
    { ...v1, v2: { released: '2025-06-01' } },
  ) as unknown as { readonly change: (...of: unknown[]) => Service }
).change('v2', 'orders', {
  about: '`placed` orders are `ordered`, and can be shipped.',
  mapped: { status: { placed: 'ordered' } },
  shown: { status: { shipped: 'placed' } },
  transitions: { added: ['shipments'] },
})

const types = async (node: Node, path: string): Promise<readonly string[]> =>
  (await node.ask('GET', path)).json.data.map(({ type }: { readonly type: string }) => type)

for (const [name, make] of places)
  test(`R222 R224: a state that a version renames can be entered before old nodes have stopped, on ${name}`, async (t) => {
    const place = await make(t)
    const old = nodeOn(place, before)
    t.after(old.close)
    const made = await Promise.all([0, 1, 2].map(() => old.ask('POST', '/v1/orders', {})))
    const [one, other, third] = made.map(({ json }) => json.id) as [string, string, string]
    await alive(place)
    await applied(place, after)
    const now = nodeOn(place, after)
    t.after(now.close)

    const entered = await now.ask('POST', `/v2/orders/${one}/placements`)
    assert.deepEqual([entered.status, entered.json.status], [200, 'ordered'])
    assert.equal((await now.ask('POST', `/v1/orders/${other}/placements`)).json.status, 'placed')
    assert.equal((await old.ask('POST', `/v1/orders/${third}/placements`)).json.status, 'placed')
    // Old nodes have no such state.
    assert.equal((await now.ask('POST', `/v2/orders/${one}/shipments`)).status, 503)
    assert.equal((await now.ask('GET', `/v2/orders/${one}`)).json._links.shipments, undefined)

    const shows = async (node: Node, version: string, state: string): Promise<void> => {
      for (const id of [one, other, third]) {
        assert.equal((await node.ask('GET', `/${version}/orders/${id}`)).json.status, state)
        assert.deepEqual(await types(node, `/${version}/events?item=${id}`), ['order.created', `order.${state}`])
        assert.deepEqual(await types(node, `/${version}/events?item=${id}&type=order.${state}`), [`order.${state}`])
        assert.deepEqual(await types(node, `/${version}/orders/${id}/revisions`), [state, 'created'])
      }
      const list = await node.ask('GET', `/${version}/orders?status=${state}`)
      assert.equal(list.json.data.length, 3)
    }
    await shows(old, 'v1', 'placed')
    await shows(now, 'v1', 'placed')
    await shows(now, 'v2', 'ordered')

    await old.close()
    await place.rows('DELETE FROM bylaw_nodes')
    await applied(place, after)
    const next = nodeOn(place, after)
    t.after(next.close)
    await shows(next, 'v1', 'placed')
    await shows(next, 'v2', 'ordered')
    assert.equal((await next.ask('POST', `/v2/orders/${one}/shipments`)).status, 200)
    assert.deepEqual(await types(next, `/v2/events?item=${one}`), ['order.created', 'order.ordered', 'order.shipped'])
  })
