/** Proves that events begin with the second phase of a change, when no node of the former declaration writes without them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { alive, applied, nodeOn, places } from '../help/places.ts'

const notes = (events: boolean): Service =>
  service({
    name: 'notes',
    ...(events && { events }),
    resources: { notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' } },
  }) as unknown as Service

for (const [name, place] of places)
  test(`R206: events begin when nodes without them have ended (${name})`, async (t) => {
    const at = await place(t)
    const [before, after] = [notes(false), notes(true)]
    const old = nodeOn(at, before)
    t.after(old.close)
    const first = (await old.ask('POST', '/notes', { text: 'a' })).json.id
    assert.equal((await old.ask('GET', '/events')).status, 404)
    await alive(at)
    assert.deepEqual((await applied(at, after)).waitsFor, ['old'])
    const young = nodeOn(at, after)
    t.after(young.close)
    const second = (await young.ask('POST', '/notes', { text: 'b' })).json.id
    for (const [node, id] of [
      [old, first],
      [young, first],
      [old, second],
      [young, second],
    ] as const)
      assert.equal((await node.ask('PATCH', `/notes/${id}`, { text: 'c' })).status, 200)
    const waiting = await young.ask('GET', '/events')
    assert.deepEqual([waiting.status, waiting.json.type], [503, 'maintenance'])
    assert.deepEqual(await at.rows('SELECT id FROM bylaw_outbox'), [])
    await old.close()
    await at.rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await applied(at, after)).left, [])
    const next = nodeOn(at, after)
    t.after(next.close)
    for (const node of [young, next]) {
      const made = (await node.ask('POST', '/notes', { text: 'd' })).json.id
      assert.equal((await node.ask('PATCH', `/notes/${first}`, { text: `by ${made}` })).status, 200)
      assert.equal((await node.ask('DELETE', `/notes/${made}`)).status, 204)
    }
    assert.equal((await next.ask('DELETE', `/notes/${second}`)).status, 204)
    const { status, json } = await next.ask('GET', '/events')
    assert.equal(status, 200)
    assert.deepEqual(
      json.data.map(({ type, sequence, data }: { type: string; sequence: number; data: { id: string } }) =>
        [type, ...(data.id === first ? [sequence] : [])].join(' '),
      ),
      [
        ...['note.created', 'note.updated 3', 'note.deleted'],
        ...['note.created', 'note.updated 4', 'note.deleted'],
        'note.deleted',
      ],
    )
    assert.deepEqual((await young.ask('GET', '/events')).json.data, json.data)
  })
