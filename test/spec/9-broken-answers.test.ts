/** Part 9 of the contract: writes whose answer has values of other rows, which the version of the request cannot show. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const versions = { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' }, v3: { released: '2026-01-01' } }
const title = () => f.text({ max: 40, optional: true })

const library = service({
  name: 'library',
  versions,
  events: true,
  settings: { batches: 5 },
  resources: {
    authors: { prefix: 'aut', fields: { title: title() }, access: 'public' },
    books: {
      prefix: 'boo',
      fields: { note: f.text({ default: '' }), authorId: f.ref('authors', { optional: true }) },
      access: 'public',
      settings: { resource: { id: 'client', putCreates: true } },
    },
    drafts: { prefix: 'dra', fields: { title: title() }, access: 'public' },
  },
  pairs: {
    shelves: {
      between: ['authors', 'drafts'],
      fields: { row: f.integer({ default: 0 }) },
      access: 'public',
    },
  },
})
  .change('v3', 'authors', {
    about: 'Titles are not in upper case.',
    retyped: { title: title() },
    request: ({ title }) => ({ title: title?.toLowerCase() ?? null }),
    response: ({ title }) => ({ title: upperCase(title) }),
  })
  .change('v3', 'drafts', {
    about: 'Titles are not in upper case.',
    retyped: { title: title() },
    request: ({ title }) => ({ title: title?.toLowerCase() ?? null }),
    response: ({ title }) => ({ title: upperCase(title) }),
  })
  .change('v2', 'books', {
    about: 'The title of the author is that of authors.',
    moved: { authorTitle: { by: 'authorId', to: 'title' } },
  })
  .handlers({
    drafts: {
      write: ({ next, set }) => {
        if (next.title === 'set') set({ title: 'broken' })
      },
    },
  })

function upperCase(title: string | null): string | null {
  if (title === 'broken') throw new Error('This title has no upper case.')
  return title?.toUpperCase() ?? null
}

doors('a write whose answer has other rows that its version cannot show', library, (door: Door) => {
  const send = async (method: string, path: string, json?: object, headers = {}) => {
    const answer = await door.send(method, path, { ...(json && { json }), headers })
    return { ...answer, is: answer.status < 300 ? answer.status : answer.json.type }
  }
  const idOf = async (path: string, json: object): Promise<string> => {
    const { json: item, text } = await send('POST', path, json)
    assert.ok(item.id, text)
    return item.id
  }
  const failed = 'version-conversion-failed'
  let broken = ''
  let author = ''
  before(async () => {
    broken = await idOf('/v3/authors', { title: 'broken' })
    author = await idOf('/v3/authors', { title: 'whole' })
  })

  spec('R157 R196', 'a POST, PUT and PATCH store nothing if the row of a moved field cannot be shown', async () => {
    const headers = { 'Idempotency-Key': 'first-of-a-broken-author' }
    for (let i = 0; i < 2; i++)
      assert.equal((await send('POST', '/v1/books', { id: 'boo_a', authorId: broken }, headers)).is, failed)
    assert.equal((await send('GET', '/v3/books/boo_a')).status, 404)
    assert.equal((await send('POST', '/v1/books', { id: 'boo_a', authorId: author }, headers)).is, 201)
    assert.equal((await send('PUT', '/v1/books/boo_b', { authorId: broken })).is, failed)
    assert.equal((await send('GET', '/v3/books/boo_b')).status, 404)
    for (const [method, json] of [
      ['PATCH', { authorId: broken }],
      ['PUT', { authorId: broken, note: 'x' }],
    ] as const)
      assert.equal((await send(method, '/v1/books/boo_a', json)).is, failed)
    const operations = [{ method: 'PATCH', path: '/books/boo_a', body: { authorId: broken } }]
    assert.equal((await send('POST', '/v1/batches', { operations })).is, failed)
    assert.equal((await send('GET', '/v3/books/boo_a')).json.authorId, author)
    assert.equal((await send('GET', '/v3/events?item=boo_a')).json.data.length, 1)
  })

  spec('R157 R109', 'a PUT of a pair stores nothing if the other item cannot be shown', async () => {
    const draft = await idOf('/v3/drafts', { title: 'whole' })
    const path = `/drafts/${draft}/authors/${broken}`
    assert.equal((await send('PUT', `/v1${path}?dryRun=true`)).is, failed)
    assert.equal((await send('PUT', `/v1${path}`)).is, failed)
    assert.equal((await send('GET', `/v3${path}`)).status, 404)
    const operations = [{ method: 'PUT', path }]
    assert.equal((await send('POST', '/v1/batches', { operations })).is, failed)
    assert.equal((await send('GET', `/v3${path}`)).status, 404)
    assert.equal((await send('PUT', `/v1/authors/${broken}/drafts/${draft}`, { row: 1 })).is, 201)
    assert.equal((await send('PUT', `/v1${path}`, { row: 2 }, { prefer: 'return=minimal' })).is, failed)
    assert.deepEqual((await send('GET', `/v3${path}`)).json._pair, { row: 1 })
    const { json } = await send('GET', '/v3/events?resource=shelves')
    assert.deepEqual(
      json.data.map(({ type }: { type: string }) => type),
      ['shelf.created'],
    )
    assert.equal((await send('DELETE', `/v1${path}`)).is, 204)
  })

  spec('R157 R226', 'a POST, PUT and PATCH store nothing if a handler sets a value that cannot be shown', async () => {
    const { totalRecords } = (await send('GET', '/v3/drafts')).json.pagination
    const headers = { 'Idempotency-Key': 'first-of-a-broken-draft' }
    for (let i = 0; i < 2; i++) assert.equal((await send('POST', '/v1/drafts', { title: 'SET' }, headers)).is, failed)
    assert.equal((await send('GET', '/v3/drafts')).json.pagination.totalRecords, totalRecords)
    const made = await send('POST', '/v1/drafts', { title: 'A' }, headers)
    assert.equal(made.is, 201)
    const path = `/drafts/${made.json.id}`
    for (const method of ['PATCH', 'PUT']) assert.equal((await send(method, `/v1${path}`, { title: 'SET' })).is, failed)
    assert.equal((await send('GET', `/v3${path}`)).json.title, 'a')
    assert.equal((await send('PATCH', `/v3${path}`, { title: 'set' })).json.title, 'broken')
  })
})
