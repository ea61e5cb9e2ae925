/** Worlds: services on separate databases whose clocks and identifiers are the same. */

import { callerGate, type ServerContext } from '../../src/corridor/server-context.ts'
import type { Holder } from '../../src/flow/credential.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld, trustedClock } from '../../src/flow/world.ts'
import { idSource } from '../../src/formats/id.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import type { Service } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { keyFor } from './door.ts'

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are read as they are
  readonly json: any
}

export interface World<Who extends string> {
  readonly send: (who: Who | null, request: Request) => Promise<Reply>
  /** Takes identifiers from the source of this name, so that creations of one caller do not change those of another. */
  readonly drawFrom: (source: string) => void
  readonly close: () => Promise<void>
}

const start = Date.UTC(2027, 0, 1)
const secret = 'the same secret in every world'

/** The random bytes of a source. The name is after the first eight, which become the time and a counter. */
function bytesOf(source: string): (pool: Uint8Array) => Uint8Array {
  let count = 0
  return (pool) => {
    for (let at = 0; at < pool.length; at += 16)
      Buffer.from(`${'.'.repeat(8)}${source.slice(0, 2)}${String(++count).padStart(6, '0')}`).copy(pool, at)
    return pool
  }
}

// long because: its functions share the clock and the identifiers
export async function worldOf<Who extends string>(
  service: Service,
  url: string,
  holders: Readonly<Record<Who, Partial<Holder>>>,
): Promise<World<Who>> {
  const opened = await openStore(service, url, 'apply')
  const store = { ...opened, secret }
  let time = start
  let asked = 0
  let source = 'setup'
  const sources = new Map<string, (prefix: string) => string>()
  const newId = (prefix: string): string => {
    const own = sources.get(source) ?? idSource(() => start, bytesOf(source))
    sources.set(source, own)
    return own(prefix)
  }
  const world = {
    ...serviceWorld(realWorld, { clock: trustedClock(() => time), secret }),
    newId,
    newRequestId: () => `request-${asked}`,
  }
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const keys = new Map<string, Record<string, string>>()
  for (const [who, holder] of Object.entries(holders)) keys.set(who, await keyFor(store, who, holder as Holder, start))
  const context: ServerContext = {
    service,
    store,
    world,
    authenticate: callerGate(service, store, world),
    log,
    open: () => true,
  }
  const door = fetchDoor(context)
  return {
    drawFrom: (name) => {
      source = name
    },
    send: async (who, { method, path, headers = {}, json }) => {
      asked++
      time += 2000 // so that the times of changes differ and each is in a past second
      const body = json === undefined ? undefined : JSON.stringify(json)
      const own = {
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
        ...(who && keys.get(who)),
        ...headers,
      }
      const answer = await door(
        new globalThis.Request(`http://localhost${path}`, { method, headers: own, ...(body && { body }) }),
      )
      const text = await answer.text()
      const isJson = /[/+]json/.test(answer.headers.get('content-type') ?? '') && text !== ''
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        text,
        json: isJson ? JSON.parse(text) : null,
      }
    },
    close: () => Promise.resolve(store.close()),
  }
}
