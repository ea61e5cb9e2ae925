/** A write whose result is unknown: a retry with a key finds it; without a key the answer says that it is unknown. Part 4. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import bank from '../help/bank.ts'
import { type Cluster, cluster } from '../help/cluster.ts'
import { nodeOn } from '../help/places.ts'
import { connected } from '../help/postgres.ts'
import { until } from '../help/until.ts'
import { type Between, type Node, node, proxy } from './service-on-server.ts'

let server: Cluster
before(async () => {
  server = await cluster(['shared_buffers=16MB', 'deadlock_timeout=100ms'])
})
after(() => server.close())

const count = (name: string): number => Number(server.psql(`SELECT count(*) FROM things WHERE by_name = '${name}'`))
const keyed = (key: string) => ({ 'idempotency-key': key })
/** Waits until the server is idle, so that the last statement of a node has ended or was never received. */
const idle = () => until(() => backends(`state = 'active'`) === 0)
const lockIsAwaited = () => until(() => backends(`wait_event_type = 'Lock'`) > 0)
const backends = (which: string): number =>
  Number(
    server.psql(
      `SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND ${which}`,
    ),
  )
const unknown = /not known whether this was done/

/** A node behind a proxy that can cut the connection at the next message with a word. */
async function far(t: TestContext): Promise<Node & { cut: (word: string, how: 'cut before' | 'cut behind') => void }> {
  const between: Between = await proxy(t, server.port)
  const own = await node(server.url.replace(`:${server.port}/`, `:${between.port}/`))
  t.after(own.close)
  const cut = (word: string, how: 'cut before' | 'cut behind'): void => {
    between.judge = (bytes) => {
      if (!bytes.includes(word)) return 'pass'
      between.judge = () => 'pass'
      return how
    }
  }
  return { ...own, cut }
}

test('a keyed creation whose answer is lost is answered by its key', async (t) => {
  const { call, cut } = await far(t)
  cut('lost-answer', 'cut behind')
  const made = await call('POST', '/things', { name: 'lost-answer' }, keyed('key-1'))
  assert.equal(made.status, 201, JSON.stringify(made.json))
  assert.equal((await call('GET', `/things/${made.json.id}`)).json.name, 'lost-answer')
  const again = await call('POST', '/things', { name: 'lost-answer' }, keyed('key-1'))
  assert.deepEqual([again.status, again.json.old_id], [409, made.json.id])
  assert.equal(count('lost-answer'), 1)
})

test('a keyed creation that never arrived is not carried out later', async (t) => {
  const { call, cut } = await far(t)
  cut('never-arrived', 'cut before')
  const gone = await call('POST', '/things', { name: 'never-arrived' }, keyed('key-2'))
  assert.equal(gone.status, 503)
  assert.match(gone.json.message, unknown)
  assert.ok(Number(gone.retryAfter) > 0)
  await idle()
  assert.equal(count('never-arrived'), 0)
  assert.equal((await call('POST', '/things', { name: 'never-arrived' }, keyed('key-2'))).status, 201)
})

test('without a key the outcome is reported as unknown, and nothing is done twice', async (t) => {
  const { call, cut } = await far(t)
  for (const [name, how, made] of [
    ['unkeyed-behind', 'cut behind', 1],
    ['unkeyed-before', 'cut before', 0],
  ] as const) {
    cut(name, how)
    const { status, json } = await call('POST', '/things', { name })
    assert.equal(status, 503)
    assert.match(json.message, unknown)
    await idle()
    assert.equal(count(name), made)
  }
})

test('R226: of transfers that share a commit whose answer is lost, those with a key are found by it, the others are unknown', async (t) => {
  const between = await proxy(t, server.port)
  const own = nodeOn({ url: server.url.replace(`:${server.port}/`, `:${between.port}/`) }, bank)
  t.after(own.close)
  const call = own.ask
  const ids: string[] = []
  for (let i = 0; i < 2; i++) ids.push((await call('POST', '/accounts', { balance: 100_000 })).json.id)
  let [cuts, moved] = [0, 0]
  /** Sends transfers until an answer was lost: on a busy machine each of them may have a transaction of its own. */
  const transfers = async (headers: (i: number) => Record<string, string>) => {
    const body = { from: ids[0], to: ids[1], amount: 1 }
    cuts = 0
    for (let tries = 0; ; tries++) {
      const all = Array.from({ length: 30 }, (_, i) => call('POST', '/transfers', body, headers(moved + i)))
      const answers = await Promise.all(all)
      moved += answers.length
      if (cuts > 0) return answers
      assert.ok(tries < 50, 'no two transfers shared a commit')
    }
  }
  /** The changes of accounts in the transaction that is open on a connection; each transfer has two. */
  const changes = new WeakMap<object, number>()
  between.loses = (bytes, connection) => {
    const text = bytes.toString('latin1')
    const before = text.includes('BEGIN') ? 0 : (changes.get(connection) ?? 0)
    const all = before + text.split('UPDATE 1').length - 1
    changes.set(connection, all)
    const lost = cuts === 0 && all > 2 && text.includes('COMMIT') // of at least two transfers
    if (lost) cuts++
    return lost
  }
  const unsure = (await transfers(() => ({}))).filter(({ status }) => status !== 201)
  assert.ok(unsure.length > 1, `${unsure.length} answers are unknown`)
  for (const { status, json } of unsure) {
    assert.equal(status, 503)
    assert.match(json.message, unknown)
  }
  const found = await transfers((i) => keyed(`transfer-${i}`))
  assert.deepEqual(new Set(found.map(({ status }) => status)), new Set([201]))
  await idle()
  const [from, to] = await Promise.all(ids.map(async (id) => (await call('GET', `/accounts/${id}`)).json.balance))
  assert.deepEqual([from, to], [100_000 - moved, 100_000 + moved])
  assert.equal(Number(server.psql('SELECT count(*) FROM transfers')), 60)
})

test('a change and a deletion whose answers are lost are not repeated', async (t) => {
  const { call, cut } = await far(t)
  const { json } = await call('POST', '/things', { name: 'to be changed' })
  cut('changed-once', 'cut behind')
  const changed = await call('PATCH', `/things/${json.id}`, { name: 'changed-once' })
  assert.equal(changed.status, 503)
  assert.match(changed.json.message, unknown)
  await idle()
  assert.equal((await call('GET', `/things/${json.id}`)).json.name, 'changed-once')
  cut('INSERT INTO bylaw_tombstones', 'cut behind')
  const removed = await call('DELETE', `/things/${json.id}`)
  assert.equal(removed.status, 503)
  assert.match(removed.json.message, unknown)
  await idle()
  assert.equal((await call('GET', `/things/${json.id}`)).status, 410)
})

test('a read is retried', async (t) => {
  const { call, cut } = await far(t)
  const { json } = await call('POST', '/things', { name: 'to be read' })
  cut(json.id, 'cut behind')
  assert.equal((await call('GET', `/things/${json.id}`)).status, 200)
})

test('a commit on one machine alone counts as unknown', async (t) => {
  const own = await node(server.url)
  t.after(own.close)
  const { json } = await own.call('POST', '/things', { name: 'on all machines' })
  server.psql(`ALTER SYSTEM SET synchronous_standby_names = 'nobody'`)
  server.psql('SELECT pg_reload_conf()')
  // A new process has the setting once all older ones have been signalled.
  await until(() => server.psql('SHOW synchronous_standby_names') === 'nobody')
  await pause(200)
  const waits = own.call('POST', '/things', { name: 'on one machine' }, keyed('key-3'))
  const waiting = `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
  await until(() => Number(server.psql(waiting)) > 0)
  const reported = await waits
  server.psql('ALTER SYSTEM RESET synchronous_standby_names')
  server.psql('SELECT pg_reload_conf()')
  assert.equal(reported.status, 503)
  assert.match(reported.json.message, unknown)
  assert.equal((await own.call('GET', `/things/${json.id}`)).status, 200)
})

/** Makes attempts of a write fail with a code until the given one. */
function failing(code: string, until: number): void {
  server.psql(`
    DROP SEQUENCE IF EXISTS tries; CREATE SEQUENCE tries;
    CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('tries') < ${until} THEN RAISE EXCEPTION 'not now' USING ERRCODE = '${code}'; END IF;
      RETURN NEW;
    END $$;
    CREATE OR REPLACE TRIGGER fail BEFORE INSERT OR UPDATE ON things FOR EACH ROW EXECUTE FUNCTION fail()`)
}
const triesSoFar = (): number => Number(server.psql('SELECT last_value FROM tries'))

test('serialization failures and deadlocks are retried as a whole, with a limit', async (t) => {
  const own = await node(server.url)
  t.after(own.close)
  t.after(() => server.psql('DROP TRIGGER IF EXISTS fail ON things'))
  for (const code of ['40001', '40P01']) {
    failing(code, 4)
    const made = await own.call('POST', '/things', { name: `again ${code}` }, keyed(code))
    assert.equal(made.status, 201)
    assert.equal(triesSoFar(), 4)
    failing(code, 3)
    assert.equal((await own.call('PATCH', `/things/${made.json.id}`, { count: 1 })).status, 200)
    failing(code, 1000)
    const refused = await own.call('POST', '/things', { name: `never ${code}` })
    assert.deepEqual([refused.status, refused.json.type, triesSoFar()], [503, 'overloaded', 5])
    assert.ok(Number(refused.retryAfter) > 0)
  }
  failing('53100', 1000)
  const full = await own.call('POST', '/things', { name: 'no room' })
  assert.deepEqual([full.status, full.json.type, triesSoFar()], [503, 'dependency-unavailable', 1])
})

/** Another session with an open transaction until `end`. */
async function session(t: TestContext, text: string): Promise<{ readonly end: () => Promise<void> }> {
  const other = await connected(t, server.url)
  await other.query(`BEGIN; ${text}`)
  return { end: () => other.end() }
}

test('locks of others are waited for, with a limit', { timeout: 180_000 }, async (t) => {
  const own = await node(server.url)
  t.after(own.close)
  const { json } = await own.call('POST', '/things', { name: 'held' })
  const holder = await session(t, `SELECT 1 FROM things WHERE id = '${json.id}' FOR UPDATE`)
  const short = own.call('PATCH', `/things/${json.id}`, { count: 7 })
  await lockIsAwaited()
  await holder.end()
  assert.equal((await short).status, 200)
  const longer = await session(t, `SELECT 1 FROM things WHERE id = '${json.id}' FOR UPDATE`)
  const [late, read] = await Promise.all([
    own.call('PATCH', `/things/${json.id}`, { count: 8 }),
    own.call('GET', `/things/${json.id}`),
  ])
  await longer.end()
  assert.deepEqual([late.status, late.json.type, read.status], [503, 'timeout', 200])
})

test('a key that another node is still using is reported as in progress', { timeout: 180_000 }, async (t) => {
  const own = await node(server.url)
  t.after(own.close)
  await own.call('POST', '/things', { name: 'first with the key' }, keyed('busy'))
  const hash = server.psql('SELECT hash FROM bylaw_keys ORDER BY time DESC LIMIT 1')
  server.psql(`DELETE FROM bylaw_keys WHERE hash = '${hash}'`)
  const other = await session(
    t,
    `INSERT INTO bylaw_keys (hash, collection, id, fingerprint, time) VALUES ('${hash}', 'things', 'x', '', 0)`,
  )
  const busy = await own.call('POST', '/things', { name: 'second with the key' }, keyed('busy'))
  assert.deepEqual([busy.status, busy.json.type, busy.json.old_id], [409, 'idempotency-in-progress', undefined])
  const waits = own.call('POST', '/things', { name: 'second with the key' }, keyed('busy'))
  await lockIsAwaited()
  await other.end()
  assert.equal((await waits).status, 201)
})
