/** Proves that `fill` replaces values that do not fit a narrower declaration, for every kind of field. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Field, f } from 'bylaw'
import { add, copies, drop, during, undrop } from '../help/drops.ts'
import { asked, freshFile, things } from '../help/file.ts'
import { alive, applied, nodeOn, places } from '../help/places.ts'

interface Case {
  readonly title: string
  readonly before: Record<string, Field>
  readonly body: object
  readonly after: Record<string, Field>
  readonly filled: object
}

const cases: readonly Case[] = [
  {
    title: 'a required field that is new',
    before: {},
    body: {},
    after: { isbn: f.text({ fill: 'none' }) },
    filled: { isbn: 'none' },
  },
  {
    title: 'an optional field that became required',
    before: { rank: f.integer({ optional: true }) },
    body: {},
    after: { rank: f.integer({ fill: 7 }) },
    filled: { rank: 7 },
  },
  {
    title: 'an enum with fewer values',
    before: { state: f.enum(['open', 'shut', 'lost']) },
    body: { state: 'lost' },
    after: { state: f.enum(['open', 'shut'], { fill: 'shut' }) },
    filled: { state: 'shut' },
  },
  {
    title: 'a text with a new pattern',
    before: { code: f.text() },
    body: { code: 'abc' },
    after: { code: f.text({ pattern: '^[0-9]+$', fill: '0' }) },
    filled: { code: '0' },
  },
  {
    title: 'a decimal with fewer digits',
    before: { price: f.decimal({ scale: 3 }) },
    body: { price: '1.005' },
    after: { price: f.decimal({ scale: 2, fill: '1' }) },
    filled: { price: '1.00' },
  },
  {
    title: 'a list with fewer items',
    before: { tags: f.list(f.text()) },
    body: { tags: ['a', 'b', 'c'] },
    after: { tags: f.list(f.text(), { max: 2, fill: ['many'] }) },
    filled: { tags: ['many'] },
  },
  {
    title: 'a field of an object',
    before: { place: f.object({ zip: f.text(), town: f.text({ optional: true }) }) },
    body: { place: { zip: '12345', town: 'Rome' } },
    after: { place: f.object({ zip: f.text({ max: 3, fill: '000' }), town: f.text({ optional: true }) }) },
    filled: { place: { zip: '000', town: 'Rome' } },
  },
  {
    title: 'a field of the objects of a list',
    before: { lines: f.list(f.object({ unit: f.enum(['kg', 'lb']) })) },
    body: { lines: [{ unit: 'lb' }, { unit: 'kg' }] },
    after: { lines: f.list(f.object({ unit: f.enum(['kg', 't'], { fill: 't' }) })) },
    filled: { lines: [{ unit: 't' }, { unit: 'kg' }] },
  },
  {
    title: 'a value that is never answered',
    before: { pin: f.text({ writeOnly: true, optional: true }), name: f.text({ default: 'x' }) },
    body: { pin: '12' },
    after: { pin: f.text({ writeOnly: true, optional: true, min: 4, fill: '0000' }), name: f.text({ default: 'x' }) },
    filled: { name: 'x' },
  },
]

const seen = ({ id, createdAt, updatedAt, ...fields }: Record<string, unknown>) => fields

describe('fill', () => {
  for (const { title, before, body, after, filled } of cases)
    test(`of ${title} becomes the value of the row, and can be sent back`, async (t) => {
      const file = freshFile(t)
      const [made] = await asked(file, things(before), ['POST', '/things', body])
      assert.equal(made?.status, 201)
      const path = `/things/${made?.json.id}`
      const [read, again] = await asked(file, things(after), ['GET', path], ['GET', '/things'])
      assert.deepEqual(seen(read?.json), filled)
      assert.deepEqual(seen(again?.json.data[0]), filled)
      const pin = 'pin' in body ? { pin: '1234' } : {}
      const [put] = await asked(file, things(after), ['PUT', path, { ...read?.json, ...pin }])
      assert.equal(put?.status, 200)
    })

  test('changes nothing that fits', async (t) => {
    const file = freshFile(t)
    const wide = things({ state: f.enum(['open', 'shut', 'lost'], { filter: true }) })
    await asked(file, wide, ...['open', 'shut', 'lost'].map((state) => ['POST', '/things', { state }] as const))
    const narrow = things({ state: f.enum(['open', 'shut'], { filter: true, fill: 'shut' }) })
    const [open, shut] = await asked(file, narrow, ['GET', '/things?state=open'], ['GET', '/things?state=shut'])
    assert.equal(open?.json.data.length, 1)
    assert.equal(shut?.json.data.length, 2)
  })

  test('is applied again if the bounds change once more, and removed without a change of the rows', async (t) => {
    const file = freshFile(t)
    await asked(
      file,
      things({ rank: f.integer({ sort: true }) }),
      ['POST', '/things', { rank: 9 }],
      ['POST', '/things', { rank: 5 }],
    )
    const ranks = async (field: Field) => {
      const [list] = await asked(file, things({ rank: field }), ['GET', '/things?sort=rank'])
      return list?.json.data.map(({ rank }: { rank: number }) => rank)
    }
    assert.deepEqual(await ranks(f.integer({ sort: true, max: 8, fill: 6 })), [5, 6])
    assert.deepEqual(await ranks(f.integer({ sort: true, max: 5, fill: 1 })), [1, 5])
    assert.deepEqual(await ranks(f.integer({ sort: true, max: 5 })), [1, 5])
  })
})

const plain = f.text({ default: 'x' })
const wide = { state: f.enum(['a', 'b', 'c']), name: plain }
const narrow = { state: f.enum(['a', 'b'], { fill: 'a' }), name: plain }

for (const [name, made] of places)
  describe(`values that a fill replaces (${name})`, () => {
    for (const { title, before, body, after } of cases.slice(2))
      test(`are kept and restored once the declaration is wider again: ${title}`, async (t) => {
        const place = await made(t)
        await add(place, things(before), body)
        const doc = async () => (await place.rows('SELECT doc, hidden FROM things'))[0]
        const first = await doc()
        await drop(place, after)
        assert.equal((await copies(place)).length, 1)
        await drop(place, before)
        const [reported] = await undrop(place, things(before))
        assert.match(reported as string, /: put back$/)
        assert.deepEqual(await doc(), first)
        assert.deepEqual(await copies(place), [])
      })

    test('are not overwritten by undrop if a client wrote the field, and rows that fit leave no copy', async (t) => {
      const place = await made(t)
      const states = ['c', 'c', 'c', 'b']
      const [a, b, c] = await add(place, things(wide), ...states.map((state) => ({ state })))
      await drop(place, narrow)
      assert.deepEqual(await copies(place), ['state "c"', 'state "c"', 'state "c"'])
      await during(place, things(narrow), async (ask) => {
        await ask('PATCH', `/things/${a}`, { name: 'y' })
        await ask('PATCH', `/things/${b}`, { state: 'b' })
        await ask('PATCH', `/things/${b}`, { state: 'a' })
        await ask('DELETE', `/things/${c}`)
      })
      assert.deepEqual(await undrop(place, things(narrow)), [
        'things.state: does not fit what is declared',
        'things.state: was written since',
      ])
      await drop(place, wide)
      assert.deepEqual(await undrop(place, things(wide)), ['things.state: put back', 'things.state: was written since'])
      const all = await during(place, things(wide), async (ask) => (await ask('GET', '/things')).json.data)
      assert.deepEqual(all.map(({ state }: { state: string }) => state).sort(), ['a', 'b', 'c'])
    })

    test('are the values of the client if one fill replaced another', async (t) => {
      const place = await made(t)
      await add(place, things(wide), { state: 'c' })
      await drop(place, narrow)
      await drop(place, { state: f.enum(['b'], { fill: 'b' }), name: plain })
      assert.deepEqual(await copies(place), ['state "c"'])
      await drop(place, wide)
      assert.deepEqual(await undrop(place, things(wide)), ['things.state: put back'])
    })

    test('are stored at the end of a change with nodes of the former declaration', async (t) => {
      const place = await made(t)
      const filtered = (fields: typeof wide | typeof narrow) => things({ ...fields, extra: f.text({ optional: true }) })
      const old = nodeOn(place, things(wide))
      const { id } = (await old.ask('POST', '/things', { state: 'c' })).json
      await alive(place)
      const fresh = nodeOn(place, filtered(narrow))
      await fresh.ask('PATCH', `/things/${id}`, { name: 'y' })
      await Promise.all([old.close(), fresh.close()])
      await place.rows('DELETE FROM bylaw_nodes')
      await applied(place, filtered(narrow))
      assert.deepEqual(await copies(place), ['state "c"'])
    })
  })
