/** Behind PgBouncer in transaction mode, connections keep no state, and the contract holds. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { testing } from 'bylaw/testing'
import pg from 'pg'
import { type Cluster, cluster, freePort, owner } from '../help/cluster.ts'
import { sql } from '../help/postgres.ts'
import { pathOf, without } from '../help/programs.ts'
import { publishingShop } from '../help/publishing.ts'
import { allGot, followedNode, followers } from './followed.ts'
import { known, type Node, node, repeated, untilWell } from './service-on-server.ts'

let server: Cluster | undefined
let bouncer: ChildProcess | undefined
let url = ''
const folder = mkdtempSync(join(tmpdir(), 'bylaw-pooler-'))

const skip = without('pgbouncer')

before(async () => {
  if (skip) return
  server = await cluster(['shared_buffers=16MB'])
  ;({ bouncer, url } = await started(server.port))
})
after(async () => {
  bouncer?.kill('SIGTERM')
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Starts PgBouncer with two connections to the server, which all clients share. */
async function started(to: number): Promise<{ bouncer: ChildProcess; url: string }> {
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${to} user=bylaw
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
logfile = ${join(folder, 'log')}
pidfile = ${join(folder, 'pid')}
`,
  )
  const as = owner()
  if (as) for (const path of [folder, file]) chownSync(path, as.uid, as.gid)
  const bouncer = spawn(pathOf('pgbouncer') as string, [file], { ...as, cwd: folder, stdio: 'ignore' })
  bouncer.unref()
  process.once('exit', () => bouncer.kill())
  const url = `postgres://bylaw@127.0.0.1:${port}/postgres`
  for (let i = 0; ; i++) {
    const up = await sql(url, 'SELECT 1').then(
      () => true,
      (error) => i < 100 || Promise.reject(error),
    )
    if (up && (await sql(url, 'SELECT 1').catch(() => null))) return { bouncer, url }
    await pause(50)
  }
}

/** Requests for all kinds of statements, in parallel. */
async function used({ call }: Node): Promise<void> {
  const names = Array.from({ length: 40 }, (_, n) => `thing ${n}`)
  const made = await Promise.all(
    names.map((name, count) => call('POST', '/things', { name, count }, { 'idempotency-key': `k-${count}` })),
  )
  assert.deepEqual(new Set(made.map(({ status }) => status)), new Set([201]))
  const again = await Promise.all(
    names.map((name, count) => call('POST', '/things', { name, count }, { 'idempotency-key': `k-${count}` })),
  )
  for (const [i, { status, json }] of again.entries()) assert.deepEqual([status, json.old_id], [409, made[i]?.json.id])
  const ids = made.map(({ json }) => json.id as string)
  const read = await Promise.all(ids.map((id) => call('GET', `/things/${id}`)))
  assert.deepEqual(
    read.map(({ json }) => json.name),
    names,
  )
  const changed = await Promise.all(ids.map((id) => call('PATCH', `/things/${id}`, { count: 100 })))
  assert.deepEqual(new Set(changed.map(({ status }) => status)), new Set([200]))
  const taken = await call('POST', '/things', { name: 'thing 1' })
  assert.deepEqual([taken.status, taken.json.type], [409, 'already-exists'])
  const page = await call('GET', '/things?sort=count&order=desc&page=2&page_size=30')
  assert.deepEqual([page.json.pagination.totalRecords, page.json.data.length], [40, 10])
  const walk = await call('GET', '/things?sort=count&limit=30&cursor=')
  assert.equal(
    (await call('GET', `/things?sort=count&limit=30&cursor=${walk.json.pagination.nextCursor}`)).json.data.length,
    10,
  )
  const gone = await Promise.all(ids.map((id) => call('DELETE', `/things/${id}`)))
  assert.deepEqual(new Set(gone.map(({ status }) => status)), new Set([204]))
  assert.equal((await call('GET', `/things/${ids[0]}`)).status, 410)
}

test('the contract holds if connections are shared between transactions', { skip, timeout: 60_000 }, async (t) => {
  const own = await node(`${url}?pooler=transaction`)
  t.after(own.close)
  await used(own)
  assert.deepEqual(own.errors, [])
})

test('no timeout stays in a connection, and all writes have them', { skip, timeout: 60_000 }, async (t) => {
  const own = await node(`${url}?pooler=transaction`)
  t.after(own.close)
  const { json } = await own.call('POST', '/things', { name: 'timed' })
  for (let i = 0; i < 4; i++) assert.deepEqual(await sql(url, 'SHOW lock_timeout'), [{ lock_timeout: '0' }])
  const holder = new pg.Client((server as Cluster).url)
  await holder.connect()
  await holder.query(`BEGIN; SELECT 1 FROM things WHERE id = '${json.id}' FOR UPDATE`)
  const late = await own.call('PATCH', `/things/${json.id}`, { count: 1 })
  assert.deepEqual([late.status, late.json.type], [503, 'timeout'])
  await holder.end()
})

test('a cached list is not used after a crash that the connections survive', {
  skip,
  timeout: 60_000,
}, async (t) => {
  const own = await node(`${url}?pooler=transaction`)
  t.after(own.close)
  const idle = await node(`${url}?pooler=transaction`)
  t.after(idle.close)
  const rows = (await own.call('GET', '/things?page=1')).json.pagination.totalRecords
  await own.call('POST', '/things', { name: 'lasting' })
  await own.call('POST', '/things', { name: 'passing' })
  let tag = ''
  await repeated(server as Cluster, {
    know: async () => {
      tag = await known(own, rows + 2)
      await known(idle, rows + 2)
    },
    write: "DELETE FROM things WHERE doc LIKE '%passing%'",
  })
  for (const one of [own, idle]) {
    await untilWell(() => one.call('GET', '/things?page=2'))
    const { status, json } = await one.call('GET', '/things', undefined, { 'if-none-match': tag })
    assert.deepEqual([status, json?.data.length, json?.pagination.totalRecords], [200, rows + 1, rows + 1])
  }
})

test('R206, R213, R231: events reach the list, a stream, a webhook and a reaction of each of two nodes', {
  skip,
  timeout: 60_000,
}, async (t) => {
  const own = await followers(t)
  const [one, two] = [
    await followedNode(t, `${url}?pooler=transaction`, own),
    await followedNode(t, `${url}?pooler=transaction`, own),
  ]
  await one.send('POST', '/webhook-endpoints', { url: own.url, eventTypes: ['order.*'] })
  const streams = [await one.stream(), await two.stream()] as const
  const notes = Array.from({ length: 20 }, (_, n) => `note ${n}`)
  await Promise.all([one.create(...notes.slice(0, 10)), two.create(...notes.slice(10))])
  await allGot(notes, own.delivered, own.reacted, ...streams.map((stream) => stream.notes))
  assert.deepEqual((await two.list('')).notes.toSorted(), notes.toSorted())
  assert.equal((await one.send('GET', '/receipts?page=1')).pagination.totalRecords, 20)
})

test('R231: two nodes publish each event once, also while one waits for the broker', {
  skip,
  timeout: 60_000,
}, async (t) => {
  await sql((server as Cluster).url, 'CREATE DATABASE published')
  const database = `${url.replace(/\w+$/, 'published')}?pooler=transaction`
  const [entered, leaving] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const published: string[] = []
  const nodeWith = (reached: () => Promise<void>) => {
    const shop = publishingShop({
      publish: async (events) => {
        await reached()
        published.push(...events.map(({ body }) => JSON.parse(body).data.note))
      },
      close: async () => {},
    })
    const { call, pass, close } = testing(shop, { database })
    t.after(close)
    const create = (note: string) => call('/orders', { method: 'POST', as: { account: 'acc_1' }, json: { note } })
    return { create, pass, close }
  }
  const one = nodeWith(() => {
    entered.resolve()
    return leaving.promise
  })
  const other = nodeWith(async () => {})
  for (const note of ['a', 'b']) await one.create(note)
  const passed = one.pass('PT1S')
  await entered.promise
  await other.create('c')
  await other.pass('PT1S')
  assert.deepEqual(published, [], 'the first node has the lease')
  leaving.resolve()
  await passed
  await one.close()
  await other.pass('PT1S')
  assert.deepEqual(published, ['a', 'b', 'c'])
})
