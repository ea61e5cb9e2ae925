/** `bylaw explain` of requests that depend on several rows: removals, revisions and events. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import { explainRequest } from '../../src/cli/explanation.ts'
import { callerOf } from '../../src/flow/credential.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import type { Store } from '../../src/flow/store.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { openStore } from '../../src/terminal/open.ts'
import { freshPostgres } from '../help/postgres.ts'

const library = service({
  name: 'library',
  events: true,
  scopes: { read: 'Read', write: 'Write', purge: 'Remove notes', audit: 'Read revisions' },
  resources: {
    shelves: {
      prefix: 'she',
      fields: { name: f.text() },
      history: { read: 'audit' },
      access: { read: 'read', write: 'write' },
    },
    books: {
      prefix: 'boo',
      fields: { shelfId: f.ref('shelves', { onDelete: 'cascade' }) },
      access: { read: 'read', write: 'write' },
    },
    notes: {
      prefix: 'nte',
      fields: { bookId: f.ref('books', { onDelete: 'cascade' }) },
      access: { read: 'read', write: 'purge' },
    },
    loans: { prefix: 'loa', fields: { bookId: f.ref('books') }, access: { read: 'read', write: 'write' } },
  },
})

describe('removals, revisions and events', () => {
  const all = ['read', 'write', 'purge', 'audit']
  const explained = async (store: Store, line: string, own: readonly string[]) => {
    const [method = '', target = ''] = line.split(' ')
    const world = serviceWorld(realWorld, store)
    const caller = callerOf('x', { account: null, scopes: own, tier: null, features: [] })
    const { steps, refusal } = await explainRequest(
      { method, target, caller, invalid: null },
      { service: library, store, world },
    )
    const last = steps.findLast(({ passes }) => passes !== null)
    return `${refusal?.status ?? 'goes on'} at ${last?.step}: ${last?.says}`
  }
  const opened = async (t: TestContext, url = 'sqlite::memory:') => {
    const store = await openStore(library, url, 'apply')
    t.after(() => store.close())
    const world = serviceWorld(realWorld, store)
    const caller = callerOf('x', { account: null, scopes: all, tier: null, features: [] })
    const log = { error: (_: object, says: string) => assert.fail(says), warn: () => {}, info: () => {} }
    const door = fetchDoor({ service: library, store, world, log, authenticate: () => caller, open: () => true })
    const send = async (method: string, path: string, json?: object) => {
      const body = json && JSON.stringify(json)
      const headers = { 'content-type': 'application/json', 'content-length': String(body?.length) }
      const answer = await door(new Request(`http://localhost${path}`, { method, ...(body && { body, headers }) }))
      // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
      return { status: answer.status, json: (await answer.json().catch(() => null)) as any }
    }
    const made = async (path: string, json: object) => (await send('POST', path, json)).json.id as string
    return { store, send, made }
  }

  const removed = async (t: TestContext, url?: string) => {
    const { store, send, made } = await opened(t, url)
    const shelf = await made('/shelves', { name: 'a' })
    const line = `DELETE /shelves/${shelf}`
    assert.equal(await explained(store, line, all), 'goes on at removal: deletes 1 of shelves')
    const books = [await made('/books', { shelfId: shelf }), await made('/books', { shelfId: shelf })]
    await made('/notes', { bookId: books[0] })
    assert.equal(
      await explained(store, line, all),
      'goes on at removal: deletes 1 of shelves, 2 of books and 1 of notes',
    )
    assert.match(await explained(store, line, ['read', 'write']), /^403 at removal: .*purge/)
    const loan = await made('/loans', { bookId: books[1] })
    assert.match(await explained(store, line, all), /^409 at removal: Shelf cannot be deleted while loans depend on it/)
    assert.equal((await send('DELETE', `/shelves/${shelf}`)).status, 409)
    await send('DELETE', `/loans/${loan}`)
    assert.equal((await send('GET', `/notes`)).json.data.length, 1, 'an explanation removes nothing')
    assert.equal((await send('DELETE', `/shelves/${shelf}`)).status, 204)
    assert.equal((await send('GET', '/notes')).json.data.length, 0)
  }
  test('a removal names what it takes along, or what prevents it, as it is answered then', (t) => removed(t))
  test('so it does on PostgreSQL', async (t) => {
    const { url, drop } = await freshPostgres()
    await removed(t, url)
    t.after(drop)
  })
  test('revisions are looked for, with the rule of reading the item', async (t) => {
    const { store, made } = await opened(t)
    const path = `/shelves/${await made('/shelves', { name: 'a' })}/revisions`
    assert.equal(await explained(store, `GET ${path}`, all), 'goes on at item: it is answered with 200')
    assert.equal(await explained(store, `GET ${path}/1`, all), 'goes on at item: it is answered with 200')
    assert.match(await explained(store, `GET ${path}/2`, all), /^404 at item: /)
    assert.match(await explained(store, `GET ${path}`, ['audit']), /^403 at item: To read shelves needs the scope read/)
    assert.match(await explained(store, 'GET /shelves/she_01h455vb4pex5vsknk084sn02q/revisions', all), /^404 at item/)
  })
  test('an event is looked for', async (t) => {
    const { store, send, made } = await opened(t)
    await made('/shelves', { name: 'a' })
    await store.execute({ do: 'number' })
    const [event] = (await send('GET', '/events?cursor=')).json.data
    assert.equal(await explained(store, `GET /events/${event.id}`, all), 'goes on at item: it is answered with 200')
    assert.match(await explained(store, `GET /events/${event.id}`, []), /^404 at item: Event evt_\w+ was not found/)
    assert.match(await explained(store, 'GET /events/evt_01h455vb4pex5vsknk084sn02q', all), /^404 at item/)
  })
})
