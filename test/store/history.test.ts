/** History on both stores: every way a change is made, retention, plans, and changed declarations. R237. The store. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { applied, nodeOn, type Place, places } from '../help/places.ts'

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
    notes: { prefix: 'not', fields: { title: f.text() }, access: 'public', history },
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

    test('R237: a change whose revision cannot be written is not made', async (t) => {
      const { at, ask, make, entries } = await open(t)
      const id = await make('a')
      const poisoned = "NEW.payload LIKE '%poison%'"
      const trigger = 'CREATE TRIGGER poison BEFORE INSERT ON bylaw_history'
      if (name === 'SQLite') await at.rows(`${trigger} WHEN ${poisoned} BEGIN SELECT RAISE(ABORT, 'poison'); END`)
      else
        await at.rows(
          `CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF ${poisoned} THEN RAISE 'poison'; END IF; RETURN NEW; END $$; ${trigger} FOR EACH ROW EXECUTE FUNCTION poison()`,
        )
      for (const [method, path] of [
        ['POST', '/notes'],
        ['POST', '/tickets'],
        ['PATCH', `/tickets/${id}`],
        ['PUT', `/tickets/${id}`],
      ] as const)
        assert.ok((await ask(method, path, { title: 'poison' })).status >= 500, method)
      assert.deepEqual((await ask('GET', '/notes')).json.data, [])
      const { data } = (await ask('GET', '/tickets')).json
      assert.deepEqual(
        data.map(({ title }: { title: string }) => title),
        ['a'],
      )
      assert.equal((await entries(id)).length, 1)
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
