/** States: transitions over HTTP, what a state allows, and what older and parallel requests meet. R50, R50a, R108, R220 to R222. */
import assert from 'node:assert/strict'
import { caller, f, input, now, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  scopes: { 'orders:read': 'Read orders', 'orders:write': 'Write orders', 'orders:ship': 'Ship orders' },
  resources: {
    customers: { fields: { name: f.text() }, access: 'orders:write' },
    orders: {
      prefix: 'ord',
      fields: {
        note: f.text({ optional: true }),
        placedAt: f.timestamp({ optional: true, readOnly: true }),
        placedBy: f.text({ optional: true, readOnly: true }),
        carrier: f.text({ max: 50, optional: true, readOnly: true }),
        customerId: f.ref('customers', { optional: true }),
        total: f.decimal({ scale: 2, default: '0', readOnly: true }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed', set: { placedAt: now, placedBy: caller, total: '5' } },
          shipments: {
            from: ['placed'],
            to: 'shipped',
            access: 'orders:ship',
            input: { carrier: f.text({ max: 50 }), customer: f.ref('customers', { optional: true }) },
            set: { carrier: input('carrier'), customerId: input('customer') },
          },
          notes: {
            from: ['placed'],
            to: 'placed',
            input: { text: f.text({ optional: true }) },
            set: { note: input('text') },
          },
          cancellations: { from: ['draft', 'placed'], to: 'cancelled' },
        },
        writable: { change: ['draft'], remove: ['draft', 'cancelled'] },
      },
      sorts: { progress: ['status', '-createdAt'] },
      access: { read: 'orders:read', write: 'orders:write' },
    },
    'order-lines': {
      prefix: 'lin',
      parent: { resource: 'orders', while: ['draft'], onDelete: 'cascade' },
      fields: { quantity: f.integer({ min: 1, default: 1 }) },
      access: 'orders:write',
    },
  },
})

const all = ['orders:read', 'orders:write', 'orders:ship']
const holders = {
  clerk: { scopes: all },
  writer: { scopes: ['orders:read', 'orders:write'] },
  reader: { scopes: ['orders:read'] },
}

doors(
  'states',
  shop,
  (door: Door) => {
    const send = (method: string, path: string, json?: unknown, headers = {}, who = 'clerk') =>
      door.send(method, path, { ...(json !== undefined && { json }), headers: { ...door.as(who), ...headers } })
    const order = async () => (await send('POST', '/orders', {})).json as { id: string }

    spec('R220', 'an item begins in the initial state, whatever the body says', async () => {
      const made = await send('POST', '/orders', {})
      assert.equal(made.json.status, 'draft')
      const given = await send('POST', '/orders', { status: 'placed' })
      assert.deepEqual([given.status, given.json.errors[0].type], [400, 'read-only-field'])
      const put = await send('PUT', `/orders/${made.json.id}`, { ...made.json, status: 'shipped' })
      assert.deepEqual([put.status, put.json.status], [200, 'draft'])
      const patched = await send('PATCH', `/orders/${made.json.id}`, { status: 'shipped', note: 'x' })
      assert.deepEqual([patched.status, patched.json.status], [200, 'draft'])
    })

    spec('R88 R50a', 'a transition answers the item with its tag and place', async () => {
      const { id } = await order()
      const placed = await send('POST', `/orders/${id}/placements`)
      assert.deepEqual([placed.status, placed.json.status, placed.json.total], [200, 'placed', '5.00'])
      assert.equal(placed.headers['content-location'], `/orders/${id}`)
      assert.equal(placed.json.placedBy, 'key:clerk')
      assert.match(placed.json.placedAt, /^\d{4}-.*Z$/)
      const read = await send('GET', `/orders/${id}`)
      assert.deepEqual([read.json, read.headers.etag], [placed.json, placed.headers.etag])
      assert.equal((await send('POST', `/orders/${id}/notes`, {})).status, 200)
      const got = await send('GET', `/orders/${id}/placements`)
      assert.deepEqual([got.status, got.headers.allow], [405, 'OPTIONS, POST'])
      const absent = await send('POST', '/orders/ord_00000000000000000000000000/placements')
      assert.equal(absent.json.type, 'resource-not-found')
      await send('POST', `/orders/${id}/cancellations`)
      await send('DELETE', `/orders/${id}`)
      assert.equal((await send('POST', `/orders/${id}/placements`)).status, 410)
    })

    spec('R50', 'a transition that the state does not allow is refused with both states', async () => {
      const { id } = await order()
      const refused = await send('POST', `/orders/${id}/shipments`, { carrier: 'DHL' })
      assert.deepEqual([refused.status, refused.json.type], [409, 'invalid-state'])
      assert.equal(refused.json.message, 'Order is draft; shipments are possible while it is placed.')
    })

    spec('R221', 'input is checked like a body, and refusals name the input', async () => {
      const { id } = await order()
      await send('POST', `/orders/${id}/placements`)
      const none = await send('POST', `/orders/${id}/shipments`)
      assert.deepEqual([none.status, none.json.type], [400, 'body-required'])
      const empty = await send('POST', `/orders/${id}/shipments`, {})
      assert.deepEqual([empty.status, empty.json.errors[0].pointer], [400, '/carrier'])
      const long = await send('POST', `/orders/${id}/shipments`, { carrier: 'x'.repeat(51), colour: 'red' })
      assert.deepEqual(
        long.json.errors.map((one: { type: string; pointer: string }) => [one.type, one.pointer]),
        [
          ['too-long', '/carrier'],
          ['unknown-field', '/colour'],
        ],
      )
      const other = await send('POST', `/orders/${id}/shipments`, {
        carrier: 'DHL',
        customer: 'customer_7zzz0000000000000000000000',
      })
      assert.deepEqual([other.status, other.json.errors[0].pointer], [400, '/customer'])
      const bare = await send('POST', `/orders/${id}/cancellations`, { why: 'no' })
      assert.deepEqual([bare.status, bare.json.errors[0].type], [400, 'unknown-field'])
      const forbidden = await send('POST', `/orders/${id}/shipments`, { carrier: 'DHL' }, {}, 'writer')
      assert.equal(forbidden.status, 403)
      const done = await send('POST', `/orders/${id}/shipments`, { carrier: 'DHL' })
      assert.deepEqual([done.status, done.json.carrier], [200, 'DHL'])
    })

    spec('R221', 'a transition honours If-Match, and of two at once one takes place', async () => {
      const made = await send('POST', '/orders', {})
      const path = `/orders/${made.json.id}`
      await send('PATCH', path, { note: 'changed' })
      const stale = await send('POST', `${path}/placements`, undefined, { 'if-match': made.headers.etag })
      assert.equal(stale.status, 412)
      const all = await Promise.all(Array.from({ length: 8 }, () => send('POST', `${path}/placements`)))
      assert.deepEqual(all.map(({ status }) => status).toSorted(), [200, ...Array(7).fill(409)])
      const twice = await Promise.all([
        send('POST', `${path}/notes`, { text: 'a' }),
        send('POST', `${path}/notes`, { text: 'b' }),
      ])
      assert.deepEqual(
        twice.map(({ status }) => status),
        [200, 200],
      )
    })

    spec('R108', 'a repeated key gets the first answer, before the state and the item are looked at', async () => {
      const { id } = await order()
      const key = { 'idempotency-key': `place-${id}` }
      const first = await send('POST', `/orders/${id}/placements`, undefined, key)
      const again = await send('POST', `/orders/${id}/placements`, {}, { ...key, 'if-match': '"old"' })
      assert.deepEqual([again.status, again.json, again.headers.etag], [200, first.json, first.headers.etag])
      assert.equal(again.headers['idempotency-replayed'], 'true')
      assert.equal(again.headers['content-location'], `/orders/${id}`)
      await send('POST', `/orders/${id}/cancellations`)
      await send('DELETE', `/orders/${id}`)
      assert.deepEqual((await send('POST', `/orders/${id}/placements`, undefined, key)).json, first.json)
      const other = await order()
      const elsewhere = await send('POST', `/orders/${other.id}/placements`, undefined, key)
      assert.deepEqual([elsewhere.status, elsewhere.json.type], [422, 'idempotency-key-payload-mismatch'])
      const action = await send('POST', `/orders/${other.id}/cancellations`, undefined, key)
      assert.equal(action.status, 422)
      assert.equal((await send('POST', '/orders', {}, key)).status, 201) // creations have keys of their own
    })

    spec('R108', 'a refused transition does not use its key', async () => {
      const { id } = await order()
      const key = { 'idempotency-key': `ship-${id}` }
      assert.equal((await send('POST', `/orders/${id}/shipments`, { carrier: 'DHL' }, key)).status, 409)
      await send('POST', `/orders/${id}/placements`)
      const body = { carrier: 'DHL', idempotencyKey: `ship-${id}` }
      const done = await send('POST', `/orders/${id}/shipments`, body)
      assert.deepEqual([done.status, done.json.status], [200, 'shipped'])
      assert.equal(
        (await send('POST', `/orders/${id}/shipments`, { carrier: 'DHL' }, key)).headers['idempotency-replayed'],
        'true',
      )
      assert.equal((await send('POST', `/orders/${id}/shipments`, { carrier: 'UPS' }, key)).status, 422)
    })

    spec('R222', 'a state forbids changes, removals and writes of children', async () => {
      const { id } = await order()
      const line = await send('POST', `/orders/${id}/order-lines`, {})
      const linePath = `/order-lines/${line.json.id}`
      assert.equal((await send('PATCH', linePath, { quantity: 2 })).status, 200)
      await send('POST', `/orders/${id}/placements`)
      const refusals = [
        await send('PATCH', `/orders/${id}`, {}),
        await send('PUT', `/orders/${id}`, {}),
        await send('DELETE', `/orders/${id}`),
        await send('POST', `/orders/${id}/order-lines`, {}),
        await send('PATCH', linePath, { quantity: 2 }),
        await send('PUT', linePath, { quantity: 3 }),
        await send('DELETE', linePath),
      ]
      for (const one of refusals) assert.deepEqual([one.status, one.json.type], [409, 'invalid-state'])
      assert.equal(
        refusals[0]?.json.message,
        'Order is placed and cannot be changed; that is possible while it is draft.',
      )
      assert.match(refusals[3]?.json.message, /^Order is placed and what belongs to it cannot be written; .* draft\.$/)
      const wrong = await send('PATCH', `/orders/${id}`, { note: 5 })
      assert.equal(wrong.status, 400) // the fields come first
      await send('POST', `/orders/${id}/cancellations`)
      assert.equal((await send('DELETE', `/orders/${id}`)).status, 204) // its lines go with it, whatever its state
      assert.equal((await send('GET', linePath)).status, 410)
    })

    spec('R220', 'lists filter and sort by the state', async () => {
      const { id } = await order()
      await send('POST', `/orders/${id}/placements`)
      const placed = await send('GET', '/orders?status=placed&sort=status')
      assert.ok(placed.json.data.some((one: { id: string }) => one.id === id))
      const sets = await send('GET', '/orders?status=in:(placed,shipped)&custom_sort=progress')
      assert.ok(sets.json.data.every((one: { status: string }) => ['placed', 'shipped'].includes(one.status)))
      assert.equal((await send('GET', '/orders?status=sold')).status, 400)
    })

    spec('R49 R224', 'links hold self and exactly what the caller can do now', async () => {
      const { id } = await order()
      const path = `/orders/${id}`
      const at = (...names: string[]) => ({
        self: path,
        ...Object.fromEntries(names.map((one) => [one, `${path}/${one}`])),
      })
      const links = async (who: string) => (await send('GET', path, undefined, {}, who)).json._links
      const listed = async (who: string) =>
        (await send('GET', '/orders?page_size=100', undefined, {}, who)).json.data.find(
          (one: { id: string }) => one.id === id,
        )._links
      assert.deepEqual(await links('clerk'), at('placements', 'cancellations'))
      assert.deepEqual(await links('reader'), at())
      const placed = await send('POST', `${path}/placements`)
      assert.deepEqual(placed.json._links, at('shipments', 'notes', 'cancellations'))
      assert.deepEqual(await links('writer'), at('notes', 'cancellations'))
      for (const who of ['clerk', 'writer', 'reader']) assert.deepEqual(await listed(who), await links(who))
      const [own, other] = [await send('GET', path), await send('GET', path, undefined, {}, 'writer')]
      assert.notEqual(own.headers.etag, other.headers.etag)
      const again = await send('GET', path, undefined, { 'if-none-match': own.headers.etag })
      assert.equal(again.status, 304)
      await send('POST', `${path}/cancellations`)
      assert.deepEqual(await links('clerk'), at())
      const back = await send('PATCH', path, { _links: {} })
      assert.equal(back.status, 409) // `_links` itself is ignored
    })

    spec('R222', 'no child is written below an owner that has just left its state', async () => {
      const count = async (id: string) => (await send('GET', `/orders/${id}/order-lines`)).json.data.length
      for (let round = 0; round < 5; round++) {
        const { id } = await order()
        const lines = Array.from({ length: 6 }, () => send('POST', `/orders/${id}/order-lines`, {}))
        const placed = await send('POST', `/orders/${id}/placements`)
        assert.equal(placed.status, 200)
        const then = await count(id)
        const made = (await Promise.all(lines)).filter(({ status }) => status === 201)
        assert.deepEqual([await count(id), made.length], [then, then])
      }
    })
  },
  { holders },
)
