/** Schema changes of a database sharded like Citus. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service } from 'bylaw'
import type { MigrationPlan } from '../../src/schema/migration.ts'
import { openMigration } from '../../src/terminal/open.ts'
import { draftPlans } from '../../src/terminal/start.ts'
import { watched } from '../help/spread.ts'
import { type Node, node } from './service-on-server.ts'
import { first, migrated, rows, shop, spread, sql } from './spread-nodes.ts'

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
