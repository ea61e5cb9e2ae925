/** Calls a service without a socket, on a store of its own: for our tests and for those of users. */
import type { Authenticate } from './auth/authenticate.ts'
import { callerGate, type Log } from './corridor/server-context.ts'
import { callerOf } from './flow/credential.ts'
import { realWorld } from './flow/real-world.ts'
import type { Store } from './flow/store.ts'
import { serviceWorld } from './flow/world.ts'
import { fetchDoor } from './http/fetch.ts'
import type { Service } from './service.ts'
import { openStore } from './terminal/open.ts'
import { previewVersions } from './versions/choose.ts'

/** Who a test calls as: whoever it is to be, without a key. */
export interface As {
  readonly account?: string | null
  readonly scopes?: readonly string[]
  readonly tier?: string | null
  readonly features?: readonly string[]
}

type TestRequest = RequestInit & {
  /** Sent as the content. */
  readonly json?: unknown
  /** Who calls; without it, whoever the headers prove. */
  readonly as?: As
}

export interface Testing {
  /** Sends a request: a path, and what fetch takes, with `json` for the content and `as` for who calls. */
  readonly call: (path: string, init?: TestRequest) => Promise<Response>
  readonly close: () => Promise<void>
}

interface TestingOptions {
  readonly database?: string
  readonly log?: Log
  /** The fields whose stored values may be dropped, as `notes.text`. */
  readonly allowLoss?: readonly string[]
  /** Whether rows may stay as they are that do not fit a declaration that became narrower. */
  readonly allowMisfits?: boolean
}

const silentLog: Log = { error: () => {}, warn: () => {}, info: () => {} }

export function testing(
  service: Service,
  { database = 'sqlite::memory:', log = silentLog, allowLoss = [], allowMisfits = false }: TestingOptions = {},
): Testing {
  const report = (step: string) => log.info({ step }, 'The database was changed.')
  const opened = openStore(service, database, 'apply', { allowLoss, allowMisfits, report })
  const house =
    opened instanceof Promise ? opened.then((store) => openDoors(service, store, log)) : openDoors(service, opened, log)
  if (house instanceof Promise) house.catch(() => {}) // told by the first call
  return {
    call: async (path, { as, ...init } = {}) =>
      (await house).doorOf(as)(new Request(`http://localhost${path}`, requestInit(init))),
    close: async () => (await house).close(),
  }
}

/** A door for each who calls. */
function openDoors(service: Service, store: Store, log: Log) {
  const world = serviceWorld(realWorld, store)
  const whole = { ...service, choice: previewVersions(service.choice, 'all') }
  const house = { service: whole, store, world, authenticate: callerGate(service, store, world), log, open: () => true }
  const door = fetchDoor(house)
  const doorOf = (as: As | undefined) =>
    as === undefined ? door : fetchDoor({ ...house, authenticate: authenticateAs(as) })
  return { doorOf, close: store.close }
}

const authenticateAs = ({ account = null, scopes = [], tier = null, features = [] }: As): Authenticate => {
  const caller = callerOf('test', { account, scopes, tier, features })
  return () => caller
}

function requestInit({ json, ...init }: Omit<TestRequest, 'as'>): RequestInit {
  if (json === undefined) return init
  const headers = new Headers(init.headers)
  if (!headers.has('content-type')) headers.set('content-type', 'application/json')
  return { ...init, headers, body: JSON.stringify(json) }
}
