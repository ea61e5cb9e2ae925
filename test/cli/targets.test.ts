/** Plans for databases that speak PostgreSQL's protocol, applied on PostgreSQL as far as it supports their statements, and served. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { folder, post, run, served } from '../help/command.ts'
import { freshPostgres, sql } from '../help/postgres.ts'
import { proxy } from '../postgres/service-on-server.ts'

const api = (fields: string): string => `import { f, service } from 'bylaw'

export default service({
  name: 'shop',
  resources: { orders: { prefix: 'ord', fields: { ${fields} }, access: 'public' } },
})
`
const env = { NODE_ENV: 'production' }

/** Texts that a target does not know, each with one of equal length that PostgreSQL refuses or takes as the target would. */
const unknownTexts: Readonly<Record<string, readonly (readonly [RegExp, string])[]>> = {
  cockroach: [[/COLLATE "C"/g, 'COLLATE "?"']],
  yugabyte: [
    [/plan_cache_mode/g, 'plan_cache_none'],
    [/(?<=PRIMARY KEY \([^)]*) ASC(?=[^)]*\))/g, '    '],
  ],
}

const distributes = `
CREATE FUNCTION create_distributed_table(regclass, text, colocate_with text) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION get_shard_id_for_distribution_column(regclass, integer) RETURNS bigint LANGUAGE sql AS 'SELECT CAST($2 % 4 AS bigint)'`

/** A PostgreSQL database that behaves like the target: a proxy replaces the texts that the target does not know. */
async function databaseOf(t: TestContext, target: string): Promise<string> {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  if (target === 'citus') await sql(url, distributes)
  const between = await proxy(t, Number(new URL(url).port))
  between.judge = (bytes) => {
    let text = bytes.toString('latin1')
    for (const [pattern, other] of unknownTexts[target] ?? []) text = text.replace(pattern, other)
    bytes.write(text, 'latin1')
    return 'pass'
  }
  return url.replace(/:\d+\//, `:${between.port}/`)
}

describe('plans for a target', { concurrency: 3 }, () => {
  for (const target of ['citus', 'cockroach', 'yugabyte'])
    test(`${target}: both phases are carried out and served`, async (t) => {
      const url = await databaseOf(t, target)
      const cwd = folder({ 'api.ts': api('name: f.text({ filter: true })') })
      const bylaw = (...words: string[]) => run(['migrate', ...words], { cwd, env })
      assert.equal((await bylaw('plan', 'api.ts', '--name', 'init', '--target', target)).code, 0)
      assert.equal((await bylaw('apply', 'api.ts', '--database', url)).code, 0)
      writeFileSync(join(cwd, 'api.ts'), api("label: f.text({ filter: true, unique: true, was: 'name' })"))
      assert.equal((await bylaw('plan', 'api.ts', '--name', 'rename', '--target', target)).code, 0)
      const plans = join(cwd, 'migrations')
      const texts = readdirSync(plans).map((name) => readFileSync(join(plans, name), 'utf8'))
      assert.equal(texts.length, 3)
      for (const text of texts) {
        assert.match(text, new RegExp(`^-- plan \\d: [a-z-]+, \\w+, for ${target}\n`))
        const statements = text.slice(0, text.indexOf('-- to: '))
        assert.equal(/COLLATE/.test(statements) && target === 'cockroach', false)
        assert.equal(/PRIMARY KEY(?! \((?:\w+ ASC(?:, )?)+\))/.test(statements) && target === 'yugabyte', false)
      }
      const applied = await bylaw('apply', 'api.ts', '--database', url)
      assert.match(applied.stdout, /done: 0003 rename-finish\n.* is as planned\.\n$/, applied.stderr)
      const { url: served_, stop } = await served(['api.ts', '--database', url], { cwd, env })
      assert.equal((await post(`${served_}/orders`, { label: 'a' })).status, 201)
      assert.equal((await post(`${served_}/orders`, { label: 'a' })).status, 409)
      assert.equal(await stop(), 0)
    })

  test('unknown targets, and plans for another kind of database, are refused', async (t) => {
    const { url, drop } = await freshPostgres()
    t.after(drop)
    const cwd = folder({ 'api.ts': api('name: f.text()') })
    const bylaw = (...words: string[]) => run(['migrate', ...words], { cwd })
    const odd = await bylaw('plan', 'api.ts', '--name', 'init', '--target', 'citrus')
    assert.match(
      odd.stderr,
      /has to be sqlite, postgres, citus, cockroach or yugabyte, not "citrus"\.\n.*Did you mean citus\?/,
    )
    await bylaw('plan', 'api.ts', '--name', 'init')
    assert.match((await bylaw('apply', 'api.ts', '--database', url)).stderr, /is written for sqlite, but postgres:/)
  })
})
