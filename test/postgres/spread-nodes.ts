/** Nodes on a database sharded like Citus, and changes of its schema. The store. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { openMigration } from '../../src/terminal/open.ts'
import { sql as asked } from '../help/postgres.ts'
import { freshCitus, planned, watched, watchedRewrites } from '../help/spread.ts'
import { type Node, node } from './service-on-server.ts'

export const shop = (customers: Parameters<typeof f.object>[0], orders: Parameters<typeof f.object>[0] = {}): Service =>
  service({
    name: 'shop',
    resources: {
      customers: { prefix: 'cus', fields: customers, access: 'public' },
      orders: { prefix: 'ord', fields: { customerId: f.ref('customers'), ...orders }, access: 'public' },
    },
  })
export const first = shop({ email: f.email({ unique: true }), name: f.text({ default: '' }) })

/** A database with a declaration and `count` nodes. At the end, all statements that were sent are checked. */
export async function spread(t: TestContext, count: number, api = first): Promise<{ url: string; nodes: Node[] }> {
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
export const sql = (url: string, text: string) => asked(url, `/* beside */ ${text}`)
export const rows = (url: string, table: string) => sql(url, `SELECT * FROM ${table} ORDER BY 1`)

/** Migrates a database to a declaration and returns the steps. */
export async function migrated(
  url: string,
  api: Service,
  allowLoss: readonly string[] = [],
): Promise<readonly string[]> {
  const migration = await openMigration(api, url, { allowLoss })
  const judged = watchedRewrites(url)
  try {
    const { done } = await migration.apply()
    assert.deepEqual(await judged(), [])
    return done.map(({ about }) => about)
  } finally {
    migration.close()
    watched(url) // other steps may use all shards
  }
}
