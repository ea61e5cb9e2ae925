/** The key of a batch that is repeated in another version. R229, R100, R98. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { places } from '../help/places.ts'

const versions = { v1: { released: '2026-01-01' }, v2: { released: '2026-02-01' } } as const
const settings = { batches: 4, versions: { carriers: ['path', 'header'], default: 'latest' } } as const

const before = service({
  name: 'shop',
  versions: { v1: versions.v1 },
  settings,
  resources: { orders: { prefix: 'ord', fields: { memo: f.text({ optional: true }) }, access: 'public' } },
})
const after = service({
  name: 'shop',
  versions,
  settings,
  resources: { orders: { prefix: 'ord', fields: { note: f.text({ optional: true }) }, access: 'public' } },
}).change('v2', 'orders', { about: 'Memos are notes.', renamed: { memo: 'note' } })

const operations = [{ method: 'POST', path: '/orders', body: {} }]

for (const [store, placeOf] of places)
  test(`R229: the key of a batch is replayed in its version only, and is used in every other (${store})`, async (t) => {
    const { url } = await placeOf(t)
    let node = testing(before, { database: url })
    t.after(() => node.close())
    const ask = async (path: string, key: string) => {
      const answer = await node.call(path, {
        method: 'POST',
        json: { operations },
        headers: { 'idempotency-key': key },
      })
      return {
        status: answer.status,
        json: await answer.json(),
        isReplayed: answer.headers.has('idempotency-replayed'),
      }
    }
    const first = await ask('/v1/batches', 'one')
    assert.deepEqual([first.status, (await ask('/batches', 'two')).status], [200, 200])
    await node.close()
    node = testing(after, { database: url })
    assert.deepEqual(await ask('/v1/batches', 'one'), { ...first, isReplayed: true })
    for (const path of ['/v2/batches', '/batches']) {
      const { status, json } = await ask(path, 'one')
      assert.deepEqual([status, (json as { type: string }).type], [409, 'idempotency-key-reused'], path)
    }
    assert.equal((await ask('/batches', 'two')).status, 409)
    // Of requests in both versions at the same time one is carried out.
    const both = await Promise.all([ask('/v1/batches', 'three'), ask('/v2/batches', 'three')])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 409])
    const { data } = (await (await node.call('/v2/orders')).json()) as { readonly data: unknown[] }
    assert.equal(data.length, 3)
  })
