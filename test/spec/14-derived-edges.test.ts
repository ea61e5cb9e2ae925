/** Derived fields together with states: an item that refers to itself, keys that are sent again, values that do not fit. R225, R98. */
import assert from 'node:assert/strict'
import { count, f, max, resource, service, sum } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  settings: { idempotency: { mode: 'replay' } },
  resources: {
    nodes: {
      key: 'name',
      fields: {
        name: f.text({ max: 50 }),
        upId: f.ref('nodes', { optional: true }),
        weight: f.integer({ default: 1 }),
        below: f.integer({ derived: count('nodes') }),
        heaviest: f.integer({ optional: true, derived: max('nodes', 'weight') }),
      },
      access: 'public',
    },
    orders: resource({
      prefix: 'ord',
      fields: { total: f.integer({ derived: sum('lines', 'amount') }) },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: { placements: { from: ['draft'], to: 'placed' } },
      },
      access: 'public',
    }),
    invoices: {
      prefix: 'inv',
      fields: { orderId: f.ref('orders', { onDelete: 'cascade' }) },
      states: {
        field: 'phase',
        initial: 'open',
        transitions: { payments: { from: ['open'], to: 'paid' }, refunds: { from: ['paid'], to: 'open' } },
        writable: { remove: ['open'] },
      },
      access: 'public',
    },
    parcels: {
      prefix: 'par',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: {},
      states: {
        field: 'place',
        initial: 'here',
        transitions: { departures: { from: ['here'], to: 'away' } },
        writable: { remove: ['here'] },
      },
      access: 'public',
    },
    lines: {
      prefix: 'lin',
      parent: { resource: 'orders', while: ['draft'], onDelete: 'cascade' },
      fields: { amount: f.integer() },
      access: 'public',
    },
  },
})

doors('derived fields at the edges', shop, (door: Door) => {
  const send = (method: string, path: string, json?: unknown, headers = {}) =>
    door.send(method, path, { ...(json !== undefined && { json }), headers })

  spec('R225', 'an item that refers to itself is answered with the totals that its write gave it', async () => {
    const made = await send('PUT', '/nodes/a', { upId: 'a', weight: 5 })
    assert.deepEqual([made.status, made.json.below, made.json.heaviest], [201, 1, 5])
    const read = await send('GET', '/nodes/a')
    assert.deepEqual([read.json, read.headers.etag], [made.json, made.headers.etag])
    const changed = await send('PATCH', '/nodes/a', { weight: 3 }, { 'if-match': made.headers.etag })
    assert.deepEqual([changed.status, changed.json.heaviest], [200, 3])
    const again = await send('PATCH', '/nodes/a', { upId: null }, { 'if-match': changed.headers.etag })
    assert.deepEqual([again.status, again.json.below, again.json.heaviest], [200, 0, null])
    const key = { 'idempotency-key': 'node' }
    const first = await send('POST', '/nodes', { name: 'b', upId: 'b' }, key)
    const second = await send('POST', '/nodes', { name: 'b', upId: 'b' }, key)
    assert.deepEqual([second.json, second.headers.etag], [first.json, first.headers.etag])
    assert.equal(first.json.below, 1)
  })

  spec('R222', 'a cascade does not remove an item whose own state forbids it, but what the item owns', async () => {
    const { id } = (await send('POST', '/orders', {})).json
    const invoice = (await send('POST', '/invoices', { orderId: id })).json
    const parcel = (await send('POST', `/orders/${id}/parcels`, {})).json
    assert.equal((await send('POST', `/parcels/${parcel.id}/departures`)).status, 200)
    assert.equal((await send('DELETE', `/parcels/${parcel.id}`)).status, 409)
    await send('POST', `/invoices/${invoice.id}/payments`)
    const refused = await send('DELETE', `/orders/${id}`)
    assert.deepEqual([refused.status, refused.json.type], [409, 'has-dependents'])
    assert.equal((await send('GET', `/parcels/${parcel.id}`)).status, 200)
    await send('POST', `/invoices/${invoice.id}/refunds`)
    assert.equal((await send('DELETE', `/orders/${id}`)).status, 204)
    for (const path of [`/invoices/${invoice.id}`, `/parcels/${parcel.id}`])
      assert.equal((await send('GET', path)).status, 410)
  })

  spec('R98 R222', 'a creation is replayed by its key, whatever state the owner is in by then', async () => {
    const { id } = (await send('POST', '/orders', {})).json
    const key = { 'idempotency-key': 'line' }
    const first = await send('POST', `/orders/${id}/lines`, { amount: 2 }, key)
    assert.equal(first.status, 201)
    await send('POST', `/orders/${id}/placements`)
    const again = await send('POST', `/orders/${id}/lines`, { amount: 2 }, key)
    assert.deepEqual([again.status, again.json, again.headers['idempotency-replayed']], [201, first.json, 'true'])
    assert.equal((await send('POST', `/orders/${id}/lines`, { amount: 3 }, key)).status, 422)
    const other = { 'idempotency-key': 'other' }
    assert.equal((await send('POST', `/orders/${id}/lines`, { amount: 3 }, other)).status, 409)
    const elsewhere = (await send('POST', '/orders', {})).json.id
    assert.equal((await send('POST', `/orders/${elsewhere}/lines`, { amount: 3 }, other)).status, 201)
    assert.equal((await send('GET', `/orders/${id}`)).json.total, 2)
  })
})

const bounded = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
  settings: { versions: { carriers: ['path'] }, batches: 10 },
  scopes: { sales: 'Sell', margins: 'Read margins' },
  resources: {
    orders: resource({
      prefix: 'ord',
      fields: {
        whole: f.integer({ derived: sum('lines', 'quantity'), max: 100, read: 'margins' }),
        half: f.integer({ derived: true, max: 20, read: 'margins' }),
      },
      derived: { half: ({ whole }) => Math.floor(whole / 2) },
      access: 'sales',
    }),
    lines: resource({
      prefix: 'lin',
      parent: 'orders',
      fields: { quantity: f.integer(), double: f.integer({ derived: true, max: 1000 }) },
      derived: { double: ({ quantity }) => quantity * 2 },
      access: 'sales',
    }),
    scales: resource({
      prefix: 'sca',
      fields: { whole: f.integer({ derived: sum('weights', 'grams') }), half: f.integer({ derived: true, max: 5 }) },
      derived: { half: ({ whole }) => whole / 2 },
      access: 'sales',
    }),
    owners: { prefix: 'own', fields: {}, access: 'sales' },
    weights: {
      prefix: 'wei',
      fields: {
        grams: f.integer(),
        scaleId: f.ref('scales'),
        ownerId: f.ref('owners', { optional: true, onDelete: 'cascade' }),
      },
      access: 'sales',
    },
    boxes: resource({
      prefix: 'box',
      fields: {
        heaviest: f.integer({ optional: true, derived: max('parcels', 'weight') }),
        grade: f.integer({ derived: true, max: 5 }),
      },
      derived: { grade: ({ heaviest }) => heaviest ?? 0 },
      access: 'sales',
    }),
    parcels: {
      prefix: 'par',
      parent: 'boxes',
      fields: {
        weight: f.integer(),
        insideId: f.ref('parcels', { optional: true }),
        inner: f.integer({ optional: true, derived: max('parcels', 'weight') }),
      },
      access: 'sales',
    },
  },
})
  .change('v2', 'orders', { about: 'Purchases are orders.', was: 'purchases', renamed: { total: 'whole' } })
  .change('v2', 'lines', { about: 'Other names.', renamed: { amount: 'quantity', twice: 'double' } })

doors(
  'derived values that do not fit',
  bounded,
  (door: Door) => {
    const send = (path: string, json: object) => door.send('POST', path, { json, headers: door.as('seller') })
    const order = async () => (await send('/v2/orders', {})).json.id

    spec('R225', 'are not shown to callers who may not read them, and have the names of the version', async () => {
      const id = await order()
      assert.equal((await send(`/v2/orders/${id}/lines`, { quantity: 30 })).status, 201)
      const over = await send(`/v2/orders/${id}/lines`, { quantity: 80 })
      assert.deepEqual(
        [over.status, over.json.type, over.json.message],
        [409, 'conflict', `whole of Order ${id} must be at most 100. It follows from other items.`],
      )
      const older = await send(`/v1/purchases/${id}/lines`, { amount: 80 })
      const named = `total of Purchase ${id} must be at most 100. It follows from other items.`
      assert.deepEqual([older.status, older.json.message], [409, named])
      const operations = [{ method: 'POST', path: `/purchases/${id}/lines`, body: { amount: 80 } }]
      const batch = await send('/v1/batches', { operations })
      assert.deepEqual([batch.status, batch.json.message], [409, named])
    })

    spec('R225 R112', 'a hidden total changes the tag of its item also if it stays the same', async () => {
      const path = `/v2/orders/${await order()}`
      const tag = async () => (await door.send('GET', path, { headers: door.as('seller') })).headers.etag
      const seen = [await tag()]
      const line = await send(`${path}/lines`, { quantity: 0 })
      seen.push(await tag())
      const at = `/v2/lines/${line.json.id}`
      await door.send('PATCH', at, { json: { quantity: 0 }, headers: door.as('seller') })
      assert.equal(await tag(), seen[1], 'the line stays as it is')
      await door.send('DELETE', at, { headers: door.as('seller') })
      seen.push(await tag())
      assert.equal(new Set(seen).size, 3)
    })

    spec('R225', 'of a function are refused at their field, or as a conflict if another item has it', async () => {
      const id = await order()
      const own = await send(`/v1/purchases/${id}/lines`, { amount: 600 })
      const [fault] = own.json.errors
      assert.deepEqual(
        [own.status, fault.type, fault.pointer, fault.message],
        [400, 'out-of-range', '/twice', 'twice must be at most 1000. It follows from other fields.'],
      )
      const above = await send(`/v2/orders/${id}/lines`, { quantity: 42 })
      assert.deepEqual(
        [above.status, above.json.message],
        [409, `half of Order ${id} must be at most 20. It follows from other items.`],
      )
      const scaleId = (await send('/v2/scales', {})).json.id
      const ownerId = (await send('/v2/owners', {})).json.id
      for (const one of [{ grams: 8 }, { grams: -8, ownerId }, { grams: 8 }])
        assert.equal((await send('/v2/weights', { ...one, scaleId })).status, 201)
      const light = await door.send('DELETE', `/v2/owners/${ownerId}`, { headers: door.as('seller') })
      assert.deepEqual(
        [light.status, light.json.message],
        [409, `half of Scale ${scaleId} must be at most 5. It follows from other items.`],
      )
      const box = (await send('/v2/boxes', {})).json.id
      const heavy = await send(`/v2/boxes/${box}/parcels`, { weight: 6 })
      assert.deepEqual(
        [heavy.status, heavy.json.message],
        [409, `grade of Box ${box} must be at most 5. It follows from other items.`],
      )
    })
  },
  { holders: { seller: { scopes: ['sales'] } } },
)
