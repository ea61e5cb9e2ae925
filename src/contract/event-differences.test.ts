/** Event differences: which changes of events break consumers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from 'bylaw'
import { contractOf } from './contract.ts'
import { differences } from './differences.ts'

const transitions = {
  placements: { from: ['draft'], to: 'placed' },
  cancellations: { from: ['placed'], to: 'cancelled' },
}

const contract = (more: object = {}, own: object = {}, moves: object = transitions) => {
  const states = { field: 'status', initial: 'draft', transitions: moves }
  const resources = { orders: { prefix: 'ord', fields: { note: f.text() }, states, access: 'public', ...own } }
  return contractOf({ name: 'shop', resources, ...more } as never)
}

const changed = (before: object, after: object): string[] =>
  differences(before as never, after as never).map(({ weight, place }) => `${weight} ${place}`)

const at = 'resources.orders.events'
const on = { events: true }

test('a contract has the types of events, without the states that nothing enters', () => {
  assert.deepEqual(contract(on).resources.orders?.events, [
    ...['order.cancelled', 'order.created', 'order.deleted', 'order.placed', 'order.updated'],
  ])
  assert.equal(contract().resources.orders?.events, undefined)
  assert.equal(contract(on, { events: false }).resources.orders?.events, undefined)
})

test('turning events on adds, turning them off breaks', () => {
  assert.deepEqual(changed(contract(), contract(on)), Array(5).fill(`additive ${at}`))
  assert.deepEqual(changed(contract({}, on), contract(on)), [])
  assert.deepEqual(changed(contract(on), contract()), Array(5).fill(`breaking ${at}`))
  assert.deepEqual(changed(contract(on), contract(on, { events: false })), Array(5).fill(`breaking ${at}`))
})

test('a type that goes away breaks, also if its resource gets another singular', () => {
  const { placements } = transitions
  const without = changed(contract(on), contract(on, {}, { placements }))
  assert.ok(without.includes(`breaking ${at}`), without.join())
  const more = changed(contract(on, {}, { placements }), contract(on))
  assert.deepEqual(
    more.filter((one) => one.endsWith(at)),
    [`additive ${at}`],
  )
  const renamed = changed(contract(on), contract(on, { singular: 'purchase' }))
  assert.deepEqual(renamed, [...Array(5).fill(`breaking ${at}`), ...Array(5).fill(`additive ${at}`)])
})

test('the content and its form must stay, a stream and a longer retention add', () => {
  const settled = (events: object) => contract({ ...on, settings: { events } })
  const from = settled({ stream: false, retention: 'P7D' })
  assert.deepEqual(changed(from, settled({ stream: true, retention: 'P7D' })), ['additive settings.events.stream'])
  assert.deepEqual(changed(settled({ stream: true }), settled({})), ['breaking settings.events.stream'])
  assert.deepEqual(changed(from, settled({ retention: 'P8D' })), ['additive settings.events.retention'])
  assert.deepEqual(changed(from, settled({ retention: 'P6D' })), ['breaking settings.events.retention'])
  assert.deepEqual(changed(from, settled({ retention: 'P7D', payload: 'thin' })), ['breaking settings.events.payload'])
  const clouds = settled({ retention: 'P7D', format: 'cloudevents' })
  assert.deepEqual(changed(from, clouds), ['breaking settings.events.format'])
})

test('R237: a history and a longer one add; one that goes, for fewer callers or for a shorter time, breaks', () => {
  const scopes = { audit: 'Read revisions' }
  const kept = (history?: object) => contract({ scopes }, history ? { history } : {})
  const place = 'resources.orders'
  assert.deepEqual(kept({ read: 'audit' }).resources.orders?.history, { retention: null })
  const added = changed(kept(), kept({ read: 'audit' }))
  assert.deepEqual(new Set(added), new Set([`additive ${place}.methods`]))
  assert.deepEqual(changed(kept({ read: 'audit' }), kept()), [`breaking ${place}.history`])
  assert.deepEqual(
    changed(kept({ read: 'public' }), kept({ read: 'audit' })),
    Array(2).fill(`breaking ${place}.history`),
  )
  assert.deepEqual(
    changed(kept({ read: 'audit' }), kept({ read: 'public' })),
    Array(2).fill(`additive ${place}.history`),
  )
  const [short, long] = [kept({ read: 'audit', retention: 'P7D' }), kept({ read: 'audit', retention: 'P8D' })]
  assert.deepEqual(changed(short, long), [`additive ${place}.history`])
  assert.deepEqual(changed(long, short), [`breaking ${place}.history`])
  assert.deepEqual(changed(kept({ read: 'audit' }), long), [`breaking ${place}.history`])
  assert.deepEqual(changed(long, kept({ read: 'audit' })), [`additive ${place}.history`])
})
