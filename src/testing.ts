/** Calls a service without a socket, on a store of its own: for our tests and for those of users. */
import { fetchDoor } from './http/fetch.ts'
import type { Log } from './http/house.ts'
import { realWorld } from './http/world.ts'
import type { Service } from './service.ts'
import { openStore } from './sqlite/open.ts'

export interface Testing {
  /** Sends a request: a path, and what fetch takes. An object as `json` is sent as the content. */
  readonly call: (path: string, init?: RequestInit & { readonly json?: unknown }) => Promise<Response>
  readonly close: () => Promise<void>
}

const silent: Log = { error: () => {}, warn: () => {}, info: () => {} }

export function testing(
  service: Service,
  { database = 'sqlite::memory:', log = silent }: { database?: string; log?: Log } = {},
): Testing {
  const collections = [...service.resources.values()].map(({ collection }) => collection)
  const store = openStore(database, collections, 'apply', service.settings.limits.handlerTimeout)
  const door = fetchDoor({ service, store, world: realWorld([store.secret]), log, open: () => true })
  return {
    call: (path, init = {}) => door(new Request(`http://localhost${path}`, sent(init))),
    close: () => store.close(),
  }
}

function sent({ json, ...init }: RequestInit & { readonly json?: unknown }): RequestInit {
  if (json === undefined) return init
  const headers = new Headers(init.headers)
  if (!headers.has('content-type')) headers.set('content-type', 'application/json')
  return { ...init, headers, body: JSON.stringify(json) }
}
