/** Proves that acknowledged writes survive a crash, and that processes can start at the same time. The store. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { testing } from 'bylaw/testing'
import { freshFile, rows } from '../help/file.ts'
import { api } from '../help/store-under-test.ts'

const writer = fileURLToPath(new URL('../help/writer.ts', import.meta.url))

function writing(...args: readonly string[]) {
  return spawn(process.execPath, ['--conditions=bylaw-source', writer, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** The ids that a process acknowledged until it was killed, after `count` of them. */
async function killedAfter(count: number, file: string): Promise<string[]> {
  const child = writing(file)
  const ids: string[] = []
  for await (const line of createInterface(child.stdout)) {
    ids.push(line)
    if (ids.length === count) child.kill('SIGKILL')
  }
  return ids
}

test('every acknowledged create exists after kill -9, whole and found by its columns', async (t) => {
  const file = freshFile(t)
  const acknowledged: string[] = []
  for (let round = 0; round < 10; round++) {
    acknowledged.push(...(await killedAfter(20 + 37 * round, file)))
    const { call, close } = testing(api, { database: `sqlite:${file}` })
    for (const id of acknowledged) {
      const response = await call(`/things/${id}`)
      assert.equal(response.status, 200, `${id} was acknowledged in round ${round} or before`)
      assert.equal(((await response.json()) as { text: string }).text.length, 500)
    }
    await close()
  }
  assert.equal(new Set(acknowledged).size, acknowledged.length)
  assert.deepEqual(
    rows(file, 'PRAGMA integrity_check').map((row) => row.integrity_check),
    ['ok'],
  )
  const [sums] = rows(
    file,
    "SELECT count(*) AS all_, count(DISTINCT by_name) AS named, sum(by_name = json_extract(doc, '$.name')) AS agree FROM things",
  )
  assert.equal(sums?.named, sums?.all_)
  assert.equal(sums?.agree, sums?.all_)
})

test('processes that start at once on a new file all come up and share it', async (t) => {
  for (let round = 0; round < 3; round++) {
    const file = freshFile(t)
    const start = String(Date.now() + 1000)
    const children = [1, 2, 3].map(() => writing(file, '40', start))
    const reported = await Promise.all(
      children.map(async (child) => {
        const lines: string[] = []
        const closed = once(child, 'close')
        for await (const line of createInterface(child.stdout)) lines.push(line)
        assert.deepEqual(await closed, [0, null])
        return lines
      }),
    )
    const ids = reported.flat()
    assert.equal(ids.length, 120)
    for (const id of ids) assert.match(id, /^thg_/)
    assert.equal(rows(file, 'SELECT id FROM things').length, 120)
  }
})
