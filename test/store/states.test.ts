/** Proves that transitions and writes of children are right when several nodes or sessions write at once. R221, R222. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'
import { connected, freshPostgres, sql } from '../help/postgres.ts'
import { until } from '../help/until.ts'

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
    lines: {
      prefix: 'lin',
      fields: {},
      parent: { resource: 'orders', while: ['draft'], onDelete: 'cascade' },
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

for (const below of ['lines', 'placements'])
  test(`${below} wait for a transition that is not committed yet, and are then refused (PostgreSQL)`, async (t) => {
    const { url, drop } = await freshPostgres()
    t.after(drop)
    const { ask, close } = nodeOn({ url }, shop)
    t.after(close)
    const { id } = (await ask('POST', '/orders', {})).json
    const other = await connected(t, url)
    await other.query('BEGIN')
    const left = `UPDATE orders SET doc = replace(doc, '"draft"', '"cancelled"'), by_status = 'cancelled', revision = 2 WHERE id = $1`
    await other.query(left, [id])
    let isAnswered = false
    const asked = ask('POST', `/orders/${id}/${below}`, {}).finally(() => {
      isAnswered = true
    })
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    await until(async () => isAnswered || (await sql(url, waiting)).length > 0)
    await other.query('COMMIT')
    const { status, json } = await asked
    assert.deepEqual([status, json.type], [409, 'invalid-state'])
    assert.deepEqual((await ask('GET', `/orders/${id}/lines`)).json.data, [])
    assert.equal((await ask('GET', `/orders/${id}`)).json.status, 'cancelled')
  })
