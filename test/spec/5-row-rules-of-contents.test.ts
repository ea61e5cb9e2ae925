/** Contract section 5: access rules that depend on the item hold for contents of files and for lines of imports. R170. */
import assert from 'node:assert/strict'
import { caller, f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const own = [{ scope: 'all' }, { where: { holder: caller } }]
const vault = service({
  name: 'vault',
  scopes: { all: 'Read all papers', keep: 'Create boxes' },
  resources: {
    boxes: {
      prefix: 'box',
      owner: 'account',
      fields: { name: f.text(), holder: f.text({ max: 100 }) },
      access: { read: own, write: 'keep' },
    },
    papers: {
      prefix: 'pap',
      owner: 'account',
      fields: {
        title: f.text({ max: 50 }),
        holder: f.text({ max: 100, filter: true }),
        boxId: f.ref('boxes', { optional: true }),
        scan: f.file({ max: 1000 }),
      },
      history: { read: 'authenticated' },
      imports: true,
      exports: true,
      access: { read: own, write: [{ where: { holder: caller } }] },
    },
  },
})

const holders = {
  ann: { account: 'north' },
  bob: { account: 'north' },
  boss: { account: 'north', scopes: ['all', 'keep'] },
}

doors(
  'row rules of contents',
  vault,
  (door: Door) => {
    const send = (who: string, method: string, path: string, body?: string | object, type = 'application/json') =>
      door.send(method, path, {
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        headers: { ...door.as(who), ...(body !== undefined && { 'content-type': type }) },
      })
    const paper = async (who: string): Promise<string> => {
      const answer = await send(who, 'POST', '/papers', { title: 'A', holder: `key:${who}` })
      assert.equal(answer.status, 201, answer.text)
      return answer.json.id
    }
    const upload = (who: string, id: string, text = 'words') =>
      send(who, 'PUT', `/papers/${id}/scan`, text, 'text/plain')

    spec('R170', 'the content of a file exists for callers who may read its item', async () => {
      const id = await paper('bob')
      assert.equal((await upload('bob', id)).status, 201)
      for (const [method, end] of [
        ['GET', ''],
        ['HEAD', ''],
        ['GET', '/revisions/2/scan'],
        ['DELETE', ''],
        ['PUT', ''],
      ]) {
        const path = `/papers/${id}${end === '' ? '/scan' : end}`
        const answer = method === 'PUT' ? await upload('ann', id, 'others') : await send('ann', String(method), path)
        assert.equal(answer.status, 404, `${method} ${path}`)
      }
      for (const who of ['bob', 'boss']) {
        assert.equal((await send(who, 'GET', `/papers/${id}/scan`)).text, 'words')
        assert.equal((await send(who, 'GET', `/papers/${id}/revisions/2/scan`)).text, 'words')
      }
    })

    spec('R170', 'a caller who may read an item but not change it cannot upload or remove its content', async () => {
      const id = await paper('bob')
      assert.equal((await upload('boss', id)).status, 403)
      await upload('bob', id)
      assert.equal((await upload('boss', id, 'others')).status, 403)
      assert.equal((await send('boss', 'DELETE', `/papers/${id}/scan`)).status, 403)
      assert.equal((await send('bob', 'GET', `/papers/${id}/scan`)).text, 'words')
    })

    spec(
      'R170 R238',
      'lines of an import are written by the rule, and refer to what exists for the caller',
      async () => {
        const box = async (who: string): Promise<string> =>
          (await send('boss', 'POST', '/boxes', { name: 'B', holder: `key:${who}` })).json.id
        const [mine, other] = [await box('ann'), await box('bob')]
        const unknown = `box_${other.slice(4).split('').reverse().join('')}`.replace(/^(box_)./, '$10')
        const lines = [
          { title: 'mine', holder: 'key:ann', boxId: mine },
          { title: 'of bob', holder: 'key:bob' },
          { title: 'hidden', holder: 'key:ann', boxId: other },
          { title: 'unknown', holder: 'key:ann', boxId: unknown },
          { title: 'too', holder: 'key:ann' },
        ]
        const text = lines.map((line) => JSON.stringify(line)).join('\n')
        const { status, json } = await send('ann', 'POST', '/papers/imports', text, 'application/x-ndjson')
        assert.equal(status, 200)
        assert.deepEqual([json.created, json.failed], [2, 3])
        const [denied, hidden, missing] = json.errors
        assert.deepEqual([denied.line, denied.type], [2, 'access-denied'])
        const bare = (error: { line: number }) => JSON.stringify({ ...error, line: 0 }).replaceAll(other, unknown)
        assert.equal(bare(hidden), bare(missing))
        assert.equal((await send('ann', 'GET', '/papers?holder=key:bob')).json.data.length, 0)
      },
    )

    spec(
      'R238',
      'an exported item without a file is imported, and one with a file is refused, as it would be lost',
      async () => {
        const [plain, filled] = [await paper('ann'), await paper('ann')]
        assert.equal((await upload('ann', filled)).status, 201)
        for (const type of ['application/x-ndjson', 'text/csv']) {
          const { text } = await door.send('GET', '/papers?fields=id,title,holder,scan', {
            headers: { ...door.as('ann'), accept: type },
          })
          const all = text.split(/(?<=\n)/)
          const kept = all.filter(
            (line, i) => (type === 'text/csv' && i === 0) || line.includes(plain) || line.includes(filled),
          )
          const { status, json } = await send('ann', 'POST', '/papers/imports', kept.join(''), type)
          assert.equal(status, 200, JSON.stringify(json))
          assert.deepEqual([json.created, json.failed, json.errors[0].errors[0].pointer], [1, 1, '/scan'])
        }
      },
    )

    spec('R170 R238', 'an export has the rows of the caller alone', async () => {
      await paper('ann')
      await paper('bob')
      const exported = await door.send('GET', '/papers', {
        headers: { ...door.as('ann'), accept: 'application/x-ndjson' },
      })
      const all = exported.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      assert.ok(all.length > 0)
      assert.deepEqual([...new Set(all.map(({ holder }) => holder))], ['key:ann'])
    })
  },
  { holders },
)
