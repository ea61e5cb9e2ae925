/** Commands that read a database: they refuse one that does not exist, and make nothing. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { folder, notes, run, served } from '../help/command.ts'
import { freshPostgres, sql } from '../help/postgres.ts'

const shop = `import { f, service } from 'bylaw'

export default service({
  name: 'shop',
  resources: {
    pens: {
      prefix: 'pen',
      fields: { color: f.text({ optional: true, personal: true }), picture: f.file({ types: ['image/png'], optional: true }) },
      states: { field: 'state', initial: 'new', transitions: { endings: { from: ['new'], to: 'ended', after: 'P1D' } } },
      events: true,
      imports: true,
      exports: true,
      access: 'public',
    },
  },
})
`

const readers: readonly (readonly string[])[] = [
  ['migrate', 'plan', 'api.ts'],
  ['migrate', 'status', 'api.ts'],
  ['migrate', 'undrop', 'api.ts'],
  ['explain', 'api.ts', 'GET', '/pens'],
  ['doctor', 'api.ts'],
  ['versions', 'api.ts'],
  ['keys', 'list', 'api.ts'],
  ['keys', 'revoke', 'api.ts', '--name', 'ci'],
  ['keys', 'rotate', 'api.ts', '--name', 'ci'],
  ['timers', 'list', 'api.ts'],
  ['timers', 'retry', 'api.ts'],
  ['events', 'list', 'api.ts'],
  ['events', 'parked', 'api.ts'],
  ['events', 'retry', 'api.ts'],
  ['import', 'api.ts', 'pens', 'pens.csv'],
  ['export', 'api.ts', 'pens'],
  ['backup', 'api.ts', 'copy.db'],
  ['restored', 'api.ts'],
]
/** Commands that make a database, but not in production. */
const makers: readonly (readonly string[])[] = [
  ['keys', 'create', 'api.ts', '--name', 'ci'],
  ['seed', 'api.ts'],
  ['serve', 'api.ts', '--port', '0'],
]

const files = { 'api.ts': shop, 'pens.csv': 'color\nred\n', 'seed.ts': 'export default () => {}' }
const typo = ['--database', 'sqlite:./dta/shop.db']

describe('a database that does not exist', { concurrency: 2 }, () => {
  for (const words of readers)
    test(`is refused by bylaw ${words.slice(0, 2).join(' ')}, and is not made`, async () => {
      const cwd = folder(files)
      const { code, stdout, stderr } = await run([...words, ...typo], { cwd })
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /^bylaw: There is no database \/.*\/dta\/shop\.db\.\n {7}Name one that exists, .*--database/)
      assert.match(stderr, /made by `bylaw migrate apply`/)
      assert.deepEqual(readdirSync(cwd).sort(), Object.keys(files).sort())
    })
  for (const words of makers)
    test(`is refused in production by bylaw ${words.slice(0, 2).join(' ')}, and is not made`, async () => {
      const cwd = folder(files)
      const { code, stderr } = await run([...words, ...typo], { cwd, env: { NODE_ENV: 'production' } })
      assert.equal(code, 1)
      assert.match(stderr, /There is no database/)
      assert.deepEqual(readdirSync(cwd).sort(), Object.keys(files).sort())
    })
  test('is made by bylaw keys create outside production', async () => {
    const cwd = folder(files)
    const { code, stderr } = await run(['keys', 'create', 'api.ts', '--name', 'ci', ...typo], { cwd })
    assert.equal(code, 0, stderr)
    assert.ok(existsSync(join(cwd, 'dta/shop.db')))
    assert.equal((await run(['keys', 'list', 'api.ts', ...typo], { cwd })).code, 0)
  })
})

test('a file without tables is refused in three lines by commands that read, and gets none', async () => {
  for (const words of readers.filter(([name]) => ['import', 'export', 'keys', 'versions'].includes(name ?? ''))) {
    const cwd = folder(files)
    writeFileSync(join(cwd, 'empty.db'), '')
    const { code, stderr } = await run([...words, '--database', 'sqlite:./empty.db'], { cwd })
    assert.equal(code, 1)
    assert.match(stderr, /It has no tables of a service yet\. Run `bylaw migrate plan` .* and `bylaw migrate apply`/)
    assert.ok(stderr.trimEnd().split('\n').length <= 3, stderr)
    const again = await run([...words, '--database', 'sqlite:./empty.db'], { cwd })
    assert.equal(again.stderr, stderr)
  }
})

/** A database of another program, and files that are not databases. */
function elsewhere(): string {
  const cwd = folder(files)
  mkdirSync(join(cwd, 'data/shop-files'), { recursive: true })
  const db = new DatabaseSync(join(cwd, 'else.db'))
  db.exec('CREATE TABLE invoices (id INTEGER); CREATE TABLE people (name TEXT); INSERT INTO invoices VALUES (7)')
  db.close()
  writeFileSync(join(cwd, 'note.db'), 'A note, and no database.')
  return cwd
}
const other = ['--database', 'sqlite:./else.db']
const tables = /It has no tables of this service, but others: invoices, people\./

describe('a file of something else', { concurrency: 2 }, () => {
  for (const words of [...readers, ['erase', 'api.ts', 'pens', 'pen_01h455vb4pex5vsknk084sn02q']])
    test(`is named by bylaw ${words.slice(0, 2).join(' ')}, and stays as it is`, async () => {
      const cwd = elsewhere()
      const bytes = readFileSync(join(cwd, 'else.db'))
      const { code, stdout, stderr } = await run([...words, ...other], { cwd })
      const prints = words[0] === 'migrate' && words[1] !== 'undrop' // it shows what `apply` would do
      assert.equal(code, words[1] === 'plan' ? 0 : 1)
      assert.match(prints ? stdout : stderr, tables)
      assert.match(prints ? stdout : stderr, /else\.db/)
      if (words[0] !== 'backup') assert.match(prints ? stdout : stderr, /name it with --database\. .*/)
      const note = await run([...words, '--database', 'sqlite:./note.db'], { cwd })
      assert.deepEqual([note.code, note.stdout], [1, ''])
      assert.match(note.stderr, /note\.db cannot be used\. File is not a database\. Choose the right file/)
      assert.deepEqual(readFileSync(join(cwd, 'else.db')), bytes)
      assert.deepEqual(readdirSync(cwd).sort(), [...Object.keys(files), 'data', 'else.db', 'note.db'].sort())
    })
  test('is not served in production', async () => {
    const env = { NODE_ENV: 'production' }
    const { code, stderr } = await run(['serve', 'api.ts', '--port', '0', ...other], { cwd: elsewhere(), env })
    assert.equal(code, 1)
    assert.match(stderr, tables)
  })
  test('gets the tables of a service in addition to its own, if an operator applies them', async () => {
    const cwd = elsewhere()
    const applied = await run(['migrate', 'apply', 'api.ts', ...other], { cwd })
    assert.equal(applied.code, 0, applied.stderr)
    assert.match(applied.stdout, tables)
    assert.equal((await run(['migrate', 'status', 'api.ts', ...other], { cwd })).code, 0)
    assert.match((await run(['doctor', 'api.ts', ...other], { cwd })).stdout, /0 rows examined, all fit/)
    const db = new DatabaseSync(join(cwd, 'else.db'))
    assert.deepEqual(
      db
        .prepare('SELECT id FROM invoices')
        .all()
        .map(({ id }) => id),
      [7],
    )
    assert.equal(db.prepare('PRAGMA journal_mode').get()?.journal_mode, 'wal')
    db.close()
  })
  test('is named by the first start, which makes the tables of the service there', async () => {
    const { said, stop } = await served(['api.ts', ...other], { cwd: elsewhere() })
    await stop()
    assert.match(said.stdout, /made the tables of pens, beside those of something else: invoices, people/)
  })
  test('with a table of the same name is refused, and stays as it is', async () => {
    const cwd = elsewhere()
    const db = new DatabaseSync(join(cwd, 'else.db'))
    db.exec('CREATE TABLE pens (id INTEGER)')
    db.close()
    const { code, stderr } = await run(['seed', 'api.ts', ...other], { cwd })
    assert.equal(code, 1)
    assert.match(
      stderr,
      /"create pens" cannot be done: it has a table, view or index pens that is not of this service\. Rename that one/,
    )
    assert.match((await run(['doctor', 'api.ts', ...other], { cwd })).stderr, /invoices, pens, people\./)
  })
})

test('bylaw doctor does not take the database of another service for its own', async () => {
  const cwd = folder({ 'api.ts': notes, 'other.ts': notes.replaceAll('notes', 'cards') })
  const database = ['--database', 'sqlite:./notes.db']
  await run(['migrate', 'apply', 'api.ts', ...database], { cwd })
  assert.equal((await run(['doctor', 'api.ts', ...database], { cwd })).code, 0)
  const { code, stderr } = await run(['doctor', 'other.ts', ...database], { cwd })
  assert.equal(code, 1)
  assert.match(stderr, /cannot be examined\. It has no tables of this service, but others: notes\. If you mean another/)
})

test('PostgreSQL: a database of something else is named, and an empty one is not examined', async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  const cwd = folder({ 'api.ts': notes })
  const doctor = () => run(['doctor', 'api.ts', '--database', url], { cwd })
  assert.match((await doctor()).stderr, /It has no tables of a service yet\. Run `bylaw migrate plan`/)
  await sql(url, 'CREATE TABLE people (name TEXT); CREATE TABLE notes (text TEXT)')
  const { code, stderr } = await doctor()
  assert.equal(code, 1)
  assert.match(stderr, /but others: notes, people\. If you mean another database, name it with --database\./)
  const apply = await run(['migrate', 'apply', 'api.ts', '--database', url], { cwd })
  assert.match(apply.stderr, /it has a table, view or index notes that is not of this service/)
})

test('bylaw doctor refuses a folder of files that does not exist, and does not make it', async () => {
  const cwd = folder(files)
  const database = ['--database', 'sqlite:./shop.db']
  await run(['migrate', 'apply', 'api.ts', ...database], { cwd })
  const { code, stderr } = await run(['doctor', 'api.ts', ...database, '--files', './fils'], { cwd })
  assert.equal(code, 1)
  assert.match(stderr, /There is no folder of files \/.*\/fils\.\n.*--files/)
  assert.ok(!existsSync(join(cwd, 'fils')))
})
