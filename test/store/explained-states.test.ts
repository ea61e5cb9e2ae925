/** Proves that `explain` judges states as requests do, and names what waits for the second phase of a change. R50, R222. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { count, f, type Service, service } from 'bylaw'
import { type Explanation, explainRequest } from '../../src/cli/explanation.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { openStore } from '../../src/terminal/open.ts'
import { alive, applied, nodeOn, type Place, places } from '../help/places.ts'

const shop = (more: object, fields: object, below: object): Service =>
  service({
    name: 'shop',
    resources: {
      orders: {
        prefix: 'ord',
        fields: { note: f.text({ optional: true }), ...fields },
        states: {
          field: 'status',
          initial: 'draft',
          transitions: { placements: { from: ['draft'], to: 'placed' } },
          ...more,
        },
        access: 'public',
      },
      lines: { prefix: 'lin', parent: { resource: 'orders', ...below }, fields: {}, access: 'public' },
    },
  } as never) as never

const before = shop({}, {}, {})
const transitions = {
  placements: { from: ['draft'], to: 'placed' },
  shipments: { from: ['placed'], to: 'shipped' },
  expiries: { from: ['draft'], to: 'shipped', after: 'P7D' },
}
const after = shop(
  { transitions, writable: { change: ['draft'], remove: ['draft'] } },
  { lineCount: f.integer({ derived: count('lines') }) },
  { while: ['draft'] },
)

async function explained({ url }: Place, api: Service, method: string, target: string): Promise<Explanation> {
  const store = await openStore(api, url, 'apply', { asItIs: true })
  const world = serviceWorld(realWorld, store)
  try {
    return await explainRequest({ method, target, caller: null, invalid: null }, { service: api, store, world })
  } finally {
    await store.close()
  }
}

const says = ({ steps }: Explanation, step: string) => steps.find((one) => one.step === step)?.says

for (const [name, make] of places)
  test(`explain follows states before and after the second phase (${name})`, async (t) => {
    const place = await make(t)
    const old = nodeOn(place, before)
    t.after(old.close)
    const { id } = (await old.ask('POST', '/orders', {})).json
    const line = (await old.ask('POST', `/orders/${id}/lines`, {})).json
    const bare = (await old.ask('POST', '/orders', {})).json.id
    for (const one of [id, bare]) await old.ask('POST', `/orders/${one}/placements`)
    await alive(place)
    assert.deepEqual((await applied(place, after)).waitsFor, ['old'])
    const asked = [
      ['PATCH', `/orders/${id}`],
      ['PUT', `/orders/${id}`],
      ['DELETE', `/orders/${bare}`],
      ['POST', `/orders/${id}/lines`],
      ['DELETE', `/lines/${line.id}`],
    ] as const
    for (const [method, target] of asked) {
      const found = await explained(place, after, method, target)
      assert.equal(found.refusal, null, `${method} ${target}`)
      const waits = target.includes('line')
        ? /`while` refuses nothing$/
        : /shipped answer 503; transitions by the clock/
      assert.match(String(says(found, 'waits')), waits)
    }
    const change = String(says(await explained(place, after, 'PATCH', `/orders/${id}`), 'waits'))
    assert.match(change, /`writable\.change` refuses nothing; `writable\.remove` refuses nothing; lineCount is null$/)
    const early = await explained(place, after, 'POST', `/orders/${id}/shipments`)
    assert.deepEqual([early.refusal?.status, early.refusal?.type], [503, 'maintenance'])
    await old.close()
    await place.rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await applied(place, after)).left, [])
    for (const [method, target] of asked) {
      const found = await explained(place, after, method, target)
      assert.deepEqual([found.refusal?.status, found.refusal?.type], [409, 'invalid-state'], `${method} ${target}`)
      assert.match(String(says(found, 'item')), /^Order is placed and .* while it is draft\.$/)
      assert.equal(says(found, 'waits'), undefined)
    }
    const open = await explained(place, after, 'POST', `/orders/${id}/shipments`)
    assert.equal(open.refusal, null)
  })
