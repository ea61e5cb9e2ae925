/** A service on a separate server, which tests can stop, and a proxy that can cut connections. */
import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { f, type Service } from 'bylaw'
import pg from 'pg'
import { callerGate, handlerSources, type ServerContext } from '../../src/corridor/server-context.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import type { StoreUsage } from '../../src/flow/store.ts'
import { serviceWorld, type World } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { databaseStateQuery } from '../../src/postgres/database-state.ts'
import { openStore } from '../../src/terminal/open.ts'
import { type Cluster, cluster } from '../help/cluster.ts'
import { things } from '../help/file.ts'
import { sql } from '../help/postgres.ts'

export const api = things({
  name: f.text({ unique: true }),
  count: f.integer({ default: 0, filter: true, sort: true }),
})

export interface AnswerSeen {
  readonly status: number
  readonly retryAfter: string | null
  readonly etag: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly json: any
}

export interface Node {
  readonly call: (method: string, path: string, json?: object, headers?: Record<string, string>) => Promise<AnswerSeen>
  /** The entries that were logged as errors. */
  readonly errors: object[]
  /** Why the node is not ready; null if it is. */
  readonly ready: () => Promise<string | null>
  readonly usage: () => StoreUsage
  readonly close: () => Promise<void>
}

/** One node of the service. */
export async function node(url: string, service: Service = api, own: World = realWorld): Promise<Node> {
  const store = await openStore(service, url, 'apply', {}, own)
  const errors: object[] = []
  const log = { error: (about: object) => errors.push(about), warn: () => {}, info: () => {} }
  const world = serviceWorld(own, store)
  const handlers = handlerSources(service, store, world, log)
  const context: ServerContext = {
    service,
    store,
    world,
    authenticate: callerGate(service, store, world),
    log,
    open: () => true,
    ...(handlers && { handlers }),
  }
  const door = fetchDoor(context)
  const call: Node['call'] = async (method, path, json, headers = {}) => {
    const typed = json ? { 'content-type': 'application/json' } : {}
    const sent = json ? { body: JSON.stringify(json) } : {}
    const response = await door(
      new Request(`http://localhost${path}`, { method, headers: { ...typed, ...headers }, ...sent }),
    )
    const text = await response.text()
    const { status, headers: reported } = response
    const body = text === '' ? null : JSON.parse(text)
    return { status, retryAfter: reported.get('retry-after'), etag: reported.get('etag') ?? '', json: body }
  }
  const usage = store.usage as () => StoreUsage // a store on PostgreSQL has it
  return { call, errors, ready: async () => store.ready(), usage, close: store.close }
}

export interface ServiceOnServer extends Node {
  readonly server: Cluster
}

/** Starts a server and a node on it; both are stopped after the test. */
export async function serviceOnServer(
  t: TestContext,
  settings: readonly string[] = [],
  parameters = '',
): Promise<ServiceOnServer> {
  const server = await cluster(['shared_buffers=16MB', 'autovacuum=off', ...settings]) // its transactions would change the state of the server
  t.after(server.close)
  const own = await node(server.url + parameters)
  t.after(() => {
    void own.close() // does not wait for requests that still run when a test fails
  })
  return { ...own, server }
}

/** Repeats a request until it succeeds, and returns the milliseconds that this took. */
export async function untilWell(ask: () => Promise<AnswerSeen>, most = 10_000): Promise<number> {
  const began = performance.now()
  for (;;) {
    const { status } = await ask()
    const took = performance.now() - began
    if (status < 500) return took
    if (took > most) throw new Error(`It still answers ${status}.`)
    await pause(20)
  }
}

/** Kills one process of the server, so that it ends all connections and recovers under the same main process. */
export async function crash(server: Cluster): Promise<void> {
  const checkpointer = `SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'`
  const before = server.psql(checkpointer)
  const client = new pg.Client(server.url)
  client.on('error', () => {})
  await client.connect()
  process.kill((await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid, 'SIGKILL')
  for (let i = 0; ; i++) {
    try {
      const [row] = await sql(server.url, checkpointer)
      if (row && String(row.pid) !== before) return
    } catch {} // it recovers
    if (i > 500) throw new Error('The server does not recover.')
    await pause(20)
  }
}

/** Requests a list until it and its total are cached, and returns its tag. */
export async function known({ call }: Node, rows: number): Promise<string> {
  let tag = ''
  for (let i = 0; i < 4; i++) {
    const { json, etag } = await call('GET', '/things')
    if (json.pagination?.totalRecords !== rows) throw new Error(`Not ${rows} rows: ${JSON.stringify(json)}`)
    tag = etag
  }
  return tag
}

/**
 * Crashes so that the server uses a transaction id again: an aborted transaction with it is not on the disk yet, as the
 * background writer sleeps. `know` runs before the crash, and `write` commits with the same id.
 */
export async function repeated(server: Cluster, act: { readonly know: () => Promise<void>; readonly write: string }) {
  server.psql(`ALTER SYSTEM SET wal_writer_delay = '10s'`)
  server.psql('SELECT pg_reload_conf()')
  server.psql('CHECKPOINT')
  await pause(600) // the writer's last round under the old setting
  server.psql('BEGIN; SELECT pg_current_xact_id(); ROLLBACK')
  await act.know()
  const [snapshot, state] = ['SELECT pg_current_snapshot()', databaseStateQuery.text]
  const before = { snapshot: server.psql(snapshot), state: server.psql(state) }
  await crash(server)
  server.psql(act.write)
  assert.equal(server.psql(snapshot), before.snapshot, 'the snapshots have one name')
  assert.notEqual(server.psql(state), before.state, 'the states have not')
}

export interface Between {
  readonly port: number
  /**
   * Decides about bytes from the service: they pass, or the connection is cut before or after them, or they pass and their
   * answer is replaced by the one of a coordinator that stopped waiting for a worker. Or they are held until `thaw`, with all
   * that follows on the connection.
   */
  judge: (bytes: Buffer) => 'pass' | 'cut before' | 'cut behind' | 'give up' | 'hold'
  /** Decides whether an answer of the server on a connection is lost, and the connection with it. */
  loses: (bytes: Buffer, connection: object) => boolean
  /** Sends the held bytes. */
  readonly thaw: () => void
  readonly close: () => void
}

const message = (code: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5, code)
  head.writeUInt32BE(4 + body.length, 1)
  return Buffer.concat([head, body])
}
const canceled = message('E', Buffer.from('SERROR\0VERROR\0C57014\0Mcanceling statement due to statement timeout\0\0'))

/** Replaces the rows and the completion of an answer by an error, as a coordinator does whose worker answers too late. */
function asGivenUp(answer: Buffer): Buffer {
  const kept: Buffer[] = []
  for (let at = 0; at < answer.length; ) {
    const end = at + 1 + answer.readUInt32BE(at + 1)
    const code = String.fromCharCode(answer[at] as number)
    if (code === 'Z') kept.push(canceled)
    if (!'TDCn'.includes(code)) kept.push(answer.subarray(at, end))
    at = end
  }
  return Buffer.concat(kept)
}

/** A proxy between a service and its server. */
export async function proxy(t: TestContext, port: number): Promise<Between> {
  const sockets = new Set<Socket>()
  const held: (() => void)[] = []
  const own = { judge: (): 'pass' => 'pass', loses: () => false } as unknown as {
    -readonly [K in keyof Between]: Between[K]
  }
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    const cut = (): void => {
      near.destroy()
      far.destroy()
    }
    let givesUp = false
    near.on('data', (bytes) => {
      const verdict = own.judge(bytes as Buffer)
      if (verdict === 'cut before') return cut()
      if (verdict === 'hold') {
        near.pause()
        held.push(() => {
          far.write(bytes)
          near.resume()
        })
        return
      }
      givesUp = verdict === 'give up'
      if (verdict !== 'cut behind') return void far.write(bytes)
      far.removeAllListeners('data')
      near.destroy()
      far.end(bytes) // the server gets the bytes, and its answer is lost
    })
    far.on('data', (bytes) => {
      if (own.loses(bytes as Buffer, far)) cut()
      else near.write(givesUp ? asGivenUp(bytes as Buffer) : bytes)
    })
    near.on('close', () => far.end())
    far.on('close', () => near.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  own.thaw = () => {
    for (const send of held.splice(0)) send()
  }
  own.close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  Object.assign(own, { port: (server.address() as { port: number }).port })
  t.after(own.close)
  return own
}
