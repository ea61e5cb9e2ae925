/** Proves that cached rows equal those of the file, after writes of any process and after failed writes. The store. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { freshFile } from '../help/file.ts'
import { creation, idOf, openStoreUnderTest } from '../help/store-under-test.ts'

const api = service({
  name: 'house',
  resources: {
    rooms: { prefix: 'roo', fields: { name: f.text() }, access: 'public' },
    chairs: {
      prefix: 'cha',
      fields: {
        roomId: f.ref('rooms', { onDelete: 'cascade' }),
      },
      access: 'public',
    },
  },
})

type Tested = ReturnType<typeof testing>
// biome-ignore lint/suspicious/noExplicitAny: answers of two shapes
const sent = async (answer: Promise<Response>): Promise<any> => (await answer).json()
const made = async ({ call }: Tested, path: string, json: object): Promise<string> =>
  (await sent(call(path, { method: 'POST', json }))).id

describe('a row that was read before', () => {
  test('is read again after a write here or by another process', async (t) => {
    const database = `sqlite:${freshFile(t)}`
    const [here, there] = [testing(api, { database }), testing(api, { database })]
    t.after(() => Promise.all([here.close(), there.close()]))
    const id = await made(here, '/rooms', { name: '0' })
    const nameAt = async ({ call }: Tested) => (await sent(call(`/rooms/${id}`))).name
    for (const [i, by] of [here, there, there, here, there].entries()) {
      for (const at of [here, there, here, there]) assert.equal(await nameAt(at), String(i))
      await by.call(`/rooms/${id}`, { method: 'PATCH', json: { name: String(i + 1) } })
      for (const at of [there, here, there, here]) assert.equal(await nameAt(at), String(i + 1))
    }
    await there.call(`/rooms/${id}`, { method: 'DELETE' })
    for (const { call } of [here, there]) assert.equal((await call(`/rooms/${id}`)).status, 410)
  })

  test('is read again as a joined row', async (t) => {
    const moved = service({
      name: 'moved',
      versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
      resources: {
        rooms: { prefix: 'roo', fields: { name: f.text() }, access: 'public' },
        chairs: { prefix: 'cha', fields: { roomId: f.ref('rooms') }, access: 'public' },
      },
    }).change('v2', 'chairs', { about: 'It is said of the room.', moved: { room: { by: 'roomId', to: 'name' } } })
    const database = `sqlite:${freshFile(t)}`
    const [here, there] = [testing(moved, { database }), testing(moved, { database })]
    t.after(() => Promise.all([here.close(), there.close()]))
    const room = await made(here, '/v2/rooms', { name: '0' })
    const chair = await made(here, '/v2/chairs', { roomId: room })
    const write = async ({ call }: Tested, version: string, name: string) => {
      const [path, json] = version === 'v1' ? [`/v1/chairs/${chair}`, { room: name }] : [`/v2/rooms/${room}`, { name }]
      assert.equal((await call(path, { method: 'PATCH', json })).status, 200)
    }
    let name = 0
    for (const by of [here, there])
      for (const version of ['v1', 'v2']) {
        await write(by, version, String(++name))
        for (const { call } of [here, there, here]) {
          const [first, second] = [call(`/v1/chairs/${chair}`), call(`/v2/rooms/${room}`)]
          assert.deepEqual([(await sent(first)).room, (await sent(second)).name], [String(name), String(name)])
        }
      }
  })

  test('is missing after it was deleted with another one', async (t) => {
    const own = testing(api, { database: `sqlite:${freshFile(t)}` })
    t.after(own.close)
    const room = await made(own, '/rooms', { name: 'Hall' })
    const chair = await made(own, '/chairs', { roomId: room })
    assert.equal((await own.call(`/chairs/${chair}`)).status, 200)
    assert.equal((await own.call(`/rooms/${room}`, { method: 'DELETE' })).status, 204)
    assert.equal((await own.call(`/chairs/${chair}`)).status, 410)
  })

  test('is not read from the file again until a write', async (t) => {
    const { file, store } = await openStoreUnderTest(t)
    const read = () => store.execute({ do: 'read', collection: 'things', key: creation(1).key, time: 0 })
    await store.execute(creation(1))
    const first = await read()
    assert.equal(await read(), first)
    const other = new DatabaseSync(file)
    other.prepare('UPDATE things SET revision = 7 WHERE id = ?').run(idOf(1))
    other.close()
    const second = await read()
    assert.deepEqual([second.is, second.is === 'found' && second.revision], ['found', 7])
  })
})

test('a state that could not be read is not used, and the cache is not used for it', async (t) => {
  const { db, store, file } = await openStoreUnderTest(t)
  const prepare = db.prepare.bind(db)
  let fails = false
  t.mock.method(db, 'prepare', (text: string) => {
    const statement = prepare(text)
    const all = statement.all.bind(statement)
    if (text === 'PRAGMA data_version')
      statement.all = () => {
        if (fails) throw Object.assign(new Error('disk I/O error'), { errcode: 10 })
        return all()
      }
    return statement
  })
  await store.execute(creation(1, 'old'))
  const read = { do: 'read', collection: 'things', key: { id: idOf(1), parent: null, account: null }, time: 0 } as const
  const name = () => {
    const found = store.execute(read)
    return 'doc' in found && (JSON.parse(found.doc) as { name: string }).name
  }
  assert.equal(name(), 'old')
  const other = new DatabaseSync(file)
  other.exec(`UPDATE things SET doc = replace(doc, 'old', 'new'), revision = 2`)
  other.close()
  for (const held of [true, false]) {
    const release = held ? store.hold?.() : undefined
    fails = true
    for (let i = 0; i < 3; i++) assert.throws(name, { type: 'dependency-unavailable' })
    fails = false
    assert.equal(name(), 'new')
    release?.()
  }
})
