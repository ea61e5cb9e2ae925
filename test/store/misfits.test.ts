/** Proves that rows that do not fit a narrower declaration are counted before it is applied, and described as stored. The store. */
// long because: one entry for each way to narrow a field
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { type Declaration, type Field, f, type Service, service } from 'bylaw'
import { type Testing, testing } from 'bylaw/testing'
import { openMigration } from '../../src/terminal/open.ts'
import { type Judge, judgeOf } from '../help/described.ts'
import { things } from '../help/file.ts'
import { alive, applied, type Place, places } from '../help/places.ts'
import { freshCitus, planned } from '../help/spread.ts'

type Fields = Record<string, Field>
interface Case {
  readonly title: string
  readonly before: Fields
  readonly bodies: readonly object[]
  readonly after: Fields
  /** The field with the number of rows that do not fit. */
  readonly field: string
  readonly rows: number
}

const cases: readonly Case[] = [
  {
    title: 'a required field that is new',
    before: {},
    bodies: [{}, {}],
    after: { isbn: f.text() },
    field: 'isbn',
    rows: 2,
  },
  {
    title: 'an optional field that became required',
    before: { rank: f.integer({ optional: true }) },
    bodies: [{}, { rank: 1 }],
    after: { rank: f.integer() },
    field: 'rank',
    rows: 1,
  },
  {
    title: 'an enum with fewer values',
    before: { state: f.enum(['open', 'shut', 'lost']) },
    bodies: [{ state: 'lost' }, { state: 'open' }],
    after: { state: f.enum(['open', 'shut']) },
    field: 'state',
    rows: 1,
  },
  {
    title: 'a new pattern',
    before: { code: f.text() },
    bodies: [{ code: 'abc' }, { code: '1' }],
    after: { code: f.text({ pattern: '^[0-9]+$' }) },
    field: 'code',
    rows: 1,
  },
  {
    title: 'another pattern',
    before: { code: f.text({ pattern: '^[a-z]+$' }) },
    bodies: [{ code: 'abc' }],
    after: { code: f.text({ pattern: '^[0-9]+$' }) },
    field: 'code',
    rows: 1,
  },
  {
    title: 'a shorter text',
    before: { name: f.email() },
    bodies: [{ name: 'someone@example.com' }, { name: 'a@b.cc' }],
    after: { name: f.email({ max: 10 }) },
    field: 'name',
    rows: 1,
  },
  {
    title: 'a text that is sorted by, which is shorter by itself',
    before: { name: f.text() },
    bodies: [{ name: 'x'.repeat(600) }],
    after: { name: f.text({ sort: true }) },
    field: 'name',
    rows: 1,
  },
  {
    title: 'a higher least number',
    before: { rank: f.integer() },
    bodies: [{ rank: 1 }, { rank: 5 }],
    after: { rank: f.integer({ min: 2 }) },
    field: 'rank',
    rows: 1,
  },
  {
    title: 'a bound of a large number',
    before: { size: f.bigint() },
    bodies: [{ size: '9007199254740993' }],
    after: { size: f.bigint({ max: '9007199254740992' }) },
    field: 'size',
    rows: 1,
  },
  {
    title: 'a bound of a time',
    before: { at: f.timestamp(), on: f.date() },
    bodies: [{ at: '2020-01-01T00:00:00Z', on: '2020-01-01' }],
    after: { at: f.timestamp(), on: f.date({ min: '2021-01-01' }) },
    field: 'on',
    rows: 1,
  },
  {
    title: 'fewer digits behind the point',
    before: { price: f.decimal({ scale: 3, sort: true }) },
    bodies: [{ price: '1.005' }, { price: '2.5' }],
    after: { price: f.decimal({ scale: 2, sort: true }) },
    field: 'price',
    rows: 1,
  },
  {
    title: 'fewer digits before the point',
    before: { price: f.decimal({ precision: 30, scale: 2, sort: true }) },
    bodies: [{ price: '12345678901234567890.25' }, { price: '2' }],
    after: { price: f.decimal({ precision: 5, scale: 2, sort: true }) },
    field: 'price',
    rows: 1,
  },
  {
    title: 'a list with fewer items',
    before: { tags: f.list(f.text()) },
    bodies: [{ tags: ['a', 'b'] }, { tags: ['a'] }],
    after: { tags: f.list(f.text(), { max: 1 }) },
    field: 'tags',
    rows: 1,
  },
  {
    title: 'items of a list with a new pattern',
    before: { tags: f.list(f.text()) },
    bodies: [{ tags: ['1', 'b'] }, { tags: ['2'] }],
    after: { tags: f.list(f.text({ pattern: '^[0-9]+$' })) },
    field: 'tags',
    rows: 1,
  },
  {
    title: 'a field of an object that became required',
    before: { place: f.object({ zip: f.text({ optional: true }) }) },
    bodies: [{ place: {} }, { place: { zip: '1' } }],
    after: { place: f.object({ zip: f.text() }) },
    field: 'place',
    rows: 1,
  },
  {
    title: 'a field that is new in the objects of a list',
    before: { lines: f.list(f.object({ sku: f.text() })) },
    bodies: [{ lines: [{ sku: 'a' }] }, { lines: [] }],
    after: { lines: f.list(f.object({ sku: f.text(), unit: f.text() })) },
    field: 'lines',
    rows: 1,
  },
]

type Open = (api: Service, allowMisfits?: boolean) => Testing

/** Opens services on one database. */
const opening =
  (t: TestContext, { url }: Place): Open =>
  (api, allowMisfits = false) => {
    const own = testing(api, { database: url, allowMisfits })
    let closed: Promise<void> | undefined
    const close = () => {
      closed ??= own.close()
      return closed
    }
    t.after(() => close().catch(() => {})) // the start may have been refused
    return { ...own, close }
  }

const json = async (response: Response) => JSON.parse(await response.text())

async function fill(own: Testing, bodies: readonly object[]): Promise<string[]> {
  const ids: string[] = []
  for (const body of bodies) {
    const answer = await own.call('/things', { method: 'POST', json: body })
    assert.equal(answer.status, 201, await answer.clone().text())
    ids.push((await json(answer)).id)
  }
  return ids
}

/** The first call opens the store, which may refuse to start. */
const ready = async (own: Testing): Promise<Testing> => {
  await own.call('/healthz')
  return own
}

const reason = async (open: () => Testing): Promise<string> => {
  try {
    const own = await ready(open())
    await own.close()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

/** Asserts that an item can be sent back as it was read, and that the document describes both. */
async function repeats(own: Testing, path: string, field: string): Promise<void> {
  const judge: Judge = judgeOf(await json(await own.call('/openapi.json')))
  const send = async (method: string, value?: Record<string, unknown>) => {
    const answer = await own.call(path, { method, ...(value && { json: value }) })
    const text = await answer.text()
    const sent = value && { sent: { kind: 'application/json', value } }
    const headers = Object.fromEntries(answer.headers)
    assert.equal(answer.status, 200, text)
    assert.deepEqual(judge({ method, target: path, ...sent, status: answer.status, headers, text }), [])
    return JSON.parse(text) as Record<string, unknown>
  }
  const body = await send('GET')
  assert.deepEqual(await send('PUT', body), body)
  assert.deepEqual(await send('PATCH', { [field]: body[field] }), body)
}

for (const [store, make] of places)
  describe(`misfits on ${store}`, () => {
    for (const { title, before, bodies, after, field, rows: count } of cases)
      test(`${title}: the start is refused with the count, and allowed values are described and can be sent back`, async (t) => {
        const open = opening(t, await make(t))
        const old = open(things(before))
        const ids = await fill(old, bodies)
        await old.close()
        const refusal = await reason(() => open(things(after)))
        assert.match(refusal, new RegExp(`${count} rows? of things would not fit \`${field}\``))
        assert.ok(refusal.includes(ids[0] as string), refusal)
        assert.match(refusal, /fill/)
        assert.match(refusal, /--allow-misfits/)
        const own = await ready(open(things(after), true))
        for (const id of ids) await repeats(own, `/things/${id}`, field)
        assert.equal((await own.call('/things', { method: 'POST', json: bodies[0] as object })).status, 400)
        await own.close()
        assert.equal(await reason(() => open(things(after))), '') // the same declaration is not checked again
      })

    test('a declaration that is as wide, or wider, is never judged', async (t) => {
      const open = opening(t, await make(t))
      const fields = { state: f.enum(['open', 'shut']), name: f.text({ max: 9 }) }
      const old = open(things(fields))
      await fill(old, [{ state: 'open', name: 'x' }])
      await old.close()
      for (const wider of [
        fields,
        { ...fields, state: f.enum(['shut', 'open', 'lost']) },
        { ...fields, name: f.text({ max: 10 }), note: f.text({ optional: true }), rank: f.integer({ default: 1 }) },
      ])
        assert.equal(await reason(() => open(things(wider))), '')
    })

    test('misfits are removed when the declaration is wide enough again', async (t) => {
      const open = opening(t, await make(t))
      const [wide, narrow] = [f.enum(['open', 'lost']), f.enum(['open'])]
      const old = open(things({ state: wide }))
      await fill(old, [{ state: 'lost' }])
      await old.close()
      const allowed = await ready(open(things({ state: narrow }), true))
      const values = async (own: Testing) =>
        (await json(await own.call('/openapi.json'))).components.schemas.Thing.properties.state.enum
      assert.deepEqual(await values(allowed), ['open', 'lost'])
      await allowed.close()
      const back = await ready(open(things({ state: wide })))
      assert.deepEqual(await values(back), ['open', 'lost'])
      await back.close()
      const refusal = await reason(() => open(things({ state: narrow })))
      assert.match(refusal, /1 row of things/)
    })

    test('rows of accounts and children below owners are counted and named', async (t) => {
      const open = opening(t, await make(t))
      const api = (name: Field) =>
        service({
          name: 'tests',
          resources: {
            carts: { fields: {}, access: 'authenticated', owner: 'account' },
            lines: { fields: { sku: f.text(), name }, key: 'sku', parent: 'carts', access: 'authenticated' },
          },
        } as Declaration)
      const as = { account: 'acme' }
      const old = open(api(f.text()))
      const cart = (await json(await old.call('/carts', { method: 'POST', json: {}, as }))).id
      const made = await old.call(`/carts/${cart}/lines`, { method: 'POST', json: { sku: 'a', name: 'long' }, as })
      assert.equal(made.status, 201)
      await old.close()
      assert.match(
        await reason(() => open(api(f.text({ max: 2 })))),
        new RegExp(`1 row of lines .*\\(${cart}/a of acme\\)`),
      )
      const own = await ready(open(api(f.text({ max: 2 })), true))
      const path = `/carts/${cart}/lines/a`
      const body = await json(await own.call(path, { as }))
      assert.equal((await own.call(path, { method: 'PUT', json: body, as })).status, 200)
      await own.close()
    })

    test('items are addressed by their key, so that one that does not fit is never allowed', async (t) => {
      const open = opening(t, await make(t))
      const api = (code: Field) => things({ code }, { key: 'code', prefix: undefined })
      const old = open(api(f.text()))
      assert.equal((await old.call('/things', { method: 'POST', json: { code: 'abc' } })).status, 201)
      await old.close()
      assert.match(await reason(() => open(api(f.text({ pattern: '^[0-9]+$' })), true)), /could not be reached/)
      const back = await ready(open(api(f.text())))
      assert.equal((await back.call('/things/abc')).status, 200)
    })

    test('values that are too long for the index of the narrower field are only allowed where the database has no such bound', async (t) => {
      const open = opening(t, await make(t))
      const text = (max: number, options = {}) => things({ code: f.text({ max, filter: true, ...options }) })
      const old = open(text(10_000))
      const [long = ''] = await fill(old, [{ code: randomBytes(3000).toString('hex') }])
      await old.close()
      const refusal = await reason(() => open(text(300), true))
      assert.match(refusal, store === 'SQLite' ? /^$/ : /1 row of things would not fit `code`.*too long for its index/s)
      assert.doesNotMatch(refusal, /--allow-misfits/)
      const own = await ready(open(text(300, { fill: 'short' })))
      assert.equal((await json(await own.call(`/things/${long}`))).code, 'short')
    })

    test('a database without stored bounds starts, and describes its values', async (t) => {
      const place = await make(t)
      const open = opening(t, place)
      const old = open(things({ state: f.enum(['open', 'lost']) }))
      const ids = await fill(old, [{ state: 'lost' }])
      await old.close()
      await place.rows("DELETE FROM bylaw_meta WHERE name = 'bounds'")
      const own = await ready(open(things({ state: f.enum(['open']) })))
      await repeats(own, `/things/${ids[0]}`, 'state')
      await own.close()
      await place.rows("DELETE FROM bylaw_meta WHERE name = 'bounds'")
      const needed = things({ state: f.enum(['open', 'lost']), rank: f.integer() })
      assert.match(await reason(() => open(needed)), /`rank`/) // the stored structure shows that the field is new
    })

    test('the doctor checks again, and corrected fields are described as declared', async (t) => {
      const place = await make(t)
      const open = opening(t, place)
      const narrow = things({ state: f.enum(['open']) })
      const old = open(things({ state: f.enum(['open', 'lost']) }))
      const ids = await fill(old, [{ state: 'lost' }])
      await old.close()
      const own = await ready(open(narrow, true))
      await own.call(`/things/${ids[0]}`, { method: 'PATCH', json: { state: 'open' } })
      await own.close()
      const migration = await openMigration(narrow, place.url)
      assert.deepEqual(await migration.inspect(() => {}), {})
      migration.close()
      const mended = await ready(open(narrow))
      const { components } = await json(await mended.call('/openapi.json'))
      assert.deepEqual(components.schemas.Thing.properties.state.enum, ['open'])
    })

    test('an older version describes the same rows in its own names, and takes them back', async (t) => {
      const open = opening(t, await make(t))
      const api = (note: Field) => {
        const versions = { v1: { released: '2025-01-01' }, v2: { released: '2025-02-01' } }
        const resources = { things: { prefix: 'thg', fields: { note, size: f.integer() }, access: 'public' } }
        const whole = service({ name: 'tests', resources, versions } as Declaration)
        const change = { about: 'text has a better name', renamed: { text: 'note' } }
        return (whole as unknown as { change: (...all: unknown[]) => Service }).change('v2', 'things', change)
      }
      const old = open(api(f.text()))
      const ids = await fill(old, [{ text: 'long', size: 1 }])
      await old.close()
      assert.match(await reason(() => open(api(f.text({ max: 2 })))), /1 row of things would not fit `note`/)
      const own = await ready(open(api(f.text({ max: 2 })), true))
      const path = `/v1/things/${ids[0]}`
      const { components } = await json(await own.call('/openapi/v1.json'))
      assert.equal(components.schemas.Thing.properties.text.maxLength, 10_000)
      assert.equal(components.schemas.ThingCreate.properties.text.maxLength, 2)
      const body = await json(await own.call(path))
      const put = await own.call(path, { method: 'PUT', json: { ...body, size: 2 } })
      assert.equal(put.status, 200, await put.text())
      const patch = await own.call(path, { method: 'PATCH', json: { text: 'long', size: 3 } })
      assert.equal(patch.status, 200)
      assert.equal((await own.call(path, { method: 'PATCH', json: { text: 'longer' } })).status, 400)
    })

    test('a node of the former declaration that starts again during a rolling upgrade describes them in its own names', async (t) => {
      const place = await make(t)
      const open = opening(t, place)
      const state = (values: string[]) => f.enum(values as [string], { filter: true })
      const wide = open(things({ state: state(['open', 'lost']) }))
      await fill(wide, [{ state: 'lost' }, { state: 'open' }])
      await wide.close()
      const former = things({ state: state(['open']) })
      await (await ready(open(former, true))).close()
      await alive(place)
      const now = things({
        phase: f.enum(['open', 'lost'], { was: 'state', filter: true, sort: true }),
        note: f.text({ optional: true, filter: true }),
      })
      assert.deepEqual((await applied(place, now)).waitsFor, ['old'])
      for (const [api, field] of [
        [former, 'state'],
        [now, 'phase'],
        [former, 'state'],
      ] as const) {
        const own = await ready(open(api))
        const { components } = await json(await own.call('/openapi.json'))
        assert.deepEqual(components.schemas.Thing.properties[field].enum.sort(), ['lost', 'open'])
        await own.close()
      }
    })
  })

test('misfits where rows are spread are counted, filled and recorded', async (t) => {
  const { url, drop } = await freshCitus()
  t.after(drop)
  const wide = things({ labels: f.metadata(), state: f.enum(['open', 'lost'], { filter: true }) })
  const narrow = (filled?: 'open'): Service => {
    const state = f.enum(['open'], { filter: true, ...(filled && { fill: filled }) })
    const resources = { things: { prefix: 'thg', fields: { labels: f.metadata(), state }, access: 'public' } }
    return service({ name: 'tests', resources, settings: { metadata: { keys: 1 } } } as Declaration)
  }
  await planned(wide, url)
  const open = opening(t, { url } as Place)
  const old = open(wide)
  const ids = await fill(old, [{ labels: { a: '1', b: '2' }, state: 'lost' }, { state: 'open' }])
  await old.close()
  const refusal = await reason(() => open(narrow()))
  assert.match(refusal, /1 row of things would not fit `state`/)
  assert.match(refusal, /1 row of things would not fit `labels`/)
  const own = await ready(open(narrow('open'), true))
  const { data } = await json(await own.call('/things?state=open'))
  assert.equal(data.length, 2)
  await repeats(own, `/things/${ids[0]}`, 'labels')
})
