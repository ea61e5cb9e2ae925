import assert from 'node:assert/strict'
import { test } from 'node:test'
import { count, f, input, sum } from 'bylaw'
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

test('another initial state breaks, and no change can declare one that consumers know', () => {
  const late = { transitions, initial: 'late' }
  const found = (given: object) =>
    differences(contract(), contract(given)).filter(({ place }) => place.endsWith('.initial'))
  const [known] = found(late)
  assert.deepEqual(
    [known?.weight, known?.what, known?.says],
    ['breaking', 'fixed', 'A new item is late instead of open.'],
  )
  const starts = { from: ['draft'], to: 'open' }
  const [fresh] = found({ initial: 'draft', transitions: { ...transitions, starts } })
  assert.deepEqual([fresh?.weight, fresh?.what], ['breaking', 'actions-changed'])
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

test('another source of a derived field is additive: its values change, but not the allowed values', () => {
  const of = (derived: unknown, make: (bill: { half: number }) => number) =>
    contractOf({
      name: 'shop',
      resources: {
        bills: {
          fields: { half: f.integer(), whole: f.integer({ derived: true }), parts: f.integer({ derived } as never) },
          derived: { whole: make },
          access: 'public',
        },
        parts: { parent: 'bills', fields: { size: f.integer() }, access: 'public' },
      },
    } as never)
  const twice = ({ half }: { half: number }) => 2 * half
  const found = (derived: unknown, make = twice) =>
    differences(of(count('parts'), twice), of(derived, make)).map(({ weight, says }) => `${weight} ${says}`)
  assert.deepEqual(
    found(count('parts'), ({ half }) => half + half),
    [],
  )
  assert.deepEqual(found(sum('parts', 'size')), [
    'additive `parts` follows from sum of size of parts instead of count of parts. Consumers may read other values.',
  ])
  const [other] = found(count('parts'), ({ half }) => 3 * half)
  assert.match(other ?? '', /^additive `whole` follows from function [-\w]+ instead of function [-\w]+\./)
})

test('timers: a new, shorter or removed one breaks, a longer one adds', () => {
  const ends = { from: ['open'], to: 'late', after: 'P7D' }
  const timed = (one?: object) => contract({ transitions: { ...transitions, ...(one && { ends: one }) } })
  const found = (was: object | undefined, is: object | undefined) =>
    differences(timed(was), timed(is)).map(({ weight, says }) => `${weight} ${says}`)
  assert.deepEqual(found(undefined, ends), [
    'breaking `ends` takes place P7D after the item became open, and makes it late. Items leave the state without a request.',
  ])
  assert.deepEqual(found(ends, undefined), [
    'breaking `ends` does not take place by the clock any more. Consumers wait for it.',
  ])
  assert.match(
    found(ends, { ...ends, after: 'P1D' })[0] ?? '',
    /^breaking `ends` takes place P1D after .*, before P7D after/,
  )
  assert.match(found(ends, { ...ends, after: 'P8D' })[0] ?? '', /^additive `ends` takes place P8D/)
  assert.match(found(ends, { ...ends, from: ['late'], to: 'open' })[0] ?? '', /^breaking /)
})
