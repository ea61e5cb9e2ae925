/** Parts 1 and 5 of the contract: the place of authentication and permission in the order of checks. */
import assert from 'node:assert/strict'
import { type Door, doors, spec } from '../help/door.ts'
import { holders, staff } from '../help/staff.ts'

type Sent = NonNullable<Parameters<Door['send']>[2]>

doors(
  'the order of checks, for callers',
  staff,
  (door) => {
    const reported = async (method: string, path: string, sent: Sent = {}) => {
      const { status, json } = await door.send(method, path, sent)
      return [status, json?.type ?? null]
    }
    const missing = '/files/fil_00000000000000000000000000'
    const broken: Sent = {
      body: '{"text":',
      headers: { 'content-type': 'text/plain', accept: 'text/html', 'if-match': '"x"' },
    }
    const as = (who: string): Sent => ({ ...broken, headers: { ...broken.headers, ...door.as(who) } })

    spec('R1', 'path and method are checked before credentials', async () => {
      assert.deepEqual(await reported('PATCH', '/nowhere', broken), [404, 'route-not-found'])
      assert.deepEqual(await reported('PATCH', '/files', broken), [405, 'method-not-allowed'])
      assert.deepEqual(await reported('OPTIONS', '/files'), [204, null])
    })
    spec('R1', 'credentials are checked before permission, and permission before all the rest', async () => {
      assert.deepEqual(await reported('PATCH', `${missing}?x=1`, broken), [401, 'credentials-missing'])
      const wrong = { ...broken, headers: { ...broken.headers, authorization: 'Bearer wrong' } }
      assert.deepEqual(await reported('PATCH', `${missing}?x=1`, wrong), [401, 'invalid-credentials'])
      assert.deepEqual(await reported('PATCH', `${missing}?x=1`, as('ben')), [403, 'insufficient-scope'])
      assert.deepEqual(await reported('PATCH', `${missing}?x=1`, as('ann')), [406, 'not-acceptable'])
    })
    spec('R1 R173', 'a refusal is the same whether or not the item exists', async () => {
      const made = await door.send('POST', '/files', { json: { text: 'a' }, headers: door.as('ann') })
      const there = `/files/${made.json.id}`
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        const sent = method === 'GET' || method === 'DELETE' ? {} : { json: { text: 5 } }
        assert.deepEqual(await reported(method, there, sent), await reported(method, missing, sent))
        const none = { ...sent, headers: door.as('cay') }
        assert.deepEqual(await reported(method, there, none), [403, 'insufficient-scope'])
        assert.deepEqual(await reported(method, missing, none), [403, 'insufficient-scope'])
      }
      assert.equal((await door.send('HEAD', there)).status, 401)
      const tagged = { 'if-none-match': made.headers.etag as string }
      assert.equal((await door.send('GET', there, { headers: tagged })).status, 401)
      assert.equal((await door.send('GET', there, { headers: { ...tagged, ...door.as('cay') } })).status, 403)
      assert.equal((await door.send('GET', there, { headers: { ...tagged, ...door.as('ben') } })).status, 304)
    })
    spec('R85', 'a cursor carries no rights: each page is checked again', async () => {
      for (const text of ['a', 'b', 'c']) await door.send('POST', '/files', { json: { text }, headers: door.as('ann') })
      const first = await door.send('GET', '/files?limit=1&cursor=', { headers: door.as('ann') })
      const path = `/files?limit=1&cursor=${first.json.pagination?.nextCursor}`
      assert.equal((await door.send('GET', path, { headers: door.as('ann') })).status, 200, first.text)
      assert.equal((await door.send('GET', path, { headers: door.as('ben') })).status, 200)
      assert.deepEqual(await reported('GET', path, { headers: door.as('cay') }), [403, 'insufficient-scope'])
      assert.deepEqual(await reported('GET', path), [401, 'credentials-missing'])
    })
    spec('R144 R165', 'a refusal is not cached', async () => {
      for (const headers of [{}, door.as('cay')]) {
        const answer = await door.send('GET', '/files', { headers })
        assert.equal(answer.headers['cache-control'], 'no-store')
        assert.ok(answer.headers['www-authenticate'])
      }
      assert.equal(
        (await door.send('GET', '/files', { headers: door.as('ann') })).headers['www-authenticate'],
        undefined,
      )
      assert.equal((await door.send('GET', '/nowhere')).headers['www-authenticate'], undefined)
    })
  },
  { holders },
)
