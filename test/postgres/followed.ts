/** A service whose events are listed, streamed, delivered to a sink, and followed by a reaction, as `bylaw serve` runs it. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { f, service } from 'bylaw'
import { openStoreFor, startService } from '../../src/terminal/start.ts'
import { unhurried } from '../help/context.ts'
import { keyFor } from '../help/door.ts'
import { sink } from '../help/sinks.ts'
import { until } from '../help/until.ts'

export const followedApi = service({
  name: 'followed',
  events: true,
  settings: { events: { stream: true, webhooks: true } },
  resources: {
    orders: { prefix: 'ord', fields: { note: f.text() }, access: 'public' },
    receipts: { prefix: 'rec', fields: { note: f.text() }, access: 'public', events: false },
  },
})

const scopes = ['webhook-endpoints:read', 'webhook-endpoints:write']

/** The notes that a consumer has got. */
export type Notes = string[]

export interface Followed {
  /** Sends a request, which has to succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: answers are read as they are
  readonly send: (method: string, path: string, json?: object) => Promise<any>
  readonly create: (...notes: readonly string[]) => Promise<void>
  /** The notes of the events after a cursor, and the last cursor. */
  readonly list: (cursor: string) => Promise<{ readonly notes: Notes; readonly cursor: string }>
  /** Follows a stream, which begins behind the event with an id; `ids` are those that it has got. */
  readonly stream: (
    lastId?: string,
  ) => Promise<{ readonly notes: Notes; readonly ids: string[]; readonly leave: () => void }>
  readonly close: () => Promise<void>
}

/** What outlives a node: the sink of its webhooks, and what its reaction has done. */
export interface Followers {
  readonly url: string
  readonly delivered: Notes
  readonly reacted: Notes
}

export async function followers(t: TestContext): Promise<Followers> {
  const delivered: Notes = []
  const { url } = await sink(t, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    delivered.push(JSON.parse(Buffer.concat(chunks).toString()).data.note)
    response.writeHead(204).end()
  })
  return { url: url.replace('hooks.example', '127.0.0.1'), delivered, reacted: [] }
}

/** Starts a node on a database. */
export async function followedNode(t: TestContext, database: string, { reacted }: Followers): Promise<Followed> {
  const handlers = followedApi.handlers({
    reactions: {
      receipts: {
        on: ['order.created'],
        from: 'start',
        async run({ event, call }) {
          const { status } = await call('POST', '/receipts', { body: { note: event.data.note } })
          assert.equal(status, 201)
          reacted.push(event.data.note)
        },
      },
    },
  })
  const store = await openStoreFor(handlers, database, 'apply')
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const running = await startService(unhurried(handlers), {
    store,
    place: { port: 0, host: '127.0.0.1' },
    log,
    privateTargets: true,
  })
  const key = await keyFor(store, 'owner', { account: 'acc_1', scopes }, Date.now())
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= running.stop({ grace: 0, drain: 500 })
    return closed
  }
  t.after(close)
  const send: Followed['send'] = async (method, path, json) => {
    const body = json && { body: JSON.stringify(json), headers: { ...key, 'content-type': 'application/json' } }
    const answer = await fetch(`${running.url}${path}`, { method, headers: key, ...body })
    assert.ok(answer.ok, `${answer.status} ${await answer.clone().text()}`)
    return answer.json()
  }
  return {
    ...{ send, close },
    create: async (...notes) => {
      for (const note of notes) await send('POST', '/orders', { note })
    },
    list: async (cursor) => listed(send, cursor),
    stream: (lastId) => streamed(t, running.url, lastId),
  }
}

async function listed(send: Followed['send'], from: string): Promise<{ notes: Notes; cursor: string }> {
  const notes: Notes = []
  for (let cursor = from; ; ) {
    const { data, pagination } = await send('GET', `/events?limit=2&cursor=${cursor}`)
    notes.push(...data.map((event: { data: { note: string } }) => event.data.note))
    cursor = pagination.nextCursor
    if (!pagination.hasMore) return { notes, cursor }
  }
}

async function streamed(t: TestContext, url: string, lastId?: string) {
  const leaving = new AbortController()
  t.after(() => leaving.abort())
  const answer = await fetch(`${url}/events`, {
    headers: { accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) },
    signal: leaving.signal,
  })
  assert.equal(answer.status, 200)
  const [notes, ids]: [Notes, string[]] = [[], []]
  const read = async (): Promise<void> => {
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of answer.body as ReadableStream<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true })
      const whole = text.slice(0, text.lastIndexOf('\n\n') + 1)
      text = text.slice(whole.length)
      for (const [, id = '', data = ''] of whole.matchAll(/^id: (\S+)\nevent: \S+\ndata: (.*)$/gm)) {
        ids.push(id)
        notes.push(JSON.parse(data).data.note)
      }
      assert.doesNotMatch(whole, /^event: gap$/m)
    }
  }
  const reading = read().catch((error: unknown) => {
    if (!leaving.signal.aborted) throw error
  })
  t.after(() => reading)
  return { notes, ids, leave: () => leaving.abort() }
}

/** Waits until each consumer has got exactly these notes, in any order. */
export async function allGot(notes: readonly string[], ...consumers: readonly Notes[]): Promise<void> {
  await until(() => consumers.every((got) => got.length >= notes.length))
  for (const got of consumers) assert.deepEqual(got.toSorted(), notes.toSorted())
}
