import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, input } from 'bylaw'
import { contractOf } from './contract.ts'
import { differences } from './differences.ts'

const transitions = {
  payments: { from: ['open', 'late'], to: 'paid' },
  reminders: { from: ['open'], to: 'late', input: { text: f.text({ max: 20 }) }, set: { note: input('text') } },
}
const writable = { change: ['open', 'late'] }

function contract(given: object = {}, parent: object = {}) {
  const states = { field: 'status', initial: 'open', transitions, writable, ...given }
  const bills = { fields: { note: f.text({ optional: true, max: 50 }) }, states, access: 'public' }
  const parts = {
    parent: { resource: 'bills', while: ['open'], ...parent },
    fields: { text: f.text() },
    access: 'public',
  }
  return contractOf({ name: 'shop', resources: { bills, parts } } as never)
}

/** The weight, place and text of each difference from the contract above. */
const changed = (given: object, parent?: object): string[] =>
  differences(contract(), contract(given, parent)).map(
    ({ weight, place, says }) => `${weight} ${place.replace('resources.', '')}: ${says}`,
  )

test('the same states have no differences', () => assert.deepEqual(changed({}), []))

test('a narrower choice of states breaks, a wider one adds', () => {
  assert.deepEqual(changed({ writable: { change: ['open'] } }), [
    'breaking bills.states.writable.change: An item can be changed while it is open, before while it is late or open.',
  ])
  assert.deepEqual(changed({ writable: {} }), [
    'additive bills.states.writable.change: An item can be changed in every state, before while it is late or open.',
  ])
  assert.deepEqual(changed({ writable: { ...writable, remove: [] } }), [
    'breaking bills.states.writable.remove: An item can be removed in no state, before in every state.',
  ])
  assert.deepEqual(changed({}, { while: ['open', 'late'] }), [
    'additive parts.parent.while: An item can be written below its owner while it is late or open, before while it is open.',
  ])
})

test('transitions: new ones add, lost ones break, and so do fewer states and other ends', () => {
  const { payments, reminders } = transitions
  assert.deepEqual(changed({ transitions: { ...transitions, refunds: { from: ['paid'], to: 'open' } } }), [
    'additive bills.methods: POST /bills/{}/refunds is new.',
  ])
  const lost = changed({ transitions: { payments, dunnings: reminders } })
  assert.ok(
    lost.includes(
      'breaking bills.states.transitions.reminders: The transition `reminders` is gone. Consumers request it.',
    ),
    lost.join('\n'),
  )
  assert.deepEqual(changed({ transitions: { ...transitions, payments: { ...payments, from: ['open'] } } }), [
    'breaking bills.states.transitions.payments.from: `payments` is possible while it is open, before while it is late or open.',
  ])
  const other = changed({
    transitions: { payments: { ...payments, to: 'late' }, reminders: { ...reminders, to: 'paid' } },
  })
  assert.ok(
    other.includes('breaking bills.states.transitions.payments.to: `payments` leads to late instead of paid.'),
    other.join('\n'),
  )
})

test('inputs are judged like fields that are sent', () => {
  const withInput = (inputs: object) => ({
    transitions: {
      ...transitions,
      reminders: { ...transitions.reminders, input: { text: f.text({ max: 20 }), ...inputs } },
    },
  })
  assert.deepEqual(
    changed(withInput({ text: f.text({ max: 30 }) })).map((one) => one.split(' ')[0]),
    ['additive'],
  )
  assert.deepEqual(
    changed(withInput({ text: f.text({ max: 10 }) })).map((one) => one.split(' ')[0]),
    ['breaking'],
  )
  assert.deepEqual(
    changed(withInput({ copy: f.boolean() })).map((one) => one.split(' ')[0]),
    ['breaking'],
  )
})

test('a new state breaks those who switch over the states', () => {
  const found = changed({ transitions: { ...transitions, refunds: { from: ['paid'], to: 'refunded' } } })
  assert.ok(
    found.some((one) => /^breaking bills\.fields\.status: .*refunded/.test(one)),
    found.join('\n'),
  )
})

test('a new derived field adds, and one that clients could write before breaks', () => {
  const amount = (options: object) => ({ amount: f.integer(options as never), half: f.integer({ optional: true }) })
  const of = (fields: object, more: object = {}) =>
    contractOf({ name: 'shop', resources: { bills: { fields, ...more, access: 'public' } } } as never)
  const derived = { derived: { amount: ({ half }: { half: number | null }) => 2 * (half ?? 0) } }
  const weights = (was: ReturnType<typeof of>, is: ReturnType<typeof of>) =>
    differences(was, is).map(({ weight }) => weight)
  const { half } = amount({})
  assert.deepEqual(weights(of({ half }), of(amount({ derived: true }), derived)), ['additive'])
  assert.ok(weights(of(amount({})), of(amount({ derived: true }), derived)).includes('breaking'))
})
