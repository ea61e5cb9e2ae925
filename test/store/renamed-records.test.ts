/** Events, revisions and first answers keep their values when fields are renamed again, or no longer say `was`. R196, R206, R237. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { type Node, nodeOn, type Place, places } from '../help/places.ts'

const declared = (fields: object, versions: readonly string[] = ['v1']): Service =>
  service({
    name: 'notes',
    versions: Object.fromEntries(versions.map((label) => [label, { released: `2026-01-0${label.slice(1)}` }])),
    resources: { notes: { prefix: 'not', fields, access: 'public', events: true, history: { read: 'public' } } },
    settings: { idempotency: { mode: 'replay' } },
  } as never) as unknown as Service

const body = { title: 'Milk', size: { width: 3 }, places: [{ town: 'Oslo' }] }

/** What each record of the first note shows under the last declaration. */
async function records({ ask }: Node, path: string): Promise<Record<string, unknown>[]> {
  const [event] = (await ask('GET', `${path}/events`)).json.data
  const { id } = event.data
  const revision = await ask('GET', `${path}/notes/${id}/revisions/1`)
  const changes = (await ask('GET', `${path}/notes/${id}/revisions`)).json.data.at(-1)
  return [event.data, revision.json, changes.changes].map(({ id, createdAt, updatedAt, ...own }) => own)
}

/** Creates an item with the first declaration, runs the others one after the other, and acts on the last. */
async function after(
  at: Place,
  all: readonly Service[],
  act: (node: Node) => Promise<void>,
  sent: object = body,
  losses: readonly string[] = [],
): Promise<void> {
  for (const [i, one] of all.entries()) {
    const node = nodeOn(at, one, losses)
    try {
      if (i === 0) assert.equal((await node.ask('POST', '/v1/notes', sent, { 'idempotency-key': 'k' })).status, 201)
      else assert.equal((await node.ask('GET', '/notes')).status, 200) // opens the database
      if (i === all.length - 1) await act(node)
    } finally {
      await node.close()
    }
  }
}

const size = (name: string, own: object = {}) => f.object({ [name]: f.integer(own) })
const towns = (name: string, own: object = {}) => f.list(f.object({ [name]: f.text(own) }))
const first = declared({ title: f.text(), size: size('width'), places: towns('town') })
const second = declared({
  caption: f.text({ was: 'title' }),
  size: size('breadth', { was: 'width' }),
  places: towns('city', { was: 'town' }),
})

for (const [name, place] of places) {
  test(`records have the values of fields that were renamed twice (${name})`, async (t) => {
    const third = declared({
      heading: f.text({ was: 'caption' }),
      size: size('extent', { was: 'breadth' }),
      places: towns('site', { was: 'city' }),
    })
    await after(await place(t), [first, second, third], async (node) => {
      const expected = { heading: 'Milk', size: { extent: 3 }, places: [{ site: 'Oslo' }] }
      for (const one of await records(node, '/v1')) assert.deepEqual(one, expected)
    })
  })

  test(`first answers have the values of fields that were renamed twice (${name})`, async (t) => {
    const all = ['note', 'text', 'remark'].map((name, i) =>
      declared({ [name]: f.text({ default: `${name}`, ...(i > 0 && { was: ['note', 'text'][i - 1] }) }) }),
    )
    await after(
      await place(t),
      all,
      async (node) => {
        const { status, json } = await node.ask('POST', '/v1/notes', {}, { 'idempotency-key': 'k' })
        assert.deepEqual([status, json.remark], [201, 'note'])
      },
      {},
    )
  })

  test(`records do not show the value of a renamed field in a new field with its old name (${name})`, async (t) => {
    const third = declared({
      caption: f.text(),
      title: f.integer({ default: 7 }),
      size: f.object({ breadth: f.integer(), width: f.text({ default: 'none' }) }),
      places: f.list(f.object({ city: f.text(), town: f.boolean({ default: false }) })),
    })
    await after(await place(t), [first, second, third], async (node) => {
      const size = { breadth: 3, width: 'none' }
      const expected = { caption: 'Milk', title: 7, size, places: [{ city: 'Oslo', town: false }] }
      for (const one of await records(node, '/v1')) assert.deepEqual(one, expected)
    })
  })

  test(`records have the values of fields that a version renamed, after the version before it has ended (${name})`, async (t) => {
    const fields = { title: f.text(), size: size('width'), places: towns('town') }
    const now = { caption: f.text(), size: size('width'), places: towns('town') }
    const next = declared(now, ['v1', 'v2']) as unknown as { change: (...all: unknown[]) => Service }
    const both = next.change('v2', 'notes', { about: 'Titles are captions.', renamed: { title: 'caption' } })
    const last = { ...now, size: size('breadth', { was: 'width' }) }
    const ended = declared(last, ['v2'])
    await after(await place(t), [declared(fields), both, ended], async (node) => {
      const expected = { caption: 'Milk', size: { breadth: 3 }, places: [{ town: 'Oslo' }] }
      for (const one of await records(node, '/v2')) assert.deepEqual(one, expected)
    })
  })

  test(`records do not show the value of a removed field in a new field of another kind (${name})`, async (t) => {
    const removed = declared({ title: f.text(), size: f.object({ height: f.integer({ default: 1 }) }) })
    const third = declared({
      title: f.text(),
      size: f.object({ height: f.integer({ default: 1 }), width: f.text({ default: 'none' }) }),
      places: f.list(f.text()),
    })
    const losses = ['notes.size.width', 'notes.places']
    await after(
      await place(t),
      [first, removed, third],
      async (node) => {
        const expected = { title: 'Milk', size: { height: 1, width: 'none' }, places: [] }
        for (const one of await records(node, '/v1')) assert.deepEqual(one, expected)
      },
      body,
      losses,
    )
  })

  test(`records have the value of a field that took the name of a removed one of another kind (${name})`, async (t) => {
    const removed = declared({ title: f.text() })
    const third = declared({ places: f.text({ was: 'title' }) })
    const losses = ['notes.size', 'notes.places']
    await after(
      await place(t),
      [first, removed, third],
      async (node) => {
        for (const one of await records(node, '/v1')) assert.deepEqual(one, { places: 'Milk' })
      },
      body,
      losses,
    )
  })

  test(`records do not show a value that only a version before the oldest one could convert (${name})`, async (t) => {
    const fields = { title: f.text(), size: f.integer({ default: 3 }) }
    const now = { title: f.text(), size: f.text({ default: 'none' }) }
    const next = declared(now, ['v1', 'v2']) as unknown as { change: (...all: unknown[]) => Service }
    const both = next.change('v2', 'notes', {
      about: 'Sizes are texts.',
      retyped: { size: f.integer({ default: 3 }) },
      request: ({ size }: { size: number }) => ({ size: `${size}` }),
      response: ({ size }: { size: string }) => ({ size: Number(size) }),
    })
    await after(
      await place(t),
      [declared(fields), both, declared(now, ['v2'])],
      async (node) => {
        for (const one of await records(node, '/v2')) assert.deepEqual(one, { title: 'Milk', size: 'none' })
      },
      { title: 'Milk' },
    )
  })
}
