/** Part 15 of the contract: pairs in a service with handlers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'

const api = service({
  name: 'library',
  resources: {
    books: {
      prefix: 'bok',
      fields: { title: f.text({ max: 40 }) },
      access: 'public',
      operations: { cleanups: { at: 'item', output: { removed: f.integer() } } },
    },
    tags: { prefix: 'tag', fields: { name: f.text({ max: 20 }) }, access: 'public' },
  },
  pairs: { markings: { between: ['books', 'tags'], access: 'public' } },
})

test('R226 R138: a handler that removes an item unlinks it, and pairs are nothing that handlers can use', async () => {
  const names: string[] = ['markings', 'marks']
  const { call, logged, close } = testing(
    api.handlers({
      books: {
        async cleanups({ list, remove }) {
          const all = await list('tags')
          for (const { id } of all) remove('tags', id)
          return { removed: all.length }
        },
        async remove({ list }) {
          await list((names.shift() ?? 'tags') as 'tags')
        },
      },
    }),
  )
  try {
    const made = async (path: string, json: object): Promise<string> =>
      ((await (await call(path, { method: 'POST', json })).json()) as { id: string }).id
    const [book, tag] = [await made('/books', { title: 'a' }), await made('/tags', { name: 'b' })]
    const put = async () => (await call(`/books/${book}/tags/${tag}`, { method: 'PUT' })).status
    assert.deepEqual([await put(), await put()], [201, 200])
    assert.equal((await call(`/books/${book}/cleanups`, { method: 'POST', json: {} })).status, 200)
    assert.deepEqual(((await (await call(`/books/${book}/tags`)).json()) as { data: object[] }).data, [])
    assert.equal(await put(), 400)
    for (const says of [
      /Handlers cannot use the pairs "markings"; there are books or tags/,
      /no resource "marks"; there are books or tags/,
    ]) {
      assert.equal((await call(`/books/${book}`, { method: 'DELETE' })).status, 500)
      assert.match(String(logged.at(-1)?.about.err), says)
    }
    const other = await made('/tags', { name: 'c' })
    assert.equal((await call(`/tags/${other}/books/${book}`, { method: 'PUT' })).status, 201)
    assert.equal((await call(`/books/${book}`, { method: 'DELETE' })).status, 204)
    assert.equal((await call(`/tags/${other}/books/${book}`)).status, 404)
  } finally {
    await close()
  }
})
