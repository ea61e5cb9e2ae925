/** R238: `bylaw export` writes all items of a resource. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { folder, run } from '../help/command.ts'

const shop = `import { f, service } from 'bylaw'

export default service({
  name: 'shop',
  resources: {
    pens: {
      fields: { color: f.text({ max: 50, filter: true }), count: f.integer({ read: 'pens:count', optional: true }) },
      owner: 'shopId',
      exports: true,
      access: 'pens:all',
    },
    inks: { fields: { color: f.text() }, access: 'public' },
  },
  scopes: { 'pens:all': 'Everything about pens', 'pens:count': 'How many there are' },
})
`
const seed = `export default async function seed(app) {
  for (let i = 0; i < 150; i++) await app.pens.create({ color: i === 7 ? '=red' : 'blue', count: i })
}
`

async function seeded(cwd: string): Promise<void> {
  const { code, stderr } = await run(['seed', 'api.ts'], { cwd })
  assert.equal(code, 0, stderr)
}

describe('export', { concurrency: 2 }, () => {
  test('lines of JSON and CSV, of one account, with filters', async () => {
    const cwd = folder({ 'api.ts': shop, 'seed.ts': seed })
    await seeded(cwd)
    const all = await run(['export', 'api.ts', 'pens'], { cwd })
    assert.equal(all.code, 0, all.stderr)
    assert.match(
      all.stderr,
      /^The items are those of the account "development"; name another one with --account ID\.\n$/,
    )
    const rows = all.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(
      rows.map(({ count }) => count),
      Array.from({ length: 150 }, (_, i) => i),
    )
    const written = await run(['export', 'api.ts', 'pens', 'red.csv', '--query', 'color=%3Dred'], { cwd })
    assert.equal(written.code, 0, written.stderr)
    assert.match(readFileSync(join(cwd, 'red.csv'), 'utf8'), /^id,color,count,[^\r]*\r\npen_\w+,'=red,7,[^\r]*\r\n$/)
    assert.equal(existsSync(join(cwd, 'red.csv.part')), false)
    const other = await run(['export', 'api.ts', 'pens', '--account', 'acc_1'], { cwd })
    assert.deepEqual([other.code, other.stdout], [0, ''])
  })
  test('mistakes are named, with their mend', async () => {
    const cwd = folder({ 'api.ts': shop, 'seed.ts': seed })
    await seeded(cwd)
    for (const [words, ...says] of [
      [['inks'], /inks declares no exports/, /exports: true in resources\.inks of api\.ts/],
      [['pins'], /no resource "pins"/, /Did you mean pens\?/],
      [['pens', 'pens.xlsx'], /ends neither in \.ndjson nor in \.csv/, /pens\.csv/],
      [['pens', '--query', 'colour=x&limit=3'], /refused/, /colour/, /Leave limit out/],
    ] as const) {
      const { code, stderr } = await run(['export', 'api.ts', ...words], { cwd })
      assert.equal(code, 1)
      for (const one of says) assert.match(stderr, one)
    }
  })
})
