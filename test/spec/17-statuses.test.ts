/** Statuses of asynchronous operations: for whom they exist, and waiting for their end. R28, R228. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from '../../src/index.ts'
import { testing } from '../../src/testing.ts'
import { unescaped } from '../help/html-pages.ts'
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

const bank = service({
  name: 'bank',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-02-01' } },
  errors: {
    'credit-exceeded': {
      status: 409,
      parents: ['over-limit', 'conflict'],
      fields: { missing: f.decimal({ scale: 2 }), until: f.date({ optional: true }) },
    },
    'over-limit': { status: 409, parents: ['conflict'] },
  },
  resources: {
    payments: {
      prefix: 'pay',
      fields: {},
      access: 'public',
      operations: { transfers: { at: 'collection', input: { total: f.integer() }, asynchronous: true } },
    },
  },
})
  .change('v2', 'payments', {
    about: 'Named better.',
    operations: { changed: { transfers: { input: { renamed: { sum: 'total' } } } } },
    errors: { 'no-credit': 'credit-exceeded', 'over-sum': 'over-limit' },
  })
  .handlers({
    payments: {
      transfers({ refuse }) {
        throw refuse('credit-exceeded', { pointer: '/total', message: 'No credit.', fields: { missing: '12.5' } })
      },
    },
  })

for (const [name, place] of places)
  describe(`errors of statuses on ${name}`, () => {
    test('R149 R160: the error has all members of an error, in the words of each version', async (t) => {
      const { call, pass, close } = testing(bank, { database: (await place(t)).url })
      t.after(close)
      const asked = await call('/v2/payments/transfers', { method: 'POST', json: { total: 5 } })
      await pass('PT0S')
      const { id } = (await asked.json()) as { id: string }
      const error = async (label: string) =>
        ((await (await call(`/${label}/operations/${id}`)).json()) as { error: unknown }).error
      const chain = (...own: string[]) => ({ type: own[0], types: [...own, 'conflict', 'client-error', 'error'] })
      const own = chain('credit-exceeded', 'over-limit')
      const place2 = { message: 'No credit.', ...own, in: 'body', pointer: '/total' }
      const members = { message: 'No credit.', missing: '12.50', until: null }
      assert.deepEqual(await error('v2'), { ...members, ...own, cause: place2, errors: [place2] })
      const old = chain('no-credit', 'over-sum')
      const place1 = { ...place2, ...old, pointer: '/sum' }
      assert.deepEqual(await error('v1'), { ...members, ...old, cause: place1, errors: [place1] })
    })
  })

test('R214 R228: the reference page describes a status, whose error can have an error as its cause', async (t) => {
  const { call, close } = testing(mixed)
  t.after(close)
  const answer = await call('/docs', { headers: { accept: 'text/html' } })
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  assert.match(text, /<code>error\.cause<\/code>/)
  assert.doesNotMatch(text, /error\.cause\./)
  const [status] = Object.values(answersWithErrors(text))
  assert.deepEqual([status?.status, status?.error], ['queued', null])
})

/** The examples of answers that have an error or null. */
const answersWithErrors = (text: string): Record<string, unknown>[] =>
  [...text.matchAll(/<h4>Answer 2\d\d<\/h4><pre>([\s\S]*?)<\/pre>/g)]
    .map(([, example = '']) => JSON.parse(unescaped(example)))
    .filter((one) => 'error' in one)
