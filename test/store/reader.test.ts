/** Proves that a list which takes too long is given up, and that the next one finds a thread. The cellar. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { reader } from '../../src/sqlite/reader.ts'
import type { Steps } from '../../src/store/cellar.ts'
import { freshFile } from '../help/file.ts'

/** Counts so far as a machine cannot count in a quarter of a second. */
const endless = `WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20000000) SELECT count(*) AS n FROM c`

function* counting(text: string): Steps<unknown> {
  const [row] = yield { text, values: [] }
  return row?.n
}

test('a statement that takes too long is refused, and another thread goes on meanwhile', async (t) => {
  const file = freshFile(t)
  new DatabaseSync(file).close()
  const { look, close } = reader(file)
  t.after(close)
  assert.equal(await look(counting('SELECT 7 AS n'), performance.now() + 10_000), 7)
  const late = look(counting(endless), performance.now() + 250)
  const next = look(counting('SELECT 8 AS n'), performance.now() + 10_000)
  await assert.rejects(late, { type: 'timeout' })
  assert.equal(await next, 8)
})
