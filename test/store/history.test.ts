/** History on both stores: every way a change is made, retention, changed declarations, and a random test. R237. The cellar. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { f, type Service, service, sum } from 'bylaw'
import { testing } from 'bylaw/testing'
import fc from 'fast-check'
import { applied, nodeOn, type Place, places } from '../help/places.ts'
import { runsOf } from '../help/runs.ts'

const history = { read: 'public' } as const

const desk = service({
  name: 'desk',
  resources: {
    tickets: {
      prefix: 'tic',
      owner: 'teamId',
      fields: { title: f.text(), visits: f.integer({ default: 0 }) },
      states: {
        field: 'status',
        initial: 'open',
        transitions: {
          closures: { from: ['open'], to: 'closed' },
          expiries: { from: ['open'], to: 'expired', after: 'PT1H' },
        },
      },
      operations: {
        visits: { at: 'item' },
        counts: { at: 'item', asynchronous: true },
        purges: { at: 'item' },
      },
      access: 'authenticated',
      history: { read: 'authenticated', retention: 'P10D' },
    },
  },
}).handlers({
  tickets: {
    closures: ({ set }) => set({ visits: 100 }),
    visits: ({ item, set }) => set({ visits: item.visits + 1 }),
    counts: async ({ item, step }) => {
      await step('add', ({ change }) => change('tickets', item.id, { visits: 50 }))
    },
    purges: ({ item, remove }) => remove('tickets', item.id),
  },
})

interface Entry {
  readonly id: string
  readonly type: string
  readonly by: string | null
  readonly changes: Readonly<Record<string, unknown>>
}

const team = { account: 'a' }

for (const [name, place] of places)
  describe(`history on ${name}`, () => {
    const open = async (t: TestContext) => {
      const at = await place(t)
      const { call, pass, close } = testing(desk, { database: at.url })
      t.after(close)
      const ask = async (method: string, path: string, json?: object, as = team) => {
        const answer = await call(path, { method, as, ...(json && { json }) })
        const text = await answer.text()
        return { status: answer.status, json: text === '' ? null : JSON.parse(text) }
      }
      const make = async (title: string): Promise<string> => (await ask('POST', '/tickets', { title })).json.id
      const entries = async (id: string): Promise<Entry[]> => (await ask('GET', `/tickets/${id}/revisions`)).json.data
      return { at, ask, make, entries, pass }
    }

    test('R237: handlers, operations and steps of asynchronous ones change rows for their caller, timers for the service', async (t) => {
      const { ask, make, entries, pass } = await open(t)
      const [closed, expired, purged] = [await make('a'), await make('b'), await make('c')]
      await ask('POST', `/tickets/${closed}/visits`)
      await ask('POST', `/tickets/${closed}/counts`)
      await pass('PT1S')
      await ask('POST', `/tickets/${closed}/closures`)
      await ask('POST', `/tickets/${purged}/purges`)
      await pass('PT2H')
      const told = async (id: string) =>
        (await entries(id)).map(({ type, by, changes }) => [type, by, changes.visits ?? null])
      const by = (await entries(closed)).at(-1)?.by
      assert.equal(typeof by, 'string')
      assert.deepEqual(await told(closed), [
        ['closed', by, 100],
        ['updated', by, 50],
        ['updated', by, 1],
        ['created', by, 0],
      ])
      assert.deepEqual(await told(expired), [
        ['expired', null, null],
        ['created', by, 0],
      ])
      assert.deepEqual(await told(purged), [
        ['deleted', by, null],
        ['created', by, 0],
      ])
    })

    test('R237 R170: revisions of other accounts do not exist, also those of deleted items', async (t) => {
      const { ask, make } = await open(t)
      const id = await make('a')
      await ask('DELETE', `/tickets/${id}`)
      for (const end of ['', '/1', '/2?against=1']) {
        assert.equal((await ask('GET', `/tickets/${id}/revisions${end}`)).status, 200)
        const other = await ask('GET', `/tickets/${id}/revisions${end}`, undefined, { account: 'b' })
        const never = await ask('GET', `/tickets/tic_00000000000000000000000000/revisions${end}`, undefined, {
          account: 'b',
        })
        assert.deepEqual([other.status, never.status], [404, 404])
        const { message } = other.json
        assert.deepEqual({ ...other.json, message }, { ...never.json, message })
        assert.equal(
          message.replaceAll(id, '{id}'),
          never.json.message.replaceAll('tic_00000000000000000000000000', '{id}'),
        )
      }
    })

    test('R237: revisions are swept after their retention, and the item stays', async (t) => {
      const { at, ask, make, entries, pass } = await open(t)
      const id = await make('a')
      await ask('POST', `/tickets/${id}/closures`)
      await pass('P9D')
      await ask('PATCH', `/tickets/${id}`, { title: 'b' })
      assert.equal((await entries(id)).length, 3)
      await pass('P2D')
      const all = await entries(id)
      assert.deepEqual(
        all.map(({ type, changes }) => [type, changes.title, changes.visits]),
        [['updated', 'b', 100]],
      )
      await pass('P10D')
      assert.deepEqual(await entries(id), [])
      assert.deepEqual(await at.rows('SELECT * FROM bylaw_history'), [])
      await ask('DELETE', `/tickets/${id}`)
      assert.equal((await entries(id)).length, 1)
      await pass('P11D')
      assert.equal((await ask('GET', `/tickets/${id}/revisions`)).status, 410)
    })

    test('R237: parallel writes are all kept, each once', async (t) => {
      const { ask, make, entries } = await open(t)
      const ids = await Promise.all(Array.from({ length: 8 }, (_, i) => make(`t${i}`)))
      const changes = ids.flatMap((id) => [1, 2, 3].map((n) => ask('PATCH', `/tickets/${id}`, { title: `n${n}` })))
      for (const { status } of await Promise.all(changes)) assert.equal(status, 200)
      for (const id of ids)
        assert.deepEqual(
          (await entries(id)).map((one) => one.id),
          ['4', '3', '2', '1'],
        )
    })

    test('R237: a lookup, a page and the sweep use an index', async (t) => {
      const { at, make, entries } = await open(t)
      const id = await make('a')
      await entries(id)
      const columns = 'resource, account, parent, item, revision, id, action, at, shape, payload'
      const numbers =
        name === 'SQLite'
          ? 'WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)'
          : 'WITH numbers AS (SELECT generate_series(1, 20000) AS n)'
      await at.rows(
        `INSERT INTO bylaw_history (${columns}) ${name === 'SQLite' ? numbers : numbers} SELECT 'tickets', 'a', '', 'tic_' || (n % 100), n, 'evt_' || n, 'updated', n, 1, '{}' FROM numbers`,
      )
      await at.rows('ANALYZE bylaw_history')
      const page = `SELECT id FROM bylaw_history WHERE resource = 'tickets' AND account = 'a' AND parent = '' AND item = 'tic_7' AND revision < 900 ORDER BY revision DESC LIMIT 21`
      const old = `SELECT id, at FROM bylaw_history WHERE resource = 'tickets' AND at < 50 ORDER BY at LIMIT 500`
      for (const text of [page, old]) {
        const plan = JSON.stringify(await at.rows(`${name === 'SQLite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'} ${text}`))
        assert.match(plan, /INDEX|Index/, plan)
        assert.doesNotMatch(plan, /Seq Scan|SCAN bylaw_history"|TEMP B-TREE|Sort/, plan)
      }
    })

    test('R237: revisions outlive the declaration that they were kept by', async (t) => {
      const at = await place(t)
      const id = await writtenBefore(at)
      await applied(at, renamed as Service, ['notes.extra'])
      const later = nodeOn(at, renamed as Service, ['notes.extra'])
      t.after(later.close)
      await later.ask('PATCH', `/v2/memos/${id}`, { body: 'c' })
      const { json } = await later.ask('GET', `/v2/memos/${id}/revisions`)
      assert.deepEqual(
        json.data.map((one: Entry) => [one.id, one.type, one.changes.body]),
        [
          ['3', 'updated', 'c'],
          ['2', 'updated', 'b'],
          ['1', 'created', 'a'],
        ],
      )
      const first = (await later.ask('GET', `/v2/memos/${id}/revisions/1`)).json
      assert.deepEqual([first.body, first.size, first.text], ['a', 7, undefined])
      const older = (await later.ask('GET', `/v1/notes/${id}/revisions/3`)).json
      assert.deepEqual([older.text, older.body], ['c', undefined])
    })

    test('R237 R194: fields that another row has now are shown as they were at the change', async (t) => {
      const at = await place(t)
      const node = nodeOn(at, moved as Service)
      t.after(node.close)
      const shelf = (await node.ask('POST', '/v2/shelves', { room: 'red' })).json.id
      const book = (await node.ask('POST', '/v2/books', { title: 'a', shelfId: shelf })).json.id
      await node.ask('PATCH', `/v2/shelves/${shelf}`, { room: 'blue' })
      await node.ask('PATCH', `/v2/books/${book}`, { title: 'b' })
      await node.ask('PATCH', `/v1/books/${book}`, { title: 'c', room: 'green' })
      await node.ask('DELETE', `/v2/books/${book}`)
      const { json } = await node.ask('GET', `/v1/books/${book}/revisions`)
      assert.deepEqual(
        json.data.map(({ type, changes }: Entry) => [type, changes.title, changes.room]),
        [
          ['deleted', undefined, undefined],
          ['updated', 'c', 'green'],
          ['updated', 'b', 'blue'],
          ['created', 'a', 'red'],
        ],
      )
      assert.equal((await node.ask('GET', `/v1/books/${book}/revisions/1`)).json.room, 'red')
    })

    test('R237: every revision is what a reader saw at the time, and patches lead from each to each', async (t) => {
      const at = await place(t)
      const node = nodeOn(at, random as Service)
      t.after(node.close)
      await fc.assert(
        fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 12 }), (acts) => replay(node.ask, acts)),
        { numRuns: runsOf(60) },
      )
    })
  })

const note = { prefix: 'not', access: 'public', history } as const
const first = service({
  name: 'memo',
  versions: { v1: { released: '2025-01-01' } },
  resources: { notes: { ...note, fields: { text: f.text(), extra: f.text({ optional: true }) } } },
})
const renamed = service({
  name: 'memo',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: { memos: { ...note, fields: { body: f.text(), size: f.integer({ default: 7 }) } } },
})
  .change('v2', 'memos', { about: 'Texts are bodies.', renamed: { text: 'body' }, added: ['size'] })
  .change('v2', 'memos', { about: 'Notes are memos.', was: 'notes' })

async function writtenBefore(at: Place): Promise<string> {
  const node = nodeOn(at, first as Service)
  const { id } = (await node.ask('POST', '/v1/notes', { text: 'a' })).json
  await node.ask('PATCH', `/v1/notes/${id}`, { text: 'b' })
  await node.close()
  return id
}

const moved = service({
  name: 'rooms',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  resources: {
    shelves: { prefix: 'shf', fields: { room: f.text() }, access: 'public' },
    books: {
      prefix: 'bok',
      fields: { title: f.text(), shelfId: f.ref('shelves', { optional: true }) },
      access: 'public',
      history,
    },
  },
}).change('v2', 'books', { about: 'Shelves have rooms.', moved: { room: { by: 'shelfId', to: 'room' } } })

const random = service({
  name: 'random',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  settings: { batches: 5 },
  events: true,
  resources: {
    items: {
      prefix: 'itm',
      fields: {
        name: f.text({ optional: true }),
        tags: f.list(f.text()),
        place: f.object({ town: f.text({ optional: true }), size: f.integer({ optional: true }) }, { optional: true }),
        meta: f.metadata(),
        total: f.integer({ derived: sum('parts', 'amount') }),
      },
      states: { field: 'status', initial: 'on', transitions: { closures: { from: ['on'], to: 'off' } } },
      access: 'public',
      history,
    },
    parts: {
      prefix: 'par',
      parent: { resource: 'items', onDelete: 'cascade' },
      fields: { amount: f.integer() },
      access: 'public',
      history,
    },
  },
}).change('v2', 'items', { about: 'Titles are names.', renamed: { title: 'name' } })

const word = fc.constantFrom('a', 'b', 'ß', '')
const fields = fc.record(
  {
    name: fc.option(word),
    tags: fc.array(word, { maxLength: 2 }),
    place: fc.option(
      fc.record({ town: fc.option(word), size: fc.option(fc.integer({ min: 0, max: 2 })) }, { requiredKeys: [] }),
    ),
    meta: fc.dictionary(fc.constantFrom('k', 'l'), word),
  },
  { requiredKeys: [] },
)
const act = fc.oneof(
  fc.record({ do: fc.constant('patch' as const), fields }),
  fc.record({ do: fc.constant('put' as const), fields }),
  fc.record({ do: fc.constant('part' as const), amount: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ do: fc.constant('old' as const), title: word }),
  fc.record({ do: fc.constant('batch' as const), names: fc.array(word, { minLength: 1, maxLength: 3 }) }),
  fc.record({ do: fc.constant('close' as const) }),
)
type Act = typeof act extends fc.Arbitrary<infer A> ? A : never
type Ask = ReturnType<typeof nodeOn>['ask']
type Json = Record<string, unknown>

async function carryOut(ask: Ask, path: string, one: Act): Promise<unknown> {
  if (one.do === 'patch') return ask('PATCH', `/v2${path}`, one.fields)
  if (one.do === 'put') return ask('PUT', `/v2${path}`, one.fields)
  if (one.do === 'part') return ask('POST', `/v2${path}/parts`, { amount: one.amount })
  if (one.do === 'old') return ask('PATCH', `/v1${path}`, { title: one.title })
  if (one.do === 'close') return ask('POST', `/v2${path}/closures`)
  const operations = one.names.map((name) => ({ method: 'PATCH', path, body: { name } }))
  return ask('POST', '/v2/batches', { operations })
}

const without = ({ _links, ...item }: Json): Json => item

/** RFC 7396. */
function patched(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const own: Json = typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete own[key]
    else own[key] = patched(own[key], value)
  return own
}

/** The same without members that are null, as a merge patch cannot tell them from missing ones. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (one === null ? [] : [[key, withoutNulls(one)]])),
  )
}

async function replay(ask: Ask, acts: readonly Act[]): Promise<void> {
  const made = (await ask('POST', '/v2/items', { name: 'a' })).json
  const path = `/items/${made.id}`
  const seen = new Map<string, { readonly v1: Json; readonly v2: Json }>()
  const look = async () => {
    const [v1, v2] = [await ask('GET', `/v1${path}`), await ask('GET', `/v2${path}`)]
    const number = Number.parseInt((v2.headers.get('etag') as string).slice(1).split('-', 1)[0] as string, 36)
    seen.set(String(number), { v1: without(v1.json), v2: without(v2.json) })
  }
  await look()
  for (const one of acts) {
    await carryOut(ask, path, one)
    await look()
  }
  await ask('DELETE', `/v2${path}`)
  const { data } = (await ask('GET', `/v2${path}/revisions?limit=100`)).json
  const numbers: string[] = data.map(({ id }: { id: string }) => id)
  for (const number of seen.keys()) assert.ok(numbers.includes(number), `revision ${number} of ${numbers}`)
  for (const [number, { v1, v2 }] of seen) {
    assert.deepEqual((await ask('GET', `/v2${path}/revisions/${number}`)).json, v2)
    assert.deepEqual((await ask('GET', `/v1${path}/revisions/${number}`)).json, v1)
  }
  let at: unknown = {}
  for (const { id, changes } of data.toReversed()) {
    at = patched(at, changes)
    const known = seen.get(id)
    if (known) assert.deepEqual(withoutNulls(at), withoutNulls(known.v2))
  }
  const [from, to] = [[...seen.keys()][0], [...seen.keys()].at(-1)] as [string, string]
  const { json } = await ask('GET', `/v2${path}/revisions/${from}?against=${to}`)
  assert.deepEqual(withoutNulls(patched(seen.get(to)?.v2, json)), withoutNulls(seen.get(from)?.v2))
}
