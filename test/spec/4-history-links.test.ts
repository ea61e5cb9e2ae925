/** Links to revisions, and the history of a key that is used again after a deletion. R237. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const codes = service({
  name: 'codes',
  settings: { deleted: { retention: 'PT0S' } },
  resources: {
    codes: { key: 'code', fields: { code: f.text(), hue: f.text() }, access: 'public', history: { read: 'public' } },
  },
})

doors(
  'history of keys that are used again',
  codes,
  (door: Door) => {
    spec('R237 R36', 'revisions go on after a deletion that nothing else remembers', async () => {
      const hues = ['red', 'blue', 'green']
      for (const hue of hues) {
        assert.equal((await door.send('PUT', '/codes/a', { json: { hue } })).status, 201)
        assert.equal((await door.send('PATCH', '/codes/a', { json: { hue: `${hue}er` } })).status, 200)
        assert.equal((await door.send('DELETE', '/codes/a')).status, 204)
      }
      const { data } = (await door.send('GET', '/codes/a/revisions')).json
      assert.deepEqual(
        data.map(({ type }: { type: string; id: string }) => type),
        hues.flatMap(() => ['deleted', 'updated', 'created']),
      )
      const numbers = data.map(({ id }: { type: string; id: string }) => Number(id))
      assert.deepEqual(
        numbers,
        numbers.toSorted((a: number, b: number) => b - a),
      )
      assert.equal(new Set(numbers).size, 9)
    })
  },
  { now: () => Date.UTC(2026, 5, 1) },
)

const linked = service({
  name: 'linked',
  scopes: { audit: 'Read revisions' },
  settings: { resource: { links: 'all' } },
  resources: {
    notes: { prefix: 'not', fields: { text: f.text() }, access: 'public', history: { read: 'audit' } },
  },
})

doors(
  'links to revisions',
  linked,
  (door: Door) => {
    spec('R237 R49', 'are there for callers that may read them', async () => {
      const { id, _links } = (await door.send('POST', '/notes', { json: { text: 'a' } })).json
      assert.deepEqual(Object.keys(_links), ['self'])
      const headers = door.as('auditor')
      const links = (await door.send('GET', `/notes/${id}`, { headers })).json._links
      assert.equal(links.revisions, `/notes/${id}/revisions`)
      assert.equal((await door.send('GET', links.revisions, { headers })).json.data.length, 1)
    })

    spec('R237 R121', 'answers have tags', async () => {
      const { id } = (await door.send('POST', '/notes', { json: { text: 'a' } })).json
      const headers = door.as('auditor')
      for (const end of ['', '/1', '/1?against=1']) {
        const path = `/notes/${id}/revisions${end}`
        const { etag = '' } = (await door.send('GET', path, { headers })).headers
        assert.notEqual(etag, '')
        const again = await door.send('GET', path, { headers: { ...headers, 'if-none-match': etag } })
        assert.equal(again.status, 304)
      }
    })
  },
  { holders: { auditor: { scopes: ['audit'] } } },
)
