/** Part 3 of the contract: `search`, words in the searched fields. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  settings: { methods: { query: true }, list: { or: true } },
  resources: {
    books: {
      prefix: 'bok',
      owner: 'accountId',
      fields: {
        title: f.text({ max: 200, optional: true, search: true, filter: true, sort: true }),
        note: f.text({ max: 2000, optional: true, search: true }),
        tags: f.list(f.text({ max: 50 }), { max: 20, search: true }),
        writer: f.object({ name: f.text({ max: 100, search: true }) }, { optional: true }),
        year: f.integer({ default: 2000, filter: 'range', sort: true }),
        number: f.integer({ default: 0, sort: true, filter: true }),
        plain: f.text({ optional: true }),
        search: f.text({ optional: true, filter: true }),
      },
      access: 'authenticated',
    },
    loans: {
      prefix: 'lon',
      parent: 'books',
      fields: { reader: f.text({ max: 100, search: true }), other: f.text({ optional: true }) },
      access: 'authenticated',
    },
    shelves: { prefix: 'shf', fields: { name: f.text() }, access: 'authenticated' },
  },
})
const holders = { ann: { account: 'a', scopes: [] }, eve: { account: 'b', scopes: [] } }

const asked = (search: string, more = '') => `/books?search=${encodeURIComponent(search)}${more}`

doors(
  'search',
  shop,
  (door) => {
    const get = (path: string, who = 'ann') => door.send('GET', path, { headers: door.as(who) })
    const post = async (path: string, json: object, who = 'ann') => {
      const answer = await door.send('POST', path, { json, headers: door.as(who) })
      assert.equal(answer.status, 201, answer.text)
      return answer.json
    }
    const titles = async (search: string, more = '', who = 'ann'): Promise<string[]> => {
      const { status, json, text } = await get(asked(search, more), who)
      assert.equal(status, 200, text)
      if (!more.includes('cursor') && !more.includes('page'))
        assert.equal(json.pagination.totalRecords, json.data.length)
      return json.data.map(({ title }: { title: string }) => title)
    }

    before(async () => {
      const books: object[] = [
        { title: 'The Blue Whale', note: 'A book about the sea', year: 1990 },
        { title: 'Sea and sky', note: 'Whales, blue ones too', year: 2001, tags: ['blue', 'Whale songs'] },
        { title: 'Emma', writer: { name: 'Jane Austen' }, year: 1815 },
        { title: 'Straße nach İzmir', note: null, tags: ['日本語', '👍🏽'], year: 2010 },
        { title: 'Plain', plain: 'whale', search: 'x', year: 2020 },
        { title: null, tags: ['untitled'], year: 2021 },
      ]
      for (const one of books) await post('/books', one)
      await post('/books', { title: 'Blue whale of eve', note: 'blue' }, 'eve')
    })

    spec('R235', 'rows match that have all words in any field, each as the beginning of a word', async () => {
      const table: [search: string, more: string, found: (string | null)[]][] = [
        ['whale', '&sort=year', ['The Blue Whale', 'Sea and sky']],
        ['WHAL blu', '&sort=year', ['The Blue Whale', 'Sea and sky']],
        ['hale', '', []],
        ['blue austen', '', []],
        ['sea book', '', ['The Blue Whale']],
        ['jané AUST', '', ['Emma']],
        ['strass izm', '', ['Straße nach İzmir']],
        ['本', '', ['Straße nach İzmir']],
        ['日本', '', ['Straße nach İzmir']],
        ['本日', '', []],
        ['👍', '', ['Straße nach İzmir']],
        ['untitled', '', [null]],
        ['song sea', '', ['Sea and sky']],
      ]
      for (const [search, more, found] of table) assert.deepEqual(await titles(search, more), found, search)
      const form = { 'content-type': 'application/x-www-form-urlencoded', ...door.as('ann') }
      const { json } = await door.send('QUERY', '/books', { body: 'search=austen', headers: form })
      assert.equal(json.data[0].title, 'Emma')
    })

    spec('R235', 'it is combined with filters, sets, `or`, sorts and fields', async () => {
      assert.deepEqual(await titles('whale', '&year[gte]=2000'), ['Sea and sky'])
      assert.deepEqual(await titles('sea', '&title=in:(Emma,Sea%20and%20sky)'), ['Sea and sky'])
      assert.deepEqual(await titles('sea', '&or=(title=Emma;year[lte]=1990)'), ['The Blue Whale'])
      assert.deepEqual(await titles('sea', '&sort=title&order=desc'), ['The Blue Whale', 'Sea and sky'])
      assert.deepEqual(await titles('sea', '&sort=year&order=desc&fields=title'), ['Sea and sky', 'The Blue Whale'])
      const { json } = await get('/books?search[eq]=x')
      assert.equal(json.data[0].title, 'Plain')
    })

    spec('R235', 'writes of every kind keep the words', async () => {
      const { id, ...whole } = await post('/books', { title: 'Alpha', note: 'first' })
      const headers = door.as('ann')
      const path = `/books/${id}`
      const send = async (method: string, json: object, type?: string) => {
        const sent = type
          ? { body: JSON.stringify(json), headers: { ...headers, 'content-type': type } }
          : { json, headers }
        assert.equal((await door.send(method, path, sent)).status, 200)
      }
      await send('PATCH', { title: 'Beta' })
      assert.deepEqual([await titles('alpha'), await titles('beta first')], [[], ['Beta']])
      await send('PATCH', { year: 7 })
      assert.deepEqual(await titles('beta'), ['Beta'])
      await send('PUT', { title: 'Gamma', tags: ['two'] })
      assert.deepEqual([await titles('beta'), await titles('first'), await titles('gamma two')], [[], [], ['Gamma']])
      await send('PATCH', { title: null, tags: [] })
      assert.deepEqual(await titles('gamma'), [])
      await send('PATCH', { title: 'Delta' })
      assert.deepEqual(await titles('delta'), ['Delta'])
      assert.equal((await door.send('PATCH', `${path}?dryRun=true`, { json: { title: 'Dry' }, headers })).status, 200)
      assert.deepEqual([await titles('dry'), await titles('delta')], [[], ['Delta']])
      assert.equal((await door.send('DELETE', path, { headers })).status, 204)
      assert.deepEqual(await titles('delta'), [])
      assert.equal(whole.title, 'Alpha')
    })

    spec('R235 R54', 'lists below a parent and of all children are searched; deleted rows are not found', async () => {
      const [one, other] = [await post('/books', { title: 'P' }), await post('/books', { title: 'Q' })]
      await post(`/books/${one.id}/loans`, { reader: 'Nora Blake' })
      await post(`/books/${other.id}/loans`, { reader: 'Nora Green' })
      const readers = async (path: string) => {
        const { status, json, text } = await get(path)
        assert.equal(status, 200, text)
        return json.data.map(({ reader }: { reader: string }) => reader)
      }
      assert.deepEqual(await readers('/loans?search=nora'), ['Nora Blake', 'Nora Green'])
      assert.deepEqual(await readers(`/books/${one.id}/loans?search=nora`), ['Nora Blake'])
      assert.deepEqual(await readers(`/books/${one.id}/loans?search=green`), [])
      for (const { id } of [one, other])
        for (const loan of (await get(`/books/${id}/loans`)).json.data)
          await door.send('DELETE', `/loans/${loan.id}`, { headers: door.as('ann') })
      for (const { id } of [one, other]) await door.send('DELETE', `/books/${id}`, { headers: door.as('ann') })
      assert.deepEqual(await readers('/loans?search=nora'), [])
    })

    spec('R235 R54 R169', 'rows of other accounts cannot be learnt', async () => {
      assert.deepEqual(await titles('blue whale', '', 'eve'), ['Blue whale of eve'])
      assert.deepEqual(await titles('emma', '', 'eve'), [])
      const before = await get(asked('blue whale', '&cursor=&limit=1'))
      for (let i = 0; i < 5; i++) await post('/books', { title: 'blue blue whale whale', note: 'blue whale' }, 'eve')
      const after = await get(asked('blue whale', '&cursor=&limit=1'))
      assert.deepEqual([after.text, after.headers.etag], [before.text, before.headers.etag])
    })

    spec('R235 R154', 'mistakes are refused with the reason', async () => {
      const table: [path: string, type: string, says: RegExp][] = [
        ['/books?search=', 'invalid-parameter-value', /^search has no word; write at least one letter/],
        ['/books?search=%20.,%22*', 'invalid-parameter-value', /no word/],
        [asked('x'.repeat(501)), 'invalid-parameter-value', /^search has 501 characters; write at most 500/],
        [
          asked(Array.from({ length: 21 }, (_, i) => `w${i}`).join(' ')),
          'invalid-parameter-value',
          /^search has 21 words; write at most 20/,
        ],
        ['/books?search=a&search=b', 'repeated-parameter', /more than once/],
        ['/books?or=(search=a)', 'unsupported-filter', /^search cannot be filtered/],
        ['/shelves?search=a', 'unknown-parameter', /^search is not a parameter here/],
        ['/books?search=a&order=desc', 'invalid-parameter-value', /^order needs something to sort by/],
      ]
      for (const [path, type, says] of table) {
        const { status, json } = await get(path)
        assert.deepEqual([status, json.errors?.[0]?.type], [400, type], path)
        assert.match(json.errors[0].message, says)
      }
    })

    spec('R235', 'nothing in a search is a query of the database', async () => {
      const hostile = [
        `a' | 'b`,
        `a" OR "b`,
        `a*`,
        `"`,
        `'`,
        `\\`,
        `a:*`,
        `a & !b`,
        `NEAR(a b)`,
        `words:a`,
        `a') --`,
        `^a`,
        `-a`,
        `{a}`,
        `a\\' :* x`,
        `ʼ'`,
        `can't'`,
      ]
      await post('/books', { title: hostile.join(' '), note: 'hostile' })
      for (const one of hostile) {
        const { status, json } = await get(asked(one))
        assert.ok(status === 200 || json.cause.message.startsWith('search has no word'), one)
        if (status === 200)
          assert.ok(
            json.data.some(({ note }: { note: string }) => note === 'hostile'),
            one,
          )
      }
      assert.deepEqual(await titles(`zzz' | 'emma`), [])
      assert.deepEqual(await titles(`zzz" OR "emma`), [])
      assert.deepEqual(await titles('zzz* OR emma'), [])
    })
  },
  { holders },
)

const library = service({
  name: 'library',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' }, v3: { released: '2026-06-01' } },
  resources: {
    shelves: { prefix: 'shf', fields: { place: f.text({ max: 50, search: true }) }, access: 'public' },
    books: {
      prefix: 'bok',
      fields: {
        heading: f.text({ max: 100, search: true, sort: true }),
        firstName: f.text({ max: 50, search: true, default: '' }),
        lastName: f.text({ max: 50, search: true, default: '' }),
        shelfId: f.ref('shelves', { optional: true }),
      },
      access: 'public',
    },
  },
})
  .change('v3', 'books', {
    about: 'The place is that of the shelf, and the writer has two names.',
    moved: { place: { by: 'shelfId', to: 'place', field: f.text({ max: 50, optional: true }) } },
    removed: { writer: f.text({ max: 101, default: '' }) },
    added: ['firstName', 'lastName'],
    request: ({ writer }: { writer: string }) => {
      const [firstName = '', lastName = ''] = writer.split(' ')
      return { firstName, lastName }
    },
    response: ({ firstName, lastName }: { firstName: string; lastName: string }) => ({
      writer: `${firstName} ${lastName}`,
    }),
  } as never)
  .change('v2', 'books', { about: 'A `title` is a heading.', was: 'volumes', renamed: { title: 'heading' } } as never)

doors('search in older versions', library, (door) => {
  spec('R235 R194', 'each version writes words and searches the fields of the newest one', async () => {
    const send = async (method: string, path: string, json?: object) => {
      const answer = await door.send(method, path, json ? { json } : {})
      assert.ok(answer.status < 300, `${path}: ${answer.text}`)
      return answer.json
    }
    const found = async (path: string) =>
      (await send('GET', path)).data.map(({ title, heading }: Record<string, string>) => title ?? heading)
    const shelf = await send('POST', '/v3/shelves', { place: 'Cellar' })
    await send('POST', '/v3/books', { heading: 'Newest Whale', firstName: 'Zoë', lastName: 'Lee', shelfId: shelf.id })
    const { id } = await send('POST', '/v1/volumes', { title: 'Oldest whale', writer: 'Ann Lee' })
    for (const path of ['/v1/volumes', '/v2/books', '/v3/books']) {
      assert.deepEqual(
        await found(`${path}?search=whale`),
        ['Newest Whale', 'Oldest whale'].toReversed().toSorted(),
        path,
      )
      assert.deepEqual(await found(`${path}?search=ann%20lee`), ['Oldest whale'], path)
      assert.deepEqual(await found(`${path}?search=zoe%20whale`), ['Newest Whale'], path)
      assert.deepEqual(await found(`${path}?search=cellar`), [], path)
    }
    assert.deepEqual(await found('/v1/volumes?search=whale&sort=title&order=desc'), ['Oldest whale', 'Newest Whale'])
    await send('PATCH', `/v1/volumes/${id}`, { title: 'Changed', writer: 'Eve Fox' })
    for (const path of ['/v1/volumes', '/v2/books', '/v3/books']) {
      assert.deepEqual(await found(`${path}?search=changed%20fox`), ['Changed'], path)
      assert.deepEqual(await found(`${path}?search=ann`), [], path)
    }
    const { json } = await door.send('GET', '/v1/volumes?search=whale&limit=1&cursor=')
    assert.equal(json.data[0].title, 'Newest Whale')
    const described = await send('GET', '/openapi/v1.json')
    assert.match(JSON.stringify(described.paths['/v1/volumes'] ?? described.paths['/volumes']), /"name":"search"/)
  })
})
