/** One connection to PostgreSQL: opened, asked, and given up when it fails or hangs. The cellar. */
import pg from 'pg'
import type { Cell } from '../rows/collection.ts'
import type { ResultRow } from '../store/steps.ts'
import type { ConnectionParams, DatabaseHost } from './connection-url.ts'
import { isPlanOutdated, withCode } from './failure.ts'
import { checkFrames } from './frames.ts'
import { encodeLists, type ValueLists, wireQuery } from './wire-query.ts'

/** Time-outs of a connection, in milliseconds. */
export interface ConnectionTimeouts {
  readonly connect: number
  readonly statement: number
  readonly lock: number
  /** How long a transaction may stand still, so that a node that hangs holds nothing for ever. */
  readonly idle: number
  /** How long the server may say nothing while it is asked something. */
  readonly silence: number
}

/** What a connection is asked. */
export interface DatabaseQuery {
  readonly text: string
  readonly values: readonly Cell[]
  /** What each mark stands for where a statement takes the values of many rows. */
  readonly lists?: ValueLists
  /** Says that it is all that a turn of the event loop asks, so that nothing else is waited for. */
  readonly flush?: true
}

export interface Connection {
  /** Asks one statement; several are sent one behind the other, without waiting for answers in between. */
  readonly ask: (question: DatabaseQuery) => Promise<readonly ResultRow[]>
  /** How many statements are not answered yet. */
  readonly waiting: () => number
  /** How often the server warned so far. */
  readonly warnings: () => number
  /** False once it failed; it is of no more use then. */
  readonly isOpen: () => boolean
  /** Settles when it has failed or was closed. */
  readonly ended: Promise<void>
  readonly close: () => void
}

/**
 * Makes the server plan a statement once, and not for each of its values. It would, as it takes a page by an index for dearer than it
 * is, and planning one takes longer than reading it.
 */
export const forceGenericPlan = 'plan_cache_mode = force_generic_plan'

/** A connection for what an index bounds, whatever the values. */
export const connectShort = (address: ConnectionParams, times: ConnectionTimeouts): Promise<Connection> => {
  const options = [address.options, `-c ${forceGenericPlan.replaceAll(' ', '')}`].filter(Boolean).join(' ')
  return connect(address.pooled ? address : { ...address, options }, times)
}

/** Connects to the first host that can be written to. */
export async function connect(address: ConnectionParams, times: ConnectionTimeouts): Promise<Connection> {
  let failure: unknown
  for (const host of address.hosts) {
    try {
      return await connectToHost(address, host, times)
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
): Promise<Connection> {
  const client = new pg.Client(clientConfig(address, host, times))
  checkFrames((client as unknown as { connection: Parameters<typeof checkFrames>[0] }).connection)
  client.on('error', () => {}) // told by whatever is asked next, and never the end of the process
  await client.connect().catch((error: Error) => {
    throw withCode(error)
  })
  const connection = connectionOver(client, times, !address.pooled)
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
    application_name: name,
    connectionTimeoutMillis: times.connect,
    keepAlive: true,
    pipeline: true,
    ...(options !== null && { options }),
    ...(!pooled && timeouts),
  }
  return config as pg.ClientConfig
}

/** As many different statements are kept prepared; lists by many filters would fill the server's memory. */
const maxNamed = 500
const statementNames = new Map<string, string>()
const seenOnce = new Set<string>()

/** The name that a statement is prepared under, the same in every connection, once it comes again. */
function statementName(text: string): string | undefined {
  const known = statementNames.get(text)
  if (known !== undefined || statementNames.size >= maxNamed) return known
  if (!seenOnce.delete(text)) {
    if (seenOnce.size >= maxNamed) seenOnce.clear()
    seenOnce.add(text)
    return undefined
  }
  const name = `bylaw_${statementNames.size + 1}`
  statementNames.set(text, name)
  return name
}

/** `prepares` says whether statements stay prepared in the connection. */
// long because: its acts share what is known of the connection
function connectionOver(client: pg.Client, { silence }: ConnectionTimeouts, prepares: boolean): Connection {
  const { stream } = (client as unknown as { connection: { stream: import('node:net').Socket } }).connection
  let open = true
  let waiting = 0
  let warnings = 0
  let heard = 0
  let corked = false

  const ended = Promise.withResolvers<void>()
  const over = (): void => {
    open = false
    ended.resolve()
    clearInterval(watch)
  }
  client.on('error', over)
  client.on('end', over)
  client.on('notice', ({ code, severity }) => {
    if (code === '01000' && severity !== 'NOTICE') warnings++
  })
  const watch = setInterval(() => {
    if (waiting > 0 && performance.now() - heard > silence) {
      over()
      stream.destroy(Object.assign(new Error('The server says nothing.'), { code: 'ETIMEDOUT' }))
    }
  }, silence / 4)
  watch.unref()

  /** What is asked in one turn of the event loop is sent at once. */
  function cork(): void {
    if (corked) return
    corked = true
    stream.cork()
    setImmediate(() => {
      corked = false
      stream.uncork()
    })
  }

  function ask({ text, values, lists, flush }: DatabaseQuery): Promise<readonly ResultRow[]> {
    if (!open) return Promise.reject(Object.assign(new Error('The connection is lost.'), { code: 'ECONNRESET' }))
    const bound = lists ? encodeLists(lists) : values
    if (waiting++ === 0) heard = performance.now()
    if (flush) stream.cork()
    else cork()
    const name = prepares && (values.length > 0 || flush) ? statementName(text) : undefined
    return new Promise((resolve, reject) => {
      const answered = (): void => {
        waiting--
        heard = performance.now()
      }
      const asked = wireQuery(
        { text, values: bound, name },
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
      client.query(asked)
      if (flush) stream.uncork()
    })
  }

  function close(): void {
    over()
    client.end().catch(() => {})
  }

  return {
    ask,
    waiting: () => waiting,
    warnings: () => warnings,
    isOpen: () => open,
    ended: ended.promise,
    close,
  }
}

/** A standby answers too, but takes no writes. */
async function requirePrimary(connection: Connection): Promise<void> {
  const [row] = await connection.ask({ text: 'SHOW transaction_read_only', values: [] })
  if (row?.transaction_read_only !== 'on') return
  connection.close()
  throw Object.assign(new Error('The server takes no writes.'), { code: '25006' })
}
