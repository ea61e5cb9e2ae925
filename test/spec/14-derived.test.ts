/** Derived fields: functions of the same document, and totals of what belongs or refers to an item. R225. */
import assert from 'node:assert/strict'
import { count, f, max, min, resource, service, sum, times } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  resources: {
    customers: {
      prefix: 'cus',
      fields: {
        name: f.text(),
        spent: f.decimal({ scale: 2, precision: 8, derived: sum('orders', 'total'), filter: 'range', sort: true }),
        orderCount: f.integer({ derived: count('orders') }),
      },
      access: 'public',
    },
    orders: resource({
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers', { optional: true }),
        total: f.decimal({ scale: 2, derived: sum('order-lines', 'amount'), filter: 'range', sort: true }),
        lineCount: f.integer({ derived: count('order-lines') }),
        least: f.decimal({ scale: 2, optional: true, derived: min('order-lines', 'amount') }),
        greatest: f.decimal({ scale: 2, optional: true, derived: max('order-lines', 'amount') }),
        large: f.boolean({ derived: true, filter: true }),
      },
      derived: { large: ({ total }) => Number(total) >= 100 },
      access: 'public',
    }),
    'order-lines': resource({
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: {
        quantity: f.integer({ min: 1, max: 1000 }),
        unitPrice: f.decimal({ scale: 2 }),
        amount: f.decimal({ scale: 2, derived: true, filter: 'range' }),
      },
      derived: { amount: ({ quantity, unitPrice }) => times(unitPrice, quantity) },
      access: 'public',
    }),
  },
})

doors('derived fields', shop, (door: Door) => {
  const send = (method: string, path: string, json?: unknown, headers = {}) =>
    door.send(method, path, { ...(json !== undefined && { json }), headers })
  const order = async (body = {}) => (await send('POST', '/orders', body)).json.id as string
  const line = async (id: string, unitPrice: string, quantity = 1) =>
    (await send('POST', `/orders/${id}/order-lines`, { quantity, unitPrice })).json
  const totals = async (id: string) => {
    const { total, lineCount, least, greatest, large } = (await send('GET', `/orders/${id}`)).json
    return [total, lineCount, least, greatest, large]
  }

  spec('R225', 'totals follow creations, changes and removals of lines', async () => {
    const id = await order()
    assert.deepEqual(await totals(id), ['0.00', 0, null, null, false])
    const first = await line(id, '10.00')
    assert.equal(first.amount, '10.00')
    const second = await line(id, '5.50', 2)
    assert.deepEqual(await totals(id), ['21.00', 2, '10.00', '11.00', false])
    await send('PATCH', `/order-lines/${second.id}`, { quantity: 20 })
    assert.deepEqual(await totals(id), ['120.00', 2, '10.00', '110.00', true])
    await send('PATCH', `/order-lines/${second.id}`, { quantity: 1 })
    assert.deepEqual(await totals(id), ['15.50', 2, '5.50', '10.00', false])
    await send('DELETE', `/order-lines/${second.id}`)
    assert.deepEqual(await totals(id), ['10.00', 1, '10.00', '10.00', false])
    await send('DELETE', `/order-lines/${first.id}`)
    assert.deepEqual(await totals(id), ['0.00', 0, null, null, false])
  })

  spec('R225', 'bodies cannot set derived fields', async () => {
    const made = await send('POST', '/orders', { total: '5.00' })
    assert.deepEqual([made.status, made.json.errors[0].type], [400, 'read-only-field'])
    const id = await order()
    await line(id, '3.00')
    const put = await send('PUT', `/orders/${id}`, { total: '99.00', lineCount: 7, large: true })
    assert.deepEqual([put.status, put.json.total, put.json.lineCount, put.json.large], [200, '3.00', 1, false])
  })

  spec('R225', 'a line that changes a total changes the order; one that does not, does not', async () => {
    const id = await order()
    const made = await line(id, '3.00')
    const before = await send('GET', `/orders/${id}`)
    await send('PUT', `/order-lines/${made.id}`, { quantity: 3, unitPrice: '1.00' })
    const same = await send('GET', `/orders/${id}`)
    assert.equal(same.headers.etag, before.headers.etag)
    await send('PATCH', `/order-lines/${made.id}`, { quantity: 4 })
    const after = await send('GET', `/orders/${id}`)
    assert.notEqual(after.headers.etag, before.headers.etag)
    assert.equal(after.json.total, '4.00')
  })

  spec('R225', 'lines that are written at once are all counted', async () => {
    const id = await order()
    const made = await Promise.all(Array.from({ length: 16 }, (_, i) => line(id, `${i + 1}.25`)))
    assert.deepEqual(await totals(id), ['140.00', 16, '1.25', '16.25', true])
    await Promise.all(made.slice(0, 8).map((one) => send('DELETE', `/order-lines/${one.id}`)))
    assert.deepEqual(await totals(id), ['102.00', 8, '9.25', '16.25', true])
  })

  spec('R225', 'totals of totals follow, also where a row moves from one item to another', async () => {
    const [ann, bob] = [
      (await send('POST', '/customers', { name: 'Ann' })).json.id,
      (await send('POST', '/customers', { name: 'Bob' })).json.id,
    ]
    const id = await order({ customerId: ann })
    const made = await line(id, '10.00')
    const spent = async (who: string) => {
      const { spent, orderCount } = (await send('GET', `/customers/${who}`)).json
      return [spent, orderCount]
    }
    assert.deepEqual(
      [await spent(ann), await spent(bob)],
      [
        ['10.00', 1],
        ['0.00', 0],
      ],
    )
    await send('PATCH', `/orders/${id}`, { customerId: bob })
    assert.deepEqual(
      [await spent(ann), await spent(bob)],
      [
        ['0.00', 0],
        ['10.00', 1],
      ],
    )
    await send('PATCH', `/order-lines/${made.id}`, { quantity: 2 })
    assert.deepEqual(await spent(bob), ['20.00', 1])
    await send('DELETE', `/orders/${id}`) // with its line
    assert.deepEqual(await spent(bob), ['0.00', 0])
    const listed = await send('GET', '/customers?spent[lte]=0&sort=spent')
    assert.equal(listed.status, 200)
  })

  spec('R225', 'a value that does not fit is refused, and nothing is written', async () => {
    const id = await order()
    const large = await send('POST', `/orders/${id}/order-lines`, { quantity: 1000, unitPrice: '99999999999999.00' })
    assert.deepEqual(
      [large.status, large.json.errors[0].type, large.json.errors[0].pointer],
      [400, 'out-of-range', '/amount'],
    )
    const who = (await send('POST', '/customers', { name: 'Cid' })).json.id
    const rich = await order({ customerId: who })
    const over = await send('POST', `/orders/${rich}/order-lines`, { quantity: 1, unitPrice: '1000000.00' })
    assert.deepEqual([over.status, over.json.type], [409, 'conflict'])
    assert.match(
      over.json.message,
      /^spent of Customer cus_\w+ must have at most 6 digits before the point\. It follows from other items\.$/,
    )
    assert.deepEqual(await totals(rich), ['0.00', 0, null, null, false])
  })
})

const versioned = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
  settings: { versions: { carriers: ['path'] } },
  resources: {
    orders: resource({
      prefix: 'ord',
      fields: {
        total: f.integer({ derived: sum('order-lines', 'amount'), filter: 'range' }),
        lineCount: f.integer({ derived: count('order-lines') }),
        large: f.boolean({ derived: true }),
      },
      derived: { large: ({ total }) => total >= 100 },
      access: 'public',
    }),
    'order-lines': { prefix: 'lin', parent: 'orders', fields: { amount: f.integer() }, access: 'public' },
  },
})
  .change('v2', 'orders', {
    about: '`total` was called `sum`, and `lineCount` is new.',
    renamed: { sum: 'total' },
    added: ['lineCount'],
  })
  .change('v2', 'order-lines', { about: '`amount` was called `value`.', renamed: { value: 'amount' } })

doors('derived fields in older versions', versioned, (door: Door) => {
  spec('R225', 'have their old names, and follow what older versions write', async () => {
    const made = await door.send('POST', '/v1/orders', { json: {} })
    const { id } = made.json
    assert.deepEqual([made.json.sum, made.json.large, made.json.lineCount], [0, false, undefined])
    await door.send('POST', `/v1/orders/${id}/order-lines`, { json: { value: 70 } })
    await door.send('POST', `/v2/orders/${id}/order-lines`, { json: { amount: 40 } })
    const older = await door.send('GET', `/v1/orders/${id}`)
    assert.deepEqual([older.json.sum, older.json.large], [110, true])
    const newest = await door.send('PUT', `/v2/orders/${id}`, { json: { total: 5 } })
    assert.deepEqual([newest.json.total, newest.json.lineCount], [110, 2])
    assert.equal((await door.send('GET', '/v1/orders?sum[gte]=110')).json.data.length, 1)
  })
})
