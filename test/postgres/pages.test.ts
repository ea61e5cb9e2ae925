/** Proves that all parts of a page are from one snapshot of the database, despite commits between its statements. R54. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { cluster } from '../help/cluster.ts'
import { type Node, node, proxy } from './service-on-server.ts'

/** The level of a book moved to its shelf. */
const rooms = service({
  name: 'rooms',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  resources: {
    shelves: {
      prefix: 'shf',
      fields: { level: f.integer({ optional: true, filter: 'range', sort: true }) },
      access: 'public',
    },
    books: {
      prefix: 'bok',
      fields: {
        title: f.text({ filter: 'like', sort: true }),
        rank: f.integer({ optional: true, sort: true, filter: 'range' }),
        shelfId: f.ref('shelves', { optional: true }),
      },
      access: 'public',
      order: ['title'],
    },
  },
} as never as Parameters<typeof service>[0]).change(
  'v2' as never,
  'books' as never,
  {
    about: 'The level is that of the shelf.',
    moved: { level: { by: 'shelfId', to: 'level' } },
  } as never,
) as never as Service

interface Watched extends Node {
  /** Fetches a page; another session commits `statement` before each statement that matches `before`, except the first. */
  readonly pageDuring: (path: string, before: RegExp, statement: string) => Promise<Record<string, unknown>[]>
}

async function watched(t: TestContext): Promise<Watched> {
  const server = await cluster(['shared_buffers=16MB', 'fsync=off'])
  t.after(server.close)
  const between = await proxy(t, server.port)
  const own = await node(server.url.replace(String(server.port), String(between.port)), rooms)
  t.after(() => void own.close())
  return {
    ...own,
    pageDuring: async (path, before, statement) => {
      let met = 0
      between.judge = (bytes) => {
        if (before.test(bytes.toString('latin1')) && met++ === 1) server.psql(statement)
        return 'pass'
      }
      const { status, json } = await own.call('GET', path)
      between.judge = () => 'pass'
      assert.equal(status, 200)
      return json.data
    },
  }
}

test('a page and the rows joined to it are from one snapshot, with and without a total', {
  timeout: 180_000,
}, async (t) => {
  const own = await watched(t)
  const shelf = await own.call('POST', '/v2/shelves', { level: 1 })
  await own.call('POST', '/v2/books', { title: 't1', shelfId: shelf.json.id })
  let now = 1
  for (const query of ['limit=5&cursor=', 'limit=6&cursor=&level[gte]=0', 'page=1', 'limit=7&cursor=&sort=level']) {
    const set = `UPDATE books SET doc = replace(doc, '"t${now}"', '"t${now + 1}"'); UPDATE shelves SET by_level = ${now + 1}, doc = replace(doc, '"level":${now}', '"level":${now + 1}')`
    const [book] = await own.pageDuring(`/v1/books?${query}`, /FROM "?(?:shelves|books)/, set)
    assert.equal(book?.title, `t${book?.level}`, query)
    now = Number((await own.call('GET', '/v1/books?page=1')).json.data[0].level)
  }
})

test('a row that loses its value while the page is read is listed once', { timeout: 180_000 }, async (t) => {
  const own = await watched(t)
  for (const [title, rank] of [
    ['a', 1],
    ['b', 2],
    ['c', null],
  ] as const)
    await own.call('POST', '/v2/books', { title, rank })
  const set = `UPDATE books SET by_rank = NULL, doc = replace(doc, '"rank":2', '"rank":null')`
  const rows = await own.pageDuring('/v2/books?sort=rank&limit=10&cursor=', /FROM "?books/, set)
  assert.deepEqual(rows.map(({ title }) => title).sort(), ['a', 'b', 'c'])
})
