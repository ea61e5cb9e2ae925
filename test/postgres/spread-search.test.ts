/** On a database sharded like Citus, a search finds the rows of all shards, in every order, on every page. R235. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from 'bylaw'
import { type Node, node } from './service-on-server.ts'
import { migrated, shop, spread } from './spread-nodes.ts'

const name = f.text({ max: 100, default: '', search: true })
const searched = shop(
  { email: f.email({ unique: true }), name },
  { note: f.text({ max: 100, default: '', search: true }) },
)

const numbers = (json: { data: readonly { email: string }[] }) =>
  json.data.map(({ email }) => Number(email.split('@')[0]))

test('R235: a search finds the rows of all shards by relevance, sorted, and by cursors', async (t) => {
  const { nodes } = await spread(t, 1, searched)
  const { call } = nodes[0] as Node
  for (let i = 0; i < 12; i++) {
    const { status } = await call('POST', '/customers', {
      email: `${i}@b.c`,
      name: `${'y'.repeat(12 - i)} Zoë ${i % 2 ? 'odd' : 'even'}`,
    })
    assert.equal(status, 201)
  }
  const best = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
  const whole = await call('GET', '/customers?search=zoe')
  assert.deepEqual([whole.status, numbers(whole.json), whole.json.pagination.totalRecords], [200, best, 12])
  assert.deepEqual(numbers((await call('GET', '/customers?search=zoe%20EVEN&limit=2&offset=1')).json), [8, 6])
  for (const [more, wanted] of [
    ['', best],
    ['&sort=createdAt', best.toReversed()],
  ] as const) {
    const walked: number[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { status, json } = await call('GET', `/customers?search=zoe&limit=5&cursor=${cursor}${more}`)
      assert.equal(status, 200, JSON.stringify(json))
      walked.push(...numbers(json))
      cursor = json.pagination.nextCursor
    }
    assert.deepEqual(walked, wanted)
  }
  const { id } = whole.json.data[0]
  assert.equal((await call('PATCH', `/customers/${id}`, { name: 'other' })).status, 200)
  assert.deepEqual(numbers((await call('GET', '/customers?search=zoe&limit=1&offset=0')).json), [10])
  const { json: order } = await call('POST', '/orders', { customerId: id, note: 'A blue whale' })
  assert.equal((await call('GET', '/orders?search=whale')).json.data[0].id, order.id)
})

test('R235: rows from before are found on all shards once their field is searched', async (t) => {
  const { url, nodes } = await spread(t, 1)
  const [old] = nodes as [Node]
  for (let i = 0; i < 6; i++) await old.call('POST', '/customers', { email: `${i}@b.c`, name: `Zoë ${i}` })
  await old.close()
  await migrated(url, searched)
  const young = await node(url, searched)
  t.after(young.close)
  assert.deepEqual(numbers((await young.call('GET', '/customers?search=zoe&sort=createdAt')).json), [0, 1, 2, 3, 4, 5])
})
