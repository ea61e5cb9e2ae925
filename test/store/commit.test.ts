/** Proves the answers after a failed commit, and that a key makes a retry safe. The store. */
import assert from 'node:assert/strict'
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { test } from 'node:test'
import { openStoreUnderTest } from '../help/store-under-test.ts'

/** Makes statements that begin with `at` fail like a failing disk, until it is null. */
function breaking(db: DatabaseSync): { at: string | null } {
  const broken: { at: string | null } = { at: null }
  const prepare = db.prepare.bind(db)
  db.prepare = (text: string) => {
    const statement = prepare(text)
    const all = statement.all.bind(statement)
    statement.all = ((...values: SQLInputValue[]) => {
      if (broken.at !== null && text.startsWith(broken.at))
        throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 1034 })
      return all(...values)
    }) as typeof all
    return statement
  }
  return broken
}

for (const [at, reported] of [
  ['COMMIT', /not known whether this was done/],
  ['INSERT', /nothing was changed/],
] as const) {
  test(`a disk that fails at ${at}: the answer reports the outcome, and the key can be used again`, async (t) => {
    const { call, db, errors } = await openStoreUnderTest(t)
    const broken = breaking(db)
    const post = (): Promise<Response> =>
      call('/things', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'k1' },
        body: JSON.stringify({ name: 'a' }),
      })
    broken.at = at
    for (let i = 0; i < 2; i++) {
      const refused = await post()
      const { message, types } = (await refused.json()) as { message: string; types: string[] }
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '5'])
      assert.match(message, reported)
      assert.equal(types[0], 'dependency-unavailable')
    }
    broken.at = null
    const [created, repeated] = [await post(), await post()]
    assert.deepEqual([created.status, repeated.status], [201, 409])
    const { id } = (await created.json()) as { id: string }
    assert.equal(((await repeated.json()) as { old_id: string }).old_id, id)
    const list = (await (await call('/things')).json()) as { pagination: { totalRecords: number } }
    assert.equal(list.pagination.totalRecords, 1)
    assert.equal(errors.length, 1, 'the log has one line a second while the database is down')
  })
}
