/** Part 3 of the contract: the form of a list, and its items. */
import assert from 'node:assert/strict'
import { beforeEach } from 'node:test'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { listed, made, refused, stocked, values } from '../help/list-service.ts'

const shop = service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        status: f.enum(['paid', 'lost', 'shipped'], { default: 'paid', filter: true }),
        price: f.decimal({ scale: 2, default: '0', filter: 'range', sort: true }),
        note: f.text({ optional: true }),
      },
      access: 'public',
    },
    customers: { prefix: 'cus', fields: { name: f.text() }, settings: { etag: { mode: 'weak' } }, access: 'public' },
    parcels: { prefix: 'par', fields: { name: f.text() }, settings: { etag: { mode: 'off' } }, access: 'public' },
  },
})

doors('envelope', shop, (door) => {
  beforeEach(async () => {
    for (const path of ['orders', 'customers', 'parcels']) {
      for (let { data } = (await listed(door, `/${path}?page_size=100`)).json; data.length > 0; ) {
        for (const { id } of data) await door.send('DELETE', `/${path}/${id}`)
        data = (await listed(door, `/${path}`)).json.data
      }
    }
  })

  spec(
    'R52 R34',
    'a list is an object with the items in data, each with a string id, and page information',
    async () => {
      const item = await made(door, '/orders', { price: '1' })
      const { json, headers } = await listed(door, '/orders')
      assert.deepEqual(json, {
        data: [item],
        pagination: { currentPage: 1, pageSize: 20, totalPages: 1, totalRecords: 1, hasMore: false, nextCursor: null },
      })
      assert.equal(headers['content-type'], 'application/json')
      assert.equal(headers['x-content-type-options'], 'nosniff')
    },
  )

  spec('R52', 'where nothing matches, data is empty and the status 200', async () => {
    const empty = {
      data: [],
      pagination: { currentPage: 1, pageSize: 20, totalPages: 0, totalRecords: 0, hasMore: false, nextCursor: null },
    }
    assert.deepEqual((await listed(door, '/orders')).json, empty)
    await made(door, '/orders', {})
    assert.deepEqual((await listed(door, '/orders?status=lost')).json, empty)
  })

  spec('R52 R42', 'the items of a list are byte for byte those that are read alone', async () => {
    const ids = await stocked(door, '/orders', [{ note: 'é "quoted" \\ \u2028' }, { price: '10.5' }])
    const alone = await Promise.all(ids.map(async (id) => (await door.send('GET', `/orders/${id}`)).text))
    assert.ok((await listed(door, '/orders')).text.startsWith(`{"data":[${alone.join(',\n')}],`))
  })

  spec('R53', 'filter, sort and page: the cheapest paid order', async () => {
    await stocked(door, '/orders', [{ price: '3' }, { price: '1', status: 'lost' }, { price: '2', note: 'this' }])
    assert.deepEqual(values(await listed(door, '/orders?page=1&page_size=1&sort=price&status=paid'), 'note'), ['this'])
    assert.deepEqual(values(await listed(door, '/orders?status=paid&sort=price&page_size=1&page=1'), 'note'), ['this'])
  })

  spec('R24', 'order of parameters and empty segments change nothing', async () => {
    await stocked(door, '/orders', [{ price: '3' }, { price: '1' }])
    const one = await listed(door, '/orders?sort=price&status=paid')
    const other = await listed(door, '/orders?&status=paid&&sort=price&')
    assert.deepEqual([other.text, other.headers.etag], [one.text, one.headers.etag])
  })

  spec('R54', 'deleted rows are left out of data and totals', async () => {
    const [first] = await stocked(door, '/orders', [{}, {}, {}])
    await door.send('DELETE', `/orders/${first}`)
    const { json } = await listed(door, '/orders')
    assert.deepEqual([json.data.length, json.pagination.totalRecords], [2, 2])
    assert.ok(json.data.every(({ id }: { id: string }) => id !== first))
  })

  spec('R54', 'a cached total is not used after rows were added or removed', async () => {
    const total = async (query = '') => (await listed(door, `/orders${query}`)).json.pagination.totalRecords
    await made(door, '/orders', {})
    assert.deepEqual([await total(), await total(), await total('?status=lost')], [1, 1, 0])
    const { id } = await made(door, '/orders', { status: 'lost' })
    assert.deepEqual([await total(), await total('?status=lost')], [2, 1])
    await door.send('PATCH', `/orders/${id}`, { json: { status: 'paid' } })
    assert.deepEqual([await total(), await total('?status=lost'), await total('?status=paid')], [2, 0, 2])
    await door.send('DELETE', `/orders/${id}`)
    assert.deepEqual([await total(), await total('?status=paid')], [1, 1])
  })

  spec(
    'R148 R139',
    'the tag of a list stays while it shows the same, and a conditional read is answered 304',
    async () => {
      await made(door, '/orders', {})
      const { headers } = await listed(door, '/orders')
      assert.match(headers.etag as string, /^"[^"]+"$/)
      assert.equal((await listed(door, '/orders')).headers.etag, headers.etag)
      const again = await door.send('GET', '/orders', { headers: { 'if-none-match': headers.etag as string } })
      assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', headers.etag])
      await made(door, '/customers', { name: 'elsewhere' })
      assert.equal((await listed(door, '/orders')).headers.etag, headers.etag)
    },
  )

  spec('R148', 'it changes with a row, an order, a total or a cursor that the list shows', async () => {
    const ids = await stocked(door, '/orders', [{ price: '1' }, { price: '2' }, { price: '3' }])
    const tags = async () => {
      const queries = [
        'page_size=2',
        'page_size=2&page=2',
        'cursor=&limit=2',
        'cursor=&limit=3',
        'sort=price&order=desc&page_size=1',
      ]
      return Promise.all(queries.map(async (query) => (await listed(door, `/orders?${query}`)).headers.etag))
    }
    const before = await tags()
    await door.send('DELETE', `/orders/${ids[2]}`)
    const after = await tags()
    const changed = before.map((tag, i) => tag !== after[i])
    assert.deepEqual(changed, [true, true, true, true, true], 'totals, the row, the cursor, the row, the order')
    await door.send('PATCH', `/orders/${ids[0]}`, { json: { price: '9' } })
    const last = await tags()
    assert.deepEqual(
      after.map((tag, i) => tag !== last[i]),
      [true, false, true, true, true],
    )
  })

  spec('R148', 'weak tags are weak on lists too, and with tags off lists have none', async () => {
    assert.match((await listed(door, '/customers')).headers.etag as string, /^W\/"[^"]+"$/)
    const { etag } = (await listed(door, '/customers')).headers
    assert.equal((await door.send('GET', '/customers', { headers: { 'if-none-match': etag as string } })).status, 304)
    assert.equal((await listed(door, '/parcels')).headers.etag, undefined)
  })

  spec('R10', 'HEAD has the status and the headers of GET, and no content', async () => {
    await stocked(door, '/orders', [{}, {}, {}])
    for (const path of ['/orders', '/orders?page_size=1&page=2', '/orders?cursor=&limit=1', '/orders?foo=1']) {
      const [get, head] = [await door.send('GET', path), await door.send('HEAD', path)]
      assert.deepEqual([head.status, head.text], [get.status, ''])
      for (const name of ['etag', 'link', 'content-type', 'cache-control', 'content-length'])
        assert.equal(head.headers[name], get.headers[name], `${name} of ${path}`)
    }
  })

  spec('R131 R12', 'a list cannot be deleted or replaced', async () => {
    for (const method of ['DELETE', 'PUT', 'PATCH', 'QUERY']) {
      const { status, headers } = await door.send(method, '/orders?status=paid')
      assert.deepEqual([status, headers.allow], [405, 'GET, HEAD, OPTIONS, POST'], method)
    }
  })

  spec('R16', 'content on a list is refused', async () => {
    if (door.name === 'fetch') return assert.equal((await door.send('GET', '/orders')).status, 200) // fetch cannot send it
    const { status, json } = await door.send('GET', '/orders', { json: {} })
    assert.deepEqual([status, json.type], [400, 'unexpected-body'])
  })
})

const snake = service({
  name: 'snake',
  resources: { notes: { fields: { short_text: f.text({ filter: 'like', sort: true }) }, access: 'public' } },
  settings: { naming: 'snake' },
})

doors('envelope in snake case', snake, (door) => {
  spec('R41a R75', 'names that the service adds follow naming; those of the conventions never change', async () => {
    await stocked(door, '/notes', [{ short_text: 'b' }, { short_text: 'a' }])
    const { json } = await listed(door, '/notes?page_size=1&sort=short_text')
    assert.equal(json.data[0].short_text, 'a')
    assert.deepEqual(Object.keys(json.data[0]), ['id', 'short_text', 'created_at', 'updated_at'])
    assert.deepEqual(Object.keys(json), ['data', 'pagination'])
    assert.deepEqual(
      { ...json.pagination, next_cursor: '' },
      { current_page: 1, page_size: 1, total_pages: 2, total_records: 2, has_more: true, next_cursor: '' },
    )
    const cursor = (await listed(door, '/notes?cursor=&limit=1')).json.pagination
    assert.deepEqual(Object.keys(cursor), ['limit', 'next_cursor', 'prev_cursor', 'has_more'])
    assert.deepEqual(await refused(door, '/notes?shortText=a'), ['unknown-parameter shortText'])
    assert.equal((await listed(door, '/notes?sort=created_at&short_text[like]=a')).json.data.length, 1)
  })
})
