/** Proves that a list that takes too long is aborted, and that the next one gets a thread. The store. */

import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import threads from 'node:worker_threads'
import { f } from 'bylaw'
import { testing } from 'bylaw/testing'
import type { Steps } from '../../src/catalog/steps.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { threadReader } from '../../src/sqlite/thread-reader.ts'
import { freshFile, things } from '../help/file.ts'
import { testWorld } from '../help/world.ts'

/** A query that runs longer than the test needs to move its clock. */
const endless = `WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 5000000) SELECT count(*) AS n FROM c`

function* counting(text: string): Steps<unknown> {
  const [row] = yield { text, values: [] }
  return row?.n
}

test('a statement that takes too long is refused, and another thread continues', async (t) => {
  const file = freshFile(t)
  new DatabaseSync(file).close()
  const world = testWorld()
  const { run, close } = threadReader(file, world)
  t.after(close)
  assert.equal(await run(counting('SELECT 7 AS n'), 10_000), 7)
  const late = run(counting(endless), 250)
  const next = run(counting('SELECT 8 AS n'), 10_000)
  const refused = assert.rejects(late, { type: 'timeout' })
  await world.pass(250)
  await refused
  assert.equal(await next, 8)
})

test('a read whose time is over before its turn is refused, and does not end the thread', async (t) => {
  const file = freshFile(t)
  new DatabaseSync(file).close()
  const { run, close } = threadReader(file, realWorld)
  t.after(close)
  await run(counting('CREATE TEMP TABLE mine (x)'), performance.now() + 10_000)
  const first = run(counting(endless.replace('5000000', '100000')), performance.now() + 10_000)
  const late = run(counting('SELECT 1 AS n'), performance.now())
  const next = run(counting('SELECT count(*) AS n FROM mine'), performance.now() + 10_000)
  await assert.rejects(late, { type: 'timeout' })
  assert.deepEqual([await first, await next], [100_000, 0])
})

test('reads see one snapshot each, and release it at the end', async (t) => {
  const file = freshFile(t)
  const db = new DatabaseSync(file)
  t.after(() => db.close())
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE some (x); INSERT INTO some VALUES (1)')
  const { run, close } = threadReader(file, realWorld)
  t.after(close)
  const some = 'SELECT count(*) AS n FROM some'
  function* twice(between: () => void): Steps<unknown> {
    const [before] = yield { text: some, values: [] }
    between()
    const [after] = yield { text: some, values: [] }
    return [before?.n, after?.n]
  }
  const until = performance.now() + 10_000
  const writing = run(
    twice(() => db.exec('INSERT INTO some VALUES (2)')),
    until,
  )
  const behind = run(counting(some), until)
  assert.deepEqual([await writing, await behind], [[1, 1], 2])
  for (let busy = 1; busy !== 0; ) busy = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy as number
})

/** Replaces worker threads by failing ones until the test ends. */
function without(t: TestContext, failing: (...given: ConstructorParameters<typeof threads.Worker>) => threads.Worker) {
  const { Worker } = threads
  const set = (one: typeof Worker) => {
    Object.assign(threads, { Worker: one })
    syncBuiltinESMExports()
  }
  // biome-ignore lint/complexity/useArrowFunction: it is called with `new`
  set(function (...given: ConstructorParameters<typeof Worker>) {
    return failing(...given)
  } as unknown as typeof Worker)
  t.after(() => set(Worker))
  return { Worker, back: () => set(Worker) }
}

const api = things({ name: f.text({ filter: 'like' }), text: f.text({ sort: true, default: '' }) })
const failures = {
  'No thread is left.': null, // it cannot be created
  'No means are left.': `throw new Error('No means are left.')`,
  'The reading thread ended.': 'process.exit(1)',
}

for (const [why, code] of Object.entries(failures))
  test(`a list whose thread cannot start is 503 with its cause, and the next one gets a thread: ${why}`, async (t) => {
    const file = freshFile(t)
    const { call, close } = testing(api, { database: `sqlite:${file}` })
    const own = threadReader(file, realWorld)
    t.after(() => Promise.all([close(), own.close()]))
    await call('/things', { method: 'POST', json: { name: 'thing' } })
    const list = () => call('/things?name[like]=%25thing%25&sort=text')
    const { Worker, back } = without(t, () => {
      if (code === null) throw Object.assign(new Error(why), { code: 'ERR_WORKER_INIT_FAILED' })
      return new Worker(code, { eval: true })
    })
    for (let i = 0; i < 5; i++) {
      const refused = await list()
      assert.equal(refused.status, 503)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      assert.equal(((await refused.json()) as { type: string }).type, 'dependency-unavailable')
    }
    const cause = await own.run(counting('SELECT 7 AS n'), performance.now() + 10_000).catch(({ cause }) => cause)
    assert.match(String(cause), new RegExp(why))
    back()
    assert.equal((await list()).status, 200)
  })
