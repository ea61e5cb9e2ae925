import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f } from 'bylaw'
import { declarationMistakes } from './declaration-mistakes.ts'

/** The mistakes of orders with these fields, and lines below them. */
function mistakes(fields: object, links: string, own: object = {}): string[] {
  const states = { field: 'status', initial: 'new', transitions: { payments: { from: ['new'], to: 'paid' } } }
  const orders = { fields, states, access: 'public', ...own }
  const lines = { parent: 'orders', fields: { note: f.text() }, access: 'public' }
  const customers = { fields: { name: f.text() }, access: 'public' }
  const settings = { resource: { links } }
  return declarationMistakes({ name: 'shop', settings, resources: { customers, orders, lines } }).map(
    ({ place, reason }) => `${place}: ${reason}`,
  )
}
const ref = () => f.ref('customers', { optional: true, ownMeaning: 'another role' })

describe('names of links', () => {
  test('are unique where all are given', () => {
    assert.deepEqual(mistakes({ customerId: ref(), payerId: ref() }, 'all'), [])
    assert.deepEqual(
      mistakes({ selfId: ref(), linesId: ref(), payments: ref(), payerId: ref(), payer: ref() }, 'all').map((one) =>
        one.replace('resources.orders.fields.', ''),
      ),
      [
        'selfId: Its link would be called `self`, as that of the item itself.',
        'linesId: Its link would be called `lines`, as that of the list of `lines`.',
        'payments: Its link would be called `payments`, as that of the transition `payments`.',
        'payer: Its link would be called `payer`, as that of the field `payerId`.',
      ],
    )
  })

  test('leave that of revisions to a history', () => {
    assert.deepEqual(mistakes({ revisionsId: ref() }, 'all'), [])
    assert.deepEqual(mistakes({ revisionsId: ref() }, 'all', { history: { read: 'public' } }), [
      'resources.orders.fields.revisionsId: Its link would be called `revisions`, as that of the revisions of the item.',
    ])
  })

  test('do not matter where there are only actions', () => assert.deepEqual(mistakes({ selfId: ref() }, 'actions'), []))
})
