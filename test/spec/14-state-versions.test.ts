/** States in older versions: renamed states, fields and transitions, states that are new, and refusals in the words of the version. */
import assert from 'node:assert/strict'
import { f, input, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

interface Tag {
  readonly name: string
}

const orders = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
  settings: { versions: { carriers: ['path'] } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ optional: true }), reason: f.text({ optional: true, readOnly: true }) },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          pauses: { from: ['placed'], to: 'paused' },
          shipments: { from: ['placed'], to: 'shipped' },
          cancellations: {
            from: ['draft', 'placed', 'paused'],
            to: 'cancelled',
            input: { reason: f.text({ optional: true }) },
            set: { reason: input('reason') },
          },
        },
        writable: { change: ['draft'] },
      },
      access: 'public',
    },
    'order-lines': {
      prefix: 'lin',
      parent: { resource: 'orders', while: ['draft'] },
      fields: { quantity: f.integer() },
      access: 'public',
    },
  },
}).change('v2', 'orders', {
  about: '`status` was called `state`, `draft` was `open`, orders can be paused, and `voids` are called cancellations.',
  renamed: { state: 'status' },
  mapped: { status: { open: 'draft' } },
  shown: { status: { paused: 'placed' } },
  transitions: { added: ['pauses'], renamed: { voids: 'cancellations' } },
})

doors('states in older versions', orders, (door: Door) => {
  const send = (method: string, path: string, json?: unknown, headers = {}) =>
    door.send(method, path, { ...(json !== undefined && { json }), headers })

  spec('R221 R224', 'older versions have their names of states, fields and transitions', async () => {
    const made = await send('POST', '/v1/orders', {})
    const { id } = made.json
    assert.deepEqual([made.json.state, made.json.status], ['open', undefined])
    const path = `/v1/orders/${id}`
    assert.deepEqual(made.json._links, { self: path, placements: `${path}/placements`, voids: `${path}/voids` })
    assert.equal((await send('POST', `${path}/pauses`)).status, 404)
    assert.equal((await send('POST', `${path}/cancellations`)).status, 404)
    const placed = await send('POST', `${path}/placements`)
    assert.deepEqual([placed.status, placed.json.state], [200, 'placed'])
    assert.deepEqual(Object.keys(placed.json._links), ['self', 'shipments', 'voids'])
    const paused = await send('POST', `/v2/orders/${id}/pauses`)
    assert.equal(paused.json.status, 'paused')
    const seen = await send('GET', path)
    assert.deepEqual([seen.json.state, seen.json._links], ['placed', { self: path, voids: `${path}/voids` }])
    const voided = await send('POST', `${path}/voids`, { reason: 'late' })
    assert.deepEqual([voided.json.state, voided.json.reason], ['cancelled', 'late'])
    const open = await send('GET', '/v1/orders?state=open')
    assert.ok(open.json.data.every((one: { state: string }) => one.state === 'open'))
  })

  spec('R222', 'a refusal has the names of the version', async () => {
    const { id } = (await send('POST', '/v1/orders', {})).json
    const line = await send('POST', `/v1/orders/${id}/order-lines`, { quantity: 1 })
    assert.equal(line.status, 201)
    await send('POST', `/v1/orders/${id}/placements`)
    await send('POST', `/v2/orders/${id}/pauses`)
    const changed = await send('PATCH', `/v1/orders/${id}`, { note: 'x' })
    assert.equal(changed.json.message, 'Order is placed and cannot be changed; that is possible while it is open.')
    const again = await send('POST', `/v1/orders/${id}/placements`)
    assert.equal(again.json.message, 'Order is placed; placements are possible while it is open.')
    const newest = await send('POST', `/v2/orders/${id}/placements`)
    assert.equal(newest.json.message, 'Order is paused; placements are possible while it is draft.')
    const below = await send('POST', `/v1/orders/${id}/order-lines`, { quantity: 1 })
    assert.equal(
      below.json.message,
      'Order is placed and what belongs to it cannot be written; that is possible while it is open.',
    )
    const changedLine = await send('PATCH', `/v1/order-lines/${line.json.id}`, { quantity: 2 })
    assert.equal(changedLine.json.message, below.json.message)
    const later = await send('POST', `/v1/orders/${id}/shipments`)
    assert.equal(
      later.json.message,
      'Order is only shown as placed (v1 does not have its state); shipments are possible while it is placed.',
    )
    const own = await send('POST', `/v2/orders/${id}/shipments`)
    assert.equal(own.json.message, 'Order is paused; shipments are possible while it is placed.')
  })

  spec('R214', 'the description of a version draws its states', async () => {
    const drawn = async (version: string): Promise<string> =>
      (await door.send('GET', `/openapi/${version}.json`)).json.tags.find(({ name }: Tag) => name === 'orders')
        .description
    assert.equal(
      await drawn('v1'),
      [
        'The resource orders.\n\n```mermaid\nstateDiagram-v2\n  [*] --> open\n  open --> placed: placements',
        '  placed --> shipped: shipments\n  open --> cancelled: voids\n  placed --> cancelled: voids\n```',
      ].join('\n'),
    )
    assert.match(await drawn('v2'), /\n {2}placed --> paused: pauses\n/)
  })

  spec(
    'R108',
    'a key that was used in one version is answered in another one with the names of that version',
    async () => {
      const { id } = (await send('POST', '/v1/orders', {})).json
      const key = { 'idempotency-key': `void-${id}` }
      const first = await send('POST', `/v1/orders/${id}/voids`, { reason: 'late' }, key)
      const again = await send('POST', `/v2/orders/${id}/cancellations`, { reason: 'late' }, key)
      assert.deepEqual(
        [first.json.state, again.json.status, again.headers['idempotency-replayed']],
        ['cancelled', 'cancelled', 'true'],
      )
    },
  )
})
