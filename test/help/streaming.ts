/** A service whose events are streamed through both doors, and clients that read the streams. */
import { request } from 'node:http'
import type { TestContext } from 'node:test'
import { handlerSources } from '../../src/corridor/server-context.ts'
import { makeEventFeed } from '../../src/events/event-feed.ts'
import { relayEventsEvery } from '../../src/events/event-relay.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { listen } from '../../src/http/listening.ts'
import type { Service } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { openContext } from './context.ts'
import { type Door, overSocket } from './door.ts'

export interface Stream {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Everything that was received. */
  readonly text: () => string
  /** How the stream has ended; null while it is open. */
  readonly end: () => 'ended' | 'cut' | null
  readonly pause: () => void
  readonly resume: () => void
  readonly leave: () => void
}

type Open = (path: string, headers?: Record<string, string>, method?: string) => Promise<Stream>

export interface StreamingNode {
  readonly send: Door['send']
  /** Opens a stream, by the name of the door. */
  readonly open: Readonly<Record<'node:http' | 'fetch', Open>>
  readonly port: number
  readonly isWatched: () => boolean
  /** Ends the streams as a stopping process does. */
  readonly endStreams: () => Promise<void>
  readonly store: Awaited<ReturnType<typeof openStore>>
}

const streamType = { accept: 'text/event-stream' }

export async function streamingNode(t: TestContext, api: Service, url = 'sqlite::memory:'): Promise<StreamingNode> {
  const store = await openStore(api, url, 'apply')
  const world = serviceWorld(realWorld, store)
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const handlers = handlerSources(api, store, world, log)
  const context = { ...openContext(api, store, world, log), ...(handlers && { handlers }) }
  const feed = world.state.of(makeEventFeed, null)
  feed.sources = { store, authenticate: context.authenticate, log }
  const { stop: endStreams } = relayEventsEvery({ resources: api.resources, store, world, log, retention: null })
  const listening = await listen(context, { port: 0, host: '127.0.0.1' })
  const port = Number(new URL(listening.url).port)
  t.after(async () => {
    await endStreams()
    await listening.stop(1000)
    await store.close()
  })
  const open = { 'node:http': overHttp(port), fetch: overFetch(fetchDoor(context)) }
  return { send: overSocket(port), open, port, isWatched: () => feed.isWatched, endStreams, store }
}

const overHttp =
  (port: number): Open =>
  (path, headers = {}, method = 'GET') =>
    new Promise((resolve, reject) => {
      const own = { host: '127.0.0.1', port, method, path, agent: false, headers: { ...streamType, ...headers } }
      const sent = request(own, (answer) => {
        let text = ''
        let end: ReturnType<Stream['end']> = null
        answer.setEncoding('utf8').on('data', (piece) => {
          text += piece
        })
        answer.on('end', () => {
          end = 'ended'
        })
        answer.on('error', () => {
          end = 'cut'
        })
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers as Record<string, string>,
          text: () => text,
          end: () => end,
          pause: () => void answer.pause(),
          resume: () => void answer.resume(),
          leave: () => sent.destroy(),
        })
      })
      sent.on('error', reject).end()
    })

const overFetch =
  (door: (request: Request) => Promise<Response>): Open =>
  async (path, headers = {}, method = 'GET') => {
    const own = new Request(`http://localhost${path}`, { method, headers: { ...streamType, ...headers } })
    const answer = await door(own)
    const reader = answer.body?.getReader()
    let text = ''
    let end: ReturnType<Stream['end']> = reader ? null : 'ended'
    let waiting = Promise.withResolvers<void>()
    waiting.resolve()
    const decoder = new TextDecoder()
    const read = async (): Promise<void> => {
      for (;;) {
        await waiting.promise
        const { done, value } = (await reader?.read()) ?? { done: true }
        if (done) break
        text += decoder.decode(value, { stream: true })
      }
      end = 'ended'
    }
    read().catch(() => {
      end = 'cut'
    })
    return {
      ...{ status: answer.status, headers: Object.fromEntries(answer.headers), text: () => text, end: () => end },
      pause: () => {
        waiting = Promise.withResolvers<void>()
      },
      resume: () => waiting.resolve(),
      leave: () => void reader?.cancel().catch(() => {}),
    }
  }
