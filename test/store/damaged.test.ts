/** A file with an unreadable page: requests that need the page get a 503, all others succeed. Part 8, loss. */
import assert from 'node:assert/strict'
import { closeSync, openSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { f } from 'bylaw'
import { testing } from 'bylaw/testing'
import { freshFile, things } from '../help/file.ts'

const api = things({ name: f.text({ filter: 'like', max: 100 }), pad: f.text({ max: 2000 }) })
const page = 4096

/** Overwrites a page of a table, like a disk that lost it. */
function damage(file: string, table: string): void {
  const db = new DatabaseSync(file, { timeout: 5000 })
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const { rootpage, pages } = db
    .prepare('SELECT rootpage, (SELECT page_count FROM pragma_page_count) AS pages FROM sqlite_schema WHERE name = ?')
    .get(table) as { rootpage: number; pages: number }
  db.close()
  assert.ok(pages > rootpage + 100)
  const disk = openSync(file, 'r+')
  writeSync(disk, Buffer.alloc(page), 0, page, (pages - 50) * page)
  closeSync(disk)
}

test('a read of a damaged page is 503 with Retry-After, in the loop and on the thread; others are answered', async (t) => {
  const file = freshFile(t)
  const database = `sqlite:${file}`
  const first = testing(api, { database })
  const ids: string[] = []
  for (let n = 0; n < 6; n++) {
    const made = Array.from({ length: 100 }, (_, i) =>
      first.call('/things', { method: 'POST', json: { name: `${n} ${i}`, pad: 'x'.repeat(1000) } }),
    )
    for (const answer of await Promise.all(made)) ids.push(((await answer.json()) as { id: string }).id)
  }
  await first.close()
  damage(file, 'things')
  const own = testing(api, { database })
  t.after(own.close)
  const reported = async (path: string, init = {}) => {
    const { status, headers } = await own.call(path, init)
    return status < 400 ? status : `${status} ${headers.get('retry-after') !== null}`
  }
  const items = await Promise.all(ids.map((id) => reported(`/things/${id}`)))
  const lost = ids.filter((_, i) => items[i] === '503 true')
  assert.ok(lost.length > 0 && lost.length < 20, String(lost.length))
  assert.ok(items.every((one) => one === 200 || one === '503 true'))
  assert.equal(await reported('/things?name[like]=%25none%25&page=1'), '503 true')
  const whole = ids.find((id) => !lost.includes(id)) as string
  const changed = { method: 'PATCH', json: { name: 'changed' } }
  assert.deepEqual(
    await Promise.all([reported(`/things/${whole}`, changed), reported(`/things/${lost[0]}`, changed)]),
    [200, '503 true'],
    'of one batch only the write that needs the page is refused',
  )
  assert.equal(await reported(`/things/${whole}`), 200)
})
