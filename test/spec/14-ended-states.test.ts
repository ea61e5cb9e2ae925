/** Older versions whose states ended, and whose transitions lead to other states now. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const values = ['draft', 'placed', 'cancelled'] as const
const shop = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
  settings: { versions: { carriers: ['path'] } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: { status: f.enum(values, { default: 'draft', filter: true, sort: true }) },
      access: 'public',
    },
    notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' },
    bills: {
      prefix: 'bil',
      fields: {},
      states: {
        field: 'state',
        initial: 'open',
        transitions: {
          closures: { from: ['open'], to: 'archived' },
          voids: { from: ['open'], to: 'archived' },
          payments: { from: ['open'], to: 'paid' },
        },
      },
      access: 'public',
    },
  },
})
  .change('v2', 'orders', {
    about: '`status` is a field that clients write.',
    states: { field: 'status', initial: 'draft' },
    transitions: {
      withdrawn: {
        placements: { from: ['draft'], to: 'placed', refused: 410 },
        cancellations: { from: ['draft', 'placed'], to: 'cancelled', refused: 409 },
        expiries: { from: ['draft'], to: 'cancelled', after: 'P7D' },
      },
    },
  })
  .change('v2', 'notes', {
    about: 'Notes have no states.',
    removed: { state: f.enum(['new', 'read'], { readOnly: true, default: 'new' }) },
    states: { field: 'state', initial: 'new' },
    transitions: { withdrawn: { readings: { from: ['new'], to: 'read', refused: 410 } } },
  })
  .change('v2', 'bills', {
    about: 'Closures lead to archived instead of paid.',
    transitions: {
      added: ['closures'],
      withdrawn: { closures: { from: ['open'], to: 'paid', by: 'payments' } },
    },
  })

doors('states that ended', shop, (door: Door) => {
  const send = (method: string, path: string, json?: unknown) =>
    door.send(method, path, { ...(json !== undefined && { json }) })

  spec('R50 R224', 'requests for their transitions are refused, and items have no link to them', async () => {
    const made = (await send('POST', '/v1/orders', {})).json
    const path = `/v1/orders/${made.id}`
    assert.deepEqual([made.status, made._links], ['draft', { self: path }])
    const gone = await send('POST', `${path}/placements`)
    assert.deepEqual(
      [gone.status, gone.json.type, gone.json.message],
      [410, 'gone', 'Order has no states; placements are not possible any more since v2.'],
    )
    const refused = await send('POST', `${path}/cancellations`)
    assert.deepEqual([refused.status, refused.json.type], [409, 'invalid-state'])
    assert.equal((await send('POST', `${path}/expiries`)).status, 404)
    assert.equal((await send('POST', `/v2/orders/${made.id}/placements`)).status, 404)
    assert.equal('_links' in (await send('GET', `/v2/orders/${made.id}`)).json, false)
  })

  spec('R196 R220', 'the newest version writes their field, and the older one shows it read-only', async () => {
    const { id } = (await send('POST', '/v2/orders', { status: 'placed' })).json
    assert.equal((await send('GET', `/v1/orders/${id}`)).json.status, 'placed')
    await send('PATCH', `/v2/orders/${id}`, { status: 'cancelled' })
    assert.equal((await send('PATCH', `/v1/orders/${id}`, { status: 'draft' })).json.status, 'cancelled')
    const found = (await send('GET', '/v1/orders?status=cancelled')).json.data
    assert.deepEqual(
      found.map((one: { id: string }) => one.id),
      [id],
    )
  })

  spec('R196', 'a field that went with them has the value that the change gives', async () => {
    const { id, state, _links } = (await send('POST', '/v1/notes', { text: 'a' })).json
    assert.deepEqual([state, _links], ['new', { self: `/v1/notes/${id}` }])
    assert.equal((await send('POST', `/v1/notes/${id}/readings`)).status, 410)
    assert.equal((await send('GET', `/v2/notes/${id}`)).json.state, undefined)
  })

  spec('R196 R221', 'a transition with another end is another transition', async () => {
    const [first, second] = [(await send('POST', '/v1/bills', {})).json, (await send('POST', '/v1/bills', {})).json]
    const closed = await send('POST', first._links.closures)
    assert.deepEqual([closed.status, closed.json.state], [200, 'paid'])
    const archived = await send('POST', `/v2/bills/${second.id}/closures`)
    assert.deepEqual([archived.status, archived.json.state], [200, 'archived'])
  })
})
