/** Runs the same tests with both servers, node:http over a real socket and fetch without one, and on every store. */
// long because: it makes every kind of door

import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { issueKey } from '../../src/auth/key-table.ts'
import { newApiKey, sealKey } from '../../src/auth/keys.ts'
import { memoryContents } from '../../src/contents/memory.ts'
import { callerGate, handlerSources, type ServerContext } from '../../src/corridor/server-context.ts'
import type { Holder } from '../../src/flow/credential.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import type { Store } from '../../src/flow/store.ts'
import { type ContentStore, type Log, serviceWorld, trustedClock, type World } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { type ListeningServer, listen } from '../../src/http/listening.ts'
import type { Service } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { previewVersions } from '../../src/versions/version-choice.ts'
import { type StandIn, standIn } from './bucket.ts'
import { unhurried } from './context.ts'
import { openDatabase, type TestDatabase } from './databases.ts'
import { testFile } from './group.ts'
import { checkedSend } from './overseen.ts'
import { followEvents } from './relay.ts'

export interface Sent {
  /** Sent as JSON, with its content type unless another one is given. */
  readonly json?: unknown
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** The reason why the answer will not match the OpenAPI document. */
  readonly mismatch?: string
}

export interface Answer {
  readonly status: number
  /** By lower-case name; repeated lines are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** The content as it was sent; `text` is the decoded content. */
  readonly bytes: Buffer
  /** The parsed content; null if it is not JSON or empty. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly json: any
}

export interface Door {
  readonly name: 'node:http' | 'fetch'
  readonly store: 'SQLite' | 'PostgreSQL' | 'Citus'
  readonly send: (method: string, path: string, sent?: Sent) => Promise<Answer>
  /** Sends bytes over a new connection and returns everything that was received until it ends or `ms` have passed. */
  readonly raw: (bytes: string | Uint8Array, ms?: number) => Promise<string>
  /** Asks for a stream, whose body the test reads and cancels. */
  readonly open: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Response>
  /** The entries that were logged as errors. */
  readonly errors: object[]
  /** The log entries of answers. */
  readonly answered: Readonly<Record<string, unknown>>[]
  readonly port: number
  /** The URL of its database. */
  readonly database: string
  /** The credentials of one of the `holders`. */
  readonly as: (holder: string) => Readonly<Record<string, string>>
}

export interface DoorOptions extends Pick<ServerContext, 'hosts' | 'proxies' | 'ledger' | 'corridor'> {
  /** The URL of the only database to run on; otherwise the tests run on all stores. */
  readonly database?: string
  /** SQLite runs on a file, so that the test can open another connection. */
  readonly onFile?: boolean
  /** Not on Citus: for features that it does not have. */
  readonly together?: boolean
  /** Only over a socket: for tests that fetch cannot do. */
  readonly socketOnly?: boolean
  /** The clock of the test. */
  readonly now?: () => number
  /** The World of the test; only on SQLite, as the answers of a database server take real time. */
  readonly world?: World
  /** The versions that are served before their release; all by default. */
  readonly preview?: readonly string[]
  /** Replaces the store. */
  readonly store?: (store: Store) => Store
  /** Runs with contents of files in a bucket too. */
  readonly inBucket?: boolean
  /** Holders of API keys, by name; `door.as` returns their headers. */
  readonly holders?: Readonly<Record<string, Partial<Holder>>>
}

const combinations = [
  { name: 'node:http', store: 'SQLite' },
  { name: 'fetch', store: 'SQLite' },
  { name: 'fetch', store: 'PostgreSQL' },
  { name: 'fetch', store: 'Citus' },
] as const

/** The test files that also run on Citus, as their rules depend on the placement of rows. All files pass there. */
const onCitus =
  process.env.BYLAW_TEST_CITUS === 'all'
    ? /./
    : /\/(?:2-keys|3-children|3-cursor|3-embed[a-z-]*|3-summaries[a-z-]*|4-[a-z-]+|5-owner|5-row-rules[a-z-]*|8-quotas|9-parts|9-stored|9-summaries|14-(?:derived|model|states)|15-(?:handlers|operations)|6-events)\.test\.ts$/

/** The test files that run with `fetch` on SQLite too, as their rules depend on the server. */
const throughBoth =
  process.env.BYLAW_TEST_ALL !== undefined
    ? /./
    : /\/(?:1-[a-z-]+|2-negotiation|5-cors|5-credentials|5-tokens|7-[a-z]+|8-[a-z]+)\.test\.ts$/

function isSelected(
  { name, store }: (typeof combinations)[number],
  { database, together, socketOnly, world }: DoorOptions,
): boolean {
  if (socketOnly && name !== 'node:http') return false
  if (name === 'fetch' && store === 'SQLite' && !throughBoth.test(testFile())) return false
  if (database !== undefined || world !== undefined) return store === 'SQLite'
  return store !== 'Citus' || (!together && onCitus.test(testFile()))
}

function contextOptions(options: DoorOptions): Partial<ServerContext> {
  const { database, onFile, together, socketOnly, now, world, preview, store, holders, inBucket, ...around } = options
  return around
}
/** Runs a group of tests once for each server and store, on new databases. */
export function doors(title: string, service: Service, tests: (door: Door) => void, options: DoorOptions = {}): void {
  const selected = combinations.filter((one) => isSelected(one, options))
  const places = options.inBucket ? [false, true] : [false]
  for (const { name, store: kind, inBucket } of selected.flatMap((one) =>
    places.map((inBucket) => ({ ...one, inBucket })),
  )) {
    describe(`${title} (${name}, ${kind}${inBucket ? ', bucket' : ''})`, () => {
      const door = {
        name,
        store: kind,
        errors: [] as object[],
        answered: [] as object[],
        port: 0,
        database: '',
      } as OpenDoor
      let listening: ListeningServer | undefined
      let context: ServerContext | undefined
      let relayed: ReturnType<typeof followEvents>
      let testDatabase: TestDatabase | undefined
      let bucket: StandIn | undefined
      before(async () => {
        testDatabase = await openDatabase(kind, service, options)
        door.database = testDatabase.url
        if (inBucket) bucket = await standIn()
        context = await openedContext(door, service, options, (await bucket?.contents()) ?? memoryContents())
        relayed = followEvents(service, context)
        listening = await connected(door, context, { service, replaced: options.store !== undefined, relayed })
      })
      after(async () => {
        await relayed?.stop()
        await listening?.stop(1000)
        await context?.store.close()
        await testDatabase?.remove()
        await bucket?.close()
      })
      tests(door)
    })
  }
}

type OpenDoor = { -readonly [K in keyof Door]: Door[K] }

/** Opens the database of a door, issues its keys, and returns what its server needs. */
async function openedContext(
  door: OpenDoor,
  service: Service,
  options: DoorOptions,
  contents: ContentStore,
): Promise<ServerContext> {
  const { now, holders = {}, preview = 'all', world: given = realWorld } = options
  const opened = await openStore(service, door.database, 'apply', {}, given)
  const store = options.store?.(opened) ?? opened
  const world = serviceWorld(given, now ? { ...store, clock: trustedClock(now) } : store, undefined, contents)
  door.as = await issued(store, holders, world.now())
  const shown = { ...unhurried(service), choice: previewVersions(service.choice, preview) }
  const authenticate = callerGate(service, store, world)
  const log = logOf(door)
  const handlers = handlerSources(service, store, world, log)
  const parts = { service: shown, store, world, authenticate, log, open: () => true, ...(handlers && { handlers }) }
  return { ...parts, ...contextOptions(options) }
}

/** Starts the server of a door, if it has one, and makes its functions that send requests. */
async function connected(
  door: OpenDoor,
  context: ServerContext,
  { service, replaced, relayed }: { service: Service; replaced: boolean; relayed: ReturnType<typeof followEvents> },
): Promise<ListeningServer | undefined> {
  const listening = door.name === 'node:http' ? await listen(context, { port: 0, host: '127.0.0.1' }) : undefined
  const through = fetchDoor(context)
  door.port = Number(listening ? new URL(listening.url).port : 0)
  door.raw = (bytes, ms) => rawBytes(door.port, bytes, ms)
  door.open = (path, headers = {}) =>
    listening
      ? fetch(new URL(path, listening.url), { headers })
      : through(new Request(`http://localhost${path}`, { headers }))
  const send = listening ? overSocket(door.port) : throughFetch(through)
  const checked = door.store === 'SQLite' ? checkedSend(send, service, { replaced, resolves: !listening }) : send
  door.send = relayed ? (...sent) => relayed.run().then(() => checked(...sent)) : checked
  return listening
}

/** Issues an API key and returns its headers. */
export async function keyFor(
  store: Store,
  name: string,
  { account = null, scopes = [], tier = null, features = [] }: Partial<Holder>,
  created: number,
  expires: number | null = null,
): Promise<Record<string, string>> {
  const key = newApiKey(randomBytes(32))
  const hash = sealKey(key, store.secret)
  const rest = { account, scopes, tier, features, created, expires, revoked: null }
  await issueKey(store, { id: `key_${name}_${created}`, name, hash, ...rest }, 100)
  return { authorization: `Bearer ${key}` }
}

const logOf = ({ errors, answered }: Pick<Door, 'errors' | 'answered'>): Log => ({
  error: (about) => errors.push(about),
  warn: () => {},
  info: (about) => answered.push(about as Record<string, unknown>),
})

async function issued(
  store: Store,
  holders: NonNullable<DoorOptions['holders']>,
  created: number,
): Promise<Door['as']> {
  const keys: Record<string, Record<string, string>> = {}
  for (const [name, holder] of Object.entries(holders)) keys[name] = await keyFor(store, name, holder, created)
  return (holder) => keys[holder] as Record<string, string>
}

/** A test of rules: `spec('R42', 'every field is present', async () => { … })`. docs/conformance.md lists them. */
export function spec(rules: string, title: string, test: () => Promise<void> | void): void {
  it(`${rules}: ${title}`, test)
}

function content({ json, body, headers = {} }: Sent): {
  body: string | Uint8Array | undefined
  headers: Record<string, string>
} {
  if (json === undefined) return { body, headers: { ...headers } }
  const typed = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  return {
    body: JSON.stringify(json),
    headers: { ...(typed ? {} : { 'content-type': 'application/json' }), ...headers },
  }
}

const decoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
  gzip: gunzipSync,
}

function answerOf(status: number, headers: Record<string, string>, bytes: Buffer): Answer {
  const decode = bytes.length > 0 ? decoders[headers['content-encoding'] ?? ''] : undefined
  const text = (decode?.(bytes) ?? bytes).toString()
  const parsed = /[/+]json/.test(headers['content-type'] ?? '') && text !== '' ? JSON.parse(text) : null
  return { status, headers, text, bytes, json: parsed }
}

/** Sends requests to a local port. */
export function overSocket(port: number): Door['send'] {
  return (method, path, sent = {}) =>
    new Promise((resolve, reject) => {
      const { body, headers } = content(sent)
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
      const outgoing = request(
        { host: '127.0.0.1', port, method, path, headers: { ...length, ...headers }, agent: false },
        async (incoming) => {
          const chunks: Buffer[] = []
          for await (const chunk of incoming) chunks.push(chunk as Buffer)
          const pairs = Object.entries(incoming.headersDistinct).map(([name, values]) => [
            name,
            (values ?? []).join(', '),
          ])
          resolve(answerOf(incoming.statusCode ?? 0, Object.fromEntries(pairs), Buffer.concat(chunks)))
        },
      )
      outgoing.on('error', reject)
      outgoing.end(body)
    })
}

export function throughFetch(door: (request: Request) => Promise<Response>): Door['send'] {
  return async (method, path, sent = {}) => {
    const { body, headers } = content(sent)
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const given = body === undefined || method === 'GET' || method === 'HEAD' ? {} : { body: body as string }
    const response = await door(
      new Request(`http://localhost${path}`, { method, headers: { ...length, ...headers }, ...given }),
    )
    return answerOf(response.status, Object.fromEntries(response.headers), Buffer.from(await response.arrayBuffer()))
  }
}

function rawBytes(port: number, bytes: string | Uint8Array, ms = 10_000): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    const late = setTimeout(() => socket.destroy(), ms)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(late)
      resolve(text)
    })
  })
}
