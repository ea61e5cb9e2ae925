/** Proves that values move to rows of other shards, on a database sharded like Citus. The store. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { first, moves, third } from '../help/moved-trials.ts'
import { alive, applied, type Node, nodeOn, type Place } from '../help/places.ts'
import { spreadPlace } from '../help/spread.ts'
import { cutDuring, withCuts } from '../help/timer-trials.ts'

const rooms = ['nord', 'sued'] as const

/** A node of the former declaration, and shelves with books in one room each. */
async function filled(t: TestContext, shelves: number, books: number) {
  const place = await spreadPlace(t, first)
  const old = nodeOn(place, first)
  t.after(old.close)
  const ids: string[] = []
  for (let i = 0; i < shelves; i++) ids.push((await old.ask('POST', '/shelves', { label: `${i}` })).json.id)
  for (const [floor, shelfId] of ids.entries()) {
    const book = { title: 't', shelfId, room: rooms[floor % 2], floor }
    const made = await Promise.all(Array.from({ length: books }, () => old.ask('POST', '/books', book)))
    for (const { status } of made) assert.equal(status, 201)
  }
  return { place, old, ids }
}

/** Asserts that each shelf, and each of its books in the older version, has the values that its books had. */
async function assertMoved(t: TestContext, place: Place, ids: readonly string[], books: number): Promise<void> {
  const { ask, close } = nodeOn(place, third)
  t.after(close)
  for (const [i, id] of ids.entries()) {
    const { hall, level } = (await ask('GET', `/v3/shelves/${id}`)).json
    assert.deepEqual([hall, level], [['north', 'south'][i % 2], i])
  }
  const { data } = (await ask('GET', '/v1/books?limit=100')).json
  assert.equal(data.length, Math.min(100, ids.length * books))
  for (const { room, floor } of data) assert.equal(room, rooms[floor % 2])
}

describe('what moved to another resource (sharded)', () => {
  for (const [name, trial] of Object.entries(moves)) test(name, (t) => trial(t, spreadPlace))

  test('waits until no node runs, and nothing has changed by then', async (t) => {
    const { place, old, ids } = await filled(t, 4, 3)
    const list = async ({ ask }: Node) => (await ask('GET', '/books')).json.data
    const before = await list(old)
    await alive(place)
    await assert.rejects(applied(place, third), /no node may run meanwhile, but these do: old/)
    assert.deepEqual(await list(old), before)
    await place.rows('DELETE FROM bylaw_nodes')
    await applied(place, third)
    await assertMoved(t, place, ids, 3)
  })

  test('is refused if rows differ, and goes on when the named one has been corrected', async (t) => {
    const { place, old, ids } = await filled(t, 1, 20)
    const wrong = (await old.ask('POST', '/books', { title: 'b', shelfId: ids[0], room: 'sued' })).json
    for (let tries = 0; tries < 21; tries++) {
      const failure = await applied(place, third).then(
        () => null,
        (error: Error) => error,
      )
      if (failure === null) break
      const [, id, has] = /`room` of books\/(bok_\w+) is "\w+", but .* has "(\w+)"/.exec(failure.message) ?? []
      assert.ok(id, failure.message)
      assert.equal((await old.ask('PATCH', `/books/${id}`, { room: has })).status, 200)
      if (id === wrong.id) assert.equal(has, 'nord')
    }
    const young = nodeOn(place, third)
    t.after(young.close)
    const { data } = (await young.ask('GET', '/v1/books?limit=100')).json
    assert.equal(data.length, 21)
    assert.equal(new Set(data.map(({ room }: { room: string }) => room)).size, 1)
  })

  test('is complete after the connections of the migration were cut again and again', async (t) => {
    const { place, ids } = await filled(t, 40, 20)
    const finish = async (): Promise<void> => {
      for (let done = false; !done; await place.rows('UPDATE bylaw_leases SET until = 0'))
        done = await applied({ ...place, url: withCuts(place.url) }, third).then(
          () => true,
          () => false,
        )
    }
    assert.ok((await cutDuring(place, finish(), 24)) >= 2)
    await assertMoved(t, place, ids, 20)
  })
})
