/** Proves that streams, webhooks and reactions miss no event of processes that are killed. R205, R210, R213, R231. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { verify } from 'bylaw/webhooks'
import { followEvents } from '../../src/events/event-client.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { folder, launch, run } from '../help/command.ts'
import { freePort } from '../help/free-port.ts'
import { places } from '../help/places.ts'
import { listening } from '../help/sinks.ts'
import { until } from '../help/until.ts'

const files = {
  'api.ts': `import { f, service } from 'bylaw'

const access = { read: 'all', write: 'all' }
export default service({
  name: 'counters',
  events: true,
  scopes: { all: 'Everything' },
  settings: { events: { stream: true, webhooks: true } },
  resources: {
    counters: { prefix: 'cnt', owner: 'account', fields: { value: f.integer() }, access },
    sightings: {
      ...{ prefix: 'sig', owner: 'account', events: false, access },
      fields: { item: f.text(), sequence: f.integer() },
    },
  },
}).handlers({
  reactions: {
    sightings: {
      on: ['counter.created', 'counter.updated'],
      async run({ event, call }) {
        const { status } = await call('POST', '/sightings', { body: { item: event.data.id, sequence: event.sequence } })
        if (status !== 201) throw new Error('The answer was ' + status)
      },
    },
  },
})
`,
}

/** The events that a consumer has got: the sequences of each item in the order of their first arrival, and the number of repeats. */
class Sightings {
  readonly items = new Map<string, number[]>()
  repeated = 0

  add(item: string, sequence: number): void {
    const before = this.items.get(item) ?? []
    if (before.includes(sequence)) this.repeated++
    else this.items.set(item, [...before, sequence])
  }

  get total(): number {
    return [...this.items.values()].reduce((sum, { length }) => sum + length, 0)
  }

  /** Asserts that the events of each item came in order, and that no event is missing. */
  judge(consumer: string, revisions: ReadonlyMap<string, number>): void {
    for (const [item, revision] of revisions)
      assert.deepEqual(
        this.items.get(item),
        Array.from({ length: revision }, (_, i) => i + 1),
        `${consumer}: ${item}`,
      )
  }
}

const scopes = 'all,webhook-endpoints:read,webhook-endpoints:write'

/** Two processes on one database, which can be killed and are started again, and a key of an account. */
async function processes(t: TestContext, database: string) {
  const cwd = folder(files)
  const env = { DATABASE_URL: database }
  const words = ['keys', 'create', 'api.ts', '--name', 'test', '--account', 'acc_1', '--scopes', scopes, '--json']
  const { stdout, stderr } = await run(words, { cwd, env })
  assert.notEqual(stdout, '', stderr)
  const { key } = JSON.parse(stdout) as { key: string }
  const nodes = await Promise.all(
    [0, 1].map(async () => {
      const port = String(await freePort())
      const start = () => {
        const launched = launch(['serve', 'api.ts', '--port', port, '--webhooks-to-private'], { cwd, env })
        t.after(() => launched.child.kill('SIGKILL'))
        return launched
      }
      let running = start()
      await running.hear(/^bylaw serves/)
      const restart = async (): Promise<void> => {
        running.child.kill('SIGKILL')
        await running.end()
        running = start()
        await running.hear(/^bylaw serves/)
      }
      return { url: `http://127.0.0.1:${port}`, restart }
    }),
  )
  return { nodes, headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' } }
}

/** A sink that verifies each delivery. */
async function sink(t: TestContext, secret: () => string): Promise<{ url: string; seen: Sightings }> {
  const seen = new Sightings()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const event = await verify(request.headers, Buffer.concat(chunks), secret())
    seen.add(String(event.data.id), Number(event.sequence))
    response.writeHead(204).end()
  })
  return { url: `http://127.0.0.1:${await listening(t, server)}`, seen }
}

for (const [name, place] of places)
  test(`R205 R210 R213 R231: streams, webhooks and reactions miss no event of killed processes, on ${name}`, async (t) => {
    const on = await place(t)
    const { nodes, headers } = await processes(t, on.url)
    const send = async (node: number, method: string, path: string, json: object) => {
      const body = JSON.stringify(json)
      const answer = await fetch(nodes[node]?.url + path, { method, headers, body }).catch(() => null)
      return answer?.ok ? ((await answer.json().catch(() => null)) as Record<string, unknown> | null) : null
    }
    let secret = ''
    const receiver = await sink(t, () => secret)
    const endpoint = { url: receiver.url, eventTypes: ['counter.*'], ordered: true }
    secret = String((await send(0, 'POST', '/webhook-endpoints', endpoint))?.secret)
    const streamed = new Sightings()
    const ended = new AbortController()
    t.after(() => ended.abort())
    const opened = Promise.withResolvers<void>()
    const following = followEvents({
      ...{ url: `${nodes[0]?.url}/events?resource=counters`, headers, signal: ended.signal, world: realWorld },
      ...{ connected: opened.resolve, disconnected() {} },
      missed: () => assert.fail('The stream has a gap.'),
      take: async ({ text }) => {
        const { data, sequence } = JSON.parse(text)
        streamed.add(data.id, sequence)
      },
    }).catch(() => {})
    await opened.promise

    let isWriting = true
    const acknowledged = new Map<string, number>()
    const write = async (node: number): Promise<void> => {
      for (; isWriting; await pause(5)) {
        const made = await send(node, 'POST', '/counters', { value: 1 })
        for (let value = 2; made && value <= 4; value++) {
          acknowledged.set(String(made.id), value - 1)
          if (!(await send(node, 'PATCH', `/counters/${made.id}`, { value }))) break
          if (value === 4) acknowledged.set(String(made.id), 4)
        }
      }
    }
    const written = () => acknowledged.values().reduce((sum, one) => sum + one, 0)
    const writing = Promise.all([write(0), write(1)])
    for (const node of [0, 1, 0, 1]) {
      const enough = written() + 25
      await pause(700)
      await until(() => written() >= enough)
      await nodes[node]?.restart()
    }
    await pause(300)
    isWriting = false
    await writing

    const reacted = new Sightings()
    const rows = await on.rows('SELECT id, revision FROM counters')
    const revisions = new Map(rows.map(({ id, revision }) => [String(id), Number(revision)]))
    const total = [...revisions.values()].reduce((sum, one) => sum + one, 0)
    const inTime = async (count: () => number | Promise<number>): Promise<void> => {
      for (const end = performance.now() + 60_000; (await count()) < total; await pause(100))
        if (performance.now() > end) return // `judge` names the missing events
    }
    // Ends the leases of killed processes, which last up to a minute.
    for (const table of ['bylaw_reactions', 'bylaw_webhook_cursors', 'bylaw_webhook_sends'])
      await on.rows(`UPDATE ${table} SET taken = 0`)
    await inTime(async () => Number((await on.rows('SELECT count(*) AS n FROM sightings'))[0]?.n))
    await inTime(() => receiver.seen.total)
    await inTime(() => streamed.total)
    ended.abort()
    await following
    const sightings = (await on.rows('SELECT doc FROM sightings')).map(({ doc }) => JSON.parse(String(doc)))
    sightings.sort((a, b) => a.sequence - b.sequence)
    for (const own of Map.groupBy(sightings, ({ item }) => item).values())
      assert.ok(
        own.every((one, i) => i === 0 || own[i - 1].createdAt <= one.createdAt),
        'a reaction ran out of order',
      )
    for (const { item, sequence } of sightings) reacted.add(item, sequence)
    for (const [id, revision] of acknowledged) assert.ok((revisions.get(id) ?? 0) >= revision, `${id} was lost`)
    streamed.judge('stream', revisions)
    receiver.seen.judge('sink', revisions)
    reacted.judge('reaction', revisions)
    assert.equal(reacted.repeated, 0) // calls of reactions have idempotency keys
    assert.ok(total > 100, `only ${total} changes`)
  })
