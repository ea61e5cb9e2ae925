/** Proves that a refill on the tables of Citus goes shard by shard, while other nodes write and after crashes. The store. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { count, f } from 'bylaw'
import { openMigration } from '../../src/terminal/open.ts'
import { connected } from '../help/postgres.ts'
import { watched } from '../help/spread.ts'
import { until } from '../help/until.ts'
import { type Node, node } from './service-on-server.ts'
import { migrated, rows, shop, spread, sql } from './spread-nodes.ts'
import { copied, filled, filtered, plain } from './spread-rows.ts'

const numberOf = async (url: string, condition: string): Promise<number> =>
  Number((await sql(url, `SELECT count(*) AS n FROM customers WHERE ${condition}`))[0]?.n)

/** Asserts that all rows have the columns and documents of the newest declaration, and were rewritten once. */
async function assertRewritten(url: string, most = 1): Promise<void> {
  const whole = `shape = 2 AND "by_name" = doc::json ->> 'name' AND "by_city" = doc::json ->> 'city' AND "by_size" = 7
    AND doc::json ->> 'size' = '7' AND revision <= ${most}`
  assert.equal(await numberOf(url, `NOT coalesce(${whole}, false)`), 0)
}

/** Changes of nodes that have ended. */
const noNodes = (url: string) => sql(url, 'DELETE FROM bylaw_nodes')

/** A node that is said to run elsewhere, so that a change cannot be finished. */
const farNode = (url: string) =>
  sql(url, `INSERT INTO bylaw_nodes (node, name, seen) VALUES ('far:1', 'x', EXTRACT(EPOCH FROM now()) * 1000)`)

/** Makes updates of the last row of a shard wait until the returned function is called. Takes no lock of the table, which would stop all steps. */
async function heldShard(t: TestContext, url: string): Promise<{ shard: string; release: () => Promise<unknown> }> {
  const [last] = await sql(
    url,
    'SELECT tableoid::regclass::text AS shard, id FROM customers ORDER BY home DESC, id DESC LIMIT 1',
  )
  const shard = String(last?.shard)
  const key = `hashtext(current_schema())`
  await sql(
    url,
    `CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock_shared(${key}); RETURN NEW;
    END $$;
    CREATE TRIGGER held BEFORE UPDATE ON ${shard} FOR EACH ROW WHEN (NEW.id = '${last?.id}') EXECUTE FUNCTION held()`,
  )
  const client = await connected(t, url)
  await client.query(`/* beside */ SELECT pg_advisory_lock(${key})`)
  return { shard, release: () => client.query(`/* beside */ SELECT pg_advisory_unlock(${key})`) }
}

test('a batch of rows is read and written on one shard, in a transaction that no other shard takes part in', async (t) => {
  const { url, nodes } = await spread(t, 1, plain)
  await filled(nodes[0] as Node, url, 2400)
  await (nodes.pop() as Node).close()
  await noNodes(url)
  const done = await migrated(url, filtered)
  assert.ok(done.includes('rewrite the rows of customers in advance'), done.join('\n'))
  await assertRewritten(url)
  const [batches] = await sql(
    url,
    `SELECT max(shards)::int AS shards, max(rows)::int AS rows, count(*)::int AS batches FROM (
      SELECT count(DISTINCT tableoid) AS shards, count(*) AS rows FROM customers GROUP BY xmin::text) AS batch`,
  )
  assert.equal(batches?.shards, 1)
  assert.equal(batches?.rows, 500)
  assert.ok(Number(batches?.batches) >= 6)
})

test('a locked row holds up its own shard, and a refill that is killed goes on where the rows are', async (t) => {
  const { url, nodes } = await spread(t, 1, plain)
  await filled(nodes[0] as Node, url, 2400)
  await (nodes.pop() as Node).close()
  await noNodes(url)
  const { shard, release } = await heldShard(t, url)
  const script = fileURLToPath(new URL('spread-migrator.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=bylaw-source', script, url], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  })
  const ended = once(child, 'exit')
  await until(async () => (await numberOf(url, `tableoid <> '${shard}'::regclass AND shape < 2`)) === 0)
  child.kill('SIGKILL')
  await ended
  const left = await numberOf(url, 'shape < 2')
  assert.ok(left > 0 && left < 1200, `${left} rows are left`)
  const written = await sql(url, 'SELECT id, xmin::text FROM customers WHERE shape = 2 ORDER BY id')
  await release()
  await sql(url, 'UPDATE bylaw_leases SET until = 0')
  await migrated(url, filtered)
  await assertRewritten(url)
  const ids = new Set(written.map(({ id }) => id))
  const now = await sql(url, 'SELECT id, xmin::text FROM customers ORDER BY id')
  assert.deepEqual(
    now.filter(({ id }) => ids.has(id)),
    written,
  )
})

test('a node whose lease is taken over rewrites no further row', async (t) => {
  const { url, nodes } = await spread(t, 1, plain)
  await filled(nodes[0] as Node, url, 300)
  await (nodes.pop() as Node).close()
  await noNodes(url)
  const { shard, release } = await heldShard(t, url)
  const silent = migrated(url, filtered)
  silent.catch(() => {})
  await until(async () => (await numberOf(url, `tableoid <> '${shard}'::regclass AND shape < 2`)) === 0)
  const left = await numberOf(url, 'shape < 2')
  await sql(url, `UPDATE bylaw_leases SET fence = fence + 1, holder = 'other'`)
  await release()
  await assert.rejects(silent, /another node took over the migration/)
  assert.equal(await numberOf(url, 'shape < 2'), left)
  await sql(url, 'UPDATE bylaw_leases SET until = 0')
  const both = await Promise.all([migrated(url, filtered), migrated(url, filtered)])
  assert.equal(both.filter((done) => done.length > 0).length, 1)
  await assertRewritten(url)
})

test('R121: rows that old nodes create and change beside a refill are all found, and no change is lost', async (t) => {
  const { url, nodes } = await spread(t, 1, plain)
  const before = nodes[0] as Node
  const ids = await filled(before, url, 1500)
  const names = new Map<string, string>()
  let isOver = false
  const writers = Array.from({ length: 4 }, async (_, w) => {
    for (let i = 0; !isOver; i++) {
      const name = `w${w}-${i}`
      const id = ids[w * 375 + ((i * 37) % 375)] as string
      const isNew = i % 3 === 0
      const { status, json } = await (isNew
        ? before.call('POST', '/customers', { name })
        : before.call('PATCH', `/customers/${id}`, { name }))
      assert.equal(status, isNew ? 201 : 200, JSON.stringify(json))
      names.set(json.id, name)
    }
  })
  await farNode(url)
  const now = await node(url, filtered)
  nodes.push(now)
  isOver = true
  await Promise.all(writers)
  for (const [id, name] of [...names].slice(-40)) {
    const { json } = await now.call('GET', `/customers?name=${name}`)
    assert.deepEqual(
      json.data.map((one: { id: string }) => one.id),
      [id],
    )
  }
  for (const one of nodes.splice(0)) await one.close()
  await noNodes(url)
  await migrated(url, filtered)
  await assertRewritten(url, 1_000_000)
  const stored = new Map((await rows(url, 'customers')).map(({ id, by_name }) => [id, by_name]))
  for (const [id, name] of names) assert.equal(stored.get(id), name)
})

test('rows that old nodes write behind a batch are rewritten before new nodes start', async (t) => {
  const { url, nodes } = await spread(t, 1, plain)
  const [id] = await filled(nodes[0] as Node, url, 1500)
  await farNode(url)
  const { shard, release } = await heldShard(t, url)
  const changed = migrated(url, filtered)
  await until(async () => (await numberOf(url, `tableoid <> '${shard}'::regclass AND shape < 2`)) === 0)
  const fresh = Array.from({ length: 900 }, (_, i) => `cus_01hzxw3k5qf7m8n9p0r1s3${String(i).padStart(4, '0')}`)
  const former = await sql(url, `SELECT id FROM customers WHERE shape < 2 AND id <> '${id}' LIMIT 1`)
  await copied(url, String(former[0]?.id), fresh)
  await release()
  assert.ok((await changed).length > 0)
  assert.equal(await numberOf(url, 'shape < 2'), 0)
  assert.equal(await numberOf(url, `id LIKE 'cus_01hzxw3k5qf7m8n9p0r1s3%' AND shape = 2`), 900)
})

test('a map of the shards that is not true any more changes only the speed, and further shards wait for their turn', async (t) => {
  const { url, nodes } = await spread(t, 1, plain)
  await filled(nodes[0] as Node, url, 1500)
  await (nodes.pop() as Node).close()
  await noNodes(url)
  await sql(
    url,
    `CREATE OR REPLACE FUNCTION get_shard_id_for_distribution_column(name regclass, value anyelement) RETURNS bigint
      LANGUAGE sql STABLE AS 'SELECT CAST(value % 7 AS bigint)'`,
  )
  const migration = await openMigration(filtered, url)
  t.after(migration.close)
  await migration.apply()
  await assertRewritten(url)
  watched(url)
})

test('values that become unique are reserved shard by shard, and a value that two shards have is refused', async (t) => {
  const { url, nodes } = await spread(t, 1, plain)
  const [first, last] = (await filled(nodes[0] as Node, url, 2400)).slice(-2)
  await (nodes.pop() as Node).close()
  await noNodes(url)
  const named = (name: string, ids: string) =>
    sql(url, `UPDATE customers SET doc = regexp_replace(doc, '"name":"[^"]*"', '"name":"' || ${name} || '"') ${ids}`)
  await named('id', '')
  await named(`'${first}'`, `WHERE id = '${last}'`)
  const unique = shop({ name: f.text({ unique: true }), city: f.text({ default: 'x' }) })
  await assert.rejects(migrated(url, unique), /several rows have the same name\. Change them first\./)
  await named('id', `WHERE id = '${last}'`)
  await migrated(url, unique)
  const [made] = await sql(
    url,
    'SELECT count(*)::int AS values, count(DISTINCT xmin::text)::int AS batches FROM bylaw_values',
  )
  assert.equal(made?.values, 2401)
  assert.ok(Number(made?.batches) >= 6) // of three shards, of 500 rows at most
})

test('R225: totals of rows on other shards are filled, one batch at a time', async (t) => {
  const { url, nodes } = await spread(t, 1, plain)
  const { call, close } = nodes.pop() as Node
  const ids = await Promise.all(
    Array.from({ length: 30 }, async () => (await call('POST', '/customers', { name: 'a' })).json.id as string),
  )
  for (const [i, customerId] of ids.entries())
    for (let n = 0; n < i % 3; n++) await call('POST', '/orders', { customerId })
  await close()
  await noNodes(url)
  const totals = shop({
    name: f.text(),
    city: f.text({ default: 'x', filter: true }),
    number: f.integer({ derived: count('orders') }),
  })
  await migrated(url, totals)
  const own = await node(url, totals)
  nodes.push(own)
  for (const [i, id] of ids.entries()) assert.equal((await own.call('GET', `/customers/${id}`)).json.number, i % 3)
})
