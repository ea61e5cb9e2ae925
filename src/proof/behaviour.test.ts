/** Services with states and derived fields keep their promises in every version. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { count, f, resource, type Service, service, sum, times } from '../index.ts'
import { openSandbox } from '../terminal/sandbox.ts'
import { verifyService } from './verify.ts'

const shop = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
  resources: {
    orders: {
      fields: {
        note: f.text(),
        total: f.decimal({ scale: 2, derived: sum('lines', 'amount') }),
        size: f.integer({ derived: count('lines') }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: { placements: { from: ['draft'], to: 'placed' }, pauses: { from: ['placed'], to: 'paused' } },
        writable: { change: ['placed'] },
      },
      access: 'public',
    },
    lines: resource({
      parent: { resource: 'orders', while: ['draft'], onDelete: 'cascade' },
      fields: { quantity: f.integer(), price: f.decimal({ scale: 2 }), amount: f.decimal({ scale: 2, derived: true }) },
      derived: { amount: ({ quantity, price }) => times(price, quantity) },
      access: 'public',
    }),
  },
}).change('v2', 'orders', {
  about: '`draft` was `open`, orders can be paused, and `total` was called `sum`.',
  renamed: { sum: 'total' },
  mapped: { status: { open: 'draft' } },
  shown: { status: { paused: 'placed' } },
  transitions: { added: ['pauses'] },
}) as unknown as Service

test('states and derived fields keep the promises of every version', async () => {
  for (const seed of [1, 2, 3]) {
    const { failure } = await verifyService(shop, () => openSandbox(shop), { seed, runs: 60 })
    assert.equal(failure, null, String(failure?.says))
  }
})
