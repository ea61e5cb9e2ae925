/** Proves that a file that is locked, full or damaged delays or refuses requests, and loses nothing. The store. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { openSqlite } from '../../src/sqlite/open.ts'
import {
  collections,
  creation,
  holdsWrites,
  isThere,
  openStoreUnderTest,
  type StoreUnderTest,
  stateOf,
  turns,
} from '../help/store-under-test.ts'
import { testWorld } from '../help/world.ts'

const json = { 'content-type': 'application/json' }
const posted = ({ call }: StoreUnderTest, name: string, text = '') =>
  call('/things', { method: 'POST', headers: json, body: JSON.stringify({ name, text }) })

/** Asserts a 503 as R161 requires, which reveals nothing about the store. */
async function refusedForNow(response: Response): Promise<void> {
  const body = (await response.json()) as Record<string, unknown>
  assert.equal(response.status, 503)
  assert.equal(response.headers.get('retry-after'), '5')
  assert.deepEqual(body.types, ['dependency-unavailable', 'unavailable', 'server-error', 'error'])
  assert.equal(body.requestId, response.headers.get('request-id'))
  assert.doesNotMatch(JSON.stringify(body), /sql|lock|disk|full|readonly|\//i)
}

describe('a file that another connection writes to', () => {
  test('is waited for while the event loop runs and reads are answered', async (t) => {
    const { file, store } = await openStoreUnderTest(t)
    await store.execute(creation(1))
    const other = holdsWrites(file)
    const writes = [2, 3, 4].map((n) => store.execute(creation(n)))
    for (let i = 0; i < 20; i++) {
      await turns(3)
      assert.equal(await isThere(store, 1), true)
      assert.equal(await stateOf(writes[0] as Promise<never>), 'pending')
    }
    const late = store.execute(creation(5))
    other.letGo()
    assert.deepEqual(
      (await Promise.all([...writes, late])).map(({ is }) => is),
      ['created', 'created', 'created', 'created'],
    )
    assert.equal(await isThere(store, 5), true)
  })

  test('is waited for if it is in another process', async (t) => {
    const { file, store } = await openStoreUnderTest(t)
    const script = `const { DatabaseSync } = require('node:sqlite')
      const db = new DatabaseSync(process.argv[1])
      db.exec('BEGIN IMMEDIATE')
      process.stdout.write('held')
      process.stdin.once('data', () => { db.exec('COMMIT'); process.exit() })`
    const child = spawn(process.execPath, ['-e', script, file], { stdio: ['pipe', 'pipe', 'inherit'] })
    t.after(() => child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    const write = store.execute(creation(1))
    await turns(50)
    assert.equal(await stateOf(write), 'pending')
    child.stdin.write('go')
    assert.equal((await write).is, 'created')
  })

  test('is waited for no longer than five seconds, and then answers 503', async (t) => {
    const world = testWorld()
    const opened = await openStoreUnderTest(t, world)
    const other = holdsWrites(opened.file)
    const first = posted(opened, 'first')
    await world.pass(3000)
    const second = posted(opened, 'second')
    await world.pass(2500)
    await refusedForNow(await first)
    other.letGo()
    await world.pass(100)
    assert.equal((await second).status, 201)
    assert.equal(opened.errors.length, 1)
    assert.match(String(opened.errors[0]?.err), /database is locked/)
  })

  test('is waited for by the store that closes', async (t) => {
    const { file, store } = await openStoreUnderTest(t)
    const other = holdsWrites(file)
    const write = store.execute(creation(1))
    await turns(5)
    const closed = store.close()
    await turns(5)
    assert.equal(await stateOf(write), 'pending')
    other.letGo()
    await closed
    assert.equal((await write).is, 'created')
  })

  test('shows writes of the other, in items and in totals', async (t) => {
    const one = await openStoreUnderTest(t)
    await one.store.execute(creation(1))
    const total = async () =>
      ((await (await one.call('/things')).json()) as { pagination: { totalRecords: number } }).pagination.totalRecords
    assert.equal(await total(), 1)
    const two = openSqlite(`sqlite:${one.file}`, collections, 'require')
    t.after(() => two.close())
    await two.execute(creation(2))
    assert.equal(await isThere(one.store, 2), true)
    assert.equal(await total(), 2)
  })
})

describe('a store that is out of order', () => {
  const disorders = {
    'a full disk': ['PRAGMA max_page_count = 1', 'PRAGMA max_page_count = 1000000'],
    'a file that became read-only': ['PRAGMA query_only = ON', 'PRAGMA query_only = OFF'],
  } as const
  for (const [name, [begins, ends]] of Object.entries(disorders)) {
    test(`${name} answers 503, keeps acknowledged writes, and recovers`, async (t) => {
      const opened = await openStoreUnderTest(t)
      const kept: string[] = []
      for (let i = 0; i < 20; i++)
        kept.push(((await (await posted(opened, `before ${i}`)).json()) as { id: string }).id)
      opened.db.exec(begins)
      const statuses = new Set<number>()
      for (let i = 0; i < 20; i++) {
        const answers = await Promise.all([1, 2, 3].map((n) => posted(opened, `while ${i} ${n}`, 'x'.repeat(3000))))
        for (const answer of answers) {
          statuses.add(answer.status)
          if (answer.status === 201) kept.push(((await answer.json()) as { id: string }).id)
          else await refusedForNow(answer)
        }
      }
      assert.ok(statuses.has(503))
      assert.equal((await opened.call(`/things/${kept[0]}`)).status, 200)
      opened.db.exec(ends)
      assert.equal((await posted(opened, 'after')).status, 201)
      for (const id of kept) assert.equal((await opened.call(`/things/${id}`)).status, 200)
      const listed = (await (await opened.call('/things')).json()) as { pagination: { totalRecords: number } }
      assert.equal(listed.pagination.totalRecords, kept.length + 1)
      assert.ok(
        opened.errors.length > 0 && opened.errors.every(({ err }) => /full|readonly/.test((err as Error).message)),
      )
    })
  }

  test('a permanent failure is a 500 with its cause only in the log', async (t) => {
    const opened = await openStoreUnderTest(t)
    await opened.store.execute(creation(1))
    opened.db.exec('DROP TABLE things')
    for (const response of [await opened.call('/things'), await posted(opened, 'a')]) {
      const body = await response.text()
      assert.equal(response.status, 500)
      assert.doesNotMatch(body, /table|things|sqlite/i)
    }
    assert.ok(opened.errors.every(({ err }) => /no such table/.test((err as Error).message)))
    assert.equal(opened.errors.length, 2)
  })

  test('readiness shows whether the file can be read', async (t) => {
    const { db, store } = await openStoreUnderTest(t)
    assert.equal(await store.ready(), null)
    db.exec('DROP TABLE bylaw_meta')
    assert.match((await store.ready()) ?? '', /no such table/)
  })
})
