/** History begins with the second phase of a change, and is written by the statement of its change on PostgreSQL. R237. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { storeContext } from '../../src/catalog/context.ts'
import type { Create, Decide, Plan } from '../../src/flow/plan.ts'
import { changeBetween } from '../../src/schema/schema-change.ts'
import { postgresDialect } from '../../src/sql/dialect.ts'
import { perform } from '../../src/store/perform.ts'
import { collectionsOf, tablesOf } from '../../src/terminal/open.ts'
import { alive, applied, nodeOn, places } from '../help/places.ts'

const notes = (own: object = {}, more: object = {}): Service =>
  service({
    name: 'notes',
    ...more,
    resources: { notes: { prefix: 'not', fields: { text: f.text() }, access: 'public', ...own } },
  } as never) as unknown as Service
const kept = { history: { read: 'public' } }

for (const [name, place] of places)
  test(`R237: revisions begin when nodes without them have ended (${name})`, async (t) => {
    const at = await place(t)
    const old = nodeOn(at, notes())
    t.after(old.close)
    const id = (await old.ask('POST', '/notes', { text: 'a' })).json.id
    await alive(at)
    assert.deepEqual((await applied(at, notes(kept))).waitsFor, ['old'])
    const young = nodeOn(at, notes(kept))
    t.after(young.close)
    for (const node of [old, young]) assert.equal((await node.ask('PATCH', `/notes/${id}`, { text: 'b' })).status, 200)
    const waiting = await young.ask('GET', `/notes/${id}/revisions`)
    assert.deepEqual([waiting.status, waiting.json.type], [503, 'maintenance'])
    assert.deepEqual(await at.rows('SELECT id FROM bylaw_history'), [])
    await old.close()
    await at.rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await applied(at, notes(kept))).left, [])
    const made = (await young.ask('POST', '/notes', { text: 'c' })).json.id
    await young.ask('PATCH', `/notes/${id}`, { text: 'c' })
    const [entry, ...more] = (await young.ask('GET', `/notes/${id}/revisions`)).json.data
    assert.deepEqual([more, entry.type, entry.changes.text, entry.changes.id], [[], 'updated', 'c', id])
    await young.ask('DELETE', `/notes/${made}`)
    assert.equal((await young.ask('GET', `/notes/${made}/revisions`)).json.data.length, 2)
  })

const row = { doc: '{"id":"not_1","text":"a","updatedAt":"2026-01-01T00:00:00.000Z"}', hidden: null, cells: ['x', 'y'] }
const key = { id: 'not_1', parent: null, account: null }
const create: Create = {
  ...{ do: 'create', collection: 'notes', key, parent: null, row, time: 0, id: 'fresh', references: [], claim: null },
  by: 'ann',
}
const update: Decide = {
  ...{ do: 'decide', read: { do: 'read', collection: 'notes', key, time: 0 }, by: 'ann' },
  decide: () => ({
    ...{ do: 'update', collection: 'notes', key, revision: 1, time: 0, row, changedCells: [], references: [] },
  }),
}

/** The statements of a plan; reads find the row. */
function statementsOf(api: Service, plan: Plan) {
  const collections = collectionsOf(api)
  const layout = changeBetween(null, collections, postgresDialect).after
  const steps = perform(storeContext(collections, { layout, former: null }, postgresDialect), plan)
  const all: { readonly text: string; readonly values: readonly unknown[] }[] = []
  for (let step = steps.next(); !step.done; step = steps.next([{ ...row, shape: 1, revision: 1 }])) all.push(step.value)
  return all.filter(({ text }) => !text.startsWith('SELECT'))
}

test('R237: PostgreSQL records a change and its revision by one statement, with and without an event', () => {
  for (const [more, tables] of [
    [{}, ['bylaw_history']],
    [{ events: true }, ['bylaw_outbox', 'bylaw_history']],
  ] as const)
    for (const plan of [create, update]) {
      const statements = statementsOf(notes(kept, more), plan)
      assert.equal(statements.length, 1)
      for (const table of tables) assert.match(String(statements[0]?.text), new RegExp(`INSERT INTO ${table} `))
      assert.ok(statements[0]?.values.includes('ann'))
    }
})

test('R237: a service without history has no table and no statement for it', () => {
  assert.ok(!tablesOf(notes()).some(({ name }) => name.startsWith('bylaw_history')))
  for (const plan of [create, update])
    for (const { text, values } of statementsOf(notes({}, { events: true }), plan))
      assert.ok(!text.includes('history') && !values.includes('ann'))
})
