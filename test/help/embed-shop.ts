/** A shop whose resources embed each other, and its rows. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import type { Answer, Door } from './door.ts'

export const shop = service({
  name: 'shop',
  scopes: { costs: 'See costs', staff: 'See the staff' },
  settings: { methods: { query: true }, cache: { groups: true } },
  resources: {
    regions: { prefix: 'reg', fields: { name: f.text() }, access: 'public', embed: ['offices'] },
    offices: {
      prefix: 'off',
      parent: { resource: 'regions', onDelete: 'cascade' },
      owner: 'accountId',
      fields: { name: f.text() },
      access: 'authenticated',
    },
    words: { prefix: 'wrd', fields: { text: f.text(), embed: f.text({ filter: true }) }, access: 'public' },
    staff: { plural: true, prefix: 'stf', fields: { name: f.text() }, access: { read: 'staff', write: 'public' } },
    customers: {
      prefix: 'cus',
      fields: {
        name: f.text({ filter: true }),
        regionId: f.ref('regions', { optional: true }),
        limit: f.integer({ default: 0, read: 'costs' }),
        pin: f.text({ optional: true, writeOnly: true }),
      },
      access: 'authenticated',
      embed: true,
    },
    orders: {
      prefix: 'ord',
      fields: {
        total: f.integer({ sort: true, filter: 'range' }),
        customerId: f.ref('customers', { optional: true }),
        sellerId: f.ref('staff', { optional: true }),
        backerId: f.ref('regions', { optional: true, read: 'costs', ownMeaning: 'where money comes from' }),
        previousId: f.ref('orders', { optional: true }),
      },
      access: 'public',
      embed: [
        'customer',
        'customer.region',
        'seller',
        'backer',
        'previous',
        'orderLines.order',
        'slots',
        'previous.slots',
      ],
    },
    'order-lines': {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { quantity: f.integer({ optional: true, sort: true }), cost: f.integer({ default: 0, read: 'costs' }) },
      order: ['-quantity'],
      access: 'public',
      embed: true,
      settings: { list: { pageSize: 3 } },
    },
    slots: {
      parent: { resource: 'orders', onDelete: 'cascade' },
      key: 'number',
      fields: { number: f.integer({ min: 0 }), label: f.text() },
      access: 'public',
      embed: ['order'],
      settings: { list: { pageSize: 2 }, resource: { links: 'all' } },
    },
  },
})
export const holders = {
  ann: { account: 'a', scopes: [] },
  boss: { account: 'a', scopes: ['costs', 'staff'] },
  eve: { account: 'b', scopes: ['costs', 'staff'] },
  nil: { account: null, scopes: ['costs'] },
}

/** Sends a GET with the credentials of a holder, or without any. */
export type Get = (who: string | null, path: string, headers?: Record<string, string>) => Promise<Answer>
export const reader =
  (door: Door): Get =>
  (who, path, headers = {}) =>
    door.send('GET', path, { headers: { ...(who && door.as(who)), ...headers } })

export interface Shop {
  readonly region: string
  readonly customer: string
  readonly seller: string
  readonly first: string
  readonly second: string
}

/** Two orders: the first one has everything, the second one refers to the first. */
export async function filled(door: Door): Promise<Shop> {
  const post = async (path: string, json: object): Promise<string> => {
    const answer = await door.send('POST', path, { json, headers: door.as('boss') })
    assert.equal(answer.status, 201, answer.text)
    return answer.json.id
  }
  const region = await post('/regions', { name: 'North' })
  const seller = await post('/staff', { name: 'Sam' })
  const customer = await post('/customers', { name: 'Ann', regionId: region, limit: 7, pin: 'secret' })
  await post(`/regions/${region}/offices`, { name: 'of a' })
  const refs = { customerId: customer, sellerId: seller, backerId: region }
  const first = await post('/orders', { total: 1, ...refs })
  const second = await post('/orders', { total: 2, previousId: first })
  for (const quantity of [1, null, 5, 2, null]) await post(`/orders/${first}/order-lines`, { quantity, cost: 3 })
  await post(`/orders/${second}/order-lines`, { quantity: 1 })
  for (const number of [2, 0, 1]) await post(`/orders/${first}/slots`, { number, label: `slot ${number}` })
  return { region, customer, seller, first, second }
}
