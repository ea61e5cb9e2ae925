/** Batches of hostile clients: paths, references and keys. R229. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from '../../src/index.ts'
import { testing } from '../../src/testing.ts'
import { places } from '../help/places.ts'

const api = service({
  name: 'shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-02-01' } },
  settings: { batches: 4, versions: { carriers: ['path', 'query'] } },
  resources: {
    codes: { prefix: 'cod', fields: { text: f.text({ optional: true }) }, access: 'public' },
    names: { key: 'slug', fields: { slug: f.text({ max: 50 }), text: f.text({ optional: true }) }, access: 'public' },
  },
})

const create = (body: object, more: object = {}) => ({ method: 'POST', path: '/codes', body, ...more })
const named = (slug: string, more: object = {}) => ({ method: 'POST', path: '/names', body: { slug }, ...more })
const mark = (path: string) => ({ method: 'PATCH', path, body: { text: 'marked' } })
const refs = (at: string, source: string) => create({}, { refs: { [at]: source } })

for (const [name, place] of places)
  describe(`hostile batches on ${name}`, () => {
    const opened = async (t: import('node:test').TestContext) => {
      const { call, close } = testing(api, { database: (await place(t)).url })
      t.after(close)
      const batch = async (operations: readonly object[]) => {
        const answer = await call('/v2/batches', { method: 'POST', json: { operations } })
        // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
        return { status: answer.status, json: (await answer.json()) as any }
      }
      const count = async () => ((await (await call('/v2/codes?limit=100')).json()) as { data: unknown[] }).data.length
      return { call, batch, count }
    }

    test('R229: a value that is referred to stays one segment, whatever it has', async (t) => {
      const { batch } = await opened(t)
      for (const slug of ['a/b', 'a?b#c', '$a.b', 'a%2Fb', '../codes', 'a b'])
        assert.deepEqual(
          (await batch([named(slug, { as: 'one' }), mark('/names/$one.slug')])).json.data?.map(
            ({ status, body }: { status: number; body: { slug: string } }) => [status, body.slug],
          ),
          [
            [201, slug],
            [200, slug],
          ],
        )
      assert.equal((await batch([mark('/names/a%2Fb')])).status, 200)
      assert.equal((await batch([mark('/names/%24a.b')])).status, 200)
      assert.equal((await batch([create({ text: '..' }, { as: 'one' }), mark('/names/$one.text')])).status, 404)
    })

    test('R229: paths with a query, a version, a host or a malformed escape are refused, and nothing is changed', async (t) => {
      const { batch, count } = await opened(t)
      for (const [path, status] of [
        ['/codes?dryRun=true', 400],
        ['/codes?version=v1', 400],
        ['/codes#x', 400],
        ['/v1/codes', 404],
        ['//codes', 404],
        ['codes', 400],
        ['http://example.com/codes', 400],
        ['/codes/%zz', 400],
        ['/healthz', 404],
        ['/batches', 400],
        ['/names/$', 400],
        ['/names/$none.id', 400],
      ] as const) {
        const refused = await batch([create({}), { ...create({}), path }])
        assert.deepEqual([refused.status, path], [status, path])
        assert.match(refused.json.errors[0].pointer, /^\/operations\/1/)
      }
      assert.equal(await count(), 0)
    })

    test('R229: references reach results of earlier members only, and nothing of the engine', async (t) => {
      const { batch, count } = await opened(t)
      const earlier = create({}, { as: 'one' })
      for (const [second, pointer] of [
        [refs('/text', 'one.constructor'), '/operations/1/refs/~1text'],
        [refs('/text', '__proto__.id'), '/operations/1/refs/~1text'],
        [refs('/text', 'two.id'), '/operations/1/refs/~1text'],
        [refs('/__proto__', 'one.id'), '/operations/1/body/__proto__'],
        [refs('/text/__proto__/x', 'one.id'), '/operations/1/refs/~1text~1__proto__~1x'],
        [create({}, { as: '__proto__' }), '/operations/1/as'],
        [create({}, { as: 'one' }), '/operations/1/as'],
        [create({}, { as: '1' }), '/operations/1/as'],
        [create({}, { headers: { authorization: 'Bearer x' } }), '/operations/1/headers/authorization'],
        [create({}, { headers: { 'idempotency-key': 'a\r\nb: c' } }), '/operations/1/headers/idempotency-key'],
      ] as const) {
        const refused = await batch([earlier, second])
        assert.deepEqual([refused.status, refused.json.errors[0].pointer], [400, pointer])
      }
      assert.equal(({} as { x?: unknown }).x, undefined)
      assert.equal(await count(), 0)
    })

    test('R229: a key that two members share, or that was used, refuses the batch and stays as it was', async (t) => {
      const { batch, call, count } = await opened(t)
      const keyed = create({ text: 'a' }, { headers: { 'Idempotency-Key': 'k1' } })
      const twice = await batch([keyed, keyed])
      assert.deepEqual([twice.status, twice.json.errors[0].pointer], [409, '/operations/1'])
      assert.equal(await count(), 0)
      assert.equal((await batch([keyed])).status, 200)
      const again = await batch([create({}), keyed])
      assert.deepEqual([again.status, again.json.type], [409, 'idempotency-key-reused'])
      const alone = await call('/v2/codes', {
        method: 'POST',
        json: { text: 'a' },
        headers: { 'idempotency-key': 'k1' },
      })
      assert.equal(alone.status, 409)
      assert.equal(await count(), 1)
    })
  })
