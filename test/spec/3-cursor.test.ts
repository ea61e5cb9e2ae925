/** Part 3 of the contract: cursors. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { callerGate } from '../../src/corridor/server-context.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld, trustedClock } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { openSqlite } from '../../src/sqlite/open.ts'
import { testing } from '../../src/testing.ts'
import { type Door, doors, spec } from '../help/door.ts'
import { asked, listed, made, refused, sentence, stocked, values } from '../help/list-service.ts'

const declared = (list = {}) =>
  service({
    name: 'books',
    resources: {
      books: {
        prefix: 'bok',
        fields: {
          title: f.text({ max: 10_000, sort: true, filter: true }),
          year: f.integer({ optional: true, sort: true, filter: 'range' }),
          kind: f.enum(['a', 'b'], { default: 'a', filter: true }),
        },
        sorts: { shelf: ['kind', '-year'] },
        access: 'public',
      },
      pages: { prefix: 'pag', fields: { title: f.text({ sort: true }) }, access: 'public' },
    },
    settings: { list },
  })

async function page(door: Door, query: Record<string, string>) {
  const answer = await listed(door, asked('/books', query))
  return { titles: values(answer, 'title') as string[], ...answer.json.pagination, etag: answer.headers.etag }
}

const titles = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

doors('cursors', declared(), (door) => {
  let ids: string[] = []
  before(async () => {
    ids = await stocked(
      door,
      '/books',
      titles.map((title, i) => ({ title, kind: i < 5 ? 'a' : 'b', ...(i % 3 === 1 ? {} : { year: 1900 + (i % 2) }) })),
    )
    await stocked(
      door,
      '/pages',
      titles.map((title) => ({ title })),
    )
  })

  spec('R81', 'a cursor is opaque text that stays the same, and so does the tag', async () => {
    const [one, other] = [await page(door, { cursor: '', limit: '2' }), await page(door, { cursor: '', limit: '2' })]
    assert.match(one.nextCursor, /^[A-Za-z0-9_-]+$/)
    assert.deepEqual([other.nextCursor, other.etag], [one.nextCursor, one.etag])
    assert.equal((await page(door, { limit: '2' })).nextCursor, one.nextCursor)
    assert.equal((await page(door, { page_size: '2' })).nextCursor, one.nextCursor)
  })

  spec(
    'R81 R84',
    'forward and back again, every row is shown once and in order, null exactly at the ends',
    async () => {
      for (const sort of [
        {},
        { sort: 'title' },
        { sort: 'title', order: 'desc' },
        { sort: 'year' },
        { sort: 'year', order: 'desc' },
        { sort: 'year', nulls: 'first' },
        { sort: 'year', order: 'desc', nulls: 'first' },
        { custom_sort: 'shelf' },
        { custom_sort: 'shelf', order: 'desc' },
      ] as Record<string, string>[]) {
        const whole = (await page(door, { ...sort, page_size: '100' })).titles
        for (const limit of ['1', '2', '3', '7']) {
          const forward: string[][] = []
          let step = await page(door, { ...sort, cursor: '', limit })
          assert.equal(step.prevCursor, null)
          for (;;) {
            forward.push(step.titles)
            assert.equal(step.hasMore, step.nextCursor !== null)
            if (step.nextCursor === null) break
            step = await page(door, { ...sort, cursor: step.nextCursor, limit })
          }
          assert.deepEqual(forward.flat(), whole, JSON.stringify({ sort, limit }))
          const back = [step.titles]
          while (step.prevCursor !== null) {
            step = await page(door, { ...sort, cursor: step.prevCursor, limit })
            assert.equal(step.hasMore, true)
            back.unshift(step.titles)
          }
          assert.deepEqual(back.flat(), whole, `back: ${JSON.stringify({ sort, limit })}`)
        }
      }
    },
  )

  spec('R81', 'it continues after its row, also if that row was deleted', async () => {
    const more = await stocked(door, '/books', [
      { title: 'x1', year: 2000 },
      { title: 'x2', year: 2000 },
      { title: 'x3', year: 2001 },
    ])
    const only = { 'year[gte]': '2000', sort: 'year' }
    const first = await page(door, { ...only, cursor: '', limit: '2' })
    assert.deepEqual(first.titles, ['x1', 'x2'])
    await door.send('DELETE', `/books/${more[1]}`)
    await door.send('DELETE', `/books/${more[0]}`)
    await made(door, '/books', { title: 'x0', year: 2000 })
    const second = await page(door, { ...only, cursor: first.nextCursor, limit: '2' })
    assert.deepEqual(second.titles, ['x0', 'x3'])
    for (const { id } of (await listed(door, '/books?year[gte]=2000')).json.data)
      await door.send('DELETE', `/books/${id}`)
    const last = await page(door, { ...only, cursor: first.nextCursor, limit: '2' })
    assert.deepEqual([last.titles, last.nextCursor, last.hasMore], [[], null, false])
  })

  spec('R84', 'if all rows on one side were deleted, there is no cursor to that side', async () => {
    const more = await stocked(
      door,
      '/books',
      ['y1', 'y2', 'y3', 'y4'].map((title) => ({ title, year: 2100 })),
    )
    const only = { year: '2100', limit: '1' }
    const [one, two] = [
      await page(door, { ...only, cursor: '' }),
      await page(door, { ...only, limit: '2', cursor: '' }),
    ]
    await door.send('DELETE', `/books/${more[0]}`)
    const second = await page(door, { ...only, cursor: one.nextCursor })
    assert.deepEqual([second.titles, second.prevCursor, second.hasMore], [['y2'], null, true])
    const third = await page(door, { ...only, cursor: two.nextCursor })
    assert.deepEqual([third.titles, third.hasMore], [['y3'], true])
    for (const id of more.slice(2)) await door.send('DELETE', `/books/${id}`)
    const back = await page(door, { ...only, cursor: third.prevCursor })
    assert.deepEqual([back.titles, back.prevCursor, back.nextCursor, back.hasMore], [['y2'], null, null, false])
    await door.send('DELETE', `/books/${more[1]}`)
  })

  spec('R82', 'a changed cursor, one of another list or of unknown form is refused with the same message', async () => {
    const { nextCursor } = await page(door, { cursor: '', limit: '2' })
    const other = (await listed(door, '/pages?cursor=&limit=2')).json.pagination.nextCursor
    const said = new Set<string>()
    const changed = [...nextCursor].map(
      (one: string, i: number) => `${nextCursor.slice(0, i)}${one === 'A' ? 'B' : 'A'}${nextCursor.slice(i + 1)}`,
    )
    const wrong = [
      ...changed.filter((_, i) => i % 7 === 0),
      other,
      'x',
      'null',
      '0',
      '%00',
      `${nextCursor}=`,
      `${nextCursor}A`,
      nextCursor.slice(0, -1),
      nextCursor.toLowerCase(),
      ids[0] as string,
      Buffer.from('{"id":1}').toString('base64url'),
      ' ',
      'é',
    ]
    for (const cursor of wrong) {
      assert.deepEqual(await refused(door, asked('/books', { cursor })), ['invalid-cursor cursor'], cursor)
      said.add(await sentence(door, asked('/books', { cursor })))
    }
    assert.equal(said.size, 1)
  })

  spec('R83', 'a cursor is bound to filters and sort; only the limit may change', async () => {
    const { nextCursor: cursor } = await page(door, { kind: 'a', cursor: '', limit: '2' })
    assert.deepEqual((await page(door, { kind: 'a', cursor, limit: '50' })).titles, ['c', 'd', 'e'])
    assert.deepEqual((await page(door, { cursor, kind: 'a' })).titles, ['c', 'd', 'e'])
    const others: Record<string, string>[] = [
      {},
      { kind: 'b' },
      { 'kind[eq]': 'b' },
      { kind: 'a', sort: 'title' },
      { kind: 'a', title: 'c' },
      { kind: 'a', custom_sort: 'shelf' },
    ]
    for (const other of others)
      assert.deepEqual(
        await refused(door, asked('/books', { ...other, cursor })),
        ['cursor-mismatch cursor'],
        JSON.stringify(other),
      )
    const { nextCursor: sorted } = await page(door, { sort: 'year', order: 'desc', cursor: '', limit: '2' })
    for (const other of [
      {},
      { sort: 'year' },
      { sort: 'year', order: 'asc' },
      { sort: 'year', order: 'desc', nulls: 'first' },
      { sort: 'title', order: 'desc' },
      { custom_sort: 'shelf' },
    ] as Record<string, string>[])
      assert.deepEqual(
        await refused(door, asked('/books', { ...other, cursor: sorted })),
        ['cursor-mismatch cursor'],
        JSON.stringify(other),
      )
    const { nextCursor: bare } = await page(door, { cursor: '', limit: '2' })
    assert.deepEqual(await refused(door, asked('/books', { cursor: bare, kind: 'a' })), ['cursor-mismatch cursor'])
  })

  spec('R83', 'filters may be given in another order, with brackets encoded or not', async () => {
    const { nextCursor } = (await listed(door, '/books?kind=a&year[gte]=1900&cursor=&limit=1')).json.pagination
    assert.equal((await listed(door, `/books?year%5Bgte%5D=1900&cursor=${nextCursor}&kind=a`)).json.data[0].title, 'c')
  })

  spec('R81', 'long values and values of any characters make cursors that a URL can hold', async () => {
    const odd = ['\u{10ffff}', '"\\,()%_&=+#', '\n\t', 'x'.repeat(9000), `${'x'.repeat(9000)}y`, ' ']
    const made_ = await stocked(
      door,
      '/books',
      odd.map((title) => ({ title, kind: 'b', year: 3000 })),
    )
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const step: Awaited<ReturnType<typeof page>> = await page(door, {
        year: '3000',
        sort: 'title',
        cursor,
        limit: '1',
      })
      seen.push(...step.titles)
      cursor = step.nextCursor
    }
    assert.deepEqual(seen, ['\n\t', ' ', '"\\,()%_&=+#', 'x'.repeat(9000), `${'x'.repeat(9000)}y`, '\u{10ffff}'])
    for (const id of made_) await door.send('DELETE', `/books/${id}`)
  })
})

spec('R85', 'with list.cursor.ttl an old cursor is refused', async () => {
  const books = declared({ cursor: { ttl: 'P1D' } })
  const store = openSqlite(
    'sqlite::memory:',
    [...books.resources.values()].map(({ collection }) => collection),
    'apply',
  )
  let hours = 480_000
  const world = serviceWorld(realWorld, { ...store, clock: trustedClock(() => hours * 3_600_000) })
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const authenticate = callerGate(books, store, world)
  const call = fetchDoor({ service: books, store, world, authenticate, log, open: () => true })
  // biome-ignore lint/suspicious/noExplicitAny: the test looks into answers of any shape
  const read = async (path: string): Promise<any> => (await call(new Request(`http://localhost${path}`))).json()
  for (const title of titles) {
    const body = JSON.stringify({ title })
    await call(
      new Request('http://localhost/books', { method: 'POST', body, headers: { 'content-type': 'application/json' } }),
    )
  }
  const { nextCursor } = (await read('/books?cursor=&limit=2')).pagination
  hours += 5
  assert.equal((await read('/books?cursor=&limit=2')).pagination.nextCursor, nextCursor)
  hours += 12
  assert.equal((await read(`/books?cursor=${nextCursor}`)).data.length, 5)
  hours += 7
  assert.equal((await read(`/books?cursor=${nextCursor}`)).cause.type, 'cursor-expired')
  await store.close()
})

spec('R85', 'cursors hold after a restart, and other stores do not know them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cursors-'))
  try {
    const read = async (database: string, path: string, title?: string) => {
      const { call, close } = testing(declared(), { database })
      if (title) for (const one of [title, `${title}2`]) await call('/books', { method: 'POST', json: { title: one } })
      const answer = await call(path)
      const { pagination, data, cause } = JSON.parse(await answer.text())
      await close()
      return {
        status: answer.status,
        next: pagination?.nextCursor,
        titles: data?.map((one: { title: string }) => one.title),
        type: cause?.type,
      }
    }
    const [here, there] = [`sqlite:${join(folder, 'here.db')}`, `sqlite:${join(folder, 'there.db')}`]
    const { next } = await read(here, '/books?limit=1', 'a')
    assert.deepEqual((await read(here, `/books?cursor=${next}`)).titles, ['a2'])
    assert.equal((await read(here, '/books?limit=1')).next, next)
    assert.equal((await read(there, `/books?cursor=${next}`, 'a')).type, 'invalid-cursor')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
