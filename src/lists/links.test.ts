/** Links: the pages around a page, and their URLs. Part 4, pagination. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ListQuery, PaginationStyle } from '../flow/intent.ts'
import type { Page } from '../flow/outcome.ts'
import { linkHeader, pageLinks } from './links.ts'
import { parsePairs } from './query-string.ts'

interface PageSituation {
  readonly query?: string
  readonly offset?: number
  readonly limit?: number
  readonly total?: number | null
  readonly after?: boolean
  readonly next?: string | null
  readonly prev?: string | null
}

function around(
  style: PaginationStyle,
  { query = '', offset = 0, limit = 10, total = 41, after, next = null, prev = null }: PageSituation,
) {
  const more = after ?? (total !== null && offset + limit < total)
  const request = {
    style,
    parameters: parsePairs(query),
    window: { from: 'offset', offset, limit },
  } as unknown as ListQuery
  return pageLinks('/orders', request, { total, hasAfter: more } as Page, { next, prev }, 100)
}

const rels = (style: PaginationStyle, situation: PageSituation) =>
  Object.fromEntries(Object.entries(around(style, situation)).map(([rel, url]) => [rel, url.replace('/orders', '')]))

test('pages are numbered from 1 to the last', () => {
  const table: [situation: PageSituation, links: Record<string, string>][] = [
    [{}, { self: '', first: '?page=1', next: '?page=2', last: '?page=5' }],
    [
      { query: 'page=2', offset: 10 },
      { self: '?page=2', first: '?page=1', prev: '?page=1', next: '?page=3', last: '?page=5' },
    ],
    [
      { query: 'page=5', offset: 40 },
      { self: '?page=5', first: '?page=1', prev: '?page=4', last: '?page=5' },
    ],
    [
      { query: 'page=9', offset: 80 },
      { self: '?page=9', first: '?page=1', prev: '?page=5', last: '?page=5' },
    ],
    [{ total: 0 }, { self: '', first: '?page=1', last: '?page=1' }],
    [
      { query: 'page=3', offset: 20, total: 0 },
      { self: '?page=3', first: '?page=1', prev: '?page=1', last: '?page=1' },
    ],
    [{ total: 10 }, { self: '', first: '?page=1', last: '?page=1' }],
    [{ total: 11 }, { self: '', first: '?page=1', next: '?page=2', last: '?page=2' }],
    [
      { total: null, after: true },
      { self: '', first: '?page=1', next: '?page=2' },
    ],
    [
      { total: null, after: false, offset: 20, query: 'page=3' },
      { self: '?page=3', first: '?page=1', prev: '?page=2' },
    ],
    [
      { query: 'page_size=10&page=2', offset: 10, total: 20 },
      {
        self: '?page_size=10&page=2',
        first: '?page_size=10&page=1',
        prev: '?page_size=10&page=1',
        last: '?page_size=10&page=2',
      },
    ],
  ]
  for (const [situation, expected] of table)
    assert.deepEqual(rels('page', situation), expected, JSON.stringify(situation))
})

test('offsets keep the step of the current one', () => {
  const table: [situation: PageSituation, links: Record<string, string>][] = [
    [
      { query: 'limit=10' },
      { self: '?limit=10', first: '?limit=10&offset=0', next: '?limit=10&offset=10', last: '?limit=10&offset=40' },
    ],
    [
      { query: 'offset=10', offset: 10 },
      { self: '?offset=10', first: '?offset=0', prev: '?offset=0', next: '?offset=20', last: '?offset=40' },
    ],
    [
      { query: 'offset=3', offset: 3 },
      { self: '?offset=3', first: '?offset=0', prev: '?offset=0', next: '?offset=13', last: '?offset=33' },
    ],
    [
      { query: 'offset=33', offset: 33 },
      { self: '?offset=33', first: '?offset=0', prev: '?offset=23', last: '?offset=33' },
    ],
    [
      { query: 'offset=41', offset: 41 },
      { self: '?offset=41', first: '?offset=0', prev: '?offset=31', last: '?offset=31' },
    ],
    [
      { query: 'offset=90', offset: 90 },
      { self: '?offset=90', first: '?offset=0', prev: '?offset=40', last: '?offset=40' },
    ],
    [
      { query: 'offset=8', offset: 8, total: 3 },
      { self: '?offset=8', first: '?offset=0', prev: '?offset=0', last: '?offset=0' },
    ],
    [
      { query: 'offset=5', offset: 5, total: 0 },
      { self: '?offset=5', first: '?offset=0', prev: '?offset=0', last: '?offset=0' },
    ],
    [
      { query: 'offset=5', offset: 5, total: null, after: true },
      { self: '?offset=5', first: '?offset=0', prev: '?offset=0', next: '?offset=15' },
    ],
  ]
  for (const [situation, expected] of table)
    assert.deepEqual(rels('offset', situation), expected, JSON.stringify(situation))
})

test('no link leads beyond maxOffset', () => {
  assert.equal(rels('offset', { offset: 90, total: 1000 }).next, '?offset=100')
  assert.equal(rels('offset', { offset: 91, total: 1000 }).next, undefined)
  assert.equal(rels('page', { offset: 100, total: 1000 }).next, undefined)
  assert.equal(rels('page', { total: 110 }).last, '?page=11')
  assert.equal(rels('page', { total: 111 }).last, undefined)
  assert.equal(rels('offset', { total: 111 }).last, undefined)
})

test('cursors lead to the first, the next and the previous page', () => {
  const next = 'N'
  assert.deepEqual(rels('cursor', { query: 'cursor=', next }), {
    self: '?cursor=',
    first: '?cursor=',
    next: '?cursor=N',
  })
  assert.deepEqual(rels('cursor', { query: 'cursor=C&limit=2', next, prev: 'P' }), {
    self: '?cursor=C&limit=2',
    first: '?limit=2&cursor=',
    prev: '?limit=2&cursor=P',
    next: '?limit=2&cursor=N',
  })
  assert.deepEqual(rels('cursor', { query: 'cursor=C', prev: 'P' }), {
    self: '?cursor=C',
    first: '?cursor=',
    prev: '?cursor=P',
  })
})

test('all other parameters are kept, in the encoded form', () => {
  const query = 'price[gte]=10&name=a+b%26c&utm=1&page=1&sort=name&city=in:("a,b")&x=%E9%80%80'.replace(
    '"a,b"',
    '%22a,b%22',
  )
  const kept = 'price%5Bgte%5D=10&name=a%20b%26c&utm=1&sort=name&city=in%3A(%22a%2Cb%22)&x=%E9%80%80'
  const { self, next } = rels('page', { query })
  assert.equal(next, `?${kept}&page=2`)
  assert.deepEqual(parsePairs((self as string).slice(1)), parsePairs(query))
})

test('the header lists them in order', () => {
  assert.equal(
    linkHeader(around('page', { query: 'page=2', offset: 10 })),
    '</orders?page=2>; rel="self", </orders?page=1>; rel="first", </orders?page=1>; rel="prev", </orders?page=3>; rel="next", </orders?page=5>; rel="last"',
  )
})

test('long links are left out, the least needed first, so that the header stays small', () => {
  const header = (length: number) => linkHeader(around('page', { query: `a=${'x'.repeat(length)}&page=2`, offset: 10 }))
  const left = (length: number) => [...header(length).matchAll(/rel="(\w+)"/g)].map(([, rel]) => rel)
  assert.deepEqual(left(1000), ['self', 'first', 'prev', 'next', 'last'])
  assert.deepEqual(left(1800), ['self', 'prev', 'next', 'last'])
  assert.deepEqual(left(2500), ['self', 'prev', 'next'])
  assert.deepEqual(left(3500), ['prev', 'next'])
  assert.deepEqual(left(8000), ['next'])
  assert.equal(header(9000), '')
})
