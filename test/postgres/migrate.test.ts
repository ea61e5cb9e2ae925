/** Proves that one process at a time changes a schema, during reads and writes, and that a stopped change continues. The store. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { f, service } from 'bylaw'
import { leaseTimes } from '../../src/postgres/lease.ts'
import { openPostgresMigration } from '../../src/postgres/open.ts'
import { connected, freshPostgres, sql } from '../help/postgres.ts'
import { until } from '../help/until.ts'
import { after, before, filled } from './stock.ts'

async function place(t: TestContext, count: number, note?: string): Promise<string> {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  await apply(url, before)
  await filled(url, count, note)
  return url
}

async function apply(url: string, collections = after, own = leaseTimes) {
  const migration = await openPostgresMigration(url, { collections: collections }, own)
  try {
    return await migration.apply()
  } finally {
    migration.close()
  }
}

/** Indexes that are not finished. Other tests use other schemas of the same database. */
const invalidIndexes = (url: string) =>
  sql(
    url,
    `SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace`,
  )

/** The definition of an index of this schema. The view pg_indexes would fail when another test drops its schema meanwhile. */
async function indexText(url: string, name: string): Promise<unknown> {
  const [row] = await sql(url, `SELECT pg_get_indexdef(to_regclass('"${name}"')) AS text`)
  return row?.text
}

/** Asserts that all rows have the columns and documents of the newest declaration, and that the schema records it. */
async function assertDone(url: string, count: number): Promise<void> {
  const [found] = await sql(
    url,
    `SELECT count(*)::int AS rows, count(*) FILTER (WHERE shape = 2 AND "by_name" = doc::json->>'label'
      AND "by_size" = (doc::json->>'size')::int AND "by_note" = doc::json->>'code' AND doc NOT LIKE '%"note"%') ::int AS whole FROM things`,
  )
  assert.deepEqual(found, { rows: count, whole: count })
  assert.deepEqual(await invalidIndexes(url), [])
  const migration = await openPostgresMigration(url, { collections: after })
  migration.close()
  assert.deepEqual(migration.steps, [])
  assert.notEqual(await indexText(url, 'unique__things__by_note'), null)
  assert.notEqual(await indexText(url, 'index__things__by_size'), null)
}

const blocking = async (t: TestContext, url: string, statement: string) => {
  const client = await connected(t, url)
  await client.query('BEGIN')
  await client.query(statement)
  return () => client.query('ROLLBACK')
}

describe('a change of the schema', () => {
  test('is carried out by one of many nodes that start at once', async (t) => {
    const url = await place(t, 1200)
    const all = await Promise.all([1, 2, 3, 4].map(() => apply(url)))
    assert.equal(all.filter(({ done }) => done.length > 0).length, 1)
    await assertDone(url, 1200)
    const { url: empty, drop } = await freshPostgres()
    t.after(drop)
    const first = await Promise.all([1, 2, 3, 4].map(() => apply(empty)))
    assert.equal(first.filter(({ done }) => done.length > 0).length, 1)
  })

  test('builds an index again if more of a text fits into it', async (t) => {
    const { url, drop } = await freshPostgres()
    t.after(drop)
    const texts = (max: number) => {
      const fields = { text: f.text({ max, filter: true }) }
      const { resources } = service({ name: 'texts', resources: { things: { fields, access: 'public' } } })
      return [...resources.values()].map(({ collection }) => collection)
    }
    const index = async () => String(await indexText(url, 'index__things__by_text')).replace(/.* USING btree /, '')
    await apply(url, texts(5000))
    assert.equal(await index(), '("left"(by_text, 636), id)')
    await apply(url, texts(50))
    assert.equal(await index(), '(by_text, id)')
  })

  test('waits for the holder of a table outside of the lock queue, so that readers continue', async (t) => {
    const url = await place(t, 10)
    const release = await blocking(t, url, 'SELECT * FROM things LIMIT 1')
    const applied = apply(url)
    const late: number[] = []
    for (let i = 0; i < 15; i++) {
      const began = performance.now()
      await sql(url, `SET statement_timeout = '20s'; SELECT count(*) FROM things`)
      late.push(performance.now() - began)
      await pause(100) // readers must run longer than one attempt to get the lock
    }
    assert.ok(late.filter((ms) => ms > 4000).length === 0, `readers waited ${late}`)
    await release()
    await applied
    await assertDone(url, 10)
  })

  test('is refused if rows have equal values, leaves no index, and continues once they differ', async (t) => {
    const url = await place(t, 30, `'same'`)
    await assert.rejects(
      apply(url),
      /The step "build unique indexes of things" cannot be done: several rows have the same note\. Change them first/,
    )
    assert.deepEqual(await invalidIndexes(url), [])
    await sql(url, `UPDATE things SET by_note = id, doc = replace(doc, '"same"', '"' || id || '"')`)
    await apply(url)
    await assertDone(url, 30)
  })

  test('builds an index again that an earlier try left unfinished', async (t) => {
    const url = await place(t, 10)
    await sql(url, 'ALTER TABLE things ADD COLUMN by_size bigint')
    await sql(url, 'CREATE INDEX "index__things__by_size" ON things (by_size)')
    await sql(url, `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'index__things__by_size'::regclass`)
    await apply(url)
    await assertDone(url, 10)
    assert.match(String(await indexText(url, 'index__things__by_size')), /by_size, id\)$/)
  })

  test('is taken over from a silent node, which writes nothing when it wakes up', async (t) => {
    const url = await place(t, 10)
    const release = await blocking(t, url, 'LOCK TABLE things IN SHARE MODE')
    const silent = apply(url, after, { term: 300, beat: 1e9 })
    silent.catch(() => {})
    const fence = async () => Number((await sql(url, 'SELECT fence::int AS fence FROM bylaw_leases'))[0]?.fence)
    await until(async () => (await fence()) === 2)
    const second = apply(url, after, { term: 30_000, beat: 5000 })
    await until(async () => (await fence()) === 3) // the table was created with the first number
    await release()
    await assert.rejects(silent, /another node took over the migration/)
    assert.ok((await second).done.length > 0)
    await assertDone(url, 10)
  })

  test('continues where it was stopped, however often its process is killed', async (t) => {
    const url = await place(t, 6000)
    const script = fileURLToPath(new URL('migrator.ts', import.meta.url))
    let kills = 0
    for (let delay = 350; ; delay += 120) {
      const child = spawn(process.execPath, ['--conditions=bylaw-source', script, url, '400'], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, NODE_TEST_CONTEXT: undefined },
      })
      let said = ''
      child.stderr.on('data', (chunk) => {
        said += chunk
      })
      const ended = once(child, 'exit')
      const timer = setTimeout(() => child.kill('SIGKILL'), delay) // at another time in each run
      const [code] = await ended
      clearTimeout(timer)
      if (code === 0) break
      assert.equal(code, null, said)
      kills++
    }
    assert.ok(kills > 0)
    await assertDone(url, 6000)
    const [held] = await sql(url, 'SELECT fence::int AS fence FROM bylaw_leases')
    t.diagnostic(`${kills} kills, the last holder had number ${held?.fence}`)
  })

  test('of two processes at once makes one change, whichever is killed', async (t) => {
    const url = await place(t, 3000)
    const script = fileURLToPath(new URL('migrator.ts', import.meta.url))
    const begun = () =>
      spawn(process.execPath, ['--conditions=bylaw-source', script, url, '3000'], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, NODE_TEST_CONTEXT: undefined },
      })
    const [one, two] = [begun(), begun()]
    const timer = setTimeout(() => one.kill('SIGKILL'), 900) // at any time: the result is the same
    const [[first], [second]] = await Promise.all([once(one, 'exit'), once(two, 'exit')])
    clearTimeout(timer)
    assert.equal(second, 0, `the first ended with ${first}`)
    await assertDone(url, 3000)
  })
})
