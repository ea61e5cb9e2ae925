/** Part 3 of the contract: the declared settings of pagination. */
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

const fill = (door: Door, many: number) =>
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
const cursor = 'a cursor'
/** Page information with placeholders for cursors, for comparisons. */
const plain = (pagination: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(pagination).map(([name, value]) => [name, typeof value === 'string' ? cursor : value]),
  )

doors('pagination by cursor only', declared({ pagination: { styles: ['cursor'] } }), (door) => {
  fill(door, 3)
  spec('R74', 'parameters of other styles are refused, naming those on offer', async () => {
    assert.deepEqual(await refused(door, '/orders?page=2'), ['unsupported-pagination page'])
    assert.match(await sentence(door, '/orders?page=2'), /cursor, limit/)
    assert.deepEqual(await refused(door, '/orders?offset=2&page_size=3'), [
      'unsupported-pagination offset',
      'unsupported-pagination page_size',
    ])
    assert.deepEqual(plain((await page(door, '')).pagination), {
      limit: 20,
      nextCursor: null,
      prevCursor: null,
      hasMore: false,
    })
    assert.deepEqual(plain((await page(door, 'limit=2')).pagination), {
      limit: 2,
      nextCursor: cursor,
      prevCursor: null,
      hasMore: true,
    })
  })
})

doors(
  'pagination by page only',
  declared({ pagination: { styles: ['page'] }, pageSize: 2, maxPageSize: 3, maxOffset: 2 }),
  (door) => {
    fill(door, 5)
    spec('R74 R76', 'there is no cursor if cursor style is not offered', async () => {
      assert.deepEqual((await page(door, '')).pagination, {
        currentPage: 1,
        pageSize: 2,
        totalPages: 3,
        totalRecords: 5,
        hasMore: true,
      })
      for (const query of ['cursor=', 'limit=1', 'offset=1'])
        assert.deepEqual(await refused(door, `/orders?${query}`), [`unsupported-pagination ${query.split('=')[0]}`])
    })
    spec('R79 R80', 'page sizes and how many rows can be skipped are settings', async () => {
      assert.deepEqual((await page(door, 'page=2')).numbers, [2, 3])
      assert.deepEqual(await refused(door, '/orders?page=3'), ['invalid-parameter-value page'])
      assert.match(
        await sentence(door, '/orders?page=3'),
        /At most 2 rows can be skipped\. Narrow the list with filters\./,
      )
      assert.match(await sentence(door, '/orders?page_size=4'), /at most 3/)
    })
  },
)

doors(
  'pagination without totals',
  declared({ pagination: { totals: 'off', style: 'offset' }, overMax: 'clamp', maxPageSize: 4, pageSize: 2 }),
  (door) => {
    fill(door, 5)
    spec('R75', 'with totals off they are left out in every style', async () => {
      assert.deepEqual(plain((await page(door, '')).pagination), {
        limit: 2,
        offset: 0,
        hasMore: true,
        nextCursor: cursor,
      })
      assert.deepEqual((await page(door, 'page=3&page_size=2')).pagination, {
        currentPage: 3,
        pageSize: 2,
        hasMore: false,
      })
      assert.deepEqual((await page(door, 'page=9')).pagination, { currentPage: 9, pageSize: 2, hasMore: false })
    })
    spec('R79', 'with list.overMax: clamp the maximum is used and reported', async () => {
      assert.deepEqual(plain((await page(door, 'limit=9999999999')).pagination), {
        limit: 4,
        offset: 0,
        hasMore: true,
        nextCursor: cursor,
      })
      const { numbers, pagination } = await page(door, 'page=2&page_size=5')
      assert.deepEqual([numbers, pagination], [[4], { currentPage: 2, pageSize: 4, hasMore: false }])
      assert.deepEqual(await refused(door, '/orders?limit=0'), ['invalid-parameter-value limit'])
    })
  },
)

doors(
  'pagination with a limit of counting',
  declared({
    pagination: {
      countLimit: 3,
      field: 'paging',
      names: { totalRecords: 'total', hasMore: 'more', nextCursor: 'next', prevCursor: 'before' },
    },
  }),
  (door) => {
    fill(door, 4)
    spec('R75', 'totals are left out where more rows match than are counted, never estimated', async () => {
      const { json } = await listed(door, '/orders?page_size=2')
      assert.deepEqual(plain(json.paging), { currentPage: 1, pageSize: 2, more: true, next: cursor })
      assert.deepEqual((await listed(door, '/orders?page_size=2&page=2')).json.paging, {
        currentPage: 2,
        pageSize: 2,
        more: false,
      })
      assert.deepEqual((await listed(door, '/orders?number[gte]=1&page=2&page_size=2')).json.paging, {
        currentPage: 2,
        pageSize: 2,
        totalPages: 2,
        total: 3,
        more: false,
      })
    })
    spec('R75', 'the names of page information are settings', async () => {
      const { json } = await listed(door, '/orders?cursor=&limit=3')
      assert.deepEqual(Object.keys(json), ['data', 'paging'])
      assert.deepEqual(plain(json.paging), { limit: 3, next: cursor, before: null, more: true })
    })
  },
)

doors(
  'pagination with every row counted',
  declared({ pagination: { countLimit: 'none', styles: ['offset', 'page'], style: 'offset' } }),
  (door) => {
    fill(door, 4)
    spec('R75', 'countLimit: none always counts', async () => {
      assert.deepEqual((await page(door, '')).pagination, { limit: 20, offset: 0, totalRecords: 4, hasMore: false })
    })
  },
)
