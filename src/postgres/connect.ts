/** Connect: one connection to PostgreSQL, closed when it fails or the server stops answering. The store. */
import type { Socket } from 'node:net'
import pg from 'pg'
import { isReading, type ResultRow } from '../catalog/steps.ts'
import type { World } from '../flow/world.ts'
import type { Cell } from '../rows/collection.ts'
import type { ValueLists } from '../sql/statements.ts'
import type { ConnectionParams, DatabaseHost } from './connection-url.ts'
import { isPlanOutdated, withCode } from './failure.ts'
import { checkFrames } from './frames.ts'
import { encodeLists, preparedStatements, type Wire, wireQuery } from './wire-query.ts'

/** Timeouts of a connection, in milliseconds. */
export interface ConnectionTimeouts {
  readonly connect: number
  readonly statement: number
  readonly lock: number
  /** How long a transaction may be idle, so that a node that hangs does not hold locks forever. */
  readonly idle: number
  /** How long the server may send nothing while a statement waits for its answer. */
  readonly silence: number
}

export interface DatabaseQuery {
  readonly text: string
  readonly values: readonly Cell[]
  /** For a statement that takes the values of many rows: the values, which are sent as one array per placeholder. */
  readonly lists?: ValueLists
  /** Sends it at once, without waiting for other statements of this turn of the event loop: it is a batch already. */
  readonly flush?: true
}

export type AskDatabase = Connection['ask']

export interface Connection {
  /** Sends a statement. Concurrent statements are pipelined: sent without waiting for earlier answers. */
  readonly ask: (question: DatabaseQuery) => Promise<readonly ResultRow[]>
  /** How many statements are not answered yet. */
  readonly waiting: () => number
  /** How long the oldest of them has been waiting since the last answer, in milliseconds. */
  readonly stalled: () => number
  /** How many warnings the server has sent. */
  readonly warnings: () => number
  /** False once it has failed or was closed. */
  readonly isOpen: () => boolean
  /** Settles when it has failed or was closed. */
  readonly ended: Promise<void>
  readonly close: () => void
}

/**
 * Sends a statement of a transaction whose BEGIN may still be under way: a read at once, as it does no harm if BEGIN fails, and
 * a write when the transaction has begun.
 */
export async function askAfter(
  { ask }: Pick<Connection, 'ask'>,
  begun: Promise<unknown>,
  statement: DatabaseQuery,
): Promise<readonly ResultRow[]> {
  if (!isReading(statement)) await begun
  const [rows] = await Promise.all([ask(statement), begun])
  return rows
}

/**
 * Makes the server plan a prepared statement once. By default it overestimates the cost of reading a page by an index and
 * plans again for each set of values, which takes longer than reading the page.
 */
export const forceGenericPlan = 'plan_cache_mode = force_generic_plan'

/** A connection for statements that an index bounds, for which one plan suits all values. */
export const connectShort: typeof connect = (address, times, world) => {
  const options = [address.options, `-c ${forceGenericPlan.replaceAll(' ', '')}`].filter(Boolean).join(' ')
  return connect(address.pooled ? address : { ...address, options }, times, world)
}

/** The part of the driver's client that sends and receives messages. */
interface DriverClient {
  readonly connection: Wire & Parameters<typeof checkFrames>[0] & { readonly stream: Socket }
}

/** Connects to the first host that can be written to. */
export async function connect(address: ConnectionParams, times: ConnectionTimeouts, world: World): Promise<Connection> {
  let failure: unknown
  for (const host of address.hosts) {
    try {
      return await connectToHost(address, host, times, world)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

async function connectToHost(
  address: ConnectionParams,
  host: DatabaseHost,
  times: ConnectionTimeouts,
  world: World,
): Promise<Connection> {
  const client = new pg.Client(clientConfig(address, host, times))
  const { connection: driver } = client as unknown as DriverClient
  checkFrames(driver)
  client.on('error', () => {}) // reported by the next statement; without a listener it would end the process
  await client.connect().catch((error: Error) => {
    driver.stream.destroy() // the driver leaves it open if it does not understand the server
    throw withCode(error)
  })
  const connection = connectionOver(client, times, address, world)
  if (address.hosts.length > 1) await requirePrimary(connection)
  return connection
}

function clientConfig(
  address: ConnectionParams,
  { host, port }: DatabaseHost,
  times: ConnectionTimeouts,
): pg.ClientConfig {
  const { user, database, password, tls, name, options, pooled } = address
  const timeouts = {
    statement_timeout: times.statement,
    lock_timeout: times.lock,
    idle_in_transaction_session_timeout: times.idle,
  }
  const config = {
    host,
    port,
    user,
    database,
    password,
    ssl: tls,
    enableChannelBinding: tls !== false, // used if the server offers it: a machine in the middle cannot forward the login
    application_name: name,
    connectionTimeoutMillis: times.connect,
    keepAlive: true,
    pipeline: true,
    ...(options !== null && { options }),
    ...(!pooled && timeouts),
  }
  return config as pg.ClientConfig
}

/** How long a server may take to end a closed connection, and to answer its last statements before, in milliseconds. */
const [farewellTime, lastStatementTime] = [1000, 6000]

// long because: its functions share the state of the connection
function connectionOver(
  client: pg.Client,
  { silence }: ConnectionTimeouts,
  { pooled, prepared }: ConnectionParams,
  { monotonic, every, inBackground, nextTurn }: World,
): Connection {
  const { connection } = client as unknown as DriverClient
  const { stream } = connection
  const statements = preparedStatements(connection, monotonic, prepared)
  let open = true
  let waiting = 0
  let warnings = 0
  let progressAt = 0
  let corked = false

  const ended = Promise.withResolvers<void>()
  const over = (): void => {
    open = false
    ended.resolve()
    stopWatch()
  }
  client.on('error', () => {
    over()
    stream.destroy() // the driver leaves it open after a message that belongs to no statement
  })
  client.on('end', over)
  client.on('notice', ({ code, severity }) => {
    if (code === '01000' && severity !== 'NOTICE') warnings++
  })
  const stopWatch = every(silence / 4, () => {
    if (waiting > 0 && monotonic() - progressAt > silence) {
      over()
      stream.destroy(Object.assign(new Error('The server does not answer.'), { code: 'ETIMEDOUT' }))
    }
  })

  /** Sends the statements of one turn of the event loop in one packet. */
  function cork(): void {
    if (corked) return
    corked = true
    stream.cork()
    nextTurn(() => {
      corked = false
      stream.uncork()
    })
  }

  function ask({ text, values, lists, flush }: DatabaseQuery): Promise<readonly ResultRow[]> {
    if (!open) return Promise.reject(Object.assign(new Error('The connection is lost.'), { code: 'ECONNRESET' }))
    const bound = lists ? encodeLists(lists) : values
    if (waiting++ === 0) progressAt = monotonic()
    if (flush) stream.cork()
    else cork()
    // Behind a transaction pooler, prepared statements do not stay with a connection.
    const statement = !pooled && (values.length > 0 || flush) ? statements(text) : undefined
    return new Promise((resolve, reject) => {
      const answered = (): void => {
        waiting--
        progressAt = monotonic()
      }
      const wire = wireQuery(
        { text, values: bound, statement },
        (rows) => {
          answered()
          resolve(rows)
        },
        (error) => {
          answered()
          const failure = withCode(error)
          if (open && (isPlanOutdated(failure) || failure.code === 'EPROTO')) close()
          reject(failure)
        },
      )
      client.query(wire)
      if (flush) stream.uncork()
    })
  }

  function close(): void {
    over()
    client.end().catch(() => {})
    if (waiting > 0) client.once('drain', () => endWithin(farewellTime))
    endWithin(waiting > 0 ? lastStatementTime : farewellTime)
  }

  /** If the server hangs, the open connection would keep the process from ending. */
  function endWithin(time: number): void {
    stream.once(
      'close',
      inBackground(time, () => stream.destroy()),
    )
  }

  return {
    ask,
    waiting: () => waiting,
    stalled: () => (waiting === 0 ? 0 : monotonic() - progressAt),
    warnings: () => warnings,
    isOpen: () => open,
    ended: ended.promise,
    close,
  }
}

/** A standby accepts connections too, but no writes. */
async function requirePrimary(connection: Connection): Promise<void> {
  const asked = connection.ask({ text: 'SHOW transaction_read_only', values: [] })
  const [row] = await asked.catch((error) => {
    connection.close()
    throw error
  })
  if (row?.transaction_read_only !== 'on') return
  connection.close()
  throw Object.assign(new Error('The server is read-only.'), { code: '25006' })
}
