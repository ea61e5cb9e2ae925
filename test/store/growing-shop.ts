/** A shop before and after it declares states and totals, and nodes of both on one database. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { compare, count, f, max, type Service, service, sum } from 'bylaw'
import { alive, applied, type Node, nodeOn, type Place } from '../help/places.ts'

const amount = f.decimal({ scale: 2 })
export const orders = { prefix: 'ord', fields: { note: f.text({ default: '' }) }, access: 'public' }
export const lines = {
  prefix: 'lin',
  parent: { resource: 'orders', onDelete: 'cascade' },
  fields: { amount },
  access: 'public',
}
export const shop = (own: object = {}, below: object = {}): Service =>
  service({
    name: 'shop',
    resources: { orders: { ...orders, ...own }, lines: { ...lines, ...below } },
  } as never) as Service

export const transitions = {
  placements: { from: ['draft'], to: 'placed' },
  cancellations: { from: ['draft', 'placed'], to: 'cancelled' },
}
export const states = { field: 'status', initial: 'draft', transitions, writable: { change: ['draft'] } }
export const below = { parent: { ...lines.parent, while: ['draft'] } }
export const totals = {
  fields: {
    ...orders.fields,
    total: f.decimal({ scale: 2, derived: sum('lines', 'amount'), filter: 'range' }),
    lineCount: f.integer({ derived: count('lines') }),
    greatest: f.decimal({ scale: 2, optional: true, derived: max('lines', 'amount') }),
    large: f.boolean({ derived: true, filter: true }),
  },
  derived: { large: ({ total }: { readonly total: string }) => compare(total, '100') >= 0 },
}

export const before = shop()
export const after = shop({ ...totals, states }, below)

/** Serves both declarations on one database; `finish` stops the former one and runs the second phase. */
export async function sides(t: TestContext, make: (t: TestContext) => Promise<Place>, former = before, next = after) {
  const place = await make(t)
  const old = nodeOn(place, former)
  t.after(old.close)
  await old.ask('GET', '/orders')
  await alive(place)
  assert.deepEqual((await applied(place, next)).waitsFor, ['old'])
  const young = nodeOn(place, next)
  t.after(young.close)
  await young.ask('GET', '/orders')
  const finish = async () => {
    await place.rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await applied(place, next)).left, [])
  }
  return { place, old, young, finish }
}

export const made = async ({ ask }: Node): Promise<string> => (await ask('POST', '/orders', {})).json.id
export const seen = async ({ ask }: Node, id: string) => {
  const { total, lineCount, greatest, large, status } = (await ask('GET', `/orders/${id}`)).json
  return { total, lineCount, greatest, large, status }
}
