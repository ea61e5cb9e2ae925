/** The client of a stream of events: what it reads, where it resumes, and when it gives up. */
import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { listening } from '../../test/help/sinks.ts'
import { until } from '../../test/help/until.ts'
import { testWorld } from '../../test/help/world.ts'
import { type EventClientTerms, followEvents, StreamRefusal } from './event-client.ts'

type Answer = (response: Parameters<RequestListener>[1]) => void

/** A service that answers the first request with the first answer, and so on; the last one again. */
async function service(t: TestContext, ...answers: readonly Answer[]) {
  const asked: { url: string; headers: IncomingHttpHeaders }[] = []
  const server = createServer(({ url = '', headers }, response) => {
    asked.push({ url, headers })
    ;(answers[asked.length - 1] ?? (answers.at(-1) as Answer))(response)
  })
  return { asked, url: `http://127.0.0.1:${await listening(t, server)}/events` }
}

const stream = (response: Parameters<Answer>[0]) =>
  response.writeHead(200, { 'content-type': 'text/event-stream', date: 'Thu, 01 Jan 2026 00:00:05 GMT' })
const sending =
  (text: string, end = true): Answer =>
  (response) => {
    stream(response).write(text)
    if (end) response.end()
  }
const refusing =
  (status: number, body = '{"message":"No."}'): Answer =>
  (response) =>
    response.writeHead(status).end(body)
const eventText = (n: number): string => `id: evt_${n}\nevent: order.created\ndata: {"id":"evt_${n}"}\n\n`

function following(t: TestContext, url: string, over: Partial<EventClientTerms> = {}) {
  const world = testWorld()
  const ending = new AbortController()
  t.after(() => ending.abort())
  const [ids, pauses, missed]: [string[], number[], number[]] = [[], [], []]
  const ended = followEvents({
    ...{ url, headers: { authorization: 'Bearer k' }, signal: ending.signal, world, connected: () => {} },
    disconnected: (_, pause) => pauses.push(pause),
    missed: () => missed.push(ids.length),
    take: async ({ id }) => void ids.push(id),
    ...over,
  })
  return { world, ids, pauses, missed, ended, end: () => ending.abort() }
}

test('events are read from pieces of any size, and comments and `retry` are ignored', async (t) => {
  const text = `: events\n\n${eventText(1)}: alive\n\n${eventText(2)}retry: 1000\n\nevent: gap\ndata: {}\n\n${eventText(3)}id: evt_4\nevent: order.cre`
  const { url } = await service(t, async (response) => {
    stream(response)
    for (const [i, piece] of text.match(/.{1,7}/gs)?.entries() ?? []) {
      response.write(piece)
      if (i % 3 === 0) await new Promise(setImmediate)
    }
  })
  const taken: object[] = []
  const { missed } = following(t, url, { take: async (event) => void taken.push(event) })
  await until(() => taken.length === 3)
  assert.deepEqual(
    taken,
    [1, 2, 3].map((n) => ({ id: `evt_${n}`, type: 'order.created', text: `{"id":"evt_${n}"}` })),
  )
  assert.equal(missed.length, 1)
})

test('it resumes after the last event, and if there was none, from the time at which it began', async (t) => {
  const { asked, url } = await service(
    ...[t, sending(': events\n\n'), sending(eventText(1)), (response: Parameters<Answer>[0]) => response.destroy()],
    sending(eventText(2), false),
  )
  const { world, ids } = following(t, url)
  await until(async () => {
    await world.pass(1000)
    return ids.length === 2
  })
  assert.deepEqual(
    asked.map(({ url, headers }) => [url, headers['last-event-id']]),
    [
      ['/events', undefined],
      ['/events?since=2026-01-01T00%3A00%3A05.000Z', undefined],
      ['/events', 'evt_1'],
      ['/events', 'evt_1'],
    ],
  )
  assert.deepEqual(
    asked.map(({ headers }) => [headers.accept, headers.authorization]),
    asked.map(() => ['text/event-stream', 'Bearer k']),
  )
})

test('it goes on after the event that the stream names at its beginning, which is not taken', async (t) => {
  const { asked, url } = await service(t, sending(': events\n\nid: evt_7\n\n'), sending(eventText(8), false))
  const { world, ids } = following(t, url)
  await until(async () => {
    await world.pass(1000)
    return ids.length === 1
  })
  assert.deepEqual(
    asked.map(({ url, headers }) => [url, headers['last-event-id']]),
    [
      ['/events', undefined],
      ['/events', 'evt_7'],
    ],
  )
  assert.deepEqual(ids, ['evt_8'])
})

test('it tries again after pauses that grow to ten seconds, until the service refuses for good', async (t) => {
  const busy = refusing(503)
  const { url } = await service(t, sending(eventText(1)), busy, busy, busy, busy, busy, refusing(401))
  const { world, pauses, ended } = following(t, url)
  let refusal: unknown
  ended.catch((error: unknown) => {
    refusal = error
  })
  await until(async () => {
    await world.pass(1000)
    return refusal !== undefined
  })
  assert.ok(refusal instanceof StreamRefusal)
  assert.deepEqual([refusal.status, refusal.message], [401, 'No.'])
  assert.deepEqual(pauses, [1000, 2000, 4000, 8000, 10_000, 10_000])
})

test('the first connection is not tried again', async (t) => {
  const list = (response: Parameters<Answer>[0]) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}')
  for (const [answer, status] of [
    [refusing(503), 503],
    [refusing(404, '<html>'), 404],
    [list, 200],
  ] as const) {
    const { url } = await service(t, answer)
    await assert.rejects(following(t, url).ended, { name: 'StreamRefusal', status })
  }
  await assert.rejects(following(t, 'http://127.0.0.1:1/events').ended, /fetch failed/)
})

test('a stream that is silent for 45 seconds is opened again, but not while an event is taken', async (t) => {
  const { asked, url } = await service(t, sending(eventText(1), false))
  const busy = Promise.withResolvers<void>()
  let isTaken = false
  const { world, pauses } = following(t, url, {
    take: () => {
      isTaken = true
      return busy.promise
    },
  })
  await until(() => isTaken)
  await world.pass(120_000)
  assert.deepEqual(pauses, [])
  busy.resolve()
  await world.pass(44_999)
  assert.deepEqual(pauses, [])
  await world.pass(1)
  await until(() => pauses.length === 1)
  await until(async () => {
    await world.pass(1000)
    return asked.length === 2
  })
})

test('it ends when its signal aborts, also between two streams', async (t) => {
  const { url } = await service(t, sending(eventText(1), false))
  const open = following(t, url)
  await until(() => open.ids.length === 1)
  open.end()
  await open.ended
  const closed = following(t, (await service(t, sending(eventText(1)))).url)
  await until(() => closed.pauses.length === 1)
  closed.end()
  await closed.world.pass(1000)
  await closed.ended
})
