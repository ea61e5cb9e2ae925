/** Proves that a clock that is set does not make running nodes on SQLite count as gone, and lost ones as running. The cellar. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { f } from 'bylaw'
import { openStore } from '../../src/terminal/open.ts'
import { freshFile, rows, things } from '../help/file.ts'
import { applied, nodeOn } from '../help/places.ts'

const hour = 3_600_000
const before = things({ name: f.text({ filter: true }) })
const after = things({
  name: f.text({ filter: true }),
  label: f.text({ unique: true, optional: true }),
  size: f.integer({ filter: true, default: 1 }),
})

const at = (hours: number) => `CAST(unixepoch('subsec') * 1000 AS INTEGER) + ${hours * hour}`

/** A file that nodes of the former declaration were last heard on by clocks that differ from the present one by some hours. */
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

/** Says once, a while after it was started, that a node runs. It has a thread of its own, as a start waits without an event loop. */
async function speaking(t: TestContext, file: string, node: string): Promise<void> {
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads')
    const { DatabaseSync } = require('node:sqlite')
    const db = new DatabaseSync(workerData.file)
    db.exec('PRAGMA busy_timeout = 5000')
    parentPort.postMessage('ready')
    setTimeout(() => {
      db.exec(workerData.text)
      db.close()
    }, 500)`,
    { eval: true, workerData: { file, text: `UPDATE bylaw_nodes SET seen = ${at(0)} WHERE node = '${node}'` } },
  )
  t.after(() => worker.terminate())
  await once(worker, 'message')
}

for (const hours of [-2, 2])
  test(`a node that was last heard ${Math.abs(hours)} hours ${hours < 0 ? 'ago' : 'ahead'} by a clock that was set since counts as running`, async (t) => {
    const { file, own } = await place(t, { running: hours })
    await speaking(t, file, 'running')
    assert.deepEqual((await applied(own, after)).waitsFor, ['running'])
  })

test('silent nodes that a change waits for count as stopped, with any clock', async (t) => {
  const { file, own } = await place(t, { past: -2, future: 2 })
  const { waitsFor, left } = await applied(own, after)
  assert.deepEqual([waitsFor, left], [[], []])
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
