/** Proves that leaving a version out of a declaration and declaring it again changes no value, in any database. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { alive, applied, nodeOn, type Place, places } from '../help/places.ts'

type Values = Readonly<Record<string, unknown>>
type Changing = Service & { change: (version: string, resource: string, change: object) => Changing }

const all = { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' }, v3: { released: '2026-01-01' } }
const versions = (...labels: (keyof typeof all)[]) => Object.fromEntries(labels.map((label) => [label, all[label]]))
const api = (versions: object | undefined, resources: object): Changing =>
  service({ name: 'things', ...(versions && { versions }), resources } as never) as unknown as Changing

const fields = {
  note: f.text({ filter: true }),
  full: f.text({ sort: true }),
  side: f.enum(['right', 'left'], { default: 'right', filter: true }),
  cost: f.integer({ filter: true }),
  words: f.list(f.text()),
  count: f.integer({ optional: true }),
}
const things = { prefix: 'thg', fields, access: 'public' }
const change = {
  about: 'Most of it is otherwise.',
  renamed: { text: 'note', tags: 'words' },
  removed: { first: f.text({ filter: true }), last: f.text({ default: '' }) },
  added: ['full'],
  mapped: { side: { left: 'right', right: 'left' } },
  retyped: { cost: f.integer(), count: f.integer({ default: 0 }) },
  request: ({ first, last, cost, count }: Record<string, string | number>) => ({
    full: `${first} ${last}`.trim(),
    cost: Number(cost) * 100,
    count,
  }),
  response: ({ full, cost, count }: { full: string; cost: number; count: number | null }) => {
    const [first = '', ...rest] = full.split(' ')
    return { first, last: rest.join(' '), cost: Math.floor(cost / 100), count: count ?? 0 }
  },
}
const both = api(versions('v1', 'v2'), { things }).change('v2', 'things', change)
const second = api(versions('v2'), { things })

/** The same with a change that keeps the structure of documents. */
const sides = { prefix: 'thg', fields: { side: fields.side, cost: fields.cost }, access: 'public' }
const { about, mapped } = change
const sidesChange = {
  about,
  mapped,
  retyped: { cost: f.integer() },
  request: ({ cost }: { cost: number }) => ({ cost: cost * 100 }),
  response: ({ cost }: { cost: number }) => ({ cost: Math.floor(cost / 100) }),
}
const bothSides = api(versions('v1', 'v2'), { things: sides }).change('v2', 'things', sidesChange)
const secondSides = api(versions('v2'), { things: sides })
const firstSides = api(versions('v1'), {
  things: {
    ...sides,
    fields: { side: f.enum(['left', 'right'], { default: 'left', filter: true }), cost: f.integer() },
  },
})

/** Three versions; each renames a field and gives a number in smaller units. */
const threeOf = (...labels: (keyof typeof all)[]): Service => {
  const resources = { things: { prefix: 'thg', fields: { memo: f.text(), cost: f.integer() }, access: 'public' } }
  const tens = {
    about: 'Another name, and smaller units.',
    retyped: { cost: f.integer() },
    request: ({ cost }: { cost: number }) => ({ cost: cost * 10 }),
    response: ({ cost }: { cost: number }) => ({ cost: Math.floor(cost / 10) }),
  }
  const renamed = { v3: { note: 'memo' }, v2: { text: 'note' } }
  const changes = (['v3', 'v2'] as const).filter((label) => labels.includes(label) && labels[0] !== label)
  return changes.reduce(
    (one, label) => one.change(label, 'things', { ...tens, renamed: renamed[label] }),
    api(versions(...labels), resources),
  )
}
const three = threeOf('v1', 'v2', 'v3')

const row: Values = { note: 'n', full: 'Ann  Lee', side: 'left', cost: 1250, words: ['a'], count: null }
const reported: Values = { text: 'n', first: 'Ann', last: ' Lee', side: 'right', cost: 12, tags: ['a'], count: 0 }
const sideRow: Values = { side: 'left', cost: 1250 }

const picked = (json: Values, like: Values): Values =>
  Object.fromEntries(Object.keys(like).map((name) => [name, json[name]]))

async function serving<T>(
  place: Place,
  one: Service,
  act: (node: ReturnType<typeof nodeOn>) => Promise<T>,
): Promise<T> {
  const node = nodeOn(place, one)
  try {
    return await act(node)
  } finally {
    await node.close().catch(() => {})
  }
}

const made = (place: Place, one: Service, values: Values): Promise<string> =>
  serving(place, one, async ({ ask }) => {
    const { status, json } = await ask('POST', '/v2/things', values)
    assert.equal(status, 201, JSON.stringify(json))
    return json.id
  })

const looked = (place: Place, one: Service, id: string, values: Values): Promise<void> =>
  serving(place, one, async ({ ask }) => {
    const { json } = await ask('GET', `/v2/things/${id}`)
    assert.deepEqual(picked(json, values), values)
  })

/** Makes a database like a release that did not record versions which are left out. */
async function forgetful(place: Place): Promise<void> {
  const [row] = await place.rows(`SELECT value FROM bylaw_meta WHERE name = 'layout'`)
  const layout = JSON.parse(row?.value as string)
  for (const table of Object.values<{ since?: string; shape: number; shapes: string[] }>(layout.tables)) {
    table.since = undefined as never
    table.shapes[table.shape - 1] = String(table.shapes[table.shape - 1]).replace(/^v\d+ /, '')
  }
  await place.rows(
    `UPDATE bylaw_meta SET value = '${JSON.stringify(layout).replaceAll("'", "''")}' WHERE name = 'layout'`,
  )
}

const refused = (place: Place, one: Service, why: RegExp): Promise<void> =>
  assert.rejects(async () => serving(place, one, ({ ask }) => ask('GET', '/things')), why)

for (const [store, make] of places)
  describe(`a version that is left out and declared again (${store})`, () => {
    test('has every value that it had, however often', async (t) => {
      const place = await make(t)
      const id = await made(place, both, row)
      for (const one of [second, both, second, second, both]) await looked(place, one, id, row)
      const late = await serving(place, second, async ({ ask }) => (await ask('POST', '/v2/things', row)).json.id)
      await serving(place, both, async ({ ask }) => {
        for (const one of [id, late])
          assert.deepEqual(picked((await ask('GET', `/v1/things/${one}`)).json, reported), reported)
        const found = async (query: string) => (await ask('GET', `/v1/things?${query}`)).json.data.length
        assert.deepEqual(
          [await found('first=Ann'), await found('text=n&side=right'), await found('side=left')],
          [2, 2, 0],
        )
      })
    })

    test('has every value among three of which some are left out', async (t) => {
      const place = await make(t)
      const values = { memo: 'm', cost: 12_345 }
      const id = await serving(place, three, async ({ ask }) => (await ask('POST', '/v3/things', values)).json.id)
      for (const one of [threeOf('v2', 'v3'), threeOf('v3'), three, threeOf('v3'), threeOf('v2', 'v3'), three]) {
        const { json } = await serving(place, one, ({ ask }) => ask('GET', `/v3/things/${id}`))
        assert.deepEqual(picked(json, values), values)
      }
      const { json } = await serving(place, three, ({ ask }) => ask('GET', `/v1/things/${id}`))
      assert.deepEqual(picked(json, { text: '', cost: 0 }), { text: 'm', cost: 123 })
    })

    test('has every value if nothing but values changed', async (t) => {
      const place = await make(t)
      const id = await made(place, bothSides, sideRow)
      for (const one of [secondSides, bothSides, secondSides, bothSides]) await looked(place, one, id, sideRow)
    })

    test('may be declared if the database was created without it', async (t) => {
      for (const [newest, older, values] of [
        [second, both, row],
        [secondSides, bothSides, sideRow],
      ] as const) {
        const place = await make(t)
        const id = await made(place, newest, values)
        for (const one of [older, newest, older]) await looked(place, one, id, values)
      }
    })

    test('is known in databases of releases that did not remember it', async (t) => {
      const place = await make(t)
      const id = await made(place, both, row)
      await looked(place, second, id, row)
      await forgetful(place)
      for (const one of [both, second, both]) await looked(place, one, id, row)
      const other = await make(t)
      const late = await made(other, second, row)
      await forgetful(other)
      for (const one of [both, second, both]) await looked(other, one, late, row)
    })

    test('is declared again while nodes that left it out run', async (t) => {
      const place = await make(t)
      const id = await made(place, both, row)
      const old = nodeOn(place, second)
      t.after(old.close)
      await old.ask('GET', '/v2/things')
      await alive(place)
      await applied(place, both)
      const young = nodeOn(place, both)
      t.after(young.close)
      assert.equal((await young.ask('PATCH', `/v1/things/${id}`, { text: 'm' })).status, 200)
      assert.equal((await old.ask('PATCH', `/v2/things/${id}`, { words: ['b'] })).status, 200)
      const expected = { ...row, note: 'm', words: ['b'] }
      for (const node of [old, young])
        assert.deepEqual(picked((await node.ask('GET', `/v2/things/${id}`)).json, row), expected)
    })

    test('leaves rows to no declaration that ends before it', async (t) => {
      const place = await make(t)
      const id = await made(place, bothSides, sideRow)
      await refused(
        place,
        firstSides,
        /The rows of things are stored in the form of v2, which this declaration does not have/,
      )
      await looked(place, bothSides, id, sideRow)
    })

    test('is not left to a declaration without changes from it', async (t) => {
      const place = await make(t)
      const id = await made(place, both, row)
      const third = api(versions('v1', 'v3'), { things }).change('v3', 'things', change)
      await refused(
        place,
        third,
        /The rows of things are stored in the form of v2, which this declaration does not have/,
      )
      await looked(place, both, id, row)
    })

    test('may be left out where a resource had another name in it, and others refer to that', async (t) => {
      const place = await make(t)
      const open = 'public'
      const resources = {
        hauliers: { prefix: 'hau', fields: { title: f.text() }, access: open },
        depots: { prefix: 'dep', parent: 'hauliers', fields: { title: f.text() }, access: open },
        trips: {
          prefix: 'trp',
          fields: {
            haulierId: f.ref('hauliers', { filter: true }),
            others: f.list(f.ref('hauliers')),
            via: f.object({ haulierId: f.ref('hauliers', { optional: true }) }, { optional: true }),
          },
          access: open,
        },
      }
      const older = api(versions('v1', 'v2'), resources).change('v2', 'hauliers', {
        about: 'Carriers are hauliers.',
        was: 'carriers',
      })
      const newest = api(versions('v2'), resources)
      const trip = await serving(place, older, async ({ ask }) => {
        const haulierId = (await ask('POST', '/v2/hauliers', { title: 'h' })).json.id
        await ask('POST', `/v2/hauliers/${haulierId}/depots`, { title: 'd' })
        const sent = { haulierId, others: [haulierId], via: { haulierId } }
        const { status, json } = await ask('POST', '/v2/trips', sent, { 'idempotency-key': 'key-of-before' })
        assert.equal(status, 201, JSON.stringify(json))
        const gone = (await ask('POST', '/v2/hauliers', { title: 'g' })).json.id
        assert.equal((await ask('DELETE', `/v1/carriers/${gone}`)).status, 204)
        return { ...sent, id: json.id, gone }
      })
      for (const one of [newest, older, newest, older, newest])
        await serving(place, one, async ({ ask }) => {
          const { id, gone, ...sent } = trip
          const { json } = await ask('GET', `/v2/trips/${id}`)
          assert.deepEqual(picked(json, sent), sent)
          assert.equal((await ask('GET', `/v2/trips?haulierId=${sent.haulierId}`)).json.data.length, 1)
          assert.equal((await ask('GET', `/v2/hauliers/${sent.haulierId}/depots`)).json.data.length, 1)
          assert.equal((await ask('GET', `/v2/hauliers/${gone}`)).status, 410)
          assert.equal((await ask('DELETE', `/v2/hauliers/${sent.haulierId}`)).status, 409)
        })
    })
  })
