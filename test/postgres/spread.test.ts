/** On a database sharded like Citus, unique values and references hold over all shards. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { f, max, service } from 'bylaw'
import { shardKeyOf } from '../../src/flow/shard-key.ts'
import { timesSent, watched } from '../help/spread.ts'
import { type Node, node, proxy } from './service-on-server.ts'
import { first, rows, shop, spread, sql } from './spread-nodes.ts'

test('of concurrent writers of one value one gets it, over all nodes and shards', async (t) => {
  const { url, nodes } = await spread(t, 2)
  for (let round = 0; round < 10; round++) {
    const all = Array.from({ length: 12 }, (_, i) =>
      nodes[i % 2]?.call('POST', '/customers', { email: `a${round}@b.c` }),
    )
    const reported = await Promise.all(all)
    assert.equal(reported.filter((one) => one?.status === 201).length, 1)
    assert.equal(reported.filter((one) => one?.status === 409).length, 11, JSON.stringify(reported))
  }
  assert.equal((await rows(url, 'bylaw_values')).length, 10)
})

test('a value is free again when its row changes it, or is deleted', async (t) => {
  const { url, nodes } = await spread(t, 1)
  const { call } = nodes[0] as Node
  const made = await call('POST', '/customers', { email: 'a@b.c' })
  const path = `/customers/${made.json.id}`
  assert.equal((await call('PATCH', path, { email: 'd@e.f' })).status, 200)
  assert.equal((await call('PATCH', path, { name: 'x' })).status, 200)
  const second = await call('POST', '/customers', { email: 'a@b.c' })
  assert.equal(second.status, 201)
  assert.equal((await call('PATCH', path, { email: 'a@b.c' })).status, 409)
  assert.equal((await call('DELETE', `/customers/${second.json.id}`)).status, 204)
  assert.equal((await call('PATCH', path, { email: 'a@b.c' })).status, 200)
  assert.equal((await rows(url, 'bylaw_values')).length, 1)
})

test('no reference to a deleted row remains after a concurrent deletion and creation', async (t) => {
  const { url, nodes } = await spread(t, 2)
  const [one, other] = nodes as [Node, Node]
  const outcomes = new Set<string>()
  for (let round = 0; round < 40; round++) {
    const { json } = await one.call('POST', '/customers', { email: `a${round}@b.c` })
    const created = pause(round % 4).then(() => other.call('POST', '/orders', { customerId: json.id }))
    const gone = await pause((round * 3) % 5).then(() => one.call('DELETE', `/customers/${json.id}`))
    outcomes.add(`${gone.status} ${(await created).status}`)
  }
  assert.ok(
    [...outcomes].every((both) => both === '204 400' || both === '409 201'),
    [...outcomes].join(),
  )
  const dangling = 'SELECT 1 FROM orders WHERE "by_customerId" NOT IN (SELECT id FROM customers)'
  assert.deepEqual(await sql(url, dangling), [])
  const [count] = await sql(url, 'SELECT (SELECT count(*) FROM orders) = (SELECT count(*) FROM bylaw_links) AS same')
  assert.deepEqual(count, { same: true })
})

test('a row with a link but not inserted yet is waited for', async (t) => {
  const { url, nodes } = await spread(t, 1)
  const { call } = nodes[0] as Node
  const made = await call('POST', '/customers', { email: 'a@b.c' })
  const [id, order] = [made.json.id as string, 'ord_01hzxw3k5qf7m8n9p0r1s2t300']
  const reported = `(${shardKeyOf(id)}, 'customers/${id}', 'orders', '${JSON.stringify([null, null, order])}', ${Date.now()})`
  await sql(url, `INSERT INTO bylaw_links (home, target, collection, holder, time) VALUES ${reported}`)
  const early = await call('DELETE', `/customers/${id}`)
  assert.deepEqual([early.status, early.json.type, early.retryAfter !== null], [503, 'overloaded', true])
  assert.equal((await call('GET', `/customers/${id}`)).status, 200)
  const doc = JSON.stringify({ id: order, customerId: id })
  const row = `(${shardKeyOf(order)}, '${order}', 1, 1, '${doc}', '${id}')`
  await sql(url, `INSERT INTO orders (home, id, revision, shape, doc, "by_customerId") VALUES ${row}`)
  assert.equal((await call('DELETE', `/customers/${id}`)).status, 409)
  await sql(url, `UPDATE orders SET doc = replace(doc, '${id}', 'cus_other')`)
  assert.equal((await call('DELETE', `/customers/${id}`)).status, 204)
  assert.deepEqual(await rows(url, 'bylaw_links'), [])
})

test('a resource is on the shard of its idempotency key', async (t) => {
  const { url, nodes } = await spread(t, 1)
  const { call } = nodes[0] as Node
  for (let i = 0; i < 20; i++) {
    const made = await call('POST', '/customers', { email: `a${i}@b.c` }, { 'idempotency-key': `k${i}` })
    const [key] = await sql(url, `SELECT home, hash FROM bylaw_keys WHERE id = '${made.json.id}'`)
    const [row] = await sql(url, `SELECT home FROM customers WHERE id = '${made.json.id}'`)
    assert.equal(key?.home, row?.home)
    assert.equal(key?.home, shardKeyOf(key?.hash as string))
    const again = await call('POST', '/customers', { email: 'x@y.z' }, { 'idempotency-key': `k${i}` })
    assert.deepEqual([again.status, again.json.old_id], [409, made.json.id])
  }
})

const fails = `EXCEPTION 'could not commit transaction for shard 102008 on any active node' USING ERRCODE = '55000'`
const warns = `WARNING 'failed to commit transaction on far:5432'`

/** SQL that makes COMMIT answer with a message or an error for rows that were inserted into a table. */
const late = (table: string, what: string) => `
CREATE OR REPLACE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE ${what}; RETURN NULL; END $$;
DO $$ DECLARE part regclass; BEGIN
  FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = '${table}'::regclass LOOP
    EXECUTE format('DROP TRIGGER IF EXISTS late ON %s', part);
    EXECUTE format('CREATE CONSTRAINT TRIGGER late AFTER INSERT ON %s DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late()', part);
  END LOOP;
END $$`

const unknown = /not known whether this was done/

test('any error or warning of COMMIT is an unknown outcome, which a key resolves', async (t) => {
  const { url, nodes } = await spread(t, 1)
  const between = await proxy(t, Number(new URL(url).port))
  const far = await node(url.replace(/:\d+\//, `:${between.port}/`), first)
  t.after(far.close)
  between.judge = (bytes) => {
    if (!bytes.includes('COMMIT')) return 'pass'
    between.judge = () => 'pass'
    return 'cut behind'
  }
  const lost = await far.call('POST', '/customers', { email: 'a@b.c' }, { 'idempotency-key': 'k1' })
  assert.equal(lost.status, 201, JSON.stringify(lost.json))
  await sql(url, late('customers', fails))
  const { call } = nodes[0] as Node
  for (const headers of [{ 'idempotency-key': 'k2' }, undefined]) {
    const reported = await call('POST', '/customers', { email: 'd@e.f' }, headers)
    assert.equal(reported.status, 503)
    assert.match(reported.json.message, unknown)
  }
  assert.equal((await rows(url, 'customers')).length, 1)
  await sql(url, late('customers', warns))
  const reported = await node(url.replace('client_min_messages%3Derror', 'client_min_messages%3Dwarning'), first)
  t.after(reported.close)
  const warned = await reported.call('POST', '/customers', { email: 'd@e.f' }, { 'idempotency-key': 'k2' })
  assert.equal(warned.status, 503)
  assert.match(warned.json.message, unknown)
  const again = await call('POST', '/customers', { email: 'd@e.f' }, { 'idempotency-key': 'k2' })
  const [, row] = await rows(url, 'customers ORDER BY "by_email" --')
  assert.deepEqual([again.status, again.json.old_id], [409, row?.id])
})

test('R225: a greatest value is not computed while a row is committed on one shard and not yet on another', async (t) => {
  const greatest = f.integer({ optional: true, derived: max('orders', 'amount') })
  const { url, nodes } = await spread(t, 1, shop({ greatest }, { amount: f.integer() }))
  const { call } = nodes[0] as Node
  const id = (await call('POST', '/customers', {})).json.id as string
  const [, last] = await Promise.all(
    [5, 9].map(async (amount) => (await call('POST', '/orders', { customerId: id, amount })).json.id as string),
  )
  const order = 'ord_01hzxw3k5qf7m8n9p0r1s2t300'
  const link = `(${shardKeyOf(id)}, 'customers/${id}', 'orders', '${JSON.stringify([null, null, order])}', ${Date.now()})`
  await sql(url, `INSERT INTO bylaw_links (home, target, collection, holder, time) VALUES ${link}`)
  const early = await call('DELETE', `/orders/${last}`)
  assert.deepEqual([early.status, early.json.type, early.retryAfter !== null], [503, 'overloaded', true])
  assert.equal((await call('GET', `/customers/${id}`)).json.greatest, 9)
  const doc = JSON.stringify({ id: order, customerId: id, amount: 7 })
  const row = `(${shardKeyOf(order)}, '${order}', 1, 1, '${doc}', '${id}')`
  await sql(url, `INSERT INTO orders (home, id, revision, shape, doc, "by_customerId") VALUES ${row}`)
  assert.equal((await call('DELETE', `/orders/${last}`)).status, 204)
  assert.equal((await call('GET', `/customers/${id}`)).json.greatest, 7)
})

test('R110: a PUT that creates locks the owner once, and reads the tombstone before and after the row is inserted', async (t) => {
  const halls = service({
    name: 'halls',
    settings: { resource: { id: 'client' } },
    resources: {
      halls: { prefix: 'hal', fields: {}, access: 'public' },
      seats: {
        parent: 'halls',
        key: 'number',
        fields: { number: f.text({ max: 9 }), place: f.text() },
        access: 'public',
      },
    },
  })
  const { url, nodes } = await spread(t, 1, halls)
  const { call } = nodes[0] as Node
  await call('POST', '/halls', { id: 'hal_1' })
  const judged = watched(url)
  assert.equal((await call('PUT', '/halls/hal_1/seats/1', { place: 'left' })).status, 201)
  const parts = [
    'FROM "halls"',
    'FROM "halls" WHERE home = $1 AND id = $2 FOR KEY SHARE',
    'FROM "seats"',
    'FROM bylaw_tombstones',
  ]
  assert.deepEqual(parts.map(timesSent), [1, 1, 1, 2])
  assert.deepEqual(await judged(), [])
  assert.equal((await call('PUT', '/halls/hal_2/seats/1', { place: 'left' })).json.type, 'resource-not-found')
  const both = await Promise.all(['a', 'b'].map((place) => call('PUT', '/halls/hal_1/seats/2', { place })))
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 201])
  assert.equal((await call('DELETE', '/halls/hal_1/seats/2')).status, 204)
  assert.equal((await call('PUT', '/halls/hal_1/seats/2', { place: 'c' })).status, 410)
})
