/** Plans as files: written once, reviewed, applied in order and recorded in the database; any other history is refused. */
import assert from 'node:assert/strict'
import { appendFileSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { folder, post, prepared, run, served } from '../help/command.ts'
import { freshPostgres } from '../help/postgres.ts'

const api = (fields: string): string => `import { f, service } from 'bylaw'

export default service({
  name: 'shop',
  resources: { orders: { prefix: 'ord', fields: { ${fields} }, access: 'public' } },
})
`
const first = api('name: f.text({ filter: true })')
const second = api("label: f.text({ filter: true, was: 'name' }), size: f.integer({ default: 1, filter: true })")

function shop(cwd = folder({ 'api.ts': first })) {
  const database = ['--database', 'sqlite:./shop.db']
  const bylaw = async (...words: string[]) => run(['migrate', ...words, ...database], { cwd })
  const plans = join(cwd, 'migrations')
  const declare = (text: string) => writeFileSync(join(cwd, 'api.ts'), text)
  const db = <T>(act: (db: DatabaseSync) => T): T => {
    const opened = new DatabaseSync(join(cwd, 'shop.db'))
    try {
      return act(opened)
    } finally {
      opened.close()
    }
  }
  return { cwd, database, bylaw, plans, declare, db }
}

/** A folder where the first plan is applied and the second one is only written. */
const plannedFolder = prepared({ 'api.ts': first }, async (cwd) => {
  const all = shop(cwd)
  assert.equal((await all.bylaw('plan', 'api.ts', '--name', 'init')).code, 0)
  assert.equal((await all.bylaw('apply', 'api.ts')).code, 0)
  all.declare(second)
  assert.equal((await all.bylaw('plan', 'api.ts', '--name', 'rename')).code, 0)
})
const planned = async () => shop(await plannedFolder())

describe('plan files', { concurrency: 3 }, () => {
  test('are written for both phases, with notes, and lead to the declared schema', async () => {
    const { bylaw, plans, db } = await planned()
    const files = ['0001-init.sql', '0002-rename.sql', '0003-rename-finish.sql']
    assert.deepEqual(readdirSync(plans), files)
    const [, expand = '', contract = ''] = files.map((name) => readFileSync(join(plans, name), 'utf8'))
    assert.match(
      expand,
      /^-- plan 2: rename, expand, for sqlite\n-- Safe while nodes of the former declaration run\.\n/,
    )
    assert.match(
      expand,
      /-- step: add by_size to orders\n-- {3}Takes no value .*\nALTER TABLE "orders" ADD COLUMN "by_size"/,
    )
    assert.doesNotMatch(expand + contract, /by_label|by_name"? TEXT/, 'a renamed field keeps its column')
    assert.match(contract, /^-- plan 3: rename-finish, contract, for sqlite\n-- Only after all nodes/)
    assert.match(expand, /-- do: refill orders ahead\n/)
    assert.match(contract, /-- do: refill orders latest\n/)
    const applied = await bylaw('apply', 'api.ts')
    assert.equal(applied.stdout, 'done: 0002 rename\ndone: 0003 rename-finish\nsqlite:./shop.db is as planned.\n')
    assert.match((await bylaw('apply', 'api.ts')).stdout, /nothing was done/)
    const rows = db((one) => one.prepare('SELECT number, name FROM bylaw_plans').all())
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [
        { number: 1, name: 'init' },
        { number: 2, name: 'rename' },
        { number: 3, name: 'rename-finish' },
      ],
    )
  })

  test('wait with their second phase for old nodes, which keep serving', async () => {
    const { cwd, database, bylaw, declare, plans } = shop()
    await bylaw('plan', 'api.ts', '--name', 'init')
    await bylaw('apply', 'api.ts')
    const env = { NODE_ENV: 'production' }
    const old = await served(['api.ts', ...database], { cwd, env })
    const made = await post(`${old.url}/orders`, { name: 'a' })
    declare(second)
    const refused = await run(['serve', 'api.ts', '--port', '0', ...database], { cwd, env })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /bylaw migrate plan api\.ts --name/)
    await bylaw('plan', 'api.ts', '--name', 'rename')
    const waits = await bylaw('apply', 'api.ts')
    assert.equal(waits.code, 2)
    assert.match(
      waits.stdout,
      /^done: 0002 rename\nThese nodes run the former declaration: \S+:\d+\. [\s\S]* {2}- 0003 rename-finish\n$/,
    )
    const young = await served(['api.ts', ...database], { cwd, env })
    assert.equal((await post(`${old.url}/orders`, { name: 'b' })).status, 201)
    const read = (await (await fetch(`${young.url}/orders/${made.json.id}`)).json()) as { label: string }
    assert.equal(read.label, 'a')
    const between = (await (await fetch(`${young.url}/orders?size=1`)).json()) as { data: unknown[] }
    assert.equal(between.data.length, 2)
    assert.equal(await old.stop(), 0)
    assert.match((await bylaw('apply', 'api.ts')).stdout, /done: 0003/)
    const found = (await (await fetch(`${young.url}/orders?size=1`)).json()) as { data: unknown[] }
    assert.equal(found.data.length, 2)
    assert.equal(await young.stop(), 0)
    assert.equal(readdirSync(plans).length, 3)
  })

  test('count as applied if the database already matches', async () => {
    const { bylaw } = shop()
    await bylaw('apply', 'api.ts')
    await bylaw('plan', 'api.ts', '--name', 'init')
    assert.match((await bylaw('apply', 'api.ts')).stdout, /^was done already: 0001 init\n/)
  })

  test('give an empty database the same tables as one after the other did', async () => {
    const { cwd, bylaw, db } = await planned()
    await bylaw('apply', 'api.ts')
    const schema = () => db((one) => one.prepare('SELECT sql FROM sqlite_schema ORDER BY name').all())
    const before = schema()
    rmSync(join(cwd, 'shop.db'))
    assert.equal((await bylaw('apply', 'api.ts')).code, 0)
    assert.deepEqual(schema(), before)
  })

  const wrong: readonly (readonly [string, (plans: string) => void, RegExp])[] = [
    [
      'a plan that was changed after it was carried out',
      (plans) => writeFileSync(join(plans, '0001-init.sql'), '-- note\n', { flag: 'a' }),
      /Plan 1 \(init\) was changed after it was carried out at 2/,
    ],
    [
      'a plan that is missing',
      (plans) => rmSync(join(plans, '0002-rename.sql')),
      /has no plan 2 before 3 \(rename-finish\)/,
    ],
    ['all plans missing but later ones', (plans) => rmSync(join(plans, '0001-init.sql')), /has no plan 1 before 2/],
    [
      'a number that is used twice',
      (plans) =>
        writeFileSync(
          join(plans, '0002-other.sql'),
          readFileSync(join(plans, '0002-rename.sql'), 'utf8').replace('2: rename', '2: other'),
        ),
      /Two plans in migrations have the number 2/,
    ],
    [
      'a plan under another name',
      (plans) => renameSync(join(plans, '0002-rename.sql'), join(plans, '0002-other.sql')),
      /0002-other\.sql is not a plan of that name/,
    ],
    [
      'a word that is no step',
      (plans) =>
        writeFileSync(
          join(plans, '0003-rename-finish.sql'),
          readFileSync(join(plans, '0003-rename-finish.sql'), 'utf8').replace(
            'do: refill orders latest',
            'do: nothing',
          ),
        ),
      /says "-- do: nothing", which is not known/,
    ],
    [
      'a file that is no plan',
      (plans) => writeFileSync(join(plans, 'notes.sql'), ''),
      /notes\.sql does not have the name of a plan/,
    ],
  ]
  for (const [title, act, message] of wrong)
    test(`${title} is refused with the mend, and nothing is done`, async () => {
      const { bylaw, plans, db } = await planned()
      act(plans)
      const { code, stderr } = await bylaw('apply', 'api.ts')
      assert.equal(code, 1)
      assert.match(stderr, message)
      assert.match(stderr, /\n {7}\S/, 'the mend')
      assert.equal(db((one) => one.prepare('SELECT * FROM bylaw_plans').all()).length, 1)
    })

  test('a declaration that no plan leads to, and a database that plans do not know, are refused', async () => {
    const { bylaw, declare, cwd } = await planned()
    declare(api('name: f.text({ filter: true }), more: f.text({ filter: true, optional: true })'))
    assert.match(
      (await bylaw('apply', 'api.ts')).stderr,
      /do not lead to what api\.ts declares[\s\S]*migrate plan api\.ts --name/,
    )
    declare(second)
    rmSync(join(cwd, 'migrations', '0002-rename.sql'))
    rmSync(join(cwd, 'migrations', '0003-rename-finish.sql'))
    rmSync(join(cwd, 'shop.db'))
    await run(['migrate', 'apply', 'api.ts', '--plans', 'none', '--database', 'sqlite:./shop.db'], { cwd })
    await bylaw('plan', 'api.ts', '--name', 'rename')
    assert.match(
      (await bylaw('apply', 'api.ts')).stderr,
      /Plan 1 \(init\) cannot be carried out: the database is not in the state/,
    )
  })

  for (const store of ['SQLite', 'PostgreSQL'])
    test(`may get comments that stand alone, on ${store}`, async (t) => {
      const cwd = folder({ 'api.ts': first })
      let database = 'sqlite:./shop.db'
      if (store === 'PostgreSQL') {
        const { url, drop } = await freshPostgres()
        t.after(drop)
        database = url
      }
      const bylaw = (...words: string[]) => run(['migrate', ...words, '--database', database], { cwd })
      await bylaw('plan', 'api.ts', '--name', 'init')
      const file = join(cwd, 'migrations/0001-init.sql')
      appendFileSync(file, '\n/* The index on notes is made by hand. */;\n  -- Nothing follows.\n')
      const { stdout, stderr } = await bylaw('apply', 'api.ts')
      assert.match(stdout, /^done: 0001 init$/m, stderr)
    })

  test('an invalid name is refused', async () => {
    const { bylaw } = shop()
    for (const name of ['', 'Add Status', '../x', 'a--b'])
      assert.match((await bylaw('plan', 'api.ts', '--name', name)).stderr, /cannot be named|--name/)
  })
})
