/** Proves that what moved to another resource is brought there from the rows of before, or that nothing is. The cellar. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'

const name = 'rooms'
const v1 = { v1: { released: '2024-01-01' } }
const access = 'public'
const first = service({
  name,
  versions: v1,
  resources: {
    shelves: { prefix: 'shf', fields: { label: f.text() }, access },
    books: {
      prefix: 'bok',
      fields: {
        title: f.text({ sort: true, filter: true }),
        shelfId: f.ref('shelves', { optional: true }),
        room: f.enum(['nord', 'sued'], { optional: true, filter: true, sort: true }),
        floor: f.integer({ default: 0, filter: 'range' }),
      },
      access,
    },
  },
})
const third = service({
  name,
  versions: { ...v1, v2: { released: '2025-01-01' }, v3: { released: '2026-01-01' } },
  resources: {
    shelves: {
      prefix: 'shf',
      fields: {
        label: f.text(),
        hall: f.enum(['north', 'south'], { optional: true, filter: true, sort: true }),
        level: f.integer({ default: 9, filter: 'range' }),
      },
      access,
    },
    books: {
      prefix: 'bok',
      fields: { title: f.text({ sort: true, filter: true }), shelfId: f.ref('shelves', { optional: true }) },
      access,
    },
  },
})
  .change('v3', 'shelves', {
    about: 'Halls have English names.',
    renamed: { room: 'hall' },
    mapped: { hall: { nord: 'north', sued: 'south' } },
  })
  .change('v2', 'books', {
    about: 'The room is that of the shelf.',
    moved: {
      room: { by: 'shelfId', to: 'room' },
      floor: { by: 'shelfId', to: 'level', field: f.integer({ default: 0, filter: 'range' }) },
    },
  })
  .change('v2', 'shelves', { about: 'A shelf knows its room.', added: ['room', 'level'] })

for (const [store, make] of places)
  describe(`what moved to another resource (${store})`, () => {
    test('is there, from the first request on', async (t) => {
      const place = await make(t)
      const old = nodeOn(place, first)
      t.after(old.close)
      const shelf = async (label: string) => (await old.ask('POST', '/shelves', { label })).json.id
      const [north, south, empty] = [await shelf('n'), await shelf('s'), await shelf('e')]
      const book = async (json: object) => (await old.ask('POST', '/books', json)).json
      const all = [
        await book({ title: 'a', shelfId: north, room: 'nord', floor: 1 }),
        await book({ title: 'b', shelfId: south, room: 'sued', floor: 2 }),
        await book({ title: 'c', shelfId: north, room: 'nord', floor: 1 }),
        await book({ title: 'd', room: 'sued', floor: 3 }),
      ]
      await old.close()
      for (let runs = 1; runs <= 2; runs++) {
        const { ask, close } = nodeOn(place, third)
        t.after(close)
        const shown = async (id: string) => {
          const { label, hall, level } = (await ask('GET', `/v3/shelves/${id}`)).json
          return [label, hall, level]
        }
        assert.deepEqual(await shown(north), ['n', 'north', 1])
        assert.deepEqual(await shown(south), ['s', 'south', 2])
        assert.deepEqual(await shown(empty), ['e', null, 9])
        assert.deepEqual((await ask('GET', '/v1/books?sort=title')).json.data, all)
        for (const [query, titles] of [
          ['room=nord', ['a', 'c']],
          ['room=sued', ['b', 'd']],
          ['floor[gte]=2', ['b', 'd']],
          ['room[null]=true', []],
        ] as const)
          assert.deepEqual(
            (await ask('GET', `/v1/books?${query}&sort=title`)).json.data.map((one: { title: string }) => one.title),
            titles,
            query,
          )
        assert.equal((await ask('GET', '/v3/shelves?hall=north')).json.data.length, 1)
        assert.equal((await ask('GET', '/v3/shelves?level[lte]=2')).json.data.length, 2)
        await close()
      }
    })

    test('is refused, and stays, where rows do not agree', async (t) => {
      const place = await make(t)
      const old = nodeOn(place, first)
      t.after(old.close)
      const shelfId = (await old.ask('POST', '/shelves', { label: 'n' })).json.id
      const one = (await old.ask('POST', '/books', { title: 'a', shelfId, room: 'nord' })).json
      const other = (await old.ask('POST', '/books', { title: 'b', shelfId, room: 'sued' })).json
      await assert.rejects(
        async () => {
          const young = nodeOn(place, third)
          t.after(() => young.close().catch(() => {}))
          await young.ask('GET', '/books')
        },
        (error: Error) => {
          assert.match(
            error.message,
            /`room` of books\/bok_\w+ is "sued", and shelves\/shf_\w+, which has it today, has "nord"/,
          )
          assert.match(error.message, /Mend it with the declaration before/)
          return true
        },
      )
      assert.deepEqual((await old.ask('GET', `/books/${one.id}`)).json, one)
      assert.deepEqual((await old.ask('GET', `/books/${other.id}`)).json, other)
    })
  })
