/** Proves that totals, states and timers follow where resources and fields are renamed. R196, R223, R225. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { count, f, max, type Service, service, sum } from 'bylaw'
import { alive, applied, type Node, nodeOn, places } from '../help/places.ts'

const versions = { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } }
const settings = { versions: { carriers: ['path'] } } as const
const states = {
  field: 'status',
  initial: 'draft',
  transitions: {
    placements: { from: ['draft'], to: 'placed' },
    expiries: { from: ['draft'], to: 'expired', after: 'P7D' },
  },
} as const
const before = service({
  name: 'shop',
  versions: { v1: versions.v1 },
  settings,
  resources: {
    purchases: {
      prefix: 'ord',
      fields: { total: f.integer({ derived: sum('lines', 'amount') }) },
      states,
      access: 'public',
    },
    lines: {
      prefix: 'lin',
      parent: { resource: 'purchases', while: ['draft'], onDelete: 'cascade' },
      fields: { amount: f.integer() },
      access: 'public',
    },
  },
}) as Service
const after = service({
  name: 'shop',
  versions,
  settings,
  resources: {
    orders: {
      prefix: 'ord',
      fields: { whole: f.integer({ derived: sum('lines', 'quantity'), filter: 'range' }) },
      states,
      access: 'public',
    },
    lines: {
      prefix: 'lin',
      parent: { resource: 'orders', while: ['draft'], onDelete: 'cascade' },
      fields: { quantity: f.integer() },
      access: 'public',
    },
  },
})
  .change('v2', 'orders', {
    about: 'Purchases are called orders, `total` is called `whole`.',
    was: 'purchases',
    renamed: { total: 'whole' },
  })
  .change('v2', 'lines', { about: '`amount` is called `quantity`.', renamed: { amount: 'quantity' } }) as Service

const refers = (lines: object): Service =>
  service({
    name: 'shop',
    resources: {
      orders: {
        prefix: 'ord',
        fields: { total: f.integer({ derived: sum('lines', 'amount') }) },
        access: 'public',
      },
      lines: { prefix: 'lin', fields: { amount: f.integer(), ...lines }, access: 'public' },
    },
  } as never) as Service

interface Names {
  readonly lines: string
  readonly amount: string
  readonly owner: string
  readonly total: string
}
const plainNames: Names = { lines: 'lines', amount: 'amount', owner: 'orderId', total: 'total' }

/** Orders with totals of lines that refer to them. `was` has the former names of fields of lines. */
const totalled = ({ lines, amount, owner, total }: Names, was: Partial<Names> = {}, more: object = {}) =>
  service({
    name: 'shop',
    settings,
    ...more,
    resources: {
      orders: {
        prefix: 'ord',
        fields: {
          [total]: f.integer({ derived: sum(lines, amount) }),
          most: f.integer({ optional: true, derived: max(lines, amount) }),
          lineCount: f.integer({ derived: count(lines) }),
          half: f.decimal({ scale: 1, derived: true }),
        },
        derived: { half: (order: Record<string, unknown>) => (Number(order[total] ?? 0) / 2).toFixed(1) },
        access: 'public',
      },
      [lines]: {
        prefix: 'lin',
        fields: {
          [amount]: f.integer({ filter: 'range', ...(was.amount && { was: was.amount }) }),
          [owner]: f.ref('orders', { onDelete: 'cascade', ...(was.owner && { was: was.owner }) }),
        },
        access: 'public',
      },
    },
  } as never) as unknown as Service & {
    change: (...given: unknown[]) => Service & { change: (...given: unknown[]) => Service }
  }

const otherNames: Names = { lines: 'lines', amount: 'quantity', owner: 'purchaseId', total: 'whole' }
/** The declarations of a rolling upgrade, the names of the new one, and the version that each is asked for. */
const upgrades: Readonly<
  Record<string, readonly [old: Service, next: Service, names: Names, paths: readonly [string, string]]>
> = {
  'the summed field': [
    totalled(plainNames),
    totalled({ ...plainNames, amount: 'quantity' }, { amount: 'amount' }),
    { ...plainNames, amount: 'quantity' },
    ['', ''],
  ],
  'the reference': [
    totalled(plainNames),
    totalled({ ...plainNames, owner: 'purchaseId' }, { owner: 'orderId' }),
    { ...plainNames, owner: 'purchaseId' },
    ['', ''],
  ],
  'all its sources': [
    totalled(plainNames),
    totalled({ ...otherNames, total: 'total' }, { amount: 'amount', owner: 'orderId' }),
    { ...otherNames, total: 'total' },
    ['', ''],
  ],
  'the resource': [
    totalled(plainNames, {}, { versions: { v1: versions.v1 } }),
    totalled({ ...plainNames, lines: 'positions' }, {}, { versions }).change('v2', 'positions', {
      about: 'Lines are called positions.',
      was: 'lines',
    }),
    { ...plainNames, lines: 'positions' },
    ['/v1', '/v2'],
  ],
  'the resource and all fields': [
    totalled(plainNames, {}, { versions: { v1: versions.v1 } }),
    totalled({ ...otherNames, lines: 'positions' }, {}, { versions })
      .change('v2', 'positions', {
        about: 'Lines are called positions, and their fields have other names.',
        was: 'lines',
        renamed: { amount: 'quantity', orderId: 'purchaseId' },
      })
      .change('v2', 'orders', { about: '`total` is called `whole`.', renamed: { total: 'whole' } }),
    { ...otherNames, lines: 'positions' },
    ['/v1', '/v2'],
  ],
}

/** Writes lines of two orders through a node: creates some, changes a value, moves one to the other order, and removes one. */
async function write(
  { ask }: Node,
  path: string,
  { lines, amount, owner }: Names,
  orders: readonly string[],
  by: number,
) {
  const made: string[] = []
  for (const id of orders)
    for (const times of [1, 2]) {
      const line = await ask('POST', `${path}/${lines}`, { [amount]: by * times, [owner]: id })
      assert.equal(line.status, 201, JSON.stringify(line.json))
      made.push(line.json.id)
    }
  const at = (i: number) => `${path}/${lines}/${made[i]}`
  assert.equal((await ask('PATCH', at(0), { [amount]: by * 10 })).status, 200)
  assert.equal((await ask('PATCH', at(1), { [owner]: orders[1] })).status, 200)
  assert.equal((await ask('DELETE', at(3))).status, 204)
}

/** The totals of orders as a node shows them, and as computed from the lines. */
async function compare({ ask }: Node, path: string, { lines, amount, owner, total }: Names, orders: readonly string[]) {
  const { data } = (await ask('GET', `${path}/${lines}?limit=100`)).json
  return Promise.all(
    orders.map(async (id) => {
      const json = (await ask('GET', `${path}/orders/${id}`)).json
      const own = data.filter((one: Record<string, unknown>) => one[owner] === id)
      const all = own.map((one: Record<string, unknown>) => one[amount] as number)
      const whole = all.reduce((sum: number, one: number) => sum + one, 0)
      const is = [json[total], json.most, json.lineCount, json.half]
      return [is, [whole, all.length === 0 ? null : Math.max(...all), all.length, (whole / 2).toFixed(1)]]
    }),
  )
}

for (const [name, make] of places)
  for (const [title, [before, after, names, [oldPath, newPath]]] of Object.entries(upgrades))
    test(`totals are right while ${title} of a total has another name, and after (${name})`, async (t) => {
      const place = await make(t)
      const old = nodeOn(place, before)
      t.after(old.close)
      const create = () => old.ask('POST', `${oldPath}/orders`, {})
      const orders = [(await create()).json.id, (await create()).json.id] as string[]
      await write(old, oldPath, plainNames, orders, 1)
      await alive(place)
      assert.deepEqual((await applied(place, after)).waitsFor, ['old'])
      const young = nodeOn(place, after)
      t.after(young.close)
      const check = async (node: Node, path: string, own: Names) => {
        for (const [is, should] of await compare(node, path, own, orders)) assert.deepEqual(is, should)
      }
      await check(young, newPath, names)
      await write(young, newPath, names, orders, 100)
      await check(young, newPath, names)
      await check(old, oldPath, plainNames)
      await write(old, oldPath, plainNames, orders, 1000)
      await check(old, oldPath, plainNames)
      await check(young, newPath, names)
      await Promise.all([
        write(old, oldPath, plainNames, orders, 10_000),
        write(young, newPath, names, orders, 100_000),
      ])
      await check(old, oldPath, plainNames)
      await check(young, newPath, names)
      await old.close()
      await place.rows('DELETE FROM bylaw_nodes')
      assert.deepEqual((await applied(place, after)).left, [])
      await check(young, newPath, names)
      await write(young, newPath, names, orders, 1_000_000)
      await check(young, newPath, names)
    })

for (const [name, make] of places)
  describe(`renamed resources and fields, ${name}`, () => {
    test('keep their totals, which follow the writes of each version', async (t) => {
      const place = await make(t)
      const old = nodeOn(place, before)
      t.after(old.close)
      const { id } = (await old.ask('POST', '/v1/purchases', {})).json
      await old.ask('POST', `/v1/purchases/${id}/lines`, { amount: 3 })
      await old.close()
      const node = nodeOn(place, after)
      t.after(node.close)
      assert.equal((await node.ask('GET', `/v2/orders/${id}`)).json.whole, 3)
      await node.ask('POST', `/v1/purchases/${id}/lines`, { amount: 4 })
      assert.equal((await node.ask('GET', `/v1/purchases/${id}`)).json.total, 7)
      assert.equal((await node.ask('GET', '/v2/orders?whole[gte]=7')).json.data.length, 1)
      await node.ask('POST', `/v1/purchases/${id}/placements`)
      const refused = await node.ask('POST', `/v1/purchases/${id}/lines`, { amount: 4 })
      assert.match(refused.json.message, /^Purchase is placed/)
    })

    test('keep totals of rows that refer by a renamed field', async (t) => {
      const place = await make(t)
      const old = nodeOn(place, refers({ ownerId: f.ref('orders') }))
      t.after(old.close)
      const { id } = (await old.ask('POST', '/orders', {})).json
      const line = (await old.ask('POST', '/lines', { ownerId: id, amount: 3 })).json
      await old.close()
      const node = nodeOn(place, refers({ orderId: f.ref('orders', { was: 'ownerId' }) }))
      t.after(node.close)
      assert.equal((await node.ask('GET', `/orders/${id}`)).json.total, 3)
      await node.ask('PATCH', `/lines/${line.id}`, { amount: 5 })
      await node.ask('POST', '/lines', { orderId: id, amount: 5 })
      assert.equal((await node.ask('GET', `/orders/${id}`)).json.total, 10)
    })
  })
