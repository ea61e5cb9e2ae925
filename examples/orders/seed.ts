/** Rows to begin with, created as any client would create them. */
import { testing } from 'bylaw/testing'
import api from './api.ts'
import handlers from './handlers.ts'

const customers = [
  ['Asha Raman', 'asha@ramanbooks.example', 'IN'],
  ['Bruno Keller', 'bruno.keller@alpenrad.example', 'CH'],
  ['Chidi Okafor', 'chidi@okaforfoods.example', 'NG'],
  ['Dana Whitfield', 'dana@whitfieldhardware.example', 'US'],
  ['Elena Rossi', 'elena.rossi@carta-e-penna.example', 'IT'],
  ['Farid Haddad', 'farid@haddadtextiles.example', 'MA'],
  ['Greta Lindqvist', 'greta@fjallglas.example', 'SE'],
  ['Hiro Tanaka', 'hiro@tanaka-tools.example', 'JP'],
] as const

/** Names and prices of products. */
const goods = [
  ['Fountain pen, medium nib', '38.50'],
  ['Sketchbook A4, 120 pages', '14.90'],
  ['Desk lamp, brass', '89.00'],
  ['Linen apron', '27.25'],
  ['Hand plane, 240 mm', '112.40'],
  ['Espresso cups, set of six', '46.80'],
  ['Wool blanket, grey', '74.00'],
] as const

/** Currency, day it is due, and the lines: which of the goods and how many. */
const orders = [
  [
    'EUR',
    '2027-01-11',
    [
      [0, 2],
      [1, 5],
    ],
  ],
  ['CHF', '2027-01-15', [[4, 1]]],
  [
    'USD',
    null,
    [
      [2, 3],
      [5, 1],
      [6, 1],
    ],
  ],
  ['USD', '2027-01-08', [[3, 12]]],
  [
    'EUR',
    '2027-02-01',
    [
      [1, 40],
      [0, 10],
    ],
  ],
  ['EUR', null, [[6, 2]]],
  [
    'SEK',
    '2027-01-22',
    [
      [5, 4],
      [3, 4],
    ],
  ],
  ['USD', '2027-01-29', [[4, 6]]],
  ['EUR', '2027-03-10', [[2, 1]]],
  [
    'USD',
    '2027-01-19',
    [
      [1, 8],
      [6, 1],
    ],
  ],
] as const

const warehouses = {
  'Rotterdam North': [400, 250, 120],
  'Milan Lambrate': [300, 80],
  'Chicago Elk Grove': [600, 600, 45],
}

/** Fills an empty database. */
export async function seed(database: string): Promise<void> {
  const { call, close } = testing(api, handlers, { database })
  const create = async (path: string, json: object): Promise<string> => {
    const answer = await call(path, { method: 'POST', json })
    if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${await answer.text()}`)
    return ((await answer.json()) as { id: string }).id
  }
  const move = async (path: string, json = {}): Promise<void> => {
    const answer = await call(path, { method: 'POST', json })
    if (answer.status !== 200) throw new Error(`POST ${path} answered ${answer.status}: ${await answer.text()}`)
  }
  try {
    const buyers: string[] = []
    for (const [name, email, country] of customers) buyers.push(await create('/customers', { name, email, country }))
    const products: string[] = []
    for (const [name, price] of goods) products.push(await create('/products', { name, price, stock: 1000 }))
    for (const [i, [currency, dueOn, lines]] of orders.entries()) {
      const order = await create('/orders', { customerId: buyers[i % buyers.length], currency, dueOn })
      for (const [good, quantity] of lines)
        await create(`/orders/${order}/order-lines`, { productId: products[good], quantity })
      if (i % 2 === 1) await move(`/orders/${order}/placements`)
      if (i % 4 === 3) await move(`/orders/${order}/shipments`, { carrier: 'Sleipnir Freight' })
    }
    for (const [name, capacities] of Object.entries(warehouses)) {
      const warehouse = await create('/warehouses', { name })
      for (const [i, capacity] of capacities.entries())
        await create(`/warehouses/${warehouse}/slots`, { number: String(i + 1).padStart(3, '0'), capacity })
    }
  } finally {
    await close()
  }
}
