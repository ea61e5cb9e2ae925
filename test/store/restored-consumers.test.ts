/** After a restore streams and reactions go on with the events that there are, and name no numbers of the gap. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { nodeOn, type Place, places } from '../help/places.ts'
import { backUp, recordRestore } from '../help/restoring.ts'
import { streamingNode } from '../help/streaming.ts'
import { until } from '../help/until.ts'

const declared = service({
  name: 'notes',
  events: true,
  resources: { notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' } },
  settings: { events: { stream: true, reactions: true } },
})

/** Creates notes on a node that ends then, and returns the ids of all events. */
async function written(place: Place, ...texts: readonly string[]): Promise<readonly string[]> {
  const node = nodeOn(place, declared)
  for (const text of texts) assert.equal((await node.ask('POST', '/notes', { text })).status, 201)
  const { json } = await node.ask('GET', '/events')
  await node.close()
  return json.data.map(({ id }: { id: string }) => id)
}

/** A service whose reaction keeps the texts of notes. */
function reacting({ url }: Place) {
  const seen: string[] = []
  const api = declared.handlers({
    reactions: { copies: { on: ['note.created'], from: 'start', run: ({ event }) => void seen.push(event.data.text) } },
  })
  const { call, pass, close } = testing(api, { database: url })
  const listed = async () => {
    const answer = await call('/reactions', { as: { account: null, scopes: ['reactions:read'] } })
    return ((await answer.json()) as { data: unknown }).data
  }
  const create = async (text: string) =>
    assert.equal((await call('/notes', { method: 'POST', json: { text } })).status, 201)
  return { seen, listed, create, pass, close }
}

for (const [name, make] of places) {
  test(`R213: after a restore a stream resumes after a kept event, and begins again after a lost one, on ${name}`, async (t) => {
    const place = await make(t)
    const kept = await written(place, 'a', 'b')
    const restore = await backUp(place)
    const [, , lost = ''] = await written(place, 'lost')
    await restore()
    await recordRestore(place, declared)
    const { open, send } = await streamingNode(t, declared, place.url)
    const after = async (id: string | undefined) => open.fetch('/events', { 'last-event-id': id as string })
    const [one, two, none] = [await after(kept[0]), await after(kept[1]), await after(lost)]
    assert.equal((await send('POST', '/notes', { json: { text: 'c' } })).status, 201)
    const notes = (text: string) => [...text.matchAll(/"text":"(\w+)"/g)].map(([, one]) => one)
    await until(() => [one, two, none].every(({ text }) => notes(text()).includes('c')))
    assert.deepEqual(notes(one.text()), ['b', 'c'])
    assert.deepEqual(notes(two.text()), ['c'])
    assert.match(none.text(), /^: events\n\nevent: gap\n/)
    assert.deepEqual(notes(none.text()), ['a', 'b', 'c'])
    for (const stream of [one, two, none]) stream.leave()
  })

  test(`R231: after a restore a reaction continues with new events, and shows how many it is behind, on ${name}`, async (t) => {
    const place = await make(t)
    const first = reacting(place)
    await first.create('a')
    await first.pass('PT1S')
    assert.deepEqual(first.seen, ['a'])
    await first.close()
    const restore = await backUp(place)
    await written(place, 'lost')
    await restore()
    await recordRestore(place, declared)
    const second = reacting(place)
    t.after(second.close)
    assert.partialDeepStrictEqual(await second.listed(), [{ behind: 0 }])
    for (const text of ['b', 'c']) await second.create(text)
    assert.partialDeepStrictEqual(await second.listed(), [{ behind: 2 }])
    await second.pass('PT1S')
    assert.deepEqual(second.seen, ['b', 'c'])
    assert.partialDeepStrictEqual(await second.listed(), [{ behind: 0 }])
    await second.create('d')
    assert.partialDeepStrictEqual(await second.listed(), [{ behind: 1 }])
  })
}
