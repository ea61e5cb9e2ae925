/** Part 3 of the contract: `search`, words in the searched fields. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'
import { isFound, randomBelow, randomSearch, randomText, relevance, type SearchedText } from '../help/searched-texts.ts'

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

const pile = service({
  name: 'pile',
  resources: {
    books: {
      prefix: 'bok',
      fields: {
        title: f.text({ max: 500, search: true }),
        note: f.text({ max: 500, optional: true, search: true }),
        number: f.integer({ sort: true }),
      },
      access: 'public',
    },
  },
})

doors('search against a plain model', pile, (door: Door) => {
  interface Row {
    readonly id: string
    readonly number: number
    readonly texts: SearchedText[]
  }
  const rows: Row[] = []
  const seed = Number(process.env.BYLAW_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const below = randomBelow(seed)
  before(async () => {
    for (let number = 0; number < 120; number++) {
      const texts = [randomText(below), randomText(below)]
      const [title, note] = texts.map(({ text }) => text)
      const { status, json, text } = await door.send('POST', '/books', { json: { title, note, number } })
      assert.equal(status, 201, text)
      rows.push({ id: json.id, number, texts })
    }
  })
  const byId = (a: Row, b: Row) => (a.id < b.id ? -1 : 1)

  spec('R235', 'many scripts: the rows, their order by relevance, and all pages are those of the model', async () => {
    for (let i = 0; i < 150; i++) {
      const { text, asked: words } = randomSearch(below)
      const says = `seed ${seed}: ${JSON.stringify(text)} ${words.join(' ')}`
      const found = rows.filter(({ texts }) => isFound(texts, words))
      const ranks = new Map(found.map((row) => [row, relevance(row.texts, words)]))
      const best = found.toSorted((a, b) => {
        const [one, other] = [ranks.get(a) as readonly number[], ranks.get(b) as readonly number[]]
        return (one[0] as number) - (other[0] as number) || (one[1] as number) - (other[1] as number) || byId(a, b)
      })
      const numbers = best.map(({ number }) => number)
      const query = `/books?search=${encodeURIComponent(text)}`
      const get = async (path: string): Promise<any> => {
        const { status, json, text: answer, headers } = await door.send('GET', path)
        assert.equal(status, 200, `${says} ${answer}`)
        return { numbers: json.data.map(({ number }: Row) => number), json, headers }
      }
      const whole = await get(`${query}&page_size=100`)
      assert.deepEqual(whole.numbers, numbers.slice(0, 100), says)
      assert.equal(whole.json.pagination.totalRecords, numbers.length)
      const sorted = await get(`${query}&page_size=100&sort=number&order=desc`)
      assert.deepEqual(sorted.numbers, numbers.toSorted((a, b) => b - a).slice(0, 100), says)
      if (i % 5 > 0) continue
      const size = 1 + below(5)
      assert.deepEqual((await get(`${query}&limit=${size}&offset=2`)).numbers, numbers.slice(2, 2 + size), says)
      assert.deepEqual((await get(`${query}&page_size=${size}&page=2`)).numbers, numbers.slice(size, 2 * size), says)
      const walked: number[] = []
      let path: string | undefined = `${query}&limit=${size}&cursor=`
      let last = path
      while (path !== undefined) {
        const page: any = await get(path)
        walked.push(...page.numbers)
        last = path
        path = /<([^>]+)>; rel="next"/.exec(page.headers.link ?? '')?.[1]
      }
      assert.deepEqual(walked, numbers, says)
      const back: number[] = []
      let at: string | undefined = last
      while (at !== undefined) {
        const page: any = await get(at)
        back.unshift(...page.numbers)
        at = /<([^>]+)>; rel="prev"/.exec(page.headers.link ?? '')?.[1]
      }
      assert.deepEqual(back, numbers, says)
    }
  })

  spec('R235 R83', 'a cursor belongs to its search', async () => {
    const { json } = await door.send('GET', '/books?search=a&limit=1&cursor=')
    const cursor = json.pagination.nextCursor
    assert.equal((await door.send('GET', `/books?search=a&limit=1&cursor=${cursor}`)).status, 200)
    for (const path of [
      `/books?search=b&cursor=${cursor}`,
      `/books?cursor=${cursor}`,
      `/books?search=a&sort=number&cursor=${cursor}`,
    ])
      assert.equal((await door.send('GET', path)).json.errors[0].type, 'cursor-mismatch')
  })
})
