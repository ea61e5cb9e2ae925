/** `bylaw seed`: creates rows once, through the rules of the service. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { folder, run, served } from '../help/command.ts'
import { rows } from '../help/file.ts'
import { freshPostgres } from '../help/postgres.ts'

const shop = `import { f, service } from 'bylaw'

export default service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2099-01-01' } },
  scopes: { 'orders:write': 'Write orders' },
  tiers: { free: { hourly: 2 } },
  resources: {
    orders: {
      prefix: 'ord',
      owner: 'account',
      fields: { note: f.text({ max: 20 }), total: f.integer({ default: 0 }) },
      states: { field: 'status', initial: 'draft', transitions: { placements: { from: ['draft'], to: 'placed' } } },
      access: { read: 'authenticated', write: 'orders:write' },
    },
    lines: {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { text: f.text() },
      access: 'authenticated',
    },
    slots: {
      key: 'number',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { number: f.integer(), text: f.text({ default: '' }) },
      access: 'authenticated',
    },
  },
  settings: { naming: 'camel', versions: { carriers: ['header'] } },
}).change('v2', 'orders', { about: 'Notes.', renamed: { text: 'note' } })
`.replace("naming: 'camel', ", '')

const seed = `import type { Client } from 'bylaw/client'
import type api from './api.ts'

export default async function seed(app: Client<typeof api>): Promise<void> {
  const order = await app.orders.create({ note: 'first' })
  for (const text of ['pen', 'pen', 'ink']) await app.orders(order).lines.create({ text })
  await app.orders(order).slots.create({ number: 7 })
  const other = await app.orders.create({ note: 'mine' }, { idempotencyKey: 'my-own-key' })
  await app.orders.placements(other.id)
  await app.orders.update(other.id, { total: 5 })
}
`

const seeded = (cwd: string, words: readonly string[] = [], env = {}) => run(['seed', 'api.ts', ...words], { cwd, env })
const stored = (cwd: string, table: string) =>
  rows(join(cwd, 'data/shop.db'), `SELECT doc FROM ${table}`).map(({ doc }) => JSON.parse(String(doc)))

async function refused(cwd: string, words: readonly string[], ...says: readonly RegExp[]): Promise<void> {
  const { code, stderr } = await seeded(cwd, words)
  assert.equal(code, 1)
  for (const one of says) assert.match(stderr, one)
  assert.doesNotMatch(stderr, /\n +at |node:internal/)
}

describe('seed', { concurrency: 2 }, () => {
  test('R97: creates each row once, however often it runs', async () => {
    const cwd = folder({ 'api.ts': shop, 'seed.ts': seed })
    const first = await seeded(cwd)
    assert.equal(first.stderr, '')
    assert.equal(first.stdout, 'sqlite:./data/shop.db: 6 created by seed.ts, 0 there already.\n')
    const before = ['orders', 'lines', 'slots'].map((table) => stored(cwd, table))
    assert.deepEqual(
      before.map(({ length }) => length),
      [2, 3, 1],
    )
    assert.deepEqual(before[0]?.map(({ note, status, total }) => [note, status, total]).toSorted(), [
      ['first', 'draft', 0],
      ['mine', 'placed', 5],
    ])
    for (let again = 0; again < 2; again++) {
      const { stdout, stderr } = await seeded(cwd)
      assert.equal(stderr, '')
      assert.equal(stdout, 'sqlite:./data/shop.db: 0 created by seed.ts, 6 there already.\n')
    }
    const notes = (all: unknown) => (all as object[]).map((one) => ({ ...one, updatedAt: '' }))
    assert.deepEqual(
      ['orders', 'lines', 'slots'].map((table) => notes(stored(cwd, table))),
      before.map(notes),
    )
    writeFileSync(join(cwd, 'more.ts'), seed.replace("'ink'", "'ink', 'pen'"))
    assert.match((await seeded(cwd, ['more.ts'])).stdout, /: 1 created by more\.ts, 6 there already\.\n$/)
    assert.match((await seeded(cwd, ['--account', 'acc_1'])).stdout, /: 6 created by seed\.ts/)
  })

  test('works on PostgreSQL, while the service runs', async (t) => {
    const { url, drop } = await freshPostgres()
    t.after(drop)
    const cwd = folder({ 'api.ts': shop, 'seed.ts': seed })
    const env = { DATABASE_URL: url }
    const { stop } = await served(['api.ts'], { cwd, env })
    assert.match((await seeded(cwd, [], env)).stdout, /: 6 created by seed\.ts, 0 there already\.\n$/)
    assert.match((await seeded(cwd, [], env)).stdout, /: 0 created by seed\.ts, 6 there already\.\n$/)
    assert.equal(await stop(), 0)
  })

  test('a mistake is shown with its place, and a row that was removed is named', async () => {
    const cwd = folder({ 'api.ts': shop })
    await refused(cwd, [], /no file seed\.ts/, /export default async function seed/)
    writeFileSync(join(cwd, 'seed.ts'), 'export const seed = 1\n')
    await refused(cwd, [], /default export of seed\.ts is not a function/)
    const one = (more: string) => `export default async (app) => { await app.orders.create({ note: 'one' })${more} }\n`
    writeFileSync(join(cwd, 'seed.ts'), one('.then(() => app.orders.create({ note: 7 }))'))
    await refused(cwd, [], /seed\.ts stopped, as a request was answered 400: /, /\/note /)
    writeFileSync(join(cwd, 'seed.ts'), one('.then(({ id }) => app.orders.remove(id))'))
    assert.equal((await seeded(cwd)).code, 0)
    await refused(cwd, [], /answered 410/, /was removed since\. Change it in seed\.ts/)
  })
})
