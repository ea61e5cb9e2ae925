/** Part 3 of the contract: the three styles of pagination, and their page information. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import type { ResourceSettings } from '../../src/settings.ts'
import { type Door, doors, spec } from '../help/door.ts'
import { listed, refused, sentence, stocked, values } from '../help/list-service.ts'

const declared = (list: ResourceSettings['list'] = {}) =>
  service({
    name: 'paged',
    resources: {
      orders: { prefix: 'ord', fields: { number: f.integer({ filter: 'range', sort: true }) }, access: 'public' },
    },
    settings: { list: list as object },
  })

const count = 41
const fill = (door: Door, many = count) =>
  before(() =>
    stocked(
      door,
      '/orders',
      Array.from({ length: many }, (_, i) => ({ number: i })),
    ),
  )

async function page(door: Door, query: string): Promise<{ numbers: number[]; pagination: Record<string, unknown> }> {
  const answer = await listed(door, `/orders${query === '' ? '' : `?${query}`}`)
  return { numbers: values(answer, 'number') as number[], pagination: answer.json.pagination }
}
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)
const cursor = 'a cursor'
/** Page information with placeholders for cursors, for comparisons. */
const plain = (pagination: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(pagination).map(([name, value]) => [name, typeof value === 'string' ? cursor : value]),
  )

doors('pagination', declared(), (door) => {
  fill(door)
  const table = async (rows: readonly [query: string, numbers: number[], pagination: Record<string, unknown>][]) => {
    for (const [query, numbers, pagination] of rows) {
      const got = await page(door, query)
      assert.deepEqual({ numbers: got.numbers, pagination: plain(got.pagination) }, { numbers, pagination }, query)
    }
  }

  spec('R75 R76', 'page style reports the page, its size, the pages and the records', () =>
    table([
      [
        '',
        range(0, 20),
        { currentPage: 1, pageSize: 20, totalPages: 3, totalRecords: 41, hasMore: true, nextCursor: cursor },
      ],
      [
        'page=2&page_size=10',
        range(10, 20),
        { currentPage: 2, pageSize: 10, totalPages: 5, totalRecords: 41, hasMore: true },
      ],
      ['page=5&page_size=10', [40], { currentPage: 5, pageSize: 10, totalPages: 5, totalRecords: 41, hasMore: false }],
      [
        'page_size=41',
        range(0, 41),
        { currentPage: 1, pageSize: 41, totalPages: 1, totalRecords: 41, hasMore: false, nextCursor: null },
      ],
      [
        'page_size=5&number[gte]=36',
        range(36, 41),
        { currentPage: 1, pageSize: 5, totalPages: 1, totalRecords: 5, hasMore: false, nextCursor: null },
      ],
      ['page=3', [40], { currentPage: 3, pageSize: 20, totalPages: 3, totalRecords: 41, hasMore: false }],
    ]),
  )

  spec('R75 R76', 'offset style reports limit, offset and the records; limit alone means offset 0', () =>
    table([
      ['limit=5', range(0, 5), { limit: 5, offset: 0, totalRecords: 41, hasMore: true, nextCursor: cursor }],
      ['offset=38', range(38, 41), { limit: 20, offset: 38, totalRecords: 41, hasMore: false }],
      ['limit=3&offset=38', range(38, 41), { limit: 3, offset: 38, totalRecords: 41, hasMore: false }],
      [
        'offset=0&limit=100',
        range(0, 41),
        { limit: 100, offset: 0, totalRecords: 41, hasMore: false, nextCursor: null },
      ],
      ['offset=7&limit=2&sort=number&order=desc', [33, 32], { limit: 2, offset: 7, totalRecords: 41, hasMore: true }],
    ]),
  )

  spec('R75 R84', 'cursor style reports limit and cursors only; an empty cursor is the first page', async () => {
    await table([
      ['cursor=&limit=2', [0, 1], { limit: 2, nextCursor: cursor, prevCursor: null, hasMore: true }],
      ['cursor=', range(0, 20), { limit: 20, nextCursor: cursor, prevCursor: null, hasMore: true }],
      ['cursor', range(0, 20), { limit: 20, nextCursor: cursor, prevCursor: null, hasMore: true }],
      ['cursor=&limit=41', range(0, 41), { limit: 41, nextCursor: null, prevCursor: null, hasMore: false }],
      ['cursor=&number=99', [], { limit: 20, nextCursor: null, prevCursor: null, hasMore: false }],
    ])
    const { nextCursor } = (await page(door, 'cursor=&limit=40')).pagination
    await table([[`cursor=${nextCursor}`, [40], { limit: 20, nextCursor: null, prevCursor: cursor, hasMore: false }]])
  })

  spec('R76', 'the first page of page and offset style leads over to cursors', async () => {
    for (const query of ['', 'page_size=7', 'limit=7', 'sort=number&order=desc']) {
      const { numbers, pagination } = await page(door, query)
      const sort = query.startsWith('sort') ? `&${query}` : ''
      const { numbers: next } = await page(door, `cursor=${pagination.nextCursor}&limit=2${sort}`)
      const last = numbers.at(-1) as number
      assert.deepEqual(next, sort ? [last - 1, last - 2] : [last + 1, last + 2], query)
    }
  })

  spec('R77', 'parameters of different styles conflict', async () => {
    for (const query of [
      'page=2&offset=10',
      'cursor=x&offset=5',
      'page=1&limit=5',
      'page_size=5&limit=5',
      'cursor=x&page_size=5',
      'cursor=&page=1',
      'offset=0&page_size=5',
    ])
      assert.deepEqual(
        await refused(door, `/orders?${query}`),
        [`pagination-conflict ${query.split(/[&=]/)[2]}`],
        query,
      )
    assert.match(await sentence(door, '/orders?page=2&offset=10'), /^page and offset belong to different styles/)
  })

  spec('R78', 'numbers are plain digits, and pages count from 1', async () => {
    for (const name of ['limit', 'offset', 'page', 'page_size']) {
      for (const text of ['-1', '1.0', '1e1', '+5', '%2B5', '05', '', 'abc', '00', '0x5', '12345678901', '٥', 'null'])
        assert.deepEqual(
          await refused(door, `/orders?${name}=${encodeURIComponent(text).replace('%252B', '%2B')}`),
          [`invalid-parameter-value ${name}`],
          `${name}=${text}`,
        )
    }
    assert.deepEqual(await refused(door, '/orders?page=0'), ['invalid-parameter-value page'])
    assert.match(await sentence(door, '/orders?page=0'), /at least 1/)
  })

  spec('R79', 'sizes are 1 to 100', async () => {
    for (const name of ['limit', 'page_size']) {
      for (const text of ['0', '101', '9999999999'])
        assert.deepEqual(await refused(door, `/orders?${name}=${text}`), [`invalid-parameter-value ${name}`])
      assert.match(await sentence(door, `/orders?${name}=101`), /at most 100/)
      assert.match(await sentence(door, `/orders?${name}=0`), /between 1 and 100/)
      assert.equal((await page(door, `${name}=100`)).numbers.length, count)
    }
  })

  spec('R80', 'a page or offset past the end is empty, with the totals', () =>
    table([
      ['page=99&page_size=10', [], { currentPage: 99, pageSize: 10, totalPages: 5, totalRecords: 41, hasMore: false }],
      ['offset=41', [], { limit: 20, offset: 41, totalRecords: 41, hasMore: false }],
      ['offset=10000&limit=1', [], { limit: 1, offset: 10000, totalRecords: 41, hasMore: false }],
      [
        'page=101&page_size=100',
        [],
        { currentPage: 101, pageSize: 100, totalPages: 1, totalRecords: 41, hasMore: false },
      ],
    ]),
  )

  spec('R80', 'far past the end is refused, pointing to cursors', async () => {
    for (const query of ['offset=10001', 'offset=10000000', 'offset=9999999999&limit=1'])
      assert.deepEqual(await refused(door, `/orders?${query}`), ['invalid-parameter-value offset'])
    for (const query of ['page=502', 'page=102&page_size=100', 'page=9999999999&page_size=100'])
      assert.deepEqual(await refused(door, `/orders?${query}`), ['invalid-parameter-value page'])
    assert.match(await sentence(door, '/orders?offset=10000000'), /At most 10000 rows.*cursor/)
  })
})
