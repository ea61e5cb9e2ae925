/** Trials of fields that move to another resource: the values of stored rows are copied, all of them or none; on any database. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { alive, applied, nodeOn, type Place } from './places.ts'

const name = 'rooms'
const v1 = { v1: { released: '2024-01-01' } }
const access = 'public'
export const first = service({
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
export const third = service({
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

/** The service whose floors are in half units since they moved to the shelf. */
const halved = service({
  name,
  versions: { ...v1, v2: { released: '2025-01-01' }, v3: { released: '2026-01-01' } },
  resources: {
    shelves: {
      prefix: 'shf',
      fields: {
        label: f.text(),
        room: f.enum(['nord', 'sued'], { optional: true, filter: true, sort: true }),
        level: f.decimal({ scale: 1, default: '0.0', filter: 'range' }),
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
    about: 'Levels have halves.',
    retyped: { level: f.integer({ default: 0, filter: 'range' }) },
    request: ({ level }) => ({ level: `${level}.0` }),
    response: ({ level }) => ({ level: Math.floor(Number(level)) }),
  })
  .change('v2', 'books', {
    about: 'The room is that of the shelf.',
    moved: {
      room: { by: 'shelfId', to: 'room' },
      floor: { by: 'shelfId', to: 'level', field: f.integer({ default: 0, filter: 'range' }) },
    },
  })
  .change('v2', 'shelves', { about: 'A shelf knows its room.', added: ['room', 'level'] })

type Make = (t: TestContext, api: Service) => Promise<Place>
type Trials = Readonly<Record<string, (t: TestContext, make: Make) => Promise<void>>>

/** Changes without nodes of the former declaration. `make` makes a database; `api` is the declaration of its first node. */
export const moves: Trials = {
  // long because: it is one story
  'exists from the first request on': async (t, make) => {
    const place = await make(t, first)
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
  },

  'is refused with the advice to list `added` if the other row has the default of a new field': async (t, make) => {
    const plans = { prefix: 'pln', fields: { name: f.text() }, access } as const
    const price = f.decimal({ scale: 2, default: '0.00' })
    const seats = { prefix: 'sea', fields: { planId: f.ref('plans') }, access } as const
    const former = service({ name, resources: { plans, seats: { ...seats, fields: { ...seats.fields, price } } } })
    const place = await make(t, former)
    const old = nodeOn(place, former)
    t.after(old.close)
    const planId = (await old.ask('POST', '/plans', { name: 'a' })).json.id
    const seat = (await old.ask('POST', '/seats', { planId, price: '5.00' })).json
    const next = service({
      name,
      versions: { ...v1, v2: { released: '2025-01-01' } },
      resources: { plans: { ...plans, fields: { ...plans.fields, price } }, seats },
    }).change('v2', 'seats', { about: 'Moved.', moved: { price: { by: 'planId', to: 'price' } } })
    const asked = async (api: typeof next) => {
      const young = nodeOn(place, api)
      t.after(() => young.close().catch(() => {}))
      return (await young.ask('GET', `/v2/plans/${planId}`)).json.price
    }
    await assert.rejects(asked(next), (error: Error) => {
      assert.match(error.message, /is "5.00", but plans\/pln_\w+, which has the field now, has "0.00"/)
      assert.match(error.message, /If plans had no such field before, list it under `added` in a change of plans/)
      return true
    })
    assert.deepEqual((await old.ask('GET', `/seats/${seat.id}`)).json, seat)
    assert.equal(await asked(next.change('v2', 'plans', { about: 'New.', added: ['price'] }) as never), '5.00')
  },
}

/** Changes while nodes of the former declaration still serve. */
export const movesDuringUpgrades: Trials = {
  // long because: it is one story
  'is shown by nodes of both declarations, whichever writes it': async (t, make) => {
    const place = await make(t, first)
    const old = nodeOn(place, first)
    t.after(old.close)
    const shelfId = (await old.ask('POST', '/shelves', { label: 'n' })).json.id
    const one = (await old.ask('POST', '/books', { title: 'a', shelfId, room: 'nord', floor: 1 })).json
    const two = (await old.ask('POST', '/books', { title: 'b', shelfId, room: 'nord', floor: 1 })).json
    const lone = (await old.ask('POST', '/books', { title: 'c', room: 'sued' })).json
    await alive(place)
    assert.deepEqual((await applied(place, third)).waitsFor, ['old'])
    const young = nodeOn(place, third)
    t.after(young.close)
    const shelf = async () => {
      const { hall, level } = (await young.ask('GET', `/v3/shelves/${shelfId}`)).json
      return [hall, level]
    }
    const rooms = async (path: string, node = old) =>
      (await node.ask('GET', path)).json.data.map(({ room, floor }: Record<string, unknown>) => `${room} ${floor}`)
    assert.deepEqual(await shelf(), ['north', 1])
    assert.equal((await old.ask('PATCH', `/books/${one.id}`, { room: 'sued', title: 'A' })).status, 200)
    assert.deepEqual(await shelf(), ['south', 1])
    assert.deepEqual((await old.ask('GET', `/books/${two.id}`)).json.room, 'sued')
    assert.equal((await young.ask('PATCH', `/v3/shelves/${shelfId}`, { hall: 'north', level: 7 })).status, 200)
    const all = ['nord 7', 'nord 7', 'sued 0']
    assert.deepEqual(await rooms('/books?sort=title'), all)
    assert.deepEqual(await rooms('/v1/books?sort=title', young), all)
    assert.deepEqual(await rooms('/books?room=nord&floor[gte]=7'), all.slice(0, 2))
    assert.deepEqual(await rooms('/books?room=sued'), ['sued 0'])
    assert.equal((await old.ask('PATCH', `/books/${two.id}`, { title: 'B' })).status, 200)
    assert.deepEqual(await shelf(), ['north', 7])
    assert.equal((await young.ask('PATCH', `/v1/books/${lone.id}`, { room: 'nord' })).status, 200)
    assert.equal((await old.ask('GET', `/books/${lone.id}`)).json.room, 'nord')
    const made = await young.ask('POST', '/v3/books', { title: 'd', shelfId })
    assert.deepEqual((await old.ask('GET', `/books/${made.json.id}`)).json.floor, 7)
    await place.rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await applied(place, third)).left, [])
    assert.deepEqual(await shelf(), ['north', 7])
    const rest = ['nord 7', 'nord 7', 'nord 0', 'nord 7']
    assert.deepEqual(await rooms('/v1/books?sort=title', young), rest)
    assert.equal((await young.ask('PATCH', `/v1/books/${one.id}`, { floor: 8 })).status, 200)
    assert.deepEqual(await shelf(), ['north', 8])
    const [row] = await place.rows('SELECT count(*) AS count FROM books WHERE hidden LIKE \'%"*"%\'')
    assert.equal(Number(row?.count), 0)
  },

  'is not truncated if a node of the former declaration shows less of it and writes another field': async (t, make) => {
    const place = await make(t, first)
    const old = nodeOn(place, first)
    t.after(old.close)
    const shelfId = (await old.ask('POST', '/shelves', { label: 'n' })).json.id
    const one = (await old.ask('POST', '/books', { title: 'a', shelfId, floor: 1 })).json
    await alive(place)
    await applied(place, halved)
    const young = nodeOn(place, halved)
    t.after(young.close)
    const level = async () => (await young.ask('GET', `/v3/shelves/${shelfId}`)).json.level
    assert.equal((await young.ask('PATCH', `/v3/shelves/${shelfId}`, { level: '2.5' })).status, 200)
    assert.equal((await old.ask('GET', `/books/${one.id}`)).json.floor, 2)
    assert.equal((await old.ask('PATCH', `/books/${one.id}`, { title: 'b' })).status, 200)
    assert.equal(await level(), '2.5')
    assert.equal((await old.ask('PATCH', `/books/${one.id}`, { floor: 3 })).status, 200)
    assert.equal(await level(), '3.0')
    await place.rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await applied(place, halved)).left, [])
    assert.equal(await level(), '3.0')
  },

  'is refused, and unchanged, if rows differ': async (t, make) => {
    const place = await make(t, first)
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
          /`room` of books\/bok_\w+ is "sued", but shelves\/shf_\w+, which has the field now, has "nord"/,
        )
        assert.match(error.message, /Correct it with the former declaration/)
        return true
      },
    )
    assert.deepEqual((await old.ask('GET', `/books/${one.id}`)).json, one)
    assert.deepEqual((await old.ask('GET', `/books/${other.id}`)).json, other)
  },
}
