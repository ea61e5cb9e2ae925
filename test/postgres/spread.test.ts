/** On a database sharded like Citus, unique values, references and schema changes hold over all shards. The cellar. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { f, type Service, service } from 'bylaw'
import { shardKeyOf } from '../../src/flow/shard-key.ts'
import type { MigrationPlan } from '../../src/schema/migration.ts'
import { openMigration } from '../../src/terminal/open.ts'
import { draftPlans } from '../../src/terminal/start.ts'
import { sql as asked } from '../help/postgres.ts'
import { freshCitus, planned, timesSent, watched } from '../help/spread.ts'
import { type Node, node, proxy } from './service-on-server.ts'

const shop = (customers: Parameters<typeof f.object>[0], orders: Parameters<typeof f.object>[0] = {}): Service =>
  service({
    name: 'shop',
    resources: {
      customers: { prefix: 'cus', fields: customers, access: 'public' },
      orders: { prefix: 'ord', fields: { customerId: f.ref('customers'), ...orders }, access: 'public' },
    },
  })
const first = shop({ email: f.email({ unique: true }), name: f.text({ default: '' }) })

/** A database with a declaration and `count` nodes. At the end, all statements that were sent are checked. */
async function spread(t: TestContext, count: number, api = first): Promise<{ url: string; nodes: Node[] }> {
  const { url, drop } = await freshCitus()
  await planned(api, url)
  const judged = watched(url)
  const nodes: Node[] = []
  t.after(async () => {
    for (const one of nodes) await one.close()
    const complaints = await judged()
    await drop()
    assert.deepEqual(complaints, [])
  })
  for (let i = 0; i < count; i++) nodes.push(await node(url, api))
  return { url, nodes }
}

/** Runs a statement outside of the service, which is not checked. */
const sql = (url: string, text: string) => asked(url, `/* beside */ ${text}`)
const rows = (url: string, table: string) => sql(url, `SELECT * FROM ${table} ORDER BY 1`)

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

/** Migrates a database to a declaration and returns the steps. */
async function migrated(url: string, api: Service, allowLoss: readonly string[] = []): Promise<readonly string[]> {
  const migration = await openMigration(api, url, { allowLoss })
  try {
    return (await migration.apply()).done.map(({ about }) => about)
  } finally {
    migration.close()
    watched(url) // a step may use all shards
  }
}

test('values that become unique are reserved for existing rows, while no node runs', async (t) => {
  const before = shop({ email: f.email(), name: f.text({ default: '' }) })
  const { url, nodes } = await spread(t, 1, before)
  const { call, close } = nodes.pop() as Node
  const made = await Promise.all(
    ['a', 'a', 'c'].map((one) => call('POST', '/customers', { email: `${one}@b.c`, name: one })),
  )
  await sql(url, `INSERT INTO bylaw_nodes (node, name, seen) VALUES ('far:1', 'x', EXTRACT(EPOCH FROM now()) * 1000)`)
  await assert.rejects(migrated(url, first), /no node may run meanwhile, but these do: far:1\. Stop them/)
  await sql(url, `DELETE FROM bylaw_nodes`)
  await assert.rejects(migrated(url, first), /several rows have the same email\. Change them first\./)
  assert.equal((await call('PATCH', `/customers/${made[0]?.json.id}`, { email: 'z@b.c' })).status, 200)
  await close()
  assert.ok((await migrated(url, first)).includes('reserve the unique values and references of customers'))
  const own = await node(url, first)
  nodes.push(own)
  assert.deepEqual(
    (await Promise.all(['a', 'c', 'z', 'y'].map((one) => own.call('POST', '/customers', { email: `${one}@b.c` })))).map(
      ({ status }) => status,
    ),
    [409, 409, 409, 201],
  )
})

/** Applies the plans of a change to a database with the layout of the plans before. */
async function appliedPlans(url: string, api: Service): Promise<void> {
  const [state] = await sql(url, `SELECT value FROM bylaw_meta WHERE name = 'layout'`)
  const last = { number: 1, name: 'init', checksum: '1', to: JSON.parse(state?.value as string) }
  const migration = await openMigration(api, url)
  try {
    for (const plan of await draftPlans(api, 'citus', [last as MigrationPlan]))
      assert.deepEqual(await migration.applyPlan({ ...plan, name: 'next', checksum: 'x' }), { is: 'done' })
  } finally {
    migration.close()
    watched(url)
  }
}

const changes: Readonly<Record<string, [Service, Service]>> = {
  'a new filter': [shop({ name: f.text() }), shop({ name: f.text(), tag: f.text({ default: '', filter: true }) })],
  'a filter that is gone': [
    shop({ name: f.text({ filter: true }) }),
    shop({ name: f.text(), tag: f.text({ default: '' }) }),
  ],
  'a rename with a new sort': [shop({ name: f.text() }), shop({ label: f.text({ sort: true, was: 'name' }) })],
  'a new filtered reference': [
    shop({ name: f.text() }),
    shop({ name: f.text() }, { payerId: f.ref('customers', { optional: true, filter: true }) }),
  ],
}

for (const [what, [before, after]] of Object.entries(changes))
  test(`${what} is finished by plans, and by a rolling change`, async (t) => {
    for (const finish of [appliedPlans, migrated]) {
      const { url, nodes } = await spread(t, 1, before)
      const { call, close } = nodes.pop() as Node
      const { json } = await call('POST', '/customers', { name: 'a' })
      await close()
      await sql(url, 'DELETE FROM bylaw_nodes')
      await finish(url, after)
      const own = await node(url, after)
      nodes.push(own)
      assert.equal((await own.call('GET', `/customers/${json.id}`)).status, 200)
    }
  })

test('an empty table that cannot be converted is created again', async (t) => {
  const { url, nodes } = await spread(t, 0, shop({ name: f.text() }))
  await migrated(url, shop({ name: f.integer() }))
  nodes.push(await node(url, shop({ name: f.integer() })))
  assert.equal((await nodes[0]?.call('POST', '/customers', { name: 1 }))?.status, 201)
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

test('values that are no longer unique, and old rows, are migrated', async (t) => {
  const { url, nodes } = await spread(t, 1)
  const { call, close } = nodes.pop() as Node
  for (let i = 0; i < 30; i++) await call('POST', '/customers', { email: `a${i}@b.c`, name: `n${i % 10}` })
  await close()
  await sql(url, 'DELETE FROM bylaw_nodes')
  const next = shop({ email: f.email(), label: f.text({ default: '', filter: true, sort: true, was: 'name' }) })
  await migrated(url, next)
  assert.deepEqual(await rows(url, 'bylaw_values'), [])
  const own = await node(url, next)
  nodes.push(own)
  const found = await own.call('GET', '/customers?label=n3&sort=label&limit=2&cursor=')
  assert.equal(found.json.data.length, 2)
  const rest = await own.call(
    'GET',
    `/customers?label=n3&sort=label&limit=2&cursor=${found.json.pagination.nextCursor}`,
  )
  assert.equal(rest.status, 200, JSON.stringify(rest.json))
  assert.equal(rest.json.data.length, 1)
  assert.equal((await own.call('POST', '/customers', { email: 'a1@b.c' })).status, 201)
})

test('while old nodes run, new filters find their rows', async (t) => {
  const { url, nodes } = await spread(t, 1)
  const before = nodes.pop() as Node
  for (let i = 0; i < 9; i++) await before.call('POST', '/customers', { email: `a${i}@b.c`, name: `n${i % 3}` })
  await sql(url, `INSERT INTO bylaw_nodes (node, name, seen) VALUES ('far:1', 'x', EXTRACT(EPOCH FROM now()) * 1000)`)
  const next = shop({ email: f.email({ unique: true }), name: f.text({ default: '', filter: true, sort: true }) })
  const now = await node(url, next)
  nodes.push(before, now)
  watched(url)
  assert.equal((await now.call('GET', '/customers?name=n1')).json.data.length, 3)
  await before.call('POST', '/customers', { email: 'z@b.c', name: 'n1' })
  assert.equal((await now.call('GET', '/customers?name=n1&sort=name')).json.data.length, 4)
})

test('once values are reserved, nodes of the former declaration are refused, even before the last steps', async (t) => {
  const before = shop({ email: f.email(), name: f.text({ default: '', filter: true }) })
  const { url, nodes } = await spread(t, 1, before)
  await nodes.pop()?.close()
  await sql(url, 'DELETE FROM bylaw_nodes')
  const after = shop({ email: f.email({ unique: true }), name: f.text({ default: '' }) })
  const state = await sql(url, `SELECT value FROM bylaw_meta WHERE name = 'layout'`)
  const last = { number: 1, name: 'init', checksum: '1', to: JSON.parse(state[0]?.value as string) }
  const [expand, contract] = await draftPlans(after, 'citus', [last as MigrationPlan])
  const migration = await openMigration(after, url)
  t.after(migration.close)
  const carry = (plan: typeof expand) =>
    migration.applyPlan({ ...(plan as MigrationPlan), name: 'next', checksum: 'x' })
  assert.deepEqual(await carry(expand), { is: 'done' })
  await assert.rejects(node(url, before), /The previous change is not finished/)
  assert.deepEqual(await carry(contract), { is: 'done' })
  nodes.push(await node(url, after))
  watched(url)
})

test('a dropped value is on the shard of its row, is deleted with it, and restored there', async (t) => {
  const before = shop({ email: f.email({ unique: true }), name: f.text({ default: '' }), note: f.text() })
  const { url, nodes } = await spread(t, 1, before)
  const first = nodes.pop() as Node
  const ids: string[] = []
  for (const email of ['a@b.c', 'd@e.f'])
    ids.push((await first.call('POST', '/customers', { email, note: email })).json.id)
  await first.close()
  await sql(url, 'DELETE FROM bylaw_nodes')
  const after = shop({ email: f.email({ unique: true }), name: f.text({ default: '' }) })
  await assert.rejects(migrated(url, after), /--allow-loss customers\.note/)
  await migrated(url, after, ['customers.note'])
  const copies = `SELECT d.value FROM bylaw_dropped d JOIN customers c ON d.home = c.home AND d.holder LIKE '%' || c.id || '%'`
  assert.equal((await sql(url, copies)).length, 2)
  const second = await node(url, after)
  assert.equal((await second.call('DELETE', `/customers/${ids[0]}`)).status, 204)
  await second.close()
  assert.deepEqual(await sql(url, 'SELECT value FROM bylaw_dropped'), [{ value: '"d@e.f"' }])
  await sql(url, 'DELETE FROM bylaw_nodes')
  const again = shop({
    email: f.email({ unique: true }),
    name: f.text({ default: '' }),
    note: f.text({ optional: true }),
  })
  await migrated(url, again)
  const migration = await openMigration(again, url)
  t.after(migration.close)
  assert.deepEqual(await migration.undrop(), [{ field: 'customers.note', id: ids[1], because: null }])
  const third = await node(url, again)
  nodes.push(third)
  assert.equal((await third.call('GET', `/customers/${ids[1]}`)).json.note, 'd@e.f')
  watched(url)
})
