/** Proves that a whole service runs by a World of the test's own: hours pass in no time, and services do not share one. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { callerGate } from '../../src/corridor/server-context.ts'
import type { Store } from '../../src/flow/store.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { openStore } from '../../src/terminal/open.ts'
import { flushUsageEvery, readVersionUses } from '../../src/versions/usage.ts'
import { freshPostgres, sql } from '../help/postgres.ts'
import { type TestWorld, testWorld } from '../help/world.ts'

const hour = 3_600_000
const notes = service({
  name: 'notes',
  versions: { v1: { released: '2025-01-01' } },
  settings: { idempotency: { retention: 'PT1H' }, list: { cursor: { ttl: 'PT1H' } } },
  tiers: { anonymous: { hourly: 20 } },
  resources: { notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' } },
} as Parameters<typeof service>[0]) as unknown as Service

interface Database {
  readonly url: string
  /** Moves the clock of the database server. */
  readonly set: (time: number) => Promise<unknown>
  readonly drop: () => Promise<void>
}

/** Its function comes before that of the server in the search path, so that the database has the time of the test too. */
async function onServer(): Promise<Database> {
  const { url, drop } = await freshPostgres()
  const [, schema] = /search_path(?:=|%3D)(\w+)/.exec(url) ?? []
  const clock = `RETURNS timestamptz LANGUAGE sql AS 'SELECT to_timestamp(time / 1000.0) FROM ${schema}.world'`
  await sql(url, `CREATE TABLE world (time bigint); INSERT INTO world VALUES (0)`)
  await sql(url, `CREATE FUNCTION ${schema}.clock_timestamp() ${clock}`)
  return {
    url: url.replace(/(search_path(?:=|%3D)\w+)/, '$1,pg_catalog'),
    set: (time) => sql(url, `UPDATE world SET time = ${time}`),
    drop,
  }
}

const databases: Readonly<Record<string, () => Promise<Database>>> = {
  SQLite: async () => ({ url: 'sqlite::memory:', set: async () => {}, drop: async () => {} }),
  PostgreSQL: onServer,
}

interface Running {
  readonly world: TestWorld
  readonly store: Store
  readonly call: (method: string, path: string, key?: string) => Promise<Response>
  /** Lets time pass for the service and its database. */
  readonly pass: (time: number) => Promise<void>
}

/** A service in a world of its own; `change` puts another store in the place of its own. */
async function running(
  t: TestContext,
  open: () => Promise<Database>,
  seed: string,
  change = (store: Store) => store,
): Promise<Running> {
  const world = testWorld(seed)
  const { url, set, drop } = await open()
  await set(world.now())
  const store = change(await openStore(notes, url, 'apply', {}, world))
  store.attend()
  const own = serviceWorld(world, store)
  const stop = flushUsageEvery({ store, world: own }, 5000)
  t.after(() => stop().then(store.close).then(drop))
  const log = { error: (about: object) => assert.fail(JSON.stringify(about)), warn: () => {}, info: () => {} }
  const door = fetchDoor({
    service: notes,
    store,
    world: own,
    authenticate: callerGate(notes, store, own),
    log,
    open: () => true,
  })
  const call: Running['call'] = (method, path, key) => {
    const headers = { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) }
    return door(
      new Request(`http://localhost/v1${path}`, {
        method,
        headers,
        ...(method === 'POST' && { body: '{"text":"a"}' }),
      }),
    )
  }
  const pass = async (time: number): Promise<void> => {
    await set(world.now() + time)
    world.leap(time)
    await until(() => Math.abs(store.clock.now() - world.now()) < 1000) // its clock follows that of the database
  }
  return { world, store, call, pass }
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let turns = 0; !(await isTrue()); turns++) {
    assert.ok(turns < 100_000, 'it becomes true')
    await new Promise(setImmediate)
  }
}

const statusesOf = (answers: readonly Response[]) => answers.map(({ status }) => status)

for (const [kind, open] of Object.entries(databases))
  describe(`a World of the test's own, on ${kind}`, () => {
    test('keys, cursors and quotas expire when its clock says so', async (t) => {
      const { call, pass } = await running(t, open, 'one')
      const use = () => call('POST', '/notes', 'key')
      assert.deepEqual([(await use()).status, (await use()).status], [201, 409])
      await call('POST', '/notes', 'other')
      const { pagination } = (await (await call('GET', '/notes?limit=1&cursor=')).json()) as {
        pagination: { nextCursor: string }
      }
      const next = `/notes?limit=1&cursor=${pagination.nextCursor}`
      assert.equal((await call('GET', next)).status, 200)
      for (let left = 15; left > 0; left--) await call('GET', '/notes')
      const refused = await call('GET', '/notes')
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '3600'])
      await pass(hour / 2)
      assert.equal((await call('GET', '/notes')).headers.get('retry-after'), '1800')
      await pass(hour / 2)
      const again = await use()
      assert.deepEqual([again.status, again.headers.get('date')], [201, 'Thu, 01 Jan 2026 01:00:00 GMT'])
      const { createdAt } = (await again.json()) as { createdAt: string }
      assert.equal(createdAt, '2026-01-01T01:00:00.000Z')
      await pass(hour / 4)
      assert.deepEqual(statusesOf([await use(), await call('GET', next)]), [409, 400])
      await pass(24 * hour)
      assert.equal((await use()).status, 201)
    })

    test('a request that waits for another one with its key is refused when its time is over', async (t) => {
      const held = Promise.withResolvers<void>()
      t.after(() => held.resolve())
      let [begun, ended] = [0, 0]
      let isHeld = false
      const holding = (store: Store): Store => ({
        ...store,
        execute: async (plan) => {
          begun++
          if (plan.do === 'create') {
            isHeld = true
            await held.promise
          }
          return Promise.resolve(store.execute(plan)).finally(() => ended++)
        },
      })
      const { world, store, call } = await running(t, open, 'two', holding)
      const first = call('POST', '/notes', 'key')
      await until(() => isHeld)
      const counted = begun
      const second = call('POST', '/notes', 'key')
      await until(() => begun > counted && begun - ended === 1) // time must not move while its quota is counted
      let refused: Response | undefined
      void second.then((answer) => {
        refused = answer
      })
      const { wait } = notes.settings.idempotency
      await until(async () => {
        if (world.monotonic() < wait - 1000) assert.equal(refused, undefined)
        await store.ready() // so long as a round trip takes
        await world.pass(1000)
        return refused !== undefined
      })
      assert.deepEqual([refused?.status, refused?.headers.get('retry-after')], [409, '1'])
      held.resolve()
      assert.equal((await first).status, 201)
    })

    test('its timers run its background work', async (t) => {
      const { store, call, pass } = await running(t, open, 'three')
      await call('GET', '/notes')
      const uses = async () => (await readVersionUses(store)).length
      assert.equal(await uses(), 0)
      await pass(5000)
      await until(async () => (await uses()) === 1)
    })

    test('two services in one process do not share a World', async (t) => {
      const [one, other] = [await running(t, open, 'four'), await running(t, open, 'five')]
      const both = (key: string) => Promise.all([one.call('POST', '/notes', key), other.call('POST', '/notes', key)])
      const [a, b] = (await Promise.all((await both('key')).map((answer) => answer.json()))) as { id: string }[]
      assert.notEqual(a?.id, b?.id)
      await one.pass(2 * hour)
      assert.deepEqual(statusesOf(await both('key')), [201, 409])
      await other.pass(2 * hour)
      assert.deepEqual(statusesOf(await both('key')), [409, 201])
      assert.deepEqual([one.world.now(), other.world.now()], [one.store.clock.now(), other.store.clock.now()])
    })
  })

test('the same World gives the same answers, identifiers included', async (t) => {
  const answers = []
  for (let run = 0; run < 2; run++) {
    const { call, pass } = await running(t, databases.SQLite as () => Promise<Database>, 'same')
    const made = await call('POST', '/notes', 'key')
    await pass(hour)
    const list = await call('GET', '/notes?limit=1&cursor=')
    answers.push([await made.text(), [...made.headers], await list.text(), [...list.headers]])
  }
  assert.deepEqual(answers[0], answers[1])
})
