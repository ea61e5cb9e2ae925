/** Proves that after a clock change running nodes on SQLite do not count as gone, nor lost ones as running. The store. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { f } from 'bylaw'
import type { MigrationResult } from '../../src/schema/migration.ts'
import { presenceInterval } from '../../src/schema/presence.ts'
import { openSqliteMigration } from '../../src/sqlite/open.ts'
import { collectionsOf, openStore, serviceTables } from '../../src/terminal/open.ts'
import { freshFile, rows, things } from '../help/file.ts'
import { nodeOn } from '../help/places.ts'
import { testWorld } from '../help/world.ts'

const hour = 3_600_000
const before = things({ name: f.text({ filter: true }) })
const after = things({
  name: f.text({ filter: true }),
  label: f.text({ unique: true, optional: true }),
  size: f.integer({ filter: true, default: 1 }),
})

const at = (hours: number) => `CAST(unixepoch('subsec') * 1000 AS INTEGER) + ${hours * hour}`

/** A file with the presence of nodes with the former declaration, whose times differ from now by some hours. */
async function place(t: TestContext, nodes: Readonly<Record<string, number>>) {
  const file = freshFile(t)
  const url = `sqlite:${file}`
  const own = nodeOn({ url }, before)
  assert.equal((await own.ask('POST', '/things', { name: 'a' })).status, 201)
  await own.close()
  for (const [node, hours] of Object.entries(nodes))
    rows(file, `INSERT INTO bylaw_nodes VALUES ('${node}', 'former', ${at(hours)})`)
  return { file, own: { url, rows: async (text: string) => rows(file, text), now: at(0) } }
}

/** Migrates in a test World, where waiting for nodes takes no real time; `meanwhile` runs after half a second. */
function migrated(url: string, meanwhile: () => void = () => {}) {
  const world = testWorld()
  const block = (time: number): void => {
    const before = world.monotonic()
    world.block(time)
    if (before < 500 && world.monotonic() >= 500) meanwhile()
  }
  const stored = { collections: collectionsOf(after), tables: serviceTables }
  const migration = openSqliteMigration(url, stored, {}, { ...world, block })
  try {
    return { made: migration.apply() as MigrationResult, waited: world.monotonic() }
  } finally {
    migration.close()
  }
}

for (const hours of [-2, 2])
  test(`a node that was last heard ${Math.abs(hours)} hours ${hours < 0 ? 'ago' : 'ahead'} by a clock that was set since counts as running`, async (t) => {
    const { file, own } = await place(t, { running: hours })
    const { made, waited } = migrated(own.url, () =>
      rows(file, `UPDATE bylaw_nodes SET seen = ${at(0)} WHERE node = 'running'`),
    )
    assert.deepEqual([made.waitsFor, waited], [['running'], 500])
  })

test('silent nodes that a change waits for count as stopped, with any clock', async (t) => {
  const { file, own } = await place(t, { past: -2, future: 2 })
  const { made, waited } = migrated(own.url)
  assert.deepEqual([made.waitsFor, made.left], [[], []])
  assert.ok(waited >= presenceInterval, 'they had the time to say something')
  assert.deepEqual(rows(file, 'SELECT * FROM bylaw_nodes'), [])
})

test('a node that departs does not remove nodes that seem lost only because a clock was set', async (t) => {
  const { file, own } = await place(t, { running: -2 })
  const store = await openStore(before, own.url, 'apply')
  store.attend()
  await store.close()
  assert.deepEqual(
    rows(file, 'SELECT node FROM bylaw_nodes').map(({ node }) => node),
    ['running'],
  )
})
