/** Statuses of asynchronous operations: for whom they exist, and waiting for their end. R28, R228. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from '../../src/index.ts'
import { testing } from '../../src/testing.ts'
import { payingNode } from '../help/job-node.ts'
import { places } from '../help/places.ts'

const mixed = service({
  name: 'mixed',
  resources: {
    files: {
      prefix: 'fil',
      owner: 'accountId',
      fields: {},
      access: 'authenticated',
      operations: { scans: { at: 'collection', output: { files: f.integer() }, asynchronous: true } },
    },
    pages: {
      prefix: 'pag',
      fields: {},
      access: 'public',
      operations: { checks: { at: 'collection', output: { ok: f.boolean() }, asynchronous: true } },
      schedules: { nightly: { cron: '0 2 * * *', run: 'checks' } },
    },
  },
}).handlers({
  files: { scans: async ({ list }) => ({ files: (await list('files')).length }) },
  pages: { checks: () => ({ ok: true }) },
})

const north = { as: { account: 'north' } }
const colleague = { as: { account: 'north', id: 'other' } }
const south = { as: { account: 'south' } }
const lone = { as: { id: 'lone' } }
const nobody = {}

for (const [name, place] of places)
  describe(`statuses on ${name}`, () => {
    test('R228: a status exists for the account of its operation, or for all if its items belong to nobody', async (t) => {
      const { call, pass, close } = testing(mixed, { database: (await place(t)).url })
      t.after(close)
      const start = async (path: string, init: object) => {
        const answer = await call(path, { method: 'POST', json: {}, ...init })
        return { status: answer.status, path: String(answer.headers.get('location')) }
      }
      await call('/files', { method: 'POST', json: {}, ...north })
      const scan = await start('/files/scans', north)
      const [owned, single, open] = [
        await start('/pages/checks', north),
        await start('/pages/checks', lone),
        await start('/pages/checks', nobody),
      ]
      assert.deepEqual(
        [scan, owned, single, open].map(({ status }) => status),
        [202, 202, 202, 202],
      )
      const seen = async (path: string) =>
        Promise.all([north, colleague, south, lone, nobody].map(async (one) => (await call(path, one)).status))
      assert.deepEqual(await seen(scan.path), [200, 200, 404, 404, 404])
      for (const { path } of [owned, single, open]) assert.deepEqual(await seen(path), [200, 200, 200, 200, 200])
      for (const one of [south, lone, nobody])
        assert.equal((await call(`${scan.path}/cancellations`, { method: 'POST', ...one })).status, 404)
      for (const key of [undefined, 'k1']) {
        const headers = key ? { headers: { 'idempotency-key': key } } : {}
        assert.equal((await call(`${scan.path}/cancellations`, { method: 'POST', ...south, ...headers })).status, 404)
      }
      assert.equal((await call(`${open.path}/cancellations`, { method: 'POST', ...south })).status, 200)
      await pass('PT1M')
      const results = await Promise.all(
        [scan, owned, single, open].map(async ({ path }) => {
          const { status, result } = (await (await call(path, north)).json()) as { status: string; result: unknown }
          return [status, result]
        }),
      )
      assert.deepEqual(results, [
        ['succeeded', { files: 1 }],
        ['succeeded', { ok: true }],
        ['succeeded', { ok: true }],
        ['cancelled', null],
      ])
      assert.equal((await start('/files/scans', lone)).status, 403)
    })

    test('R28: a request that waits is answered when its operation ends, and two cancellations at once are one', async (t) => {
      const { url } = await place(t)
      const node = await payingNode(url)
      const { stop, send } = node.working(1000)
      t.after(() => stop().then(node.close))
      const from = (await send('POST', '/accounts', { json: { balance: 9 } })).json.id
      const to = (await send('POST', '/accounts', { json: {} })).json.id
      const paid = await send('POST', '/accounts/payments', {
        json: { from, to, times: 2 },
        headers: { prefer: 'wait=50' },
      })
      assert.deepEqual([paid.status, paid.json], [200, { paid: 2 }])
      const other = await send('POST', '/accounts/naps', { json: {} })
      const path = `/operations/${other.json.id}/cancellations`
      const both = await Promise.all([send('POST', path), send('POST', path)])
      assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409])
      assert.equal((await send('GET', `/operations/${other.json.id}`)).json.status, 'cancelled')
    })
  })
