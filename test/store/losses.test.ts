/** Proves that a start without permission drops no values: it is refused before its first step and names the losses. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Declaration, f, type Service, service } from 'bylaw'
import { add, copies, drop, during, type Fields, refusal } from '../help/drops.ts'
import { things } from '../help/file.ts'
import { alive, applied, places } from '../help/places.ts'

const text = f.text()
const optional = f.text({ optional: true })

for (const [name, made] of places)
  describe(`values of fields that are not declared any more (${name})`, () => {
    test('stop a start before its first step, which names them, the line that keeps them and the flag', async (t) => {
      const place = await made(t)
      const [first, second] = await add(
        place,
        things({ name: text, other: optional }),
        { name: 'a', other: 'and me' },
        { name: 'b' },
      )
      const said = await refusal(place, things({ name: text, othr: f.text({ optional: true, filter: true }) }))
      assert.match(said, /was not changed, because:\n/)
      assert.match(
        said,
        new RegExp(`things\\.other is not declared any more, and 1 row holds a value in it \\(${first}\\)\\.`),
      )
      assert.match(said, /If othr is its new name: +othr: f\.text\(\{ was: 'other' \}\)\n/)
      assert.match(said, /If its values may be dropped: +--allow-loss things\.other$/)
      assert.doesNotMatch(said, /and me/)
      const rows = await during(
        place,
        things({ name: text, other: optional }),
        async (ask) => (await ask('GET', '/things')).json.data,
      )
      assert.deepEqual(
        rows.map(({ id, other }: { id: string; other: string }) => [id, other]),
        [
          [first, 'and me'],
          [second, null],
        ],
      )
      assert.equal((await refusal(place, things({ name: text }), ['name'])).includes('things.other'), true)
    })

    test('are kept by the line that the refusal proposes', async (t) => {
      const place = await made(t)
      const fields = {
        place: f.object({ zip: text }),
        lines: f.list(f.object({ a: text })),
        price: f.decimal({ scale: 2 }),
      }
      await add(place, things(fields), { place: { zip: '1' }, lines: [{ a: 'x' }], price: '1.50' })
      const next = {
        place: f.object({ code: text }),
        lines: f.list(f.object({ b: text })),
        cost: f.decimal({ scale: 2 }),
      }
      const said = await refusal(place, things(next))
      assert.match(said, /code: f\.text\(\{ was: 'zip' \}\)/)
      assert.match(said, /b: f\.text\(\{ was: 'a' \}\)/)
      assert.match(said, /cost: f\.decimal\(\{ scale: 2, was: 'price' \}\)/)
      const kept = {
        place: f.object({ code: f.text({ was: 'zip' }) }),
        lines: f.list(f.object({ b: f.text({ was: 'a' }) })),
        cost: f.decimal({ scale: 2, was: 'price' }),
      }
      const [row] = await during(place, things(kept), async (ask) => (await ask('GET', '/things')).json.data)
      assert.deepEqual([row.place, row.lines, row.cost], [{ code: '1' }, [{ b: 'x' }], '1.50'])
    })

    test('are not asked for if no row has any', async (t) => {
      const place = await made(t)
      await add(place, things({ name: text, other: optional, tags: f.list(text) }), { name: 'a' })
      await drop(place, { name: text })
      await assert.rejects(place.rows('SELECT 1 FROM bylaw_dropped'))
    })

    test('stop a start if rows would get another parent, or a first one, as it is unknown', async (t) => {
      const place = await made(t)
      const api = (parent: string | null, key?: string) =>
        service({
          name: 'tests',
          resources: {
            things: { prefix: 'thg', fields: { name: optional }, access: 'public' },
            boxes: { prefix: 'box', fields: { name: optional }, access: 'public' },
            cups: {
              ...(key ? { key } : { prefix: 'cup' }),
              ...(parent && { parent }),
              fields: { sku: text },
              access: 'public',
            },
          },
        } as unknown as Declaration)
      for (const key of [undefined, 'sku']) {
        const other = await made(t)
        const below = await during(other, api('things', key), async (ask) => {
          const path = `/things/${(await ask('POST', '/things', {})).json.id}/cups`
          const made = key ? await ask('PUT', `${path}/a`, { sku: 'a' }) : await ask('POST', path, { sku: 'a' })
          assert.equal(made.status, 201)
          return path
        })
        assert.match(await refusal(other, api('boxes', key), ['cups.thingId']), /not children of boxes/)
        const [row] = await during(other, api('things', key), async (ask) => (await ask('GET', below)).json.data)
        assert.equal(row.sku, 'a')
      }
      await during(place, api(null), (ask) => ask('POST', '/cups', { sku: 'a' }))
      assert.match(await refusal(place, api('things')), /not children of things/)
      await during(place, api(null), async (ask) => assert.equal((await ask('GET', '/cups')).json.data.length, 1))
    })

    test('stop a rolling upgrade before its first phase', async (t) => {
      const place = await made(t)
      await add(place, things({ name: text, note: text }), { name: 'a', note: 'b' })
      await alive(place)
      const next = things({ name: f.text({ filter: true }) })
      await assert.rejects(applied(place, next), /--allow-loss things\.note/)
      const [row] = await place.rows(`SELECT value FROM bylaw_meta WHERE name = 'layout'`)
      assert.equal(JSON.parse(String(row?.value)).open, false)
      const { waitsFor } = await applied(place, next, ['note'])
      assert.deepEqual(waitsFor, ['old'])
      await during(place, things({ name: text, note: text }), async (ask) =>
        assert.equal((await ask('GET', '/things')).json.data[0].note, 'b'),
      )
      await place.rows('DELETE FROM bylaw_nodes')
      await assert.rejects(applied(place, next), /--allow-loss things\.note/)
      await applied(place, next, ['note'])
      assert.deepEqual(await copies(place), ['note "b"'])
    })
  })

interface Changeable {
  readonly change: (version: string, resource: string, change: object) => Service
}

/** A declaration with an older version. */
const versioned = (change: object, fields: Fields): Service => {
  const declared = service({
    name: 'tests',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
    resources: { things: { prefix: 'thg', fields, access: 'public' } },
  } as Declaration)
  return (declared as unknown as Changeable).change('v2', 'things', { about: 'It says it otherwise.', ...change })
}

for (const [name, made] of places)
  describe(`values that a version converts (${name})`, () => {
    test('are not lost if the change can undo it', async (t) => {
      const place = await made(t)
      const old = things({ first: text, last: text })
      const [id] = await add(place, old, { first: 'Ada', last: 'King' })
      const api = versioned(
        {
          removed: { first: text, last: text },
          added: ['full'],
          request: ({ first, last }: { first: string; last: string }) => ({ full: `${first} ${last}` }),
          response: ({ full }: { full: string }) => ({
            first: full.split(' ')[0] ?? '',
            last: full.split(' ').slice(1).join(' '),
          }),
        },
        { full: text },
      )
      await during(place, api, async (ask) =>
        assert.equal((await ask('GET', `/v2/things/${id}`)).json.full, 'Ada King'),
      )
    })

    test('stop a start if the change cannot, and are deleted with the row by an older version', async (t) => {
      const place = await made(t)
      const [one, two] = await add(
        place,
        things({ first: text, last: text }),
        { first: 'Ada Lee', last: 'King' },
        { first: 'B', last: 'C' },
      )
      const api = versioned(
        {
          removed: { first: text, last: text },
          added: ['full'],
          request: ({ first, last }: { first: string; last: string }) => ({ full: `${first} ${last}` }),
          response: ({ full }: { full: string }) => ({
            first: full.split(' ')[0] ?? '',
            last: full.split(' ').slice(1).join(' '),
          }),
        },
        { full: text },
      )
      const said = await refusal(place, api)
      assert.match(
        said,
        new RegExp(`things\\.first is not declared any more, and 1 row holds a value in it \\(${one}\\)`),
      )
      assert.doesNotMatch(said, new RegExp(String(two)))
      await during(place, api, (ask) => ask('GET', '/v2/things'), ['first', 'last'])
      assert.deepEqual(await copies(place), ['first "Ada Lee"', 'last "King"'])
      await during(place, api, async (ask) => assert.equal((await ask('DELETE', `/v1/things/${one}`)).status, 204))
      assert.deepEqual(await copies(place), [])
    })
  })
