/** Adopted states: older versions write fields that became states or derived, keep withdrawn transitions, and may write in fewer states. */
import assert from 'node:assert/strict'
import { f, input, now, service, sum, times } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' }, v3: { released: '2025-09-01' } },
  settings: { versions: { carriers: ['path'] } },
  scopes: { 'orders:read': 'Read orders', 'orders:write': 'Write orders', 'orders:cancel': 'Cancel orders' },
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        note: f.text({ optional: true }),
        placedAt: f.timestamp({ optional: true, readOnly: true }),
        carrier: f.text({ max: 50, optional: true, readOnly: true }),
        express: f.boolean({ default: false, readOnly: true }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed', set: { placedAt: now } },
          shipments: {
            from: ['placed'],
            to: 'shipped',
            input: { forwarder: f.text({ max: 50 }), express: f.boolean() },
            set: { carrier: input('forwarder'), express: input('express') },
          },
          cancellations: { from: ['draft', 'placed'], to: 'cancelled', access: 'orders:cancel' },
        },
        writable: { change: ['draft'] },
      },
      access: { read: 'orders:read', write: 'orders:write' },
    },
    'order-lines': {
      prefix: 'lin',
      parent: { resource: 'orders', while: ['draft'] },
      fields: { quantity: f.integer() },
      access: 'orders:write',
    },
  },
})
  .change('v3', 'order-lines', { about: 'Lines of placed orders are fixed.', while: ['draft', 'placed'] })
  .change('v3', 'orders', {
    about:
      'Orders are not voided or returned any more, shipped orders cannot be cancelled, and shipments say how fast.',
    transitions: {
      withdrawn: {
        voids: { from: ['draft'], to: 'cancelled', by: 'cancellations' },
        returns: { from: ['shipped'], to: 'placed', refused: 410 },
        reminders: { from: ['placed'], to: 'placed', refused: 409 },
      },
      changed: {
        cancellations: { from: ['draft', 'placed', 'shipped'] },
        shipments: {
          input: { renamed: { carrier: 'forwarder' }, added: ['express'], request: () => ({ express: false }) },
        },
      },
    },
    writable: { change: null },
  })
  .change('v2', 'orders', {
    about: '`status` was written by clients, and finished orders were `done`.',
    retyped: { status: f.enum(['draft', 'placed', 'cancelled', 'done', 'lost'], { default: 'draft', filter: true }) },
    mapped: { status: { shipped: 'shipped', done: 'shipped' } },
    shown: { status: { shipped: 'done' } },
    transitions: { written: { placed: 'placements', cancelled: 'cancellations' } },
  })

const holders = {
  clerk: { scopes: ['orders:read', 'orders:write', 'orders:cancel'] },
  writer: { scopes: ['orders:read', 'orders:write'] },
}

doors(
  'states that older versions write',
  shop,
  (door: Door) => {
    const send = (method: string, path: string, json?: unknown, who = 'clerk', headers = {}) =>
      door.send(method, path, { ...(json !== undefined && { json }), headers: { ...door.as(who), ...headers } })
    const order = async (body = {}) => `/orders/${(await send('POST', '/v3/orders', body)).json.id}`
    const place = async (path: string) => assert.equal((await send('POST', `/v3${path}/placements`)).status, 200)
    const ship = async (path: string) =>
      assert.equal((await send('POST', `/v3${path}/shipments`, { forwarder: 'DHL', express: true })).status, 200)

    spec('R220', 'a state that an older version writes carries out its transition', async () => {
      const path = await order()
      const seen = await send('GET', `/v1${path}`)
      assert.deepEqual([seen.json.status, seen.json._links], ['draft', undefined])
      const placed = await send('PATCH', `/v1${path}`, { status: 'placed' })
      assert.deepEqual([placed.status, placed.json.status], [200, 'placed'], placed.text)
      const now = await send('GET', `/v3${path}`)
      assert.equal(now.json.status, 'placed')
      assert.match(now.json.placedAt, /Z$/)
      const same = await send('PATCH', `/v1${path}`, { status: 'placed' })
      assert.equal(same.status, 409, 'placed orders cannot be changed')
      const { id: _, createdAt: __, updatedAt: ___, ...body } = placed.json
      const put = await send('PUT', `/v1${path}`, { ...body, status: 'cancelled' })
      assert.deepEqual([put.status, put.json.status], [200, 'cancelled'], put.text)
    })

    spec('R220', 'a state without a transition to it is refused, and never ignored', async () => {
      const path = await order()
      for (const status of ['done', 'lost']) {
        const refused = await send('PATCH', `/v1${path}`, { status })
        assert.deepEqual([refused.status, refused.json.type], [409, 'invalid-state'])
        assert.equal(
          refused.json.message,
          `Order is draft and cannot be set to ${status}; it can be set to placed or cancelled.`,
        )
      }
      await place(path)
      const back = await send('PUT', `/v1${path}`, { status: 'draft' })
      assert.equal(back.json.message, 'Order is placed and cannot be set to draft; it can be set to cancelled.')
      const unknown = await send('PATCH', `/v1${path}`, { status: 'nope' })
      assert.equal(unknown.status, 400)
      assert.equal((await send('GET', `/v3${path}`)).json.status, 'placed')
    })

    spec('R220', 'a new item may begin where one transition leads', async () => {
      const plain = await send('POST', '/v1/orders', {})
      assert.deepEqual([plain.status, plain.json.status], [201, 'draft'])
      const placed = await send('POST', '/v1/orders', { status: 'placed' })
      assert.deepEqual([placed.status, placed.json.status], [201, 'placed'])
      assert.notEqual((await send('GET', `/v3/orders/${placed.json.id}`)).json.placedAt, null)
      const done = await send('POST', '/v1/orders', { status: 'done' })
      assert.deepEqual(
        [done.status, done.json.message],
        [409, 'A new item is draft and cannot be set to done; it can be set to placed or cancelled.'],
      )
    })

    spec('R222', 'a body that changes other fields too needs a state that allows it', async () => {
      const path = await order()
      const both = await send('PATCH', `/v1${path}`, { status: 'placed', note: 'x' })
      assert.deepEqual([both.status, both.json.status, both.json.note], [200, 'placed', 'x'])
      const late = await send('PATCH', `/v1${path}`, { status: 'cancelled', note: 'y' })
      assert.deepEqual([late.status, late.json.type], [409, 'invalid-state'])
    })

    spec('R169', 'writing a state needs the right to its transition', async () => {
      const path = await order()
      const refused = await send('PATCH', `/v1${path}`, { status: 'cancelled' }, 'writer')
      assert.deepEqual([refused.status, refused.json.type], [403, 'insufficient-scope'])
      assert.equal((await send('PATCH', `/v1${path}`, { status: 'placed' }, 'writer')).status, 200)
    })

    spec('R195', 'a withdrawn transition is carried out as another one, or refused', async () => {
      const path = await order()
      const links = (await send('GET', `/v2${path}`)).json._links
      assert.deepEqual(Object.keys(links), ['self', 'placements', 'cancellations', 'voids'])
      const voided = await send('POST', `/v2${path}/voids`)
      assert.deepEqual([voided.status, voided.json.status], [200, 'cancelled'])
      assert.equal((await send('POST', `/v3${path}/voids`)).status, 404)
      const gone = await send('POST', `/v2${path}/returns`)
      assert.deepEqual([gone.status, gone.json.type], [410, 'gone'])
      assert.equal(gone.json.message, 'Order is cancelled; returns are not possible any more since v3.')
      const refused = await send('POST', `/v2${path}/reminders`)
      assert.deepEqual([refused.status, refused.json.type], [409, 'invalid-state'])
      assert.equal((await send('POST', '/v2/orders/ord_01h455vb4pex5vsknk084sn02q/returns')).status, 404)
    })

    spec('R222', 'where fewer states allow a write, older versions are refused with their names', async () => {
      const path = await order()
      await place(path)
      const changed = await send('PATCH', `/v2${path}`, { note: 'x' })
      assert.equal(changed.json.message, 'Order is placed and cannot be changed; that is possible while it is draft.')
      const below = await send('POST', `/v2${path}/order-lines`, { quantity: 1 })
      assert.deepEqual([below.status, below.json.type], [409, 'invalid-state'])
      await ship(path)
      const late = await send('POST', `/v2${path}/cancellations`)
      assert.equal(late.json.message, 'Order is shipped; cancellations are possible while it is draft or placed.')
    })

    spec('R108 R195', 'inputs have the names and defaults of the older version', async () => {
      const path = await order()
      await place(path)
      const strange = await send('POST', `/v2${path}/shipments`, { forwarder: 'DHL' })
      assert.deepEqual(
        strange.json.errors.map(({ pointer }: { pointer: string }) => pointer),
        ['/carrier', '/forwarder'],
      )
      const key = { 'idempotency-key': `ship-${path}` }
      const shipped = await send('POST', `/v2${path}/shipments`, { carrier: 'DHL' }, 'clerk', key)
      assert.deepEqual([shipped.status, shipped.json.carrier, shipped.json.express], [200, 'DHL', false])
      const again = await send('POST', `/v3${path}/shipments`, { forwarder: 'DHL', express: false }, 'clerk', key)
      assert.deepEqual([again.status, again.headers['idempotency-replayed']], [200, 'true'], again.text)
      assert.equal((await send('GET', `/v1${path}`)).json.status, 'done')
      const open = await send('GET', '/v1/orders?status=done')
      assert.ok(open.json.data.some(({ id }: { id: string }) => path.endsWith(id)))
    })
  },
  { holders },
)

const bills = service({
  name: 'bills',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
  settings: { versions: { carriers: ['path'] } },
  resources: {
    bills: {
      prefix: 'bil',
      fields: {
        quantity: f.integer({ max: 99 }),
        price: f.decimal({ scale: 2, precision: 6 }),
        amount: f.decimal({ scale: 2, derived: true }),
        total: f.decimal({ scale: 2, derived: sum('parts', 'price') }),
      },
      derived: { amount: ({ quantity, price }: { quantity: number; price: string }) => times(price, quantity) },
      access: 'public',
    },
    parts: { prefix: 'par', parent: 'bills', fields: { price: f.decimal({ scale: 2 }) }, access: 'public' },
  },
}).change('v2', 'bills', {
  about: '`amount` and `total` follow from other values.',
  retyped: { amount: f.decimal({ scale: 2 }), total: f.decimal({ scale: 2, default: '0.00' }) },
})

doors('derived fields that older versions write', bills, (door: Door) => {
  const send = (method: string, path: string, json: unknown) => door.send(method, `/v1${path}`, { json })

  spec('R225', 'a value is accepted if it is what follows, and otherwise refused, never ignored', async () => {
    const made = await send('POST', '/bills', { quantity: 2, price: '3', amount: '6' })
    assert.deepEqual([made.status, made.json.amount, made.json.total], [201, '6.00', '0.00'])
    for (const body of [{ amount: '7' }, { amount: '6', total: '1' }]) {
      const refused = await send('POST', '/bills', { quantity: 2, price: '3', ...body })
      assert.deepEqual([refused.status, refused.json.type], [409, 'conflict'])
    }
    const path = `/bills/${made.json.id}`
    const refused = await send('PATCH', path, { amount: '9' })
    assert.equal(
      refused.json.message,
      'amount follows from other values: it is "6.00" and cannot be set; leave it out or send it as it is.',
    )
    const { id: _, createdAt: __, updatedAt: ___, ...body } = made.json
    const put = await send('PUT', path, { ...body, quantity: 3 })
    assert.deepEqual([put.status, put.json.amount], [200, '9.00'], put.text)
  })
})
