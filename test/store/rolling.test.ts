/** Proves that nodes of the former and the new declaration work on one file and lose no writes of each other. The store. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type Field, f } from 'bylaw'
import { testing } from 'bylaw/testing'
import { type TestAnswer, things } from '../help/file.ts'
import { alive, applied, type Place, places } from '../help/places.ts'

type Fields = Record<string, Field>

interface Node {
  readonly ask: (method: string, path: string, json?: unknown) => Promise<TestAnswer>
}

async function node(t: TestContext, { url }: Place, fields: Fields): Promise<Node> {
  const { call, close } = testing(things(fields), { database: url })
  const ask: Node['ask'] = async (method, path, json) => {
    const response = await call(path, { method, ...(json === undefined ? {} : { json }) })
    const text = await response.text()
    const { status, headers } = response
    return { status, headers, json: text === '' ? null : JSON.parse(text) }
  }
  await ask('GET', '/things')
  t.after(close)
  return { ask }
}

const apply = (place: Place, fields: Fields, allowLoss?: readonly string[]) => applied(place, things(fields), allowLoss)

/** Serves both declarations on one database; `end` stops the former one, so that the change finishes. */
async function sides(t: TestContext, made: (t: TestContext) => Promise<Place>, before: Fields, after: Fields) {
  const place = await made(t)
  const old = await node(t, place, before)
  await alive(place)
  const { waitsFor } = await apply(place, after)
  assert.deepEqual(waitsFor, ['old'])
  const young = await node(t, place, after)
  const end = async (...allowLoss: readonly string[]) => {
    await place.rows('DELETE FROM bylaw_nodes')
    const { left } = await apply(place, after, allowLoss)
    assert.deepEqual(left, [])
  }
  return { place, old, young, end }
}

for (const [name, made] of places)
  describe(`two declarations on one database (${name})`, () => {
    test('a renamed field is read, written, filtered and unique under both names', async (t) => {
      const { old, young, end } = await sides(
        t,
        made,
        { name: f.text({ filter: true, sort: true, unique: true }), size: f.integer({ default: 1 }) },
        { label: f.text({ was: 'name', filter: true, sort: true, unique: true }), size: f.integer({ default: 1 }) },
      )
      const one = (await old.ask('POST', '/things', { name: 'a' })).json
      const two = (await young.ask('POST', '/things', { label: 'b' })).json
      assert.equal((await young.ask('GET', `/things/${one.id}`)).json.label, 'a')
      assert.equal((await old.ask('GET', `/things/${two.id}`)).json.name, 'b')
      assert.equal((await old.ask('GET', '/things?name=b')).json.data[0].name, 'b')
      assert.equal((await young.ask('GET', '/things?label=a')).json.data[0].label, 'a')
      assert.deepEqual(
        (await old.ask('GET', '/things?sort=name')).json.data.map(({ name }: { name: string }) => name),
        ['a', 'b'],
      )
      assert.equal((await old.ask('POST', '/things', { name: 'b' })).status, 409)
      assert.equal((await young.ask('POST', '/things', { label: 'a' })).status, 409)
      await old.ask('PATCH', `/things/${two.id}`, { name: 'c' })
      assert.equal((await young.ask('GET', `/things/${two.id}`)).json.label, 'c')
      await young.ask('PATCH', `/things/${one.id}`, { label: 'd' })
      await young.ask('PATCH', `/things/${one.id}`, { size: 7 })
      assert.deepEqual((await old.ask('GET', `/things/${one.id}`)).json.name, 'd')
      await end()
      assert.equal((await young.ask('GET', '/things?label=d')).json.data[0].size, 7)
      assert.equal((await young.ask('POST', '/things', { label: 'd' })).status, 409)
    })

    test('fields that the other declaration does not know are kept, nested and in lists too', async (t) => {
      const { place, old, young, end } = await sides(
        t,
        made,
        {
          name: f.text(),
          note: f.text({ default: 'none' }),
          place: f.object({ city: f.text(), zip: f.text({ default: '' }) }),
          tags: f.list(f.object({ text: f.text() })),
          pin: f.text({ writeOnly: true, optional: true }),
        },
        {
          name: f.text(),
          size: f.integer({ default: 1 }),
          place: f.object({ town: f.text({ was: 'city' }), country: f.text({ default: 'DE' }) }),
          tags: f.list(f.object({ text: f.text(), rank: f.integer({ default: 0 }) })),
          code: f.text({ was: 'pin', writeOnly: true, optional: true }),
        },
      )
      const { id } = (
        await young.ask('POST', '/things', {
          name: 'a',
          size: 5,
          place: { town: 'Rome', country: 'IT' },
          tags: [{ text: 'x', rank: 9 }],
          code: '1234',
        })
      ).json
      const seen = (await old.ask('GET', `/things/${id}`)).json
      assert.deepEqual([seen.note, seen.place, seen.tags], ['none', { city: 'Rome', zip: '' }, [{ text: 'x' }]])
      assert.equal('size' in seen || '*' in seen, false)
      await old.ask('PATCH', `/things/${id}`, { name: 'b', note: 'kept', place: { city: 'Oslo' } })
      await old.ask('PATCH', `/things/${id}`, { name: 'c' })
      const now = (await young.ask('GET', `/things/${id}`)).json
      assert.deepEqual(
        [now.name, now.size, now.place, now.tags],
        ['c', 5, { town: 'Oslo', country: 'IT' }, [{ text: 'x', rank: 9 }]],
      )
      await young.ask('PATCH', `/things/${id}`, { size: 6 })
      const again = (await old.ask('GET', `/things/${id}`)).json
      assert.deepEqual([again.note, again.place], ['kept', { city: 'Oslo', zip: '' }])
      await old.ask('PATCH', `/things/${id}`, { tags: [{ text: 'y' }] })
      assert.deepEqual((await young.ask('GET', `/things/${id}`)).json.tags, [{ text: 'y', rank: 0 }])
      const listed = (await young.ask('GET', '/things')).json.data
      assert.deepEqual([listed[0].size, listed[0].place.country], [6, 'IT'])
      await end('things.note', 'things.place.zip')
      assert.equal((await young.ask('GET', `/things/${id}`)).json.size, 6)
      const [row] = await place.rows('SELECT hidden FROM things')
      assert.deepEqual(JSON.parse(String(row?.hidden)), { code: '1234' })
    })

    test('a new filter finds all rows, those too that the other declaration writes meanwhile', async (t) => {
      const { old, young, end } = await sides(
        t,
        made,
        { size: f.integer() },
        { size: f.integer({ filter: 'range', sort: true }), rank: f.integer({ default: 3, filter: true }) },
      )
      const sizes = async (query: string) =>
        (await young.ask('GET', `/things?${query}`)).json.data.map(({ size }: { size: number }) => size)
      const { id } = (await old.ask('POST', '/things', { size: 1 })).json
      assert.deepEqual(await sizes('size[gte]=1'), [1])
      await young.ask('POST', '/things', { size: 2, rank: 4 })
      assert.deepEqual(await sizes('sort=size&order=desc'), [2, 1])
      await old.ask('PATCH', `/things/${id}`, { size: 9 })
      assert.deepEqual([await sizes('sort=size'), await sizes('rank=3')], [[2, 9], [9]])
      assert.deepEqual([await sizes('size=1'), await sizes('size=9')], [[], [9]])
      await end()
      assert.deepEqual([await sizes('size[gte]=1&sort=size'), await sizes('rank=4')], [[2, 9], [2]])
      const late = await old.ask('POST', '/things', { size: 1 })
      assert.equal(late.status, 503)
      assert.deepEqual(await sizes('size=1'), [])
    })

    test('a node of the former declaration may start again until the change is finished', async (t) => {
      const before = { name: f.text({ filter: true }) }
      const after = { label: f.text({ was: 'name', filter: true }), size: f.integer({ default: 1, filter: true }) }
      const { place, young, end } = await sides(t, made, before, after)
      const { id } = (await young.ask('POST', '/things', { label: 'a', size: 2 })).json
      const again = await node(t, place, before)
      assert.equal((await again.ask('GET', '/things?name=a')).json.data.length, 1)
      assert.equal((await again.ask('PATCH', `/things/${id}`, { name: 'b' })).status, 200)
      await end()
      assert.deepEqual((await young.ask('GET', '/things?size=2')).json.data[0].label, 'b')
    })

    test('a third declaration has to wait for the end of the second', async (t) => {
      const { place } = await sides(
        t,
        made,
        { name: f.text() },
        { name: f.text(), size: f.integer({ optional: true }) },
      )
      await assert.rejects(
        () => apply(place, { name: f.text(), rank: f.integer({ optional: true }) }),
        /previous change is not finished/,
      )
    })

    test('tags of one declaration never match answers of another', async (t) => {
      const { old, young } = await sides(
        t,
        made,
        { name: f.text() },
        { name: f.text(), size: f.integer({ default: 1 }) },
      )
      const { id } = (await old.ask('POST', '/things', { name: 'a' })).json
      const [one, two] = [await old.ask('GET', `/things/${id}`), await young.ask('GET', `/things/${id}`)]
      assert.notEqual(one.headers.get('etag'), two.headers.get('etag'))
      assert.equal(one.headers.get('etag'), (await old.ask('GET', `/things/${id}`)).headers.get('etag'))
    })
  })
