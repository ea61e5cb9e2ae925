/** Part 5 of the contract, authentication: accepted, missing and refused credentials. */
import assert from 'node:assert/strict'
import { type Door, doors, spec } from '../help/door.ts'
import { holders, staff } from '../help/staff.ts'

const reported = async (door: Door, method: string, path: string, sent: Parameters<Door['send']>[2] = {}) => {
  const { status, json, headers } = await door.send(method, path, sent)
  return { status, type: json?.type ?? null, asked: headers['www-authenticate'] ?? null, headers, json }
}
const file = 'fil_00000000000000000000000000'

doors(
  'access rules',
  staff,
  (door) => {
    spec(
      'R165 R166 R173',
      'without credentials a protected path is 401, with a challenge without an error',
      async () => {
        for (const path of ['/memos', '/files', `/files/${file}`, `/files/${file}?x=1`]) {
          const { status, type, asked } = await reported(door, 'GET', path)
          assert.deepEqual([status, type, asked], [401, 'credentials-missing', 'Bearer realm="office"'])
        }
        assert.equal((await reported(door, 'GET', '/notices')).status, 200)
        assert.equal((await reported(door, 'POST', '/notices', { json: { text: 'a' } })).status, 401)
      },
    )
    spec('R163', 'an API key is accepted as a bearer token', async () => {
      assert.equal((await reported(door, 'GET', '/files', { headers: door.as('ann') })).status, 200)
      assert.equal((await reported(door, 'GET', '/memos', { headers: door.as('cay') })).status, 200)
      const { status, json } = await reported(door, 'POST', '/files', { headers: door.as('ann'), json: { text: 'a' } })
      assert.equal(status, 201)
      assert.equal((await reported(door, 'GET', `/files/${json.id}`, { headers: door.as('ben') })).status, 200)
    })
    spec('R168 R169', 'a key without the scope is 403, and the scope is named', async () => {
      const lacking = await reported(door, 'POST', '/files', { headers: door.as('ben'), json: { text: 'a' } })
      assert.deepEqual([lacking.status, lacking.type, lacking.json.scope], [403, 'insufficient-scope', 'files:create'])
      assert.equal(lacking.asked, 'Bearer realm="office", error="insufficient_scope", scope="files:create"')
      assert.equal((await reported(door, 'GET', '/files', { headers: door.as('cay') })).status, 403)
    })
    spec('R110', 'PUT creates an item only for callers who may create', async () => {
      const put = (who: string) =>
        reported(door, 'PUT', `/files/${file}`, { headers: door.as(who), json: { text: 'a' } })
      const refused = await put('dee')
      assert.deepEqual([refused.status, refused.json.scope], [403, 'files:create'])
      assert.equal((await put('ann')).status, 201)
      assert.equal((await put('dee')).status, 204) // without its content, which dee may not read
    })
    spec('R173 R166', 'a key that is not valid is 401 on a public operation too', async () => {
      for (const path of ['/notices', '/files']) {
        const { status, type, asked } = await reported(door, 'GET', path, {
          headers: { authorization: 'Bearer nonsense' },
        })
        assert.deepEqual([status, type], [401, 'invalid-credentials'])
        assert.equal(asked, 'Bearer realm="office", error="invalid_token"')
      }
    })
  },
  { holders },
)
