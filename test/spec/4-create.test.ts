/** Part 4 of the contract, methods: creating by POST. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const library = service({
  name: 'library',
  resources: {
    authors: {
      prefix: 'aut',
      fields: {
        name: f.text({ max: 50 }),
        note: f.text({ optional: true }),
        level: f.enum(['low', 'high'], { default: 'low' }),
        rating: f.integer({ readOnly: true, default: 3 }),
        checkedAt: f.timestamp({ readOnly: true, optional: true }),
        tags: f.list(f.text()),
        metadata: f.metadata(),
      },
      access: 'public',
    },
    books: { prefix: 'boo', parent: 'authors', fields: { title: f.text() }, access: 'public' },
    countries: { key: 'code', fields: { code: f.text({ max: 8 }), name: f.text() }, access: 'public' },
    shelves: { prefix: 'shf', fields: { name: f.text() }, access: 'public' },
    slots: {
      parent: 'shelves',
      key: 'number',
      fields: { number: f.integer({ min: 0, max: 999 }), note: f.text({ optional: true }) },
      access: 'public',
    },
    drafts: {
      prefix: 'drf',
      fields: { text: f.text() },
      access: 'public',
      settings: { prefer: { minimalOnCreate: 'on' } },
    },
    notices: { prefix: 'ntc', fields: { text: f.text() }, access: 'public', methods: ['list', 'create'] },
  },
})
const unusedAuthor = '/authors/aut_00000000000000000000000000'

const post = (door: Door, path: string, json: object, headers: Record<string, string> = {}): Promise<Answer> =>
  door.send('POST', path, { json, headers })

async function posted(door: Door, path: string, json: object): Promise<Answer> {
  const answer = await post(door, path, json)
  assert.equal(answer.status, 201, answer.text)
  return answer
}

/** The types and places of all violations. */
const wrongs = ({ json }: Answer): string[] =>
  json.errors.map(({ type, pointer }: { type: string; pointer: string }) => `${type} ${pointer}`)

doors('creation', library, (door) => {
  spec(
    'R87 R121',
    'a creating POST answers 201 with the resource, where it is and its tag, readable there at once',
    async () => {
      const answer = await posted(door, '/authors', { name: 'Ann' })
      assert.match(answer.json.id, /^aut_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
      assert.equal(answer.headers.location, `/authors/${answer.json.id}`)
      assert.equal(answer.headers['content-location'], answer.headers.location)
      assert.match(answer.headers.etag ?? '', /^"[^"]+"$/)
      const read = await door.send('GET', answer.headers.location as string)
      assert.deepEqual([read.status, read.text, read.headers.etag], [200, answer.text, answer.headers.etag])
      assert.equal(read.headers['last-modified'], answer.headers['last-modified'])
      assert.equal(read.headers['content-location'], undefined)
    },
  )

  spec('R87 R4', 'a POST to a nested list gives the canonical URL of the item', async () => {
    const author = (await posted(door, '/authors', { name: 'Ann' })).json.id
    const book = await posted(door, `/authors/${author}/books`, { title: 'One' })
    assert.equal(book.headers.location, `/books/${book.json.id}`)
    assert.equal(book.headers['content-location'], `/books/${book.json.id}`)
    assert.equal(book.json.authorId, author)
    assert.equal((await door.send('GET', `/books/${book.json.id}`)).text, book.text)
    const shelf = (await posted(door, '/shelves', { name: 'S' })).json.id
    const slot = await posted(door, `/shelves/${shelf}/slots`, { number: 9 })
    assert.equal(slot.headers.location, `/shelves/${shelf}/slots/9`)
    assert.deepEqual([slot.json.id, slot.json.shelfId, slot.json.number], ['9', shelf, 9])
    assert.equal((await door.send('GET', slot.headers.location as string)).text, slot.text)
  })

  spec('R87', 'a key that is a part of the URL is escaped in it', async () => {
    for (const code of ['a/b', 'ü %', 'x?#y', '...']) {
      const answer = await posted(door, '/countries', { code, name: 'N' })
      assert.equal(answer.headers.location, `/countries/${encodeURIComponent(code)}`)
      assert.equal((await door.send('GET', answer.headers.location as string)).text, answer.text)
    }
  })

  spec('R87', 'nothing is created below a parent that does not exist', async () => {
    for (const [path, status] of [
      [`${unusedAuthor}/books`, 404],
      ['/authors/nobody/books', 404],
      ['/shelves/shf_00000000000000000000000000/slots', 404],
    ] as const) {
      const answer = await post(door, path, { title: 'One', number: 1 })
      assert.deepEqual([answer.status, answer.json.type], [status, 'resource-not-found'], path)
    }
    const broken = await door.send('POST', `${unusedAuthor}/books`, {
      body: '{',
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(broken.status, 404)
    assert.equal((await door.send('POST', '/books', { json: { title: 'One' } })).status, 405)
  })

  spec('R111 R42', 'a field left out has its default, else null; lists and metadata are empty', async () => {
    const { json } = await posted(door, '/authors', { name: 'Ann' })
    const { id, createdAt, updatedAt, ...rest } = json
    assert.equal(createdAt, updatedAt)
    assert.deepEqual(rest, {
      name: 'Ann',
      note: null,
      level: 'low',
      rating: 3,
      checkedAt: null,
      tags: [],
      metadata: {},
    })
  })

  spec('R48 R91', 'managed fields are refused in a POST, with any value', async () => {
    for (const name of ['id', 'createdAt', 'updatedAt', 'rating', 'checkedAt'])
      for (const value of ['aut_00000000000000000000000000', null, 3]) {
        const answer = await post(door, '/authors', { name: 'Ann', [name]: value })
        assert.deepEqual(
          [answer.status, answer.json.type, wrongs(answer)],
          [400, 'validation-failed', [`read-only-field /${name}`]],
        )
      }
    const author = (await posted(door, '/authors', { name: 'Ann' })).json.id
    assert.deepEqual(wrongs(await post(door, `/authors/${author}/books`, { title: 'One', authorId: author })), [
      'read-only-field /authorId',
    ])
    assert.deepEqual(wrongs(await post(door, '/countries', { code: 'IT', name: 'N', id: 'IT' })), [
      'read-only-field /id',
    ])
  })

  spec('R89', 'return=minimal is ignored on a creating POST, as the created resource is always carried', async () => {
    const answer = await post(door, '/authors', { name: 'Ann' }, { prefer: 'return=minimal' })
    assert.equal(answer.status, 201)
    assert.equal(answer.json.name, 'Ann')
    assert.equal(answer.headers['preference-applied'], undefined)
  })

  spec('R89', 'where declared, return=minimal gives an empty 201', async () => {
    const short = await post(door, '/drafts', { text: 'x' }, { prefer: 'return=minimal' })
    assert.deepEqual([short.status, short.text, short.headers['preference-applied']], [201, '', 'return=minimal'])
    assert.match(short.headers.location ?? '', /^\/drafts\/drf_/)
    assert.equal(short.headers['content-type'], undefined)
    const read = await door.send('GET', short.headers.location as string)
    assert.equal(read.headers.etag, short.headers.etag)
    const whole = await post(door, '/drafts', { text: 'x' })
    assert.deepEqual([whole.status, whole.json.text, whole.headers['preference-applied']], [201, 'x', undefined])
  })

  spec('R92', 'a repeated POST creates another resource', async () => {
    const [one, two] = [
      await posted(door, '/authors', { name: 'Same' }),
      await posted(door, '/authors', { name: 'Same' }),
    ]
    assert.notEqual(one.json.id, two.json.id)
    assert.ok(one.json.id < two.json.id)
  })

  spec('R12', 'a created item need not be readable', async () => {
    const answer = await posted(door, '/notices', { text: 'x' })
    assert.equal(answer.json.text, 'x')
    assert.equal((await door.send('GET', '/notices')).json.data.length, 1)
  })

  spec('R128', 'on a creating POST only * is evaluated, against the collection', async () => {
    const broken = { body: '{', headers: { 'content-type': 'application/json', 'if-none-match': '*' } }
    for (const [name, value, status, type] of [
      ['if-none-match', '*', 412, 'precondition-failed'],
      ['if-match', '*', 201, undefined],
      ['if-match', '"x"', 400, 'invalid-precondition'],
      ['if-match', 'W/"x"', 400, 'invalid-precondition'],
      ['if-match', 'x', 400, 'invalid-precondition'],
      ['if-none-match', '"x"', 400, 'invalid-precondition'],
      ['if-none-match', 'x', 400, 'invalid-precondition'],
      ['if-unmodified-since', 'Thu, 01 Jan 1970 00:00:00 GMT', 201, undefined],
      ['if-modified-since', 'Thu, 01 Jan 1970 00:00:00 GMT', 201, undefined],
    ] as const) {
      const answer = await post(door, '/authors', { name: 'Ann' }, { [name]: value })
      assert.deepEqual([answer.status, answer.json.type], [status, type], `${name}: ${value}`)
    }
    assert.equal((await door.send('POST', '/authors', broken)).status, 412)
    assert.equal((await post(door, '/authors', { nome: 1 }, { 'if-none-match': '*' })).status, 412)
    assert.equal((await post(door, `${unusedAuthor}/books`, { title: 'x' }, { 'if-none-match': '*' })).status, 404)
  })
})
