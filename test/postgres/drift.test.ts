/** Parts of the schema are dropped manually: the start reports them, and creates those again that it can. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMigration, openStore } from '../../src/terminal/open.ts'
import { freshPostgres, sql } from '../help/postgres.ts'
import { api } from './service-on-server.ts'

test('columns dropped by hand are reported, and indexes are built again', { timeout: 180_000 }, async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  const open = async (mode: 'apply' | 'require') => (await openStore(api, url, mode)).close()
  const indexes = async () => {
    const rows = await sql(url, 'SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1')
    return rows.map(({ indexname }) => indexname)
  }
  await open('apply')
  await open('require')
  const all = await indexes()
  const names = all.filter((name) => /^(?:unique__things__by_name|index__things__by_count)/.test(String(name)))
  assert.equal(names.length, 2)
  await sql(url, `DROP INDEX ${names.map((name) => `"${name}"`).join(', ')}`)
  await assert.rejects(open('require'), new RegExp(`build .*${names[0]}`))
  const migration = await openMigration(api, url)
  assert.equal(migration.serves, null)
  assert.equal((await migration.apply()).done.length, 1)
  migration.close()
  assert.deepEqual(await indexes(), all)
  await open('require')

  await sql(url, `DROP INDEX "${names[0]}"`)
  await open('apply')
  assert.deepEqual(await indexes(), all)

  await sql(url, 'DROP VIEW things_view; ALTER TABLE things DROP COLUMN by_count')
  await assert.rejects(open('require'), /column by_count of the table things was dropped by somebody else/)
})
