/** A model of states and totals: random operations of several clients, at the same time, compared with what may be read. R220 to R225. */
import assert from 'node:assert/strict'
import { count, f, max, min, resource, service, sum, times } from 'bylaw'
import fc from 'fast-check'
import { type Door, doors, spec } from '../help/door.ts'
import { judgeMoments } from '../help/moments.ts'
import { runsOf } from '../help/runs.ts'

const shop = service({
  name: 'shop',
  scopes: { 'orders:read': 'Read', 'orders:write': 'Write', 'orders:ship': 'Ship' },
  resources: {
    customers: {
      prefix: 'cus',
      fields: {
        spent: f.decimal({ scale: 2, derived: sum('orders', 'total') }),
        orderCount: f.integer({ derived: count('orders') }),
      },
      access: { read: 'orders:read', write: 'orders:write' },
    },
    orders: {
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers'),
        total: f.decimal({ scale: 2, derived: sum('order-lines', 'amount') }),
        lineCount: f.integer({ derived: count('order-lines') }),
        least: f.decimal({ scale: 2, optional: true, derived: min('order-lines', 'amount') }),
        greatest: f.decimal({ scale: 2, optional: true, derived: max('order-lines', 'amount') }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          shipments: { from: ['placed'], to: 'shipped', access: 'orders:ship' },
          cancellations: { from: ['draft', 'placed'], to: 'cancelled' },
          reopenings: { from: ['cancelled'], to: 'draft' },
        },
        writable: { change: ['draft'], remove: ['draft', 'cancelled'] },
      },
      access: { read: 'orders:read', write: 'orders:write' },
    },
    'order-lines': resource({
      prefix: 'lin',
      parent: { resource: 'orders', while: ['draft'], onDelete: 'cascade' },
      fields: {
        quantity: f.integer({ min: 1, max: 9 }),
        price: f.decimal({ scale: 2 }),
        amount: f.decimal({ scale: 2, derived: true }),
      },
      derived: { amount: ({ quantity, price }) => times(price, quantity) },
      access: { read: 'orders:read', write: 'orders:write' },
    }),
  },
})

const holders = {
  clerk: { scopes: ['orders:read', 'orders:write', 'orders:ship'] },
  writer: { scopes: ['orders:read', 'orders:write'] },
  reader: { scopes: ['orders:read'] },
}
const moves = { placements: 'placed', shipments: 'shipped', cancellations: 'cancelled', reopenings: 'draft' } as const
type Move = keyof typeof moves
const from: Record<Move, readonly string[]> = {
  placements: ['draft'],
  shipments: ['placed'],
  cancellations: ['draft', 'placed'],
  reopenings: ['cancelled'],
}

type Step =
  | { readonly do: 'line'; readonly order: number; readonly quantity: number; readonly cents: number }
  | { readonly do: 'change'; readonly line: number; readonly quantity: number }
  | { readonly do: 'drop'; readonly line: number }
  | { readonly do: 'give'; readonly order: number; readonly customer: number }
  | { readonly do: 'remove'; readonly order: number }
  | { readonly do: 'move'; readonly order: number; readonly move: Move; readonly key: boolean }

const small = fc.nat({ max: 5 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('line' as const),
      order: small,
      quantity: fc.integer({ min: 1, max: 9 }),
      cents: fc.integer({ min: -500, max: 5000 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('change' as const), line: small, quantity: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('drop' as const), line: small }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('give' as const), order: small, customer: small }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), order: small }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('move' as const),
      order: small,
      move: fc.constantFrom(...(Object.keys(moves) as Move[])),
      key: fc.boolean(),
    }),
  },
)

const cents = (text: string): number => Math.round(Number(text) * 100)
const price = (amount: number): string => (amount / 100).toFixed(2)

interface Found {
  readonly id: string
  readonly [field: string]: unknown
}

const tables = ['customers', 'orders', 'order_lines'] as const
type Moment = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>

/** Every total equals its rows, every state is declared, every line has its order, and none changes below an order that is no draft. */
function judge({ customers = [], orders = [], order_lines: lines = [] }: Moment, before: Moment): void {
  const states = new Set<unknown>(['draft', ...Object.values(moves)])
  const known = new Set<unknown>(orders.map(({ id }) => id))
  for (const { orderId } of lines) assert.ok(known.has(orderId), `a line of ${orderId}, which is gone`)
  for (const order of orders) {
    assert.ok(states.has(order.status), String(order.status))
    const own = lines.filter(({ orderId }) => orderId === order.id)
    const amounts = own.map(({ amount }) => cents(amount as string))
    for (const { quantity, price: each, amount } of own)
      assert.equal(cents(amount as string), Number(quantity) * cents(each as string))
    const bounds = amounts.length === 0 ? [null, null] : [price(Math.min(...amounts)), price(Math.max(...amounts))]
    assert.deepEqual(
      [order.total, order.lineCount, order.least, order.greatest],
      [price(amounts.reduce((one, other) => one + other, 0)), own.length, ...bounds],
    )
  }
  for (const order of (before.orders ?? []).filter(({ status }) => status !== 'draft')) {
    const same = orders.some(({ id, updatedAt }) => id === order.id && updatedAt === order.updatedAt)
    const ofOrder = (all: Moment[string] = []) => all.filter(({ orderId }) => orderId === order.id)
    if (same) assert.deepEqual(ofOrder(lines), ofOrder(before.order_lines), 'lines of an order that is no draft')
  }
  for (const customer of customers) {
    const own = orders.filter(({ customerId }) => customerId === customer.id)
    const spent = own.reduce((so, { total }) => so + cents(total as string), 0)
    assert.deepEqual([customer.spent, customer.orderCount], [price(spent), own.length])
  }
}

doors(
  'a model of states and totals',
  shop,
  (door: Door) => {
    const ask = (who: keyof typeof holders, method: string, path: string, json?: unknown, headers = {}) =>
      door.send(method, path, { ...(json !== undefined && { json }), headers: { ...door.as(who), ...headers } })
    const all = async (path: string): Promise<Found[]> => (await ask('clerk', 'GET', `${path}?page_size=100`)).json.data

    /** Tries every action as each caller: the linked ones must succeed, and the others must be refused. */
    const judgeLinks = async (id: string): Promise<void> => {
      for (const who of Object.keys(holders) as (keyof typeof holders)[]) {
        const { _links: links, status } = (await ask(who, 'GET', `/orders/${id}`)).json
        const own = (Object.keys(moves) as Move[]).filter(
          (move) => from[move].includes(status) && who !== 'reader' && (move !== 'shipments' || who === 'clerk'),
        )
        assert.deepEqual(Object.keys(links).toSorted(), ['self', ...own].toSorted())
        for (const move of (Object.keys(moves) as Move[]).filter((one) => !own.includes(one))) {
          const refused = await ask(who, 'POST', `/orders/${id}/${move}`)
          assert.ok([403, 409].includes(refused.status), `${who} ${move}: ${refused.status}`)
        }
      }
    }

    const trial = async (clients: readonly (readonly Step[])[]): Promise<void> => {
      const customers = await Promise.all(
        [0, 1].map(async () => (await ask('clerk', 'POST', '/customers', {})).json.id as string),
      )
      const orders = await Promise.all(
        [0, 1, 2].map(
          async (i) => (await ask('clerk', 'POST', '/orders', { customerId: customers[i % 2] })).json.id as string,
        ),
      )
      const lines: string[] = []
      let keys = 0
      const run = async (one: Step): Promise<void> => {
        const order = 'order' in one ? (orders[one.order % orders.length] as string) : ''
        const line = 'line' in one ? lines[one.line % Math.max(1, lines.length)] : undefined
        switch (one.do) {
          case 'line': {
            const made = await ask('clerk', 'POST', `/orders/${order}/order-lines`, {
              quantity: one.quantity,
              price: price(one.cents),
            })
            if (made.status === 201) lines.push(made.json.id)
            else assert.ok([409, 410].includes(made.status), made.text)
            return
          }
          case 'change':
            if (line)
              assert.ok(
                [200, 409, 410].includes(
                  (await ask('clerk', 'PATCH', `/order-lines/${line}`, { quantity: one.quantity })).status,
                ),
              )
            return
          case 'drop':
            if (line) assert.ok([204, 409, 410].includes((await ask('clerk', 'DELETE', `/order-lines/${line}`)).status))
            return
          case 'give': {
            const customerId = customers[one.customer % 2]
            assert.ok(
              [200, 409, 410].includes((await ask('clerk', 'PATCH', `/orders/${order}`, { customerId })).status),
            )
            return
          }
          case 'remove':
            assert.ok([204, 409, 410].includes((await ask('clerk', 'DELETE', `/orders/${order}`)).status))
            return
          case 'move': {
            const headers = one.key ? { 'idempotency-key': `${order}-${keys++}` } : {}
            const moved = await ask('clerk', 'POST', `/orders/${order}/${one.move}`, undefined, headers)
            assert.ok([200, 409, 410].includes(moved.status), moved.text)
            if (moved.status !== 200) return
            assert.equal(moved.json.status, moves[one.move])
            if (!one.key) return
            const again = await ask('clerk', 'POST', `/orders/${order}/${one.move}`, undefined, headers)
            assert.deepEqual(
              [again.status, again.json.status, again.headers['idempotency-replayed']],
              [200, moves[one.move], 'true'],
            )
          }
        }
      }
      await judgeMoments(door.database, tables, judge, async () => {
        await Promise.all(
          clients.map(async (steps) => {
            for (const one of steps) await run(one)
          }),
        )
      })
      for (const { id } of (await all('/orders')).filter((one) => orders.includes(one.id)).slice(0, 1))
        await judgeLinks(id)
      for (const order of orders) {
        await ask('clerk', 'POST', `/orders/${order}/cancellations`)
        await ask('clerk', 'DELETE', `/orders/${order}`)
      }
    }

    spec('R221 R222 R224 R225', 'holds for several clients at once', async () => {
      const clients = fc.array(fc.array(step, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 })
      await fc.assert(fc.asyncProperty(clients, trial), { numRuns: runsOf(24), endOnFailure: true })
    })
  },
  { holders, onFile: true },
)
