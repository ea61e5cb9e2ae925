/** Part 6 of the contract, events: streams begin where they are asked to, lose nothing, and end when they have to. R213. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { f, service } from 'bylaw'
import { revokeKeys } from '../../src/auth/key-table.ts'
import { keyFor } from '../help/door.ts'
import { type Stream, streamingNode } from '../help/streaming.ts'
import { until } from '../help/until.ts'

const notes = { prefix: 'not', fields: { text: f.text({ max: 200_000 }) } }
const parts = {
  name: 'notes',
  events: true,
  settings: { events: { stream: true }, limits: { body: 1_000_000 } },
} as const
const open = service({
  ...parts,
  resources: { notes: { ...notes, access: 'public' }, marks: { prefix: 'mar', fields: {}, access: 'public' } },
})
const closed = service({
  ...parts,
  resources: { notes: { ...notes, access: { read: 'authenticated', write: 'public' } } },
})
const owned = service({
  ...parts,
  resources: { notes: { ...notes, owner: 'accountId', access: 'authenticated' } },
})

const eventsOf = (stream: Stream) =>
  [...stream.text().matchAll(/^id: (\S+)\nevent: (\S+)\ndata: ([^\n]*)\n\n/gm)].map(([, id, event, data]) => ({
    ...{ id: id as string, event, data: JSON.parse(data as string) },
  }))
const textsOf = (stream: Stream): string[] => eventsOf(stream).map(({ data }) => data.data.text)

async function opened(t: TestContext) {
  const node = await streamingNode(t, open)
  const write = async (text: string): Promise<void> => {
    const { status } = await node.send('POST', '/notes', { json: { text } })
    assert.equal(status, 201)
  }
  return { ...node, write }
}

for (const door of ['node:http', 'fetch'] as const) {
  test(`R213: a stream sends what happens from now on, with its type and its id (${door})`, async (t) => {
    const { open, write, send } = await opened(t)
    await write('before')
    await until(async () => (await send('GET', '/events')).json.data.length === 1)
    const [all, marks] = [await open[door]('/events'), await open[door]('/events?resource=marks')]
    assert.equal(all.status, 200)
    assert.equal(all.headers['content-type'], 'text/event-stream')
    assert.equal(all.headers['cache-control'], 'no-store')
    assert.equal(all.headers.etag, undefined)
    await write('two\nlines\r and more\u2028')
    await send('POST', '/marks', { json: {} })
    await until(() => eventsOf(all).length === 2 && eventsOf(marks).length === 1)
    assert.deepEqual(
      eventsOf(all).map(({ event }) => event),
      ['note.created', 'mark.created'],
    )
    const { json } = await send('GET', '/events')
    assert.deepEqual(
      eventsOf(all).map(({ data }) => data),
      json.data.slice(1),
    )
    assert.deepEqual(
      eventsOf(all).map(({ id }) => id),
      json.data.slice(1).map(({ id }: { id: string }) => id),
    )
    all.leave()
    marks.leave()
  })

  test(`R213: a stream goes on after an event, a cursor or a time, and tells of a gap (${door})`, async (t) => {
    const { open, write, send } = await opened(t)
    for (const text of ['a', 'b', 'c']) await write(text)
    await until(async () => (await send('GET', '/events')).json.data.length === 3)
    const { data } = (await send('GET', '/events')).json
    const { nextCursor } = (await send('GET', '/events?limit=1&cursor=')).json.pagination
    const shows = async (wanted: string[], path: string, headers = {}) => {
      const stream = await open[door](path, headers)
      assert.equal(stream.status, 200)
      await until(() => textsOf(stream).length >= wanted.length)
      await pause(150)
      assert.deepEqual(textsOf(stream), wanted, path)
      const { text } = stream
      stream.leave()
      return text()
    }
    await shows(['b', 'c'], '/events', { 'last-event-id': data[0].id })
    await shows(['b', 'c'], `/events?cursor=${nextCursor}`)
    await shows(['c'], `/events?cursor=${nextCursor}`, { 'last-event-id': data[1].id })
    await shows(['a', 'b', 'c'], '/events?cursor=')
    await shows(['a', 'b', 'c'], '/events?since=2020-01-01T00:00:00Z')
    await shows([], '/events')
    const gone = await shows(['a', 'b', 'c'], '/events', { 'last-event-id': `evt_${'0'.repeat(26)}` })
    assert.match(gone, /^: events\n\nevent: gap\ndata: \{\}\n\nid: /)
    for (const id of ['7', 'evt_', `${data[0].id}x`])
      assert.equal((await open[door]('/events', { 'last-event-id': id })).status, 400, id)
    assert.equal((await open[door]('/events?cursor=x')).status, 400)
    assert.equal((await open[door]('/events?type=x')).status, 400)
  })

  test(`R213: a stream that begins now names the event before, from which a client that is cut resumes (${door})`, async (t) => {
    const { open, write, send } = await opened(t)
    const places = async (path: string): Promise<string[]> => {
      const stream = await open[door](path)
      await until(() => stream.text() !== '')
      await pause(150)
      stream.leave()
      return stream.text().split('\n\n').slice(1, -1)
    }
    assert.deepEqual(await places('/events'), [])
    await write('before')
    await send('POST', '/marks', { json: {} })
    await until(async () => (await send('GET', '/events')).json.data.length === 2)
    const [note, mark] = (await send('GET', '/events')).json.data
    assert.deepEqual(await places('/events'), [`id: ${mark.id}`])
    assert.deepEqual(await places('/events?resource=notes'), [`id: ${note.id}`])
    assert.deepEqual(await places('/events?type=note.deleted'), [])
    await write('meanwhile')
    const stream = await open[door]('/events?resource=notes', { 'last-event-id': note.id })
    await until(() => textsOf(stream).length === 1)
    assert.deepEqual(textsOf(stream), ['meanwhile'])
    stream.leave()
  })

  test(`R213: what a stream is asked for decides whether it is one (${door})`, async (t) => {
    const { open, isWatched } = await opened(t)
    for (const [accept, isStream] of [
      ['text/event-stream', true],
      ['application/json;q=0.5, text/event-stream', true],
      ['*/*', false],
      ['application/json, text/event-stream', true],
      ['text/event-stream;q=0.9, application/json', false],
      ['text/event-stream;q=0, */*', false],
      ['text/*', true],
      ['Text/Event-Stream', true],
      ['text/*;q=0.9, */*;q=0.8', true],
      ['text/*, application/json', false],
      ['text/html, application/xml;q=0.9, */*;q=0.8', false],
    ] as const) {
      const answer = await open[door]('/events', { accept })
      assert.equal(answer.status, 200, accept)
      assert.equal(String(answer.headers['content-type']).startsWith('text/event-stream'), isStream, accept)
      answer.leave()
    }
    const head = await open[door]('/events', {}, 'HEAD')
    assert.deepEqual([head.status, head.headers['content-type']], [200, 'text/event-stream'])
    await until(() => !isWatched())
    assert.equal(head.text(), '')
  })

  test(`R213: a client that leaves, leaves nothing behind; a process that stops sends clients away (${door})`, async (t) => {
    const { open, isWatched, endStreams } = await opened(t)
    const gone = await open[door]('/events')
    assert.ok(isWatched())
    gone.leave()
    await until(() => !isWatched())
    const stays = await open[door]('/events')
    await until(() => stays.text() !== '')
    await endStreams()
    await until(() => stays.end() !== null)
    assert.equal(stays.end(), 'ended')
    assert.match(stays.text(), /\n\nretry: \d+\n\n$/)
    assert.ok(!isWatched())
    assert.equal((await open[door]('/events')).status, 503)
  })

  test(`R213: a stream ends within 10 s after its key is revoked (${door})`, async (t) => {
    const { open, store, isWatched } = await streamingNode(t, closed)
    const now = Date.now()
    const [kept, lost] = [await keyFor(store, 'kept', {}, now), await keyFor(store, 'lost', {}, now)]
    assert.equal((await open[door]('/events')).status, 401)
    const [stays, ends] = [await open[door]('/events', kept), await open[door]('/events', lost)]
    await revokeKeys(store, [`key_lost_${now}`], Date.now())
    const revoked = performance.now()
    await until(() => ends.end() !== null)
    assert.ok(performance.now() - revoked < 10_000)
    assert.equal(stays.end(), null)
    assert.ok(isWatched())
    stays.leave()
  })

  test(`R213: a reader that is too slow is cut off, and resumes without loss (${door})`, async (t) => {
    const { open, write, isWatched } = await opened(t)
    const stream = await open[door]('/events?cursor=')
    const written = ['first']
    await write('first')
    await until(() => textsOf(stream).length === 1)
    stream.pause()
    for (let n = 0; isWatched(); n++) {
      assert.ok(n < 400, 'it was not cut')
      written.push(`${n} ${'x'.repeat(100_000)}`)
      await write(written.at(-1) as string)
    }
    stream.resume()
    await until(() => stream.end() !== null)
    assert.equal(stream.end(), 'cut')
    let last = eventsOf(stream).at(-1)?.id
    const seen = textsOf(stream)
    for (let tries = 0; seen.length < written.length; tries++) {
      assert.ok(tries < 50, 'a client that resumes comes no further')
      const again = await open[door]('/events?cursor=', last === undefined ? {} : { 'last-event-id': last })
      await until(() => again.end() !== null || textsOf(again).length + seen.length >= written.length)
      seen.push(...textsOf(again))
      last = eventsOf(again).at(-1)?.id ?? last
      again.leave()
    }
    assert.deepEqual(
      seen.map((text) => text.slice(0, 10)),
      written.map((text) => text.slice(0, 10)),
    )
  })
}

test('R213: a client of HTTP/1.0 gets a stream without chunks', async (t) => {
  const { port, write } = await opened(t)
  let text = ''
  const socket = connect(port, '127.0.0.1', () =>
    socket.write('GET /events HTTP/1.0\r\nHost: notes\r\nAccept: text/event-stream\r\n\r\n'),
  )
  socket.on('data', (bytes) => {
    text += bytes
  })
  await until(() => text.includes(': events\n\n'))
  await write('a')
  await until(() => text.includes('event: note.created'))
  assert.ok(!/transfer-encoding/i.test(text))
  socket.destroy()
})

test('R213 R170: the event that a stream names at its beginning is one of its caller', async (t) => {
  const { open, send, store } = await streamingNode(t, owned)
  const [ann, sue] = [
    await keyFor(store, 'ann', { account: 'north' }, Date.now()),
    await keyFor(store, 'sue', { account: 'south' }, Date.now()),
  ]
  const listed = async (headers: Record<string, string>) => (await send('GET', '/events', { headers })).json.data
  await send('POST', '/notes', { json: { text: 'a' }, headers: ann })
  await send('POST', '/notes', { json: { text: 'b' }, headers: sue })
  await until(async () => (await listed(sue)).length === 1)
  for (const headers of [ann, sue]) {
    const stream = await open['node:http']('/events', headers)
    await until(() => stream.text().includes('id: '))
    assert.equal(stream.text(), `: events\n\nid: ${(await listed(headers))[0].id}\n\n`)
    stream.leave()
  }
})
