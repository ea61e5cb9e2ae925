/** Part 9 of the contract: the indexes of the newest version are those of the stored rows, and older versions need no fields for them. */
import assert from 'node:assert/strict'
import { caller, f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const versions = { v1: { released: '2025-01-01' }, v2: { released: '2025-02-01' } }
const texts = {
  about: 'Totals are numbers.',
  retyped: { total: f.text({ max: 20 }) },
  request: ({ total }: { total: string }) => ({ total: Number(total) }),
  response: ({ total }: { total: number }) => ({ total: String(total) }),
}
const status = f.text({ max: 20, filter: true })

const shops = {
  'a field of an index that older versions cannot filter': service({
    ...{ name: 'shop', versions },
    resources: {
      orders: {
        prefix: 'ord',
        fields: { status, total: f.integer({ filter: 'range' }) },
        indexes: [['status', 'total']],
        access: 'public',
      },
    },
  }).change('v2', 'orders', texts),
  'a field of an index that is only in a summary': service({
    ...{ name: 'shop', versions },
    resources: {
      orders: {
        prefix: 'ord',
        fields: { status, total: f.integer() },
        summaries: { byStatus: { group: ['status'], sum: ['total'] } },
        indexes: [['status', 'total']],
        access: 'public',
      },
    },
  }).change('v2', 'orders', texts),
}

for (const [name, shop] of Object.entries(shops))
  doors(name, shop, (door: Door) => {
    spec('R193', 'the older version is served', async () => {
      const made = await door.send('POST', '/v1/orders', { json: { status: 'new', total: '7' } })
      assert.equal(made.status, 201, made.text)
      for (const [version, total] of [
        ['v1', '7'],
        ['v2', 7],
      ] as const) {
        const { json } = await door.send('GET', `/${version}/orders?status=new`)
        assert.deepEqual(
          json.data.map((one: { total: unknown }) => one.total),
          [total],
        )
      }
    })
  })

/** `agent` is only in the access rule, and the change is one of another resource. */
const desk = service({
  ...{ name: 'desk', versions, scopes: { all: 'See all orders' } },
  resources: {
    orders: {
      prefix: 'ord',
      owner: 'account',
      fields: { agent: f.text({ max: 100 }), title: f.text({ max: 50, sort: true }) },
      indexes: [['agent', 'title']],
      access: { read: [{ scope: 'all' }, { where: { agent: caller } }], write: 'all' },
    },
    notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' },
  },
}).change('v2', 'notes', { about: 'Remarks are called notes.', was: 'remarks' })

doors(
  'a field of an index that is only in an access rule',
  desk,
  (door: Door) => {
    spec('R193 R170', 'the older version is served', async () => {
      const headers = door.as('boss')
      const { json: own } = await door.send('POST', '/v1/orders', { headers, json: { agent: 'token', title: 'a' } })
      const { json } = await door.send('GET', '/v1/orders', { headers })
      assert.deepEqual(
        json.data.map(({ id }: { id: string }) => id),
        [own.id],
      )
    })
  },
  { holders: { boss: { scopes: ['all'], account: 'acc_1' } } },
)
