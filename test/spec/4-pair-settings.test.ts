/** Parts 2 to 7 of the contract: pairs under other settings, and what older versions show from other rows. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const shelf = service({
  name: 'shelf',
  settings: {
    naming: 'snake',
    server: { basePath: '/api' },
    resource: { id: 'client', links: 'all' },
    missing: { status: 410 },
    deleted: { status: 404 },
    concurrency: { required: true },
    list: { pagination: { style: 'cursor' } },
    cache: { groups: true },
  },
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: {
    firms: { prefix: 'fir', fields: { town: f.text({ max: 40, filter: true }) }, access: 'public' },
    'book-shelves': { prefix: 'she', fields: { name: f.text({ max: 40 }) }, embed: true, access: 'public' },
    books: {
      prefix: 'boo',
      fields: { title: f.text({ max: 80, search: true, sort: true }), firm_id: f.ref('firms') },
      order: ['-title'],
      embed: ['book_shelves', 'firm'],
      access: 'public',
    },
  },
  pairs: {
    placements: {
      between: ['book-shelves', 'books'],
      fields: { row_number: f.integer({ default: 1 }) },
      access: 'public',
    },
  },
}).change('v2', 'books', { about: 'The town is that of the firm.', moved: { town: { by: 'firm_id', to: 'town' } } })

doors('pairs under other settings', shelf, (door) => {
  const post = async (path: string, json: object) =>
    assert.equal((await door.send('POST', `/api/v2${path}`, { json })).status, 201)

  spec('R25 R132 R129 R235 R147', 'names, statuses, conditions, search and cursors follow the settings', async () => {
    await post('/firms', { id: 'fir_a', town: 'Bonn' })
    await post('/book-shelves', { id: 'she_a', name: 'Top' })
    for (const title of ['Blue whale', 'Red fish', 'Blue sea'])
      await post('/books', { id: `boo_${title.slice(-3)}`, title, firm_id: 'fir_a' })
    const at = (book: string) => `/api/v2/book-shelves/she_a/books/${book}`
    for (const book of ['boo_ale', 'boo_ish', 'boo_sea']) {
      const made = await door.send('PUT', at(book), { json: { row_number: 2 } })
      assert.equal(made.status, 201, made.text)
      assert.equal(made.headers.location, at(book))
      assert.equal(made.headers['cache-group-invalidation'], '"placements", "books"')
    }
    assert.equal((await door.send('PUT', at('boo_sea'))).status, 428)
    const { headers, json } = await door.send('GET', at('boo_sea'))
    assert.deepEqual(json._pair, { row_number: 2 })
    assert.equal(json._links.book_shelves, '/api/v2/books/boo_sea/book-shelves')
    const match = { headers: { 'if-match': headers.etag as string } }
    assert.equal((await door.send('PUT', at('boo_sea'), match)).status, 200)
    assert.equal((await door.send('DELETE', at('boo_sea'), { headers: { 'if-match': '*' } })).status, 204)
    assert.equal((await door.send('GET', at('boo_sea'))).status, 410)
    assert.equal((await door.send('GET', '/api/v2/book-shelves/she_b/books')).status, 410)
    const list = await door.send('GET', '/api/v2/book-shelves/she_a/books?limit=1')
    assert.deepEqual([list.json.data.length, list.json.data[0].title], [1, 'Red fish'])
    const next = await door.send(
      'GET',
      `/api/v2/book-shelves/she_a/books?limit=1&cursor=${list.json.pagination.next_cursor}`,
    )
    assert.equal(next.json.data[0].title, 'Blue whale')
    const found = await door.send('GET', '/api/v2/book-shelves/she_a/books?search=blue')
    assert.deepEqual(
      found.json.data.map((one: { id: string; _pair: object }) => [one.id, one._pair]),
      [['boo_ale', { row_number: 2 }]],
    )
    const shelves = (await door.send('GET', '/api/v2/books?embed=book_shelves')).json.data
    assert.deepEqual(
      shelves.map((one: { _embedded: { book_shelves: { data: object[] } } }) => one._embedded.book_shelves.data.length),
      [1, 1, 0],
    )
  })

  spec('R196', 'an older version shows paired items with the fields that other rows have now', async () => {
    await post('/firms', { id: 'fir_b', town: 'Köln' })
    await post('/book-shelves', { id: 'she_c', name: 'Low' })
    await post('/books', { id: 'boo_old', title: 'Old', firm_id: 'fir_b' })
    const path = '/api/v1/book-shelves/she_c/books'
    const first = await door.send('PUT', `${path}/boo_old`)
    assert.deepEqual([first.status, first.json.town], [201, 'Köln'])
    assert.equal((await door.send('GET', `${path}/boo_old`)).json.town, 'Köln')
    assert.deepEqual(
      (await door.send('GET', `${path}?town=K%C3%B6ln`)).json.data.map((one: { town: string; _pair: object }) => [
        one.town,
        one._pair,
      ]),
      [['Köln', { row_number: 1 }]],
    )
    const { json } = await door.send('GET', '/api/v1/book-shelves/she_c?embed=books')
    assert.equal(json._embedded.books.data[0].town, 'Köln')
  })
})
