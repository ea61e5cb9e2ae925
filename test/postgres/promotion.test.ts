/** The primary is lost and its synchronous standby promoted, under load: acknowledged writes are kept, and requests succeed again. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { databaseStateQuery } from '../../src/postgres/database-state.ts'
import { cluster } from '../help/cluster.ts'
import { sql } from '../help/postgres.ts'
import { without } from '../help/programs.ts'
import { until } from '../help/until.ts'

const api = service({
  name: 'shop',
  resources: { orders: { prefix: 'ord', fields: { name: f.text() }, access: 'public' } },
})

test('a standby takes over', { skip: without('pg_basebackup'), timeout: 180_000 }, async (t) => {
  const quick = ['fsync=off', 'max_connections=50', 'shared_buffers=16MB', 'log_min_messages=fatal', 'jit=off']
  const primary = await cluster(quick)
  t.after(primary.close)
  const standby = await cluster(quick, primary)
  t.after(standby.close)
  primary.psql(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
  primary.psql('SELECT pg_reload_conf()')
  await until(() => primary.psql('SELECT sync_state FROM pg_stat_replication') === 'sync')

  assert.equal(standby.psql(databaseStateQuery.text), '', 'a standby does not tell which transactions are open')
  const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`
  const { call, close } = testing(api, {
    database: `postgres://bylaw@${hosts}/postgres?target_session_attrs=read-write`,
  })
  t.after(close)
  const known = new Map<string, string>()
  const odd: string[] = []
  let going = true
  let refused = 0
  const client = async (n: number): Promise<void> => {
    for (let i = 0; going; i++) {
      const name = `${n}-${i}`
      const headers = { 'idempotency-key': `"${randomUUID()}"` }
      for (;;) {
        const answer = await call('/orders', { method: 'POST', json: { name }, headers })
        const json = (await answer.json()) as { id: string; old_id: string; message: string }
        if (answer.status === 201) known.set(json.id, name)
        else if (answer.status === 409 && json.old_id) known.set(json.old_id, name)
        else if (answer.status === 503 || (answer.status === 409 && !json.old_id)) {
          refused++
          await pause(50)
          continue
        } else odd.push(`${answer.status} ${json.message}`)
        break
      }
    }
  }
  const load = Promise.all([1, 2, 3, 4].map(client))
  await until(() => known.size >= 8)
  await primary.stop('kill')
  await until(() => refused > 0)
  standby.psql('SELECT pg_promote()')
  const promoted = performance.now()
  const before = known.size
  while (known.size === before && performance.now() - promoted < 20_000) await pause(20)
  const took = Math.round(performance.now() - promoted)
  const goingOn = known.size + 8
  await until(() => known.size >= goingOn)
  going = false
  await load
  assert.deepEqual(odd, [])
  assert.ok(known.size > before, 'clients went on')
  const rows = await sql(standby.url, `SELECT id, doc::json->>'name' AS name FROM orders`)
  assert.deepEqual(new Map(rows.map(({ id, name }) => [id, name])), known)
  const keys = await sql(standby.url, 'SELECT count(*)::int AS count, count(DISTINCT id)::int AS ids FROM bylaw_keys')
  assert.deepEqual(keys, [{ count: known.size, ids: known.size }])
  t.diagnostic(`${known.size} orders, ${refused} refusals meanwhile, ${took} ms from the promotion to the next answer`)
})
