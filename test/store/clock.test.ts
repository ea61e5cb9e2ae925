/** Proves that nothing expires, reappears or goes back in time because the clock of a machine is changed. R106, R134. */

import assert from 'node:assert/strict'
import { afterEach, describe, mock, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { listKeys, revokeKeys } from '../../src/auth/key-table.ts'
import { callerGate } from '../../src/corridor/server-context.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { openStore } from '../../src/terminal/open.ts'
import { keyFor } from '../help/door.ts'
import { freshFile } from '../help/file.ts'
import { freshPostgres } from '../help/postgres.ts'
import { until } from '../help/until.ts'

const hour = 3_600_000
const api = service({
  name: 'clocks',
  settings: {
    idempotency: { retention: 'PT1H' },
    deleted: { retention: 'PT1H' },
    list: { cursor: { ttl: 'PT1H' } },
  },
  resources: {
    things: { prefix: 'thg', fields: { name: f.text({ sort: true }) }, access: 'public' },
    secrets: { prefix: 'sec', fields: { name: f.text() }, access: 'authenticated' },
  },
} as Parameters<typeof service>[0]) as Service

/** Moves the clock of the machine. */
function setBy(milliseconds: number): void {
  mock.restoreAll()
  const { now } = Date
  mock.method(Date, 'now', () => now() + milliseconds)
}

afterEach(() => mock.restoreAll())

type Tested = ReturnType<typeof testing>

const created = (own: Tested, key: string) =>
  own.call('/things', { method: 'POST', json: { name: 'thing' }, headers: { 'idempotency-key': key } })

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
const json = async (answer: Response | Promise<Response>): Promise<any> => (await answer).json()

/** Makes data that is kept for an hour: a used key, a tombstone, and a cursor. */
async function keeping(own: Tested, name: string): Promise<{ lasts: () => Promise<void>; time: string; own: Tested }> {
  const { id, createdAt } = await json(created(own, name))
  const gone = (await json(created(own, `${name}-deleted`))).id
  assert.equal((await own.call(`/things/${gone}`, { method: 'DELETE' })).status, 204)
  await json(created(own, `${name}-last`))
  const { pagination } = await json(own.call('/things?limit=1&cursor='))
  const state = { own, time: createdAt as string, lasts: async () => {} }
  state.lasts = async () => {
    const again = await created(state.own, name)
    assert.deepEqual([again.status, (await json(again)).old_id], [409, id])
    assert.equal((await state.own.call(`/things/${gone}`)).status, 410)
    assert.equal((await state.own.call(`/things?limit=1&cursor=${pagination.nextCursor}`)).status, 200)
    const { createdAt } = await json(created(state.own, `${name}-${Math.random()}`))
    assert.ok(createdAt >= state.time, `${createdAt} is before ${state.time}`)
    state.time = createdAt
  }
  return state
}

for (const kind of ['SQLite', 'PostgreSQL'] as const)
  describe(`the clock of a machine that is set, on ${kind}`, () => {
    const place = async (t: { after: (act: () => unknown) => void }): Promise<string> => {
      if (kind === 'SQLite') return `sqlite:${freshFile(t as never)}`
      const { url, drop } = await freshPostgres()
      t.after(drop)
      return url
    }

    test('expires nothing and does not go back while a process runs', async (t) => {
      const own = testing(api, { database: await place(t) })
      t.after(own.close)
      const kept = await keeping(own, 'running')
      for (const by of [2 * hour, -2 * hour, 24 * hour]) {
        setBy(by)
        await kept.lasts()
      }
    })

    test('expires nothing and does not go back over a restart', async (t) => {
      const database = await place(t)
      const first = testing(api, { database })
      const kept = await keeping(first, 'started')
      await first.close()
      for (const by of [2 * hour, -2 * hour, 0, 5 * hour, 0]) {
        setBy(by)
        kept.own = testing(api, { database })
        await kept.lasts()
        await kept.own.close()
      }
    })

    test('keeps a revoked key revoked, and a valid one valid', async (t) => {
      const database = await place(t)
      const store = await openStore(api, database, 'apply')
      t.after(store.close)
      const now = Date.now()
      const [ended, lasting] = [
        await keyFor(store, 'ended', {}, now),
        await keyFor(store, 'lasting', {}, now, now + hour),
      ]
      let own = testing(api, { database })
      const statuses = () =>
        Promise.all([ended, lasting].map(async (headers) => (await own.call('/secrets', { headers })).status))
      assert.deepEqual(await statuses(), [200, 200])
      const keys = await listKeys(store, 'ended')
      await revokeKeys(
        store,
        keys.map(({ id }) => id),
        now,
      )
      for (const by of [-2 * hour, 2 * hour]) {
        setBy(by)
        await until(async () => (await statuses())[0] !== 200)
        assert.deepEqual(await statuses(), [401, 200])
        await own.close()
        own = testing(api, { database })
        assert.deepEqual(await statuses(), [401, 200])
      }
      await own.close()
    })
  })

test('a clock that is far ahead at start neither ends nor begins a version', async (t) => {
  const database = `sqlite:${freshFile(t)}`
  const own = versioned(Date.now())
  const first = await started(own, database)
  await first.close()
  setBy(5 * hour)
  const second = await started(own, database)
  t.after(second.close)
  const status = async (path: string) => (await second.ask(path)).status
  assert.deepEqual([await status('/v1/things'), await status('/v2/things')], [200, 200])
  assert.equal(await status('/v3/things'), 404, 'it is released in three hours')
  assert.match(await (await second.ask('/.well-known/api-catalog')).text(), /v1/)
  assert.equal(await status('/openapi/v3.json'), 404)
})

/** A service whose first version ends in three hours, when the third one begins. */
function versioned(now: number): Service {
  const soon = new Date(now + 3 * hour).toISOString()
  const declared = {
    name: 'clocks',
    versions: {
      v1: { released: '2020-01-01', deprecated: '2021-01-01', sunset: soon, guide: 'https://docs.example.com/v2' },
      v2: { released: '2021-01-01' },
      v3: { released: soon },
    },
    settings: { versions: { enforceSunset: true, default: 'v2' } },
    resources: { things: { prefix: 'thg', fields: { name: f.text() }, access: 'public' } },
  }
  return service(declared as unknown as Parameters<typeof service>[0]) as unknown as Service
}

/** Starts a service like `serve`: versions are not served before their release. */
async function started(own: Service, database: string) {
  const store = await openStore(own, database, 'apply')
  const world = serviceWorld(realWorld, store)
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const context = { service: own, store, world, authenticate: callerGate(own, store, world), log, open: () => true }
  const door = fetchDoor(context)
  return { ask: (path: string) => door(new Request(`http://localhost${path}`)), close: store.close }
}
