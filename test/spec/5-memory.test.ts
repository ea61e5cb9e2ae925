/** Part 5 of the contract, authentication: the cache of callers: what it holds, for how long, and for whom. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testing } from 'bylaw/testing'
import { revokeKeys } from '../../src/auth/key-table.ts'
import type { Plan } from '../../src/flow/plan.ts'
import type { Store } from '../../src/flow/store.ts'
import { openSqlite } from '../../src/sqlite/open.ts'
import { doors, keyFor, spec } from '../help/door.ts'
import { holders, staff } from '../help/staff.ts'

const asked: Plan['do'][] = []
/** With all caches off, the same tests expect every read. */
const caches = process.env.BYLAW_REMEMBER !== 'off'
let opaque = false
const watched = (store: Store): Store => ({
  ...store,
  mark: (names) => (opaque ? null : store.mark(names)),
  execute: (plan) => {
    asked.push(plan.do)
    return store.execute(plan)
  },
})
let clock = Date.UTC(2027, 0, 1)
const file = join(tmpdir(), `bylaw-auth-${process.pid}.db`)
const collections = [...staff.resources.values()].map(({ collection }) => collection)
const elsewhere = async <T>(act: (store: Store) => T | Promise<T>): Promise<T> => {
  const store = openSqlite(`sqlite:${file}`, collections, 'apply')
  try {
    return await act(store)
  } finally {
    await store.close()
  }
}
const lookups = () => asked.filter((one) => one === 'table').length
process.on('exit', () => {
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
})

doors(
  'cached credentials',
  staff,
  (door) => {
    const get = async (who: string, path = '/files') => (await door.send('GET', path, { headers: door.as(who) })).status

    spec('R172', 'a key is looked up once, and then known for a second', async () => {
      asked.length = 0
      clock += 10_000
      for (let i = 0; i < 10; i++) assert.equal(await get('ann'), 200)
      assert.equal(lookups(), caches ? 1 : 10)
      clock += 1001
      assert.equal(await get('ann'), 200)
      assert.equal(lookups(), caches ? 2 : 11)
    })
    spec('R172', 'a key that was mistyped is refused without asking the store', async () => {
      asked.length = 0
      const { authorization = '' } = door.as('ann')
      const last = authorization.endsWith('a') ? 'b' : 'a'
      const sent = { headers: { authorization: authorization.slice(0, -1) + last } }
      assert.equal((await door.send('GET', '/files', sent)).status, 401)
      assert.deepEqual(asked, [])
    })
    spec('R172', 'a key that another process revokes is refused within 10 ms if the store notifies', async () => {
      opaque = false
      clock += 10_000
      const headers = await elsewhere((store) => keyFor(store, `at-once-${door.name.slice(0, 4)}`, holders.ann, clock))
      assert.equal((await door.send('GET', '/files', { headers })).status, 200)
      await elsewhere((store) => revokeKeys(store, [`key_at-once-${door.name.slice(0, 4)}_${clock}`], clock))
      clock += 10
      const answer = await door.send('GET', '/files', { headers })
      assert.deepEqual([answer.status, answer.json.type], [401, 'invalid-credentials'])
    })
    spec('R172', 'and within a second where it does not', async () => {
      opaque = true
      clock += 10_000
      const id = `slow-${door.name.slice(0, 4)}`
      const headers = await elsewhere((store) => keyFor(store, id, holders.ann, clock))
      assert.equal((await door.send('GET', '/files', { headers })).status, 200)
      await elsewhere((store) => revokeKeys(store, [`key_${id}_${clock}`], clock))
      clock += 1001
      assert.equal((await door.send('GET', '/files', { headers })).status, 401)
      opaque = false
    })
    spec('R172', 'a key ends when it expires, although it is known', async () => {
      clock += 10_000
      const headers = await elsewhere((store) =>
        keyFor(store, `ends-${door.name.slice(0, 4)}`, holders.ann, clock, clock + 500),
      )
      assert.equal((await door.send('GET', '/files', { headers })).status, 200)
      clock += 500
      assert.equal((await door.send('GET', '/files', { headers })).status, 401)
    })
    spec('R143 R139', 'the cached list of one caller is not sent to another', async () => {
      clock += 10_000
      const fresh = await door.send('POST', '/files', { json: { text: 'fresh' }, headers: door.as('ann') })
      assert.equal(fresh.status, 201) // a write, as rows that have not changed are not read again
      await door.send('GET', '/files', { headers: door.as('ann') }) // an answer is cached at the second request for it
      asked.length = 0
      const first = await door.send('GET', '/files', { headers: door.as('ann') })
      assert.equal(first.headers['cache-control'], 'private, no-cache')
      assert.equal(first.headers.vary, 'Accept-Encoding, Authorization, version')
      const tag = { 'if-none-match': first.headers.etag as string }
      const again = await door.send('GET', '/files', { headers: { ...door.as('ann'), ...tag } })
      assert.equal(again.status, 304)
      assert.equal(again.headers['cache-control'], 'private, no-cache')
      assert.equal(asked.filter((one) => one === 'list').length, caches ? 1 : 2)
      assert.equal((await door.send('GET', '/files', { headers: { ...door.as('ben'), ...tag } })).status, 304)
      assert.equal(asked.filter((one) => one === 'list').length, caches ? 2 : 3, 'it is read for the second caller')
      assert.equal((await door.send('GET', '/files', { headers: { ...door.as('cay'), ...tag } })).status, 403)
      assert.equal((await door.send('GET', '/files', { headers: tag })).status, 401)
      assert.equal((await door.send('GET', '/notices')).headers['cache-control'], 'no-cache')
    })
  },
  { database: `sqlite:${file}`, holders, store: watched, now: () => clock },
)

spec(
  'R100',
  'an account has one space of keys, whichever of its credentials it uses; others have their own',
  async () => {
    const { call, close } = testing(staff)
    const scopes = holders.ann.scopes
    const post = async (as: object, path = '/files', json: object = { text: 'a' }) =>
      (await call(path, { method: 'POST', headers: { 'idempotency-key': 'k' }, json, as })).status
    assert.equal(await post({ account: 'a', scopes }), 201)
    assert.equal(await post({ account: 'a', scopes: [...scopes, 'more'] }), 409)
    assert.equal(await post({ account: 'b', scopes }), 201)
    assert.equal(await post({ scopes }), 201)
    assert.equal(await post({}, '/wishes'), 201)
    assert.equal(await post({ account: 'b', scopes }, '/wishes'), 409, 'what is public has one space for all')
    await close()
  },
)

spec('R99', 'a used key is reported after authentication and permission', async () => {
  const { call, close } = testing(staff)
  const sent = { method: 'POST', headers: { 'idempotency-key': 'k' }, json: { text: 'a' } }
  const brief = async (more: object) => {
    const answer = await call('/files', { ...sent, ...more })
    return [answer.status, ((await answer.json()) as { type: string }).type]
  }
  const as = { account: 'a', scopes: holders.ann.scopes }
  assert.equal((await brief({ as }))[0], 201)
  assert.deepEqual(await brief({}), [401, 'credentials-missing'])
  assert.deepEqual(await brief({ as: { account: 'a' } }), [403, 'insufficient-scope'])
  assert.deepEqual(await brief({ as }), [409, 'idempotency-key-reused'])
  assert.deepEqual(await brief({ as, json: { text: 5 } }), [409, 'idempotency-key-payload-mismatch'])
  await close()
})
