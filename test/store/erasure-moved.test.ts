/** An erasure empties values of moved personal fields that a row keeps for older versions while it links to no other row. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { erased, tablesWith } from '../help/erasing.ts'
import { nodeOn, places } from '../help/places.ts'

const text = { optional: true, max: 50 } as const
const versions = {
  v1: { released: '2025-01-01' },
  v2: { released: '2026-01-01' },
  v3: { released: '2026-02-01' },
} as const

/** The phone of an order became that of its account. */
const once = (field?: ReturnType<typeof f.text>) =>
  service({
    name: 'shop',
    versions,
    resources: {
      accounts: { prefix: 'acc', fields: { phone: f.text({ ...text, personal: true }) }, access: 'public' },
      orders: { prefix: 'ord', fields: { accountId: f.ref('accounts', { optional: true }) }, access: 'public' },
    },
  }).change('v2', 'orders', {
    about: 'Moved.',
    moved: { phone: { by: 'accountId', to: 'phone', ...(field && { field }) } },
  })

/** The phone of an account was a number later. */
const retyped = service({
  name: 'shop',
  versions,
  resources: {
    accounts: {
      prefix: 'acc',
      fields: { phone: f.integer({ optional: true, personal: true }) },
      access: 'public',
    },
    orders: { prefix: 'ord', fields: { accountId: f.ref('accounts', { optional: true }) }, access: 'public' },
  },
})
  .change('v3', 'accounts', {
    about: 'Phones are numbers.',
    retyped: { phone: f.text(text) },
    request: ({ phone }) => ({ phone: phone == null || !/^[0-9]{1,9}$/.test(phone) ? null : Number(phone) }),
    response: ({ phone }) => ({ phone: phone == null ? null : String(phone) }),
  })
  .change('v2', 'orders', { about: 'Moved.', moved: { phone: { by: 'accountId', to: 'phone' } } })

const services = {
  'the field is that of the other row': once(),
  'the field is declared for the older version': once(f.text(text)),
  'the field has a default there': once(f.text({ max: 50, default: 'none' })),
  'the field has got another type': retyped,
}

for (const [store, placeOf] of places)
  for (const [name, api] of Object.entries(services))
    test(`an erasure empties what a row keeps of a moved field: ${name} (${store})`, async (t) => {
      const place = await placeOf(t)
      const node = nodeOn(place, api)
      t.after(node.close)
      const { json } = await node.ask('POST', '/v1/orders', { phone: '5550001' })
      assert.equal((await node.ask('GET', `/v1/orders/${json.id}`)).json.phone, '5550001')
      const { counts } = await erased(api, place, 'orders', { id: json.id })
      assert.equal(counts.orders?.items, 1)
      assert.deepEqual(await tablesWith('5550001', place), [])
      assert.notEqual((await node.ask('GET', `/v1/orders/${json.id}`)).json.phone, '5550001')
    })
