/** Behind PgBouncer in transaction mode, connections keep no state, and the contract holds. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { type Cluster, cluster, owner } from '../help/cluster.ts'
import { folder as files, notes, post, run, served } from '../help/command.ts'
import { type Compose, composeOf, deployText, instruction } from '../help/deployment.ts'
import { freePort } from '../help/free-port.ts'
import { metricValue, readOpenMetrics } from '../help/open-metrics.ts'
import { nodeOn } from '../help/places.ts'
import { connected, sql } from '../help/postgres.ts'
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
  server = await cluster(['shared_buffers=16MB', 'autovacuum=off']) // its transactions would change the state of the server
  ;({ bouncer, url } = await started(server.port))
})
after(async () => {
  bouncer?.kill('SIGTERM')
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs PgBouncer with a configuration in the folder; the user that runs it must be able to read its files. */
function bounced(file: string, ...others: readonly string[]): ChildProcess {
  const as = owner()
  if (as) for (const path of [folder, file, ...others]) chownSync(path, as.uid, as.gid)
  const child = spawn(pathOf('pgbouncer') as string, [file], { ...as, cwd: folder, stdio: 'ignore' })
  child.unref()
  process.once('exit', () => child.kill())
  return child
}

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
  const bouncer = bounced(file)
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

test('the contract holds if connections are shared between transactions', { skip, timeout: 180_000 }, async (t) => {
  const own = await node(`${url}?pooler=transaction`)
  t.after(own.close)
  await used(own)
  assert.deepEqual(own.errors, [])
})

test('no timeout stays in a connection, and all writes have them', { skip, timeout: 180_000 }, async (t) => {
  const own = await node(`${url}?pooler=transaction`)
  t.after(own.close)
  const { json } = await own.call('POST', '/things', { name: 'timed' })
  for (let i = 0; i < 4; i++) assert.deepEqual(await sql(url, 'SHOW lock_timeout'), [{ lock_timeout: '0' }])
  const holder = await connected(t, (server as Cluster).url)
  await holder.query(`BEGIN; SELECT 1 FROM things WHERE id = '${json.id}' FOR UPDATE`)
  const late = await own.call('PATCH', `/things/${json.id}`, { count: 1 })
  assert.deepEqual([late.status, late.json.type], [503, 'timeout'])
})

test('a cached list is not used after a crash that the connections survive', {
  skip,
  timeout: 180_000,
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

test('R237: each change and its revision are committed together', { skip, timeout: 180_000 }, async (t) => {
  const diary = service({
    name: 'diary',
    resources: { notes: { prefix: 'not', fields: { text: f.text() }, access: 'public', history: { read: 'public' } } },
  })
  await sql(url, 'CREATE DATABASE diary')
  const { ask, close } = nodeOn({ url: `${url.replace(/\w+$/, 'diary')}?pooler=transaction` }, diary as Service)
  t.after(close)
  const all = await Promise.all(['a', 'b', 'c', 'd'].map((text) => ask('POST', '/notes', { text })))
  const made = all.map(({ json }) => json)
  for (const text of ['x', 'y']) await Promise.all(made.map(({ id }) => ask('PATCH', `/notes/${id}`, { text })))
  for (const { id, text } of made) {
    const { data } = (await ask('GET', `/notes/${id}/revisions`)).json
    const told = data.map(({ id: number, changes }: { id: string; changes: { text: string } }) => [
      number,
      changes.text,
    ])
    assert.deepEqual(told, [
      ['3', 'y'],
      ['2', 'x'],
      ['1', text],
    ])
  }
})

test('R206, R213, R231: events reach the list, a stream, a webhook and a reaction of each of two nodes', {
  skip,
  timeout: 180_000,
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
  timeout: 180_000,
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

test('examples/deploy: the parts of compose.yaml work together', { skip, timeout: 300_000 }, async (t) => {
  const variables = { POSTGRES_PASSWORD: 'a-password', BYLAW_PEPPER: 'p'.repeat(40), BYLAW_SECRET: 's'.repeat(40) }
  const { services, configs } = composeOf(variables)
  const { port } = server as Cluster
  const { POSTGRES_USER: user, POSTGRES_DB: name } = services.db?.environment ?? {}
  await sql((server as Cluster).url, `CREATE ROLE ${user} LOGIN PASSWORD '${variables.POSTGRES_PASSWORD}'`)
  await sql((server as Cluster).url, `CREATE DATABASE ${name} OWNER ${user}`)

  // The addresses of the containers become local ones.
  const [bouncerPort, metricsPort] = [await freePort(), await freePort()]
  const [file, list] = [join(folder, 'deployed.ini'), join(folder, 'userlist.txt')]
  writeFileSync(list, configs.userlist?.content ?? '')
  const ini = deployText('pgbouncer.ini')
    .replace('host=db port=5432', `host=127.0.0.1 port=${port}`)
    .replace('listen_addr = 0.0.0.0', 'listen_addr = 127.0.0.1')
    .replace('listen_port = 6432', `listen_port = ${bouncerPort}`)
    .replace('/etc/pgbouncer/userlist.txt', list)
  writeFileSync(file, `${ini}unix_socket_dir =\nlogfile = ${join(folder, 'deployed.log')}\n`)
  const child = bounced(file, list)
  t.after(() => child.kill('SIGTERM'))
  const local = (own: Compose['services'][string] | undefined): Record<string, string> => ({
    NODE_ENV: 'production',
    ...Object.fromEntries(Object.entries(own?.environment ?? {}).map(([key, value]) => [key, String(value)])),
    DATABASE_URL: String(own?.environment?.DATABASE_URL)
      .replace('@db:5432', `@127.0.0.1:${port}`)
      .replace('@pgbouncer:6432', `@127.0.0.1:${bouncerPort}`),
  })
  const cwd = files({ 'handlers.ts': notes })
  const [, words = ''] = /bylaw (.*) \|\|/.exec(services.migrate?.command?.[2] ?? '') ?? []
  const migrated = await run(words.split(' '), { cwd, env: local(services.migrate) })
  assert.equal(migrated.code, 0, migrated.stderr)
  const { DATABASE_URL = '' } = local(services.api)
  await assert.rejects(sql(DATABASE_URL.replace('a-password', 'another'), 'SELECT 1'), /auth|password/i)

  const env = { ...local(services.api), METRICS_PORT: String(metricsPort) }
  const { url: base, stop } = await served(instruction('CMD').words.slice(2, 3), { cwd, env })
  const code = instruction('HEALTHCHECK').words[2]?.replace('http://127.0.0.1:3000', base) ?? ''
  execFileSync(process.execPath, ['-e', code])
  const made = await Promise.all(Array.from({ length: 40 }, (_, n) => post(`${base}/notes`, { text: `note ${n}` })))
  assert.deepEqual(new Set(made.map(({ status }) => status)), new Set([201]))
  const metrics = readOpenMetrics(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text())
  assert.equal(metricValue(metrics, 'bylaw_request_duration_seconds_count', { method: 'POST', status: '2xx' }), 40)
  assert.ok(metricValue(metrics, 'bylaw_store_connections_limit', { use: 'exclusive' }) > 0)
  assert.equal(await stop(), 0)
})
