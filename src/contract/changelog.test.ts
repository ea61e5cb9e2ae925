/** The line that says what differs between two contracts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from '../fields/field.ts'
import type { Declaration } from '../service.ts'
import { changeLine } from './changelog.ts'
import { contractOf } from './contract.ts'

const states = { field: 'status', initial: 'open', transitions: { closures: { from: ['open'], to: 'closed' } } }
const orders = { prefix: 'ord', fields: { note: f.text({ max: 9, filter: true }) }, access: 'public', states }
const shop = (parts: object): Declaration => ({ name: 'shop', resources: { orders }, ...parts }) as never
const having = (parts: object) => shop({ resources: { orders: { ...orders, ...parts } } })

test('names each part that differs, by resource', () => {
  const line = (after: Declaration) => changeLine(contractOf(shop({})), contractOf(after))
  assert.equal(line(shop({})), '')
  assert.equal(line(having({ title: 'Purchase', description: 'What is bought.' })), '')
  const fields = { note: f.text({ max: 8, sort: true }), coupon: f.text({ optional: true }) }
  assert.equal(line(having({ fields })), 'orders: + coupon, no filter on note, sort by note, note (max)')
  assert.equal(line(having({ fields: {} })), 'orders: - note')
  const carts = { fields: { count: f.integer() }, access: 'public' }
  assert.equal(line(shop({ resources: { orders, carts } })), '+ resource carts')
  assert.equal(line(shop({ resources: { carts } })), '+ resource carts; - resource orders')
  assert.equal(line(having({ methods: ['list', 'read'] })).includes('- method remove'), true)
  const more = { ...states, transitions: { ...states.transitions, openings: { from: ['closed'], to: 'open' } } }
  assert.match(
    line(having({ states: more })),
    /^orders: \+ access POST \/orders\/\{id\}\/openings, \+ transition openings$/,
  )
  assert.match(line(having({ operations: { quotes: { at: 'collection' } } })), /\+ operation quotes/)
  assert.match(
    line(having({ access: { read: 'public', write: 'authenticated' } })),
    /^orders: access DELETE \/orders\/\{id\}, /,
  )
  assert.equal(
    line(shop({ settings: { list: { maxPageSize: 7 } } })),
    'setting list.maxPageSize; setting list.pageSize',
  )
  assert.equal(
    line(shop({ scopes: { 'a:b': 'A' }, errors: { 'not-paid': { status: 409 } } })),
    '+ scope a:b; + error not-paid',
  )
})
