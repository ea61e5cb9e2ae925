/** Handlers: which writes run them, their arguments, and the effects of their writes and refusals. R226, R227. */
// long because: one service, and one handler for each case
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { f, input, service, sum } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  errors: {
    'customer-blocked': { parents: ['conflict'], status: 409 },
    'order-empty': { parents: ['conflict'], status: 409 },
    'out-of-stock': { parents: ['conflict'], status: 409 },
  },
  settings: { limits: { handlerTimeout: 'PT2S' } },
  resources: {
    customers: {
      prefix: 'cus',
      fields: { name: f.text({ unique: true }), blocked: f.boolean({ default: false }) },
      access: 'public',
    },
    products: {
      prefix: 'prd',
      fields: {
        name: f.text({ filter: true, sort: true }),
        stock: f.integer({ min: 0, filter: 'range' }),
        price: f.decimal({ scale: 2, default: '1.00' }),
      },
      access: 'public',
    },
    orders: {
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers'),
        note: f.text({ default: '' }),
        carrier: f.text({ optional: true, readOnly: true }),
        total: f.decimal({ scale: 2, derived: sum('order-lines', 'price') }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          shipments: {
            from: ['placed'],
            to: 'shipped',
            input: { carrier: f.text({ max: 20 }) },
            set: { carrier: input('carrier') },
          },
        },
      },
      access: 'public',
    },
    'order-lines': {
      prefix: 'lin',
      fields: {
        productId: f.ref('products'),
        quantity: f.integer({ min: 1, default: 1 }),
        price: f.decimal({ scale: 2, default: '0', readOnly: true }),
      },
      parent: { resource: 'orders', onDelete: 'cascade' },
      access: 'public',
    },
    audits: { prefix: 'aud', fields: { text: f.text({ filter: true }) }, access: 'public' },
    oddities: { prefix: 'odd', fields: { kind: f.text(), text: f.text({ default: '' }) }, access: 'public' },
  },
})

/** Called by the next run of `placements` between its reads and its end. */
let meanwhile: (() => Promise<unknown>) | null = null
let placementRuns = 0
/** Lets a handler make calls after its end, and the outcomes of these calls. */
let [goOn, lost]: [() => void, Promise<unknown[]>] = [() => {}, Promise.resolve([])]

const handled = shop.handlers(
  {
    customers: {
      create: async ({ next, list, get }) => {
        assert.deepEqual(await list('customers', { where: { id: next.id } }), [])
        assert.equal(await get('customers', next.id), null) // a handler does not see the write that it decides on
      },
      write: ({ item, next, create }) => {
        create('audits', { text: `${item?.name ?? 'nobody'} becomes ${next.name}` })
      },
      replace: ({ set, next }) => set({ name: next.name.toUpperCase() }),
      remove: ({ item, create }) => {
        create('audits', { text: `${item.name} goes` })
      },
    },
    orders: {
      async create({ input, get, refuse }) {
        const customer = await get('customers', input.customerId)
        if (customer?.blocked) throw refuse('customer-blocked', { pointer: '/customerId' })
      },
      async placements({ item, list, get, change, set, refuse, use }) {
        placementRuns++
        const lines = await list('order-lines', { parent: item.id })
        const products = await Promise.all(lines.map(({ productId }) => get('products', productId)))
        const act = meanwhile
        meanwhile = null
        await act?.()
        if (lines.length === 0) throw refuse('order-empty')
        for (const [i, line] of lines.entries()) {
          const product = products[i]
          if (!product || product.stock < line.quantity) throw refuse('out-of-stock')
          change('products', product.id, ({ stock }) => ({ stock: stock - line.quantity }))
          change('order-lines', line.id, { price: product.price })
        }
        set({ note: use.greeting })
      },
      shipments({ input, set, item, next }) {
        set({ note: `${item.status} to ${next.status} by ${input.carrier}` })
      },
    },
    'order-lines': {
      remove: ({ item, create }) => {
        create('audits', { text: `${item.id} goes` })
      },
    },
    oddities: {
      async create({ next, create, change, remove, move, set, get, list, refuse, signal }) {
        const acts: Record<string, () => unknown> = {
          throws: () => {
            throw new Error('the secret cause')
          },
          returns: () => ({ text: 'x' }),
          never: () => new Promise((resolve) => signal.addEventListener('abort', resolve)),
          'unknown-field': () => create('audits', { text: 'x', colour: 'red' } as never),
          'wrong-type': () => set({ text: 5 } as never),
          'no-row': () => change('products', 'prd_00000000000000000000000000', { stock: 1 }),
          'bad-reference': () => {
            create('orders', { customerId: 'cus_00000000000000000000000000' })
          },
          'in-use': () => {
            create('customers', { name: next.text })
          },
          'many-rows': () => {
            for (let i = 0; i < 101; i++) create('audits', { text: `${i}` })
          },
          deep: () => {
            create('oddities', { kind: 'deep' })
          },
          undeclared: () => {
            throw (refuse as (type: string) => Error)('nothing')
          },
          'bad-list': () => list('products', { where: { colour: 'red' } as never }),
          'undefined-filter': () => list('products', { where: { name: undefined } as never }),
          'undefined-bound': () => list('products', { where: { stock: { gte: undefined } } as never }),
          'undefined-choice': () => list('products', { where: { name: ['a', undefined] } as never }),
          'misspelt-list': () => list('products', { were: { name: 'x' } } as never),
          'too-early': () => {
            const order = create('orders', { customerId: next.text })
            move('orders', order, 'shipments', { carrier: 'x' })
          },
          forgets: () => {
            const waiting = new Promise<void>((resolve) => {
              goOn = resolve
            })
            void get('products', 'prd_00000000000000000000000000').then(() => set({ text: 'after a read' }))
            const calls = [
              () => create('audits', { text: 'lost' }),
              () => set({ text: 'lost' }),
              () => get('audits', 'x'),
            ]
            lost = Promise.all(
              calls.map((call) =>
                waiting.then(call).then(
                  () => '',
                  (error: Error) => error.message,
                ),
              ),
            )
          },
          lays: async () => {
            const one = create('products', { name: 'lays', stock: 3 })
            change('products', one, { stock: 4 })
            change('products', one, ({ stock }) => ({ stock: stock * 10 }))
            const seen = await get('products', one)
            const few = await list('products', { where: { name: 'lays', stock: { lte: 5 } } })
            const many = await list('products', {
              where: { name: ['lays', '"x,'], stock: { gte: 40 } },
              sort: '-name',
              limit: 5,
            })
            remove('products', create('products', { name: 'lays', stock: 50 }))
            const last = await list('products', { where: { name: 'lays' } })
            set({ text: [seen?.stock, few.length, many.length, last.length].join(' ') })
          },
        }
        return (await acts[next.kind]?.()) as undefined
      },
    },
  },
  { use: async () => ({ greeting: 'thanks' }) },
)

doors('handlers', handled, (door: Door) => {
  const send = (method: string, path: string, json?: unknown, headers = {}) =>
    door.send(method, path, { ...(json !== undefined && { json }), headers })
  const made = async (path: string, json: unknown): Promise<string> => {
    const answer = await send('POST', path, json)
    assert.equal(answer.status, 201, answer.text)
    return answer.json.id
  }
  let count = 0
  const customer = () => made('/customers', { name: `c${count++}` })
  const audits = async (text: string): Promise<number> =>
    (await send('GET', `/audits?text=${encodeURIComponent(text)}`)).json.data.length
  const order = async (stock: number, lines = 1) => {
    const id = await made('/orders', { customerId: await customer() })
    const product = await made('/products', { name: 'pen', stock, price: '2.50' })
    for (let i = 0; i < lines; i++) await made(`/orders/${id}/order-lines`, { productId: product })
    return { id, product }
  }

  spec('R226', 'a transition commits what its handler writes, and totals follow', async () => {
    const { id, product } = await order(5, 2)
    const placed = await send('POST', `/orders/${id}/placements`)
    assert.deepEqual([placed.status, placed.json.note, placed.json.total], [200, 'thanks', '5.00'], placed.text)
    assert.equal((await send('GET', `/products/${product}`)).json.stock, 3)
    const shipped = await send('POST', `/orders/${id}/shipments`, { carrier: 'DHL' })
    assert.equal(shipped.json.note, 'placed to shipped by DHL')
  })

  spec('R227', 'a refusal has its declared type, and leaves nothing behind, not even its key', async () => {
    const { id } = await order(0)
    const key = { 'idempotency-key': `place-${id}` }
    const refused = await send('POST', `/orders/${id}/placements`, undefined, key)
    assert.deepEqual([refused.status, refused.json.type], [409, 'out-of-stock'])
    assert.equal((await send('GET', `/orders/${id}`)).json.status, 'draft')
    const blocked = await made('/customers', { name: `b${count++}`, blocked: true })
    const creation = await send('POST', '/orders', { customerId: blocked }, { 'idempotency-key': `order-${id}` })
    assert.deepEqual([creation.json.type, creation.json.errors[0].pointer], ['customer-blocked', '/customerId'])
    await send('PATCH', `/customers/${blocked}`, { blocked: false })
    const again = await send('POST', '/orders', { customerId: blocked }, { 'idempotency-key': `order-${id}` })
    assert.equal(again.status, 201)
  })

  spec('R108 R226', 'a repeated key gets the first answer and runs no handler', async () => {
    const { id, product } = await order(5)
    const key = { 'idempotency-key': `once-${id}` }
    const runs = placementRuns
    const first = await send('POST', `/orders/${id}/placements`, undefined, key)
    const second = await send('POST', `/orders/${id}/placements`, undefined, key)
    assert.deepEqual([second.status, second.json], [200, first.json])
    assert.equal(placementRuns, runs + 1)
    assert.equal((await send('GET', `/products/${product}`)).json.stock, 4)
  })

  spec('R226', 'POST, PUT, PATCH, DELETE, cascades and other handlers run them', async () => {
    const [a, b, c] = [`a${count++}`, `b${count++}`, `c${count++}`]
    const id = await made('/customers', { name: a })
    assert.equal(await audits(`nobody becomes ${a}`), 1)
    await send('PATCH', `/customers/${id}`, { name: b })
    assert.equal(await audits(`${a} becomes ${b}`), 1)
    await send('PATCH', `/customers/${id}`, { name: b })
    assert.equal(await audits(`${b} becomes ${b}`), 0) // nothing changes, so no handler runs
    const put = await send('PUT', `/customers/${id}`, { name: c })
    assert.deepEqual([put.json.name, await audits(`${b} becomes ${c}`)], [c.toUpperCase(), 1])
    const said = await made('/oddities', { kind: 'in-use', text: a })
    assert.ok(said)
    assert.equal(await audits(`nobody becomes ${a}`), 2)
    await send('DELETE', `/customers/${id}`)
    assert.equal(await audits(`${c.toUpperCase()} goes`), 1)
    const { id: kept } = await order(1, 2)
    const lines = (await send('GET', `/orders/${kept}/order-lines`)).json.data as { id: string }[]
    assert.equal((await send('DELETE', `/orders/${kept}`)).status, 204)
    for (const line of lines) assert.equal(await audits(`${line.id} goes`), 1)
  })

  for (const [what, act] of [
    ['row', (product: string) => send('PATCH', `/products/${product}`, { stock: 8 })],
    ['list', (product: string, id: string) => send('POST', `/orders/${id}/order-lines`, { productId: product })],
    [
      'row of a list',
      async (_: string, id: string) => {
        const [line] = (await send('GET', `/orders/${id}/order-lines`)).json.data
        return send('PATCH', `/order-lines/${line.id}`, { quantity: 2 })
      },
    ],
  ] as const)
    spec('R226', `a handler runs again if a ${what} changes that it has read`, async () => {
      const { id, product } = await order(5)
      const runs = placementRuns
      meanwhile = () => act(product, id)
      const placed = await send('POST', `/orders/${id}/placements`)
      assert.equal(placed.status, 200, placed.text)
      assert.equal(placementRuns, runs + 2)
      const { stock } = (await send('GET', `/products/${product}`)).json
      assert.equal(stock, what === 'row' ? 7 : 3)
    })

  spec('R227', 'a refusal counts only if the rows that the handler has read are unchanged', async () => {
    const { id, product } = await order(0)
    meanwhile = () => send('PATCH', `/products/${product}`, { stock: 1 })
    assert.equal((await send('POST', `/orders/${id}/placements`)).status, 200)
  })

  spec('R226', 'reads see the earlier writes of the same request', async () => {
    const lays = await send('POST', '/oddities', { kind: 'lays' })
    assert.equal(lays.json.text, '40 0 1 1', lays.text)
    assert.equal((await send('GET', '/products?name=lays')).json.data.length, 1)
  })

  for (const [kind, cause] of [
    ['throws', 'the secret cause'],
    ['returns', 'returns a value'],
    ['unknown-field', 'colour is not a field'],
    ['wrong-type', 'text'],
    ['no-row', 'does not exist'],
    ['bad-reference', 'references to nothing'],
    ['many-rows', 'more than 100 rows'],
    ['deep', 'more than 5 deep: oddities.create > '],
    ['undeclared', 'not declared'],
    ['bad-list', 'colour'],
    ['misspelt-list', 'with were'],
    ['undefined-filter', 'where name is undefined'],
    ['undefined-bound', 'where stock.gte is undefined'],
    ['undefined-choice', 'where name.1 is undefined'],
  ] as const)
    spec('R227', `a handler that is wrong is a failure whose cause is only logged (${kind})`, async () => {
      door.errors.length = 0
      const failed = await send('POST', '/oddities', { kind, text: 'x' }, { 'idempotency-key': `${kind}-${count++}` })
      assert.deepEqual([failed.status, failed.json.type], [500, 'internal-error'])
      assert.ok(!failed.text.includes(cause))
      await setImmediate()
      const logged = door.errors.map((one) => (one as { err?: Error }).err).find((err) => err)
      assert.match(`${logged?.message}`, new RegExp(`oddities.create.*${cause}|${cause}`))
      assert.equal(
        (await send('GET', '/oddities?page_size=100')).json.data.filter((one: { kind: string }) => one.kind === kind)
          .length,
        0,
      )
    })

  spec('R227', 'a handler that does not end is refused with 503', async () => {
    const late = await send('POST', '/oddities', { kind: 'never' })
    assert.deepEqual([late.status, late.json.type], [503, 'timeout'])
  })

  spec('R226', 'a handler that does not await its code learns that later calls are lost', async () => {
    const made = await send('POST', '/oddities', { kind: 'forgets' })
    assert.deepEqual([made.status, made.json.text], [201, 'after a read'], made.text)
    goOn()
    for (const error of await lost) assert.match(`${error}`, /after it has ended, which is lost; await/)
    assert.equal(await audits('lost'), 0)
  })

  spec('R226', 'a write of a handler that collides with stored data is refused like one of the caller', async () => {
    const name = `d${count++}`
    await made('/customers', { name })
    const taken = await send('POST', '/oddities', { kind: 'in-use', text: name })
    assert.deepEqual([taken.status, taken.json.type], [409, 'already-exists'])
    const early = await send('POST', '/oddities', { kind: 'too-early', text: await customer() })
    assert.deepEqual([early.status, early.json.type], [409, 'invalid-state'])
  })
})
