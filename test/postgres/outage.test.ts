/** The server stops in every way: requests meanwhile get a 503, no acknowledged write is lost, and the service recovers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../help/until.ts'
import { type AnswerSeen, type ServiceOnServer, serviceOnServer, untilWell } from './service-on-server.ts'

let rounds = 0

/** Reads and writes continuously; returns the acknowledged writes and all statuses. */
function busy({ call }: ServiceOnServer): {
  /** Waits until the clients have made as many more items as there are clients. */
  readonly goesOn: () => Promise<void>
  readonly end: () => Promise<{ made: Map<string, string>; statuses: Set<number> }>
} {
  const made = new Map<string, string>()
  const statuses = new Set<number>()
  let going = true
  const round = ++rounds
  const refused: AnswerSeen[] = []
  const client = async (n: number): Promise<void> => {
    for (let i = 0; going; i++) {
      const name = `${round}-${n}-${i}`
      const answer = await call('POST', '/things', { name }, { 'idempotency-key': `key-${name}` })
      statuses.add(answer.status)
      if (answer.status === 201) made.set(answer.json.id, name)
      else refused.push(answer)
      const read = await call('GET', `/things/${[...made.keys()].at(-1) ?? 'thg_00000000000000000000000000'}`)
      statuses.add(read.status)
      if (read.status >= 500) refused.push(read)
    }
  }
  const clients = Array.from({ length: 4 }, (_, n) => client(n))
  return {
    goesOn: () => {
      const enough = made.size + clients.length
      return until(() => made.size >= enough)
    },
    end: async () => {
      going = false
      await Promise.all(clients)
      for (const { status, retryAfter, json } of refused) {
        assert.equal(status, 503, JSON.stringify(json))
        assert.ok(Number(retryAfter) > 0, 'Retry-After')
      }
      return { made, statuses }
    },
  }
}

async function survives(own: ServiceOnServer, fall: () => Promise<void>): Promise<void> {
  const work = busy(own)
  await work.goesOn()
  await fall()
  assert.ok((await untilWell(() => own.call('GET', '/things?limit=1'))) < 5000, 'it is back by itself')
  await untilWell(() => own.call('POST', '/things', { name: `after ${performance.now()}` }))
  await work.goesOn()
  const { made } = await work.end()
  assert.ok(made.size > 0)
  for (const [id, name] of made) assert.equal((await own.call('GET', `/things/${id}`)).json.name, name)
}

test('a server that is stopped, killed or ended at once is waited for', { timeout: 300_000 }, async (t) => {
  const own = await serviceOnServer(t)
  for (const how of ['fast', 'immediate', 'kill'] as const) {
    await survives(own, async () => {
      await own.server.stop(how)
      const gone = await own.call('POST', '/things', { name: 'nobody' })
      assert.equal(gone.status, 503)
      assert.equal(gone.json.type, 'dependency-unavailable')
      assert.equal((await own.call('GET', '/readyz')).status, 503)
      assert.equal((await own.call('GET', '/healthz')).status, 200)
      await pause(300) // requests arrive during the outage
      await own.server.start()
    })
  }
})

test('a connection that the server ends is replaced without a failure', { timeout: 300_000 }, async (t) => {
  const own = await serviceOnServer(t)
  await own.call('POST', '/things', { name: 'first' })
  const end = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`
  for (let i = 0; i < 5; i++) {
    assert.ok(Number(own.server.psql(end)) > 0)
    assert.equal((await own.call('GET', '/things?limit=1')).status, 200)
    assert.equal((await own.call('POST', '/things', { name: `next ${i}` })).status, 201)
  }
  await survives(own, async () => {
    for (let i = 0; i < 10; i++) {
      own.server.psql(end)
      await pause(20) // so that requests are running when the next connection ends
    }
  })
  assert.deepEqual(await errorsBut503(own), [])
})

async function errorsBut503({ errors }: ServiceOnServer): Promise<object[]> {
  return errors.filter((about) => !/dependency-unavailable|unavailable/.test(JSON.stringify(about)))
}
