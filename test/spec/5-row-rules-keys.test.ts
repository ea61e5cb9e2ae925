/** Contract section 5: rules that depend on the item, for ids that clients choose and children within their parent. R170, R110. */
import assert from 'node:assert/strict'
import { caller, f, service } from 'bylaw'
import { type Door, doors, type Sent, spec } from '../help/door.ts'

const rule = [{ scope: 'all' }, { where: { who: caller } }] as const
const stock = service({
  name: 'stock',
  scopes: { all: 'All items', read: 'Read tags' },
  resources: {
    houses: {
      key: 'code',
      fields: { code: f.text({ max: 9 }), who: f.text({ max: 50 }) },
      access: { read: rule, write: rule },
    },
    slots: {
      parent: 'houses',
      key: 'number',
      fields: { number: f.text({ max: 9 }), who: f.text({ max: 50 }) },
      access: { read: rule, write: rule },
    },
    tags: {
      key: 'name',
      fields: { name: f.text({ max: 9 }), who: f.text({ max: 50 }) },
      access: { read: 'read', write: rule },
    },
  },
})

doors(
  'row rules and keys',
  stock,
  (door: Door) => {
    const send = (who: string, method: string, path: string, json?: unknown, headers: Sent['headers'] = {}) =>
      door.send(method, path, { ...(json !== undefined && { json }), headers: { ...door.as(who), ...headers } })
    const status = async (...given: Parameters<typeof send>) => (await send(...given)).status
    const put = (who: string, path: string, headers?: Sent['headers']) =>
      status(who, 'PUT', path, { who: `key:${who}` }, headers)

    spec('R170 R110', 'an id in use is 404 with PUT and 409 with POST, also of a deleted item', async () => {
      assert.equal(await status('bob', 'POST', '/houses', { code: 'h1', who: 'key:bob' }), 201)
      assert.equal(await put('ann', '/houses/h1'), 404)
      assert.equal(await put('ann', '/houses/h1', { 'if-none-match': '*' }), 404)
      assert.equal(await put('ann', '/houses/h2'), 201)
      assert.equal(await put('ann', '/houses/h2'), 200)
      const taken = await send('ann', 'POST', '/houses', { code: 'h1', who: 'key:ann' })
      assert.deepEqual([taken.status, taken.json.type], [409, 'already-exists'])
      assert.equal(await status('ann', 'PUT', '/houses/h3', { who: 'key:bob' }), 403)
      assert.equal(await status('bob', 'DELETE', '/houses/h1'), 204)
      assert.equal(await put('ann', '/houses/h1'), 404)
      assert.equal(await status('ann', 'POST', '/houses', { code: 'h1', who: 'key:ann' }), 409)
      assert.equal(await status('boss', 'GET', '/houses/h1'), 410)
      assert.equal(await status('ann', 'GET', '/houses/h1'), 404)
      assert.equal(await status('ann', 'DELETE', '/houses/h1'), 404)
    })

    spec('R170 R4', 'a child within a parent that the caller does not see does not exist', async () => {
      assert.equal(await status('bob', 'POST', '/houses', { code: 'p1', who: 'key:bob' }), 201)
      assert.equal(await status('boss', 'POST', '/houses/p1/slots', { number: '1', who: 'key:ann' }), 201)
      assert.equal(await status('ann', 'GET', '/houses/p1/slots/1'), 404)
      assert.equal(await status('ann', 'GET', '/houses/p1/slots'), 404)
      assert.equal(await status('ann', 'PATCH', '/houses/p1/slots/1', {}), 404)
      assert.equal(await put('ann', '/houses/p1/slots/2'), 404)
      assert.equal(await status('ann', 'POST', '/houses/p1/slots', { number: '3', who: 'key:ann' }), 404)
      assert.equal(await status('boss', 'PATCH', '/houses/p1', { who: 'key:ann' }), 200)
      assert.equal(await status('ann', 'GET', '/houses/p1/slots/1'), 200)
      assert.equal((await send('ann', 'GET', '/houses/p1/slots')).json.data.length, 1)
      assert.equal(await status('ann', 'POST', '/houses/p1/slots', { number: '3', who: 'key:ann' }), 201)
    })

    spec(
      'R170',
      'for a caller that may not read the items, those outside of the rule of the operation do not exist',
      async () => {
        assert.equal(await status('ann', 'POST', '/tags', { name: 'a', who: 'key:ann' }), 201)
        assert.equal(await status('bob', 'POST', '/tags', { name: 'b', who: 'key:bob' }), 201)
        assert.equal(await status('ann', 'PATCH', '/tags/b', { who: 'key:ann' }), 404)
        assert.equal(await status('ann', 'DELETE', '/tags/b'), 404)
        assert.equal(await status('ann', 'PATCH', '/tags/a', { who: 'key:bob' }), 403)
        assert.equal(await status('ann', 'PATCH', '/tags/a', { who: 'key:ann' }), 204)
        assert.equal(await status('amy', 'PATCH', '/tags/b', { who: 'key:amy' }), 403, 'she may read it')
        assert.equal(await status('ann', 'GET', '/tags/a'), 403)
        assert.equal(await status('ann', 'DELETE', '/tags/a'), 204)
      },
    )
  },
  { holders: { ann: {}, bob: {}, amy: { scopes: ['read'] }, boss: { scopes: ['all'] } } },
)
