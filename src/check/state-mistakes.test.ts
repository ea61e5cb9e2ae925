import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { caller, f, input, now, sum } from 'bylaw'
import { declarationMistakes } from './declaration-mistakes.ts'
import { stateWarnings } from './state-mistakes.ts'

const fields = {
  note: f.text({ max: 20 }),
  paidAt: f.timestamp({ optional: true }),
  paidBy: f.text({ optional: true }),
  total: f.decimal({ scale: 2, default: '0' }),
}
const sound = {
  field: 'status',
  initial: 'open',
  transitions: {
    payments: { from: ['open'], to: 'paid', set: { paidAt: now, paidBy: caller, total: '1.5' } },
    notes: { from: ['open', 'paid'], to: 'open', input: { text: f.text({ max: 20 }) }, set: { note: input('text') } },
  },
  writable: { change: ['open'], remove: [] },
}

/** The mistakes of a resource with these states, each with place, reason and mend. */
function mistakes(states: object, more: object = {}): string[] {
  const bills = { fields, access: 'public', states: { ...sound, ...states } }
  const declaration = { name: 'shop', resources: { bills, ...more } }
  return declarationMistakes(declaration).map(
    ({ place, reason, mend }) => `${place.replace('resources.bills.states.', '')}: ${reason} ${mend}`,
  )
}
const transition = (given: object): string[] =>
  mistakes({ transitions: { payments: { from: ['open'], to: 'paid', ...given } } })

describe('states', () => {
  test('sound ones have no mistakes', () => assert.deepEqual(mistakes({}), []))

  test('all mistakes are reported at once, each with its place and mend', () => {
    assert.deepEqual(
      mistakes({
        field: 'note',
        initial: '',
        start: 'open',
        transitions: {
          pay: { from: [], to: 5 },
          Shipment: { from: ['open'], to: 'paid', after: 'a week', access: 'bills:pay' },
        },
      }),
      [
        'field: `fields` declares `note` too; `states` adds the field itself. Leave `note` out of `fields`.',
        'initial: The state is "". Write letters, digits, dashes and underscores, as \'draft\'.',
        'transitions.pay: The name contains the verb `pay`; the method of a request says what is done. Write `payments`.',
        "transitions.pay.from: `from` is an empty list. List the states in which it is possible, as from: ['draft'].",
        "transitions.pay.to: The state is 5. Write letters, digits, dashes and underscores, as 'draft'.",
        'transitions.Shipment: The name is not a plural noun in kebab-case. Write `shipments`.',

        'transitions.Shipment.after: `after` is "a week". Write an ISO 8601 duration of weeks, days, hours, minutes and seconds, as after: \'P7D\'.',
        'transitions.Shipment.access: There is no scope "bills:pay". Allowed: public or authenticated. Scopes are declared in `scopes` of the service.',
        'transitions.Shipment.access: No caller carries it out, so `access` has no effect. Leave it out: the transition takes place by the clock.',
        'start: `start` is not known here. Allowed: field, initial, transitions, writable, titles or descriptions.',
      ],
    )
  })

  test('a mistake in a transition does not hide the field of the states', () => {
    const named = {
      summaries: { byStatus: { group: ['status'] } },
      indexes: [['status', 'createdAt']],
      access: { read: [{ where: { status: 'open' } }], write: 'authenticated' },
    }
    const first = (transitions: object): string[] => {
      const bills = { fields, ...named, states: { ...sound, transitions } }
      return declarationMistakes({ name: 'shop', resources: { bills } }).map(({ place }) => place)
    }
    const at = 'resources.bills.states.transitions.payments'
    assert.deepEqual(first({ payments: { from: ['open'], to: 'paid', set: { note: now } } }), [`${at}.set.note`])
    assert.deepEqual(first({ payments: { from: ['open'], to: 5 } }), [`${at}.to`])
    assert.deepEqual(first({ payments: { from: 'open', to: 'paid' } }), [`${at}.from`])
  })

  test('a name of the service, of the key or in another case cannot be the field', () => {
    assert.match(mistakes({ field: 'updatedAt' })[0] as string, /^field: The service maintains this time already\./)
    assert.match(
      mistakes({ field: 'bill_status' })[0] as string,
      /^field: The name is not in camelCase\. Write `billStatus`\./,
    )
  })

  test('what a transition sets has to fit in every case', () => {
    const said = (set: object, inputs?: object) => transition({ set, ...(inputs && { input: inputs }) }).join('\n')
    assert.match(said({ status: 'paid' }), /payments\.set\.status: It is not a field that can be set\./)
    assert.match(said({ total: '1.555' }), /payments\.set\.total: The field refuses "1\.555"/)
    assert.match(said({ note: null }), /payments\.set\.note: The field refuses null/)
    assert.match(said({ note: now }), /`now` is a timestamp, and the field is of kind text\./)
    assert.match(said({ note: caller }), /cannot hold the id of every caller.*f\.text\(\{ optional: true \}\)/)
    assert.match(said({ note: input('text') }), /There is no input "text"\. Declare it in `input`\./)
    assert.match(
      said({ note: input('text') }, { text: f.text({ max: 21 }) }),
      /The input `text` allows values that the field refuses/,
    )
    assert.match(
      said({ note: input('text') }, { text: f.text({ max: 20, optional: true }) }),
      /both or none as optional/,
    )
    assert.match(said({}, { text: f.text({ unique: true }) }), /`unique` has no effect in a field that is not stored/)
  })

  test('a derived field cannot be set', () => {
    const lines = { parent: 'bills', fields: { amount: f.integer() }, access: 'public' }
    const bills = {
      fields: { sum: f.integer({ derived: sum('lines', 'amount') }) },
      access: 'public',
      states: { ...sound, transitions: { payments: { from: ['open'], to: 'paid', set: { sum: 5 } } }, writable: {} },
    }
    assert.deepEqual(
      declarationMistakes({ name: 'shop', resources: { bills, lines } }).map(({ reason }) => reason),
      ['It is not a field that can be set.'],
    )
  })

  test('a transition at the time in a field does not lead back to the same time', () => {
    const at = (from: string, to: string, set = {}) => ({ from: [from], to, at: 'paidAt', set })
    const endless = (transitions: object) => mistakes({ transitions, writable: {} })
    assert.match(
      endless({ reminders: at('open', 'open') })[0] as string,
      /reminders: It would take place again and again, as the time in `paidAt` stays the same\. Write set: \{ paidAt: null/,
    )
    assert.equal(endless({ reminders: at('open', 'open', { paidAt: now }) }).length, 1)
    assert.deepEqual(endless({ reminders: at('open', 'open', { paidAt: null }) }), [])
    assert.equal(endless({ pauses: at('open', 'idle'), returns: at('idle', 'open') }).length, 2)
    assert.deepEqual(endless({ pauses: at('open', 'idle'), returns: { from: ['idle'], to: 'open', after: 'P1D' } }), [])
    assert.deepEqual(endless({ pauses: at('open', 'idle'), closures: at('idle', 'closed') }), [])
  })

  test('`writable` and `while` name states of the machine', () => {
    assert.match(
      mistakes({ writable: { change: ['opne'] } })[0] as string,
      /There is no state "opne"\. Did you mean `open`\?/,
    )
    const both = mistakes({
      writable: { change: ['opne'] },
      transitions: { pay: { from: ['open'], to: 'paid', set: { total: true } } },
    })
    assert.deepEqual(
      both.map((one) => one.split('.', 1)[0]),
      ['transitions', 'transitions', 'writable'],
    )
    assert.match(both[1] as string, /The field refuses true: total must be a decimal number/)
    const parts = (parent: object) => ({ parts: { parent, fields: { text: f.text() }, access: 'public' } })
    assert.deepEqual(mistakes({}, parts({ resource: 'bills', while: ['open'] })), [])
    assert.match(
      mistakes({}, parts({ resource: 'bills', while: ['gone'] }))[0] as string,
      /parts\.parent\.while: There is no state "gone"/,
    )
    const below = {
      ...parts({ resource: 'others', while: ['open'] }),
      others: { fields: { text: f.text() }, access: 'public' },
    }
    assert.match(mistakes({}, below)[0] as string, /`others` declares no `states`/)
  })

  test('a transition cannot have the URL of a list below the item', () => {
    const more = { payments: { parent: 'bills', fields: { text: f.text() }, access: 'public' } }
    assert.match(mistakes({}, more)[0] as string, /The list of `payments` has the same URL\./)
  })

  test('other values than objects are refused in words', () => {
    for (const states of [5, null, 'open', []])
      assert.equal(
        declarationMistakes({ name: 'shop', resources: { bills: { fields, access: 'public', states } } }).length,
        1,
      )
    assert.equal(mistakes({ transitions: { payments: 5 } }).length, 1)
    assert.equal(mistakes({ transitions: {} }).length, 1)
  })

  test('states that cannot be reached or left are told, not refused', () => {
    const odd = {
      ...sound,
      transitions: { payments: { from: ['open'], to: 'paid' }, refunds: { from: ['piad'], to: 'refunded' } },
    }
    assert.deepEqual(stateWarnings('bills', odd), [
      'bills: no transition leads to piad and refunded from open.',
      'bills: no transition leads out of paid and refunded.',
    ])
  })
})
