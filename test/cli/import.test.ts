/** R238: `bylaw import` creates an item of each line of a file. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { folder, run } from '../help/command.ts'

const shop = `import { f, service } from 'bylaw'

export default service({
  name: 'shop',
  resources: {
    pens: {
      fields: { color: f.text({ max: 50 }), count: f.integer({ read: 'pens:count', optional: true }) },
      owner: 'shopId',
      imports: true,
      exports: true,
      access: 'pens:all',
    },
    caps: {
      parent: 'pens',
      fields: { size: f.integer(), shelf: f.integer({ default: 0 }) },
      uniques: [['size', 'shelf']],
      imports: true,
      exports: true,
      access: 'pens:all',
    },
    inks: { fields: { color: f.text() }, access: 'public' },
  },
  scopes: { 'pens:all': 'Everything about pens', 'pens:count': 'How many there are' },
})
`
const rows = Array.from({ length: 1200 }, (_, i) => `{"color":"c${i}","count":${i === 700 ? '"x"' : i}}\n`).join('')

async function started(files: Record<string, string>): Promise<string> {
  const cwd = folder({ 'api.ts': shop, 'seed.ts': 'export default () => {}', ...files })
  const { code, stderr } = await run(['seed', 'api.ts'], { cwd })
  assert.equal(code, 0, stderr)
  return cwd
}

describe('import', { concurrency: 2 }, () => {
  test('lines are created or listed, once for each file, and an export can be imported', async () => {
    const cwd = await started({ 'pens.ndjson': rows })
    const first = await run(['import', 'api.ts', 'pens', 'pens.ndjson'], { cwd })
    assert.deepEqual([first.code, first.stdout], [1, '1199 created, 0 existing, 1 refused.\n'])
    assert.match(first.stderr, /^pens\.ndjson:701 {2}count must be a whole number, not a string\.$/m)
    const again = await run(['import', 'api.ts', 'pens', 'pens.ndjson'], { cwd })
    assert.equal(
      again.stdout,
      [
        'pens.ndjson was imported before with this key, so nothing was imported now. The report of that import:',
        '1199 created, 0 existing, 1 refused.',
        'To import it again, give another key, as in:  --key again-1\n',
      ].join('\n'),
    )
    assert.match(again.stderr, /^pens\.ndjson:701 {2}count must/m)
    await run(['export', 'api.ts', 'pens', 'all.csv'], { cwd })
    const other = await run(['import', 'api.ts', 'pens', 'all.csv', '--account', 'acc_1'], { cwd })
    assert.deepEqual([other.code, other.stdout], [0, '1199 created, 0 existing, 0 refused.\n'])
    const { stdout } = await run(['export', 'api.ts', 'pens', '--query', 'fields=color'], { cwd })
    assert.equal(stdout.trimEnd().split('\n').length, 1199)
  })
  test('below an item', async () => {
    const cwd = await started({ 'pen.ndjson': '{"color":"red"}\n', 'caps.csv': 'size\n1\n2\n' })
    await run(['import', 'api.ts', 'pens', 'pen.ndjson'], { cwd })
    const { id } = JSON.parse((await run(['export', 'api.ts', 'pens'], { cwd })).stdout)
    const { code, stdout } = await run(['import', 'api.ts', 'caps', 'caps.csv', '--parent', id], { cwd })
    assert.deepEqual([code, stdout], [0, '2 created, 0 existing, 0 refused.\n'])
    const again = await run(['import', 'api.ts', 'caps', 'caps.csv', '--parent', id, '--key', 'again'], { cwd })
    assert.match(
      again.stderr,
      /caps\.csv:2 {2}Another resource has this size and shelf already; together they have to be/,
    )
    const none = await run(['import', 'api.ts', 'caps', 'caps.csv'], { cwd })
    assert.match(none.stderr, /belong to items of pens/)
  })
  test('mistakes are named, with their mend', async () => {
    const cwd = await started({
      'pens.ndjson': rows,
      'empty.csv': '',
      'bad.csv': 'colour\nred\n',
      'wrong.ndjson': '{}\n',
    })
    for (const [words, ...says] of [
      [['inks', 'pens.ndjson'], /inks declares no imports/, /imports: true in resources\.inks of api\.ts/],
      [['pins', 'pens.ndjson'], /no resource "pins"/, /Did you mean pens\?/],
      [['pens', 'pens.xlsx'], /ends neither in \.ndjson nor in \.csv/, /pens\.csv/],
      [['pens', 'none.csv'], /no file "none\.csv"/],
      [['pens', 'empty.csv'], /refused/, /no items/],
      [['pens', 'bad.csv'], /refused/, /no column "colour"\. Did you mean color\?/],
      [['pens', 'wrong.ndjson'], /wrong\.ndjson:1 {2}color is required/],
      [['pens', 'pens.ndjson', '--parent', 'pen_1'], /have no parent/],
    ] as const) {
      const { code, stderr } = await run(['import', 'api.ts', ...words], { cwd })
      assert.equal(code, 1)
      for (const one of says) assert.match(stderr, one)
    }
  })
})
