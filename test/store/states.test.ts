/** Proves that of several transitions at once on two nodes one takes place. R221. The cellar. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'

const shop = service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ default: '' }) },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: { from: ['draft'], to: 'placed' },
          cancellations: { from: ['draft'], to: 'cancelled' },
        },
      },
      access: 'public',
    },
  },
})

for (const [name, place] of places)
  test(`of transitions at once on two nodes one takes place (${name})`, async (t) => {
    const where = await place(t)
    const nodes = [nodeOn(where, shop), nodeOn(where, shop)] as const
    for (const { close } of nodes) t.after(close)
    for (let round = 0; round < 20; round++) {
      const { id } = (await nodes[0].ask('POST', '/orders', {})).json
      const asked = nodes.flatMap(({ ask }) =>
        ['placements', 'cancellations'].map((one) => ask('POST', `/orders/${id}/${one}`)),
      )
      const answers = await Promise.all(asked)
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409, 409])
    }
  })
