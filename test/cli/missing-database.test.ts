/** Commands that read a database: they refuse one that does not exist, and make nothing. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { folder, run } from '../help/command.ts'

const shop = `import { f, service } from 'bylaw'

export default service({
  name: 'shop',
  resources: {
    pens: {
      prefix: 'pen',
      fields: { color: f.text(), picture: f.file({ types: ['image/png'], optional: true }) },
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

test('bylaw doctor refuses a folder of files that does not exist, and does not make it', async () => {
  const cwd = folder(files)
  const database = ['--database', 'sqlite:./shop.db']
  await run(['migrate', 'apply', 'api.ts', ...database], { cwd })
  const { code, stderr } = await run(['doctor', 'api.ts', ...database, '--files', './fils'], { cwd })
  assert.equal(code, 1)
  assert.match(stderr, /There is no folder of files \/.*\/fils\.\n.*--files/)
  assert.ok(!existsSync(join(cwd, 'fils')))
})
