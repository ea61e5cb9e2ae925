/** Proves that old nodes find the rows that new nodes write by the fields of older versions. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { alive, applied, nodeOn, places } from '../help/places.ts'

type Api = Service & { readonly change: (version: string, resource: string, change: object) => Api }
const things = (versions: object, level: object): Api =>
  service({
    name: 'things',
    versions,
    resources: { things: { fields: { level, note: f.text({ default: '' }) }, access: 'public' } },
  } as never) as unknown as Api

const [v1, v2, v3] = [{ released: '2024-01-01' }, { released: '2025-01-01' }, { released: '2026-01-01' }]
const inV2 = f.text({ default: 'L0' })
const changeOfV2 = {
  about: 'Levels are texts.',
  retyped: { level: f.integer({ default: 0, filter: true, sort: true }) },
  request: ({ level }: { level: number }) => ({ level: `L${level}` }),
  response: ({ level }: { level: string }) => ({ level: Number(level.slice(1)) }),
}
const former = things({ v1, v2 }, inV2).change('v2', 'things', changeOfV2)
const latest = things({ v1, v2, v3 }, f.text({ default: 'level 0' }))
  .change('v3', 'things', {
    about: 'Levels are longer texts.',
    retyped: { level: inV2 },
    request: ({ level }: { level: string }) => ({ level: `level ${level.slice(1)}` }),
    response: ({ level }: { level: string }) => ({ level: `L${level.slice('level '.length)}` }),
  })
  .change('v2', 'things', changeOfV2)

for (const [store, placeOf] of places)
  describe(`columns of older versions (${store})`, () => {
    test('old nodes filter and sort by a field of an older version that a new version converts once more', async (t) => {
      const place = await placeOf(t)
      const old = nodeOn(place, former)
      t.after(old.close)
      const first = (await old.ask('POST', '/v1/things', { level: 2 })).json
      await alive(place)
      assert.deepEqual((await applied(place, latest)).waitsFor, ['old'])
      const now = nodeOn(place, latest)
      t.after(now.close)
      const second = (await now.ask('POST', '/v3/things', { level: 'level 7' })).json
      assert.equal((await now.ask('PATCH', `/v1/things/${first.id}`, { note: 'a' })).status, 200)
      for (const node of [old, now]) {
        const byLevel = async (query: string) =>
          (await node.ask('GET', `/v1/things?${query}`)).json.data.map((one: { id: string }) => one.id)
        assert.deepEqual(await byLevel('level=2'), [first.id])
        assert.deepEqual(await byLevel('level=7'), [second.id])
        assert.deepEqual(await byLevel('level=0'), [])
        assert.deepEqual(await byLevel('sort=level'), [first.id, second.id])
      }
    })
  })
