/** Cached lists are only answered if no session has committed since, on every kind of server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { DatabaseQuery } from '../../src/postgres/connect.ts'
import { canReadState } from '../../src/postgres/database-state.ts'
import type { Collection } from '../../src/rows/collection.ts'
import { openStore } from '../../src/terminal/open.ts'
import { connected } from '../help/postgres.ts'
import { api, node, serviceOnServer, untilWell } from './service-on-server.ts'

test('commits of others are seen at once, and uncommitted writes are not', { timeout: 180_000 }, async (t) => {
  const own = await serviceOnServer(t)
  const other = await node(own.server.url)
  t.after(other.close)
  const client = await connected(t, own.server.url)
  const names = async () =>
    (await own.call('GET', '/things')).json.data.map(({ name }: { name: string }) => name).sort()
  const expected: string[] = []
  for (let n = 0; n < 20; n++) {
    assert.deepEqual(await names(), expected)
    assert.equal((await other.call('POST', '/things', { name: `n${n}` })).status, 201)
    expected.push(`n${n}`)
    expected.sort()
    assert.deepEqual(await names(), expected)
  }
  const list = async () => (await own.call('GET', '/things?count=7')).json.data.length
  await client.query('BEGIN')
  await client.query('UPDATE things SET by_count = 7')
  assert.equal(await list(), 0)
  assert.equal(await list(), 0)
  await client.query('ROLLBACK')
  assert.equal(await list(), 0)
  await client.query('BEGIN; SAVEPOINT one; UPDATE things SET by_count = 7; RELEASE one')
  assert.equal(await list(), 0)
  await client.query('COMMIT')
  assert.equal(await list(), 20)
  await client
    .query("BEGIN; UPDATE things SET by_count = 8; PREPARE TRANSACTION 'later'")
    .catch(() => client.query('ROLLBACK'))
  assert.equal(await list(), 20)
  await client.query('TRUNCATE things')
  assert.equal(await list(), 0)
})

test('a total is that of the rows it comes with, under concurrent writes', { timeout: 180_000 }, async (t) => {
  const own = await serviceOnServer(t)
  const other = await node(own.server.url)
  t.after(other.close)
  let page = 0
  const total = async (filter = '') =>
    (await own.call('GET', `/things?page_size=1&page=${1 + (page++ % 3)}${filter}`)).json.pagination.totalRecords
  for (let n = 1; n <= 10; n++) {
    await other.call('POST', '/things', { name: `n${n}`, count: n % 2 })
    assert.deepEqual([await total(), await total(), await total('&count=1')], [n, n, Math.ceil(n / 2)])
    if (n === 5) await pause(250) // long enough that totals can be cached again
  }
  await other.call('PATCH', `/things/${(await own.call('GET', '/things?count=1')).json.data[0].id}`, { count: 0 })
  assert.deepEqual([await total(), await total('&count=1'), await total('&count=0')], [10, 4, 6])
})

test('a list is read once while nothing is written, and the state of one server is not that of another', {
  timeout: 180_000,
}, async (t) => {
  const own = await serviceOnServer(t)
  const store = await openStore(api, own.server.url, 'require')
  t.after(store.close)
  const state = async () => (await store.fetchMark?.()) ?? null
  const first = await state()
  assert.notEqual(first, null)
  assert.equal(await state(), first)
  await own.call('POST', '/things', { name: 'one' })
  const second = await state()
  assert.notEqual(second, first)
  await own.server.stop('fast')
  await own.server.start()
  await untilWell(() => own.call('GET', '/things'))
  assert.notEqual(await state(), second)
})

test('partitioned tables and views are not cached', { timeout: 180_000 }, async (t) => {
  const { server } = await serviceOnServer(t)
  const client = await connected(t, server.url)
  await client.query('CREATE TABLE split (id text) PARTITION BY HASH (id); CREATE VIEW shown AS SELECT 1 AS id')
  const ask = async ({ text, lists }: DatabaseQuery) =>
    (await client.query(text, lists ? [lists.rows.flat()] : [])).rows
  const tells = (...tables: string[]) =>
    canReadState({ ask }, tables.map((table) => ({ table })) as unknown as Collection[])
  assert.equal(await tells('things'), true)
  for (const table of ['split', 'shown', 'missing']) assert.equal(await tells('things', table), false, table)
})
