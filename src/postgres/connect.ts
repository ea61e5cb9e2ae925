/** One connection to PostgreSQL: opened, set up, asked, and given up when it fails. The cellar. */
import pg from 'pg'
import type { Answer } from '../store/cellar.ts'
import type { Statement } from '../store/compile.ts'
import type { Address, Host } from './address.ts'

/** Time-outs of a connection, in milliseconds. */
export interface Times {
  readonly connect: number
  readonly statement: number
  readonly lock: number
  /** How long a transaction may stand still, so that a node that hangs holds nothing for ever. */
  readonly idle: number
}

export interface Connection {
  readonly ask: (statement: Statement) => Promise<readonly Answer[]>
  /** False once it failed; it is of no more use then. */
  readonly isOpen: () => boolean
  readonly close: () => void
}

const int8 = 20
/** Whole numbers of 64 bits as numbers, where they are exact, and else as big ones. */
const whole = (text: string): number | bigint => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text))
const parsers = {
  getTypeParser: (oid: number, format?: 'text') => (oid === int8 ? whole : pg.types.getTypeParser(oid, format)),
}

/** Connects to the first host that can be written to. */
export async function connect(address: Address, times: Times): Promise<Connection> {
  let failure: unknown
  for (const host of address.hosts) {
    try {
      return await reach(address, host, times)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

async function reach(address: Address, { host, port }: Host, times: Times): Promise<Connection> {
  const { user, database, password, tls, name, options, pooled } = address
  const client = new pg.Client({
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
    types: parsers as never,
    ...(options !== null && { options }),
    ...(!pooled && {
      statement_timeout: times.statement,
      lock_timeout: times.lock,
      idle_in_transaction_session_timeout: times.idle,
    }),
  } as pg.ClientConfig)
  let open = true
  client.on('error', () => {
    open = false
  })
  client.on('end', () => {
    open = false
  })
  await client.connect()
  const connection: Connection = {
    ask: async ({ text, values }) => (await client.query(text, values as unknown[])).rows,
    isOpen: () => open,
    close: () => {
      open = false
      client.end().catch(() => {})
    },
  }
  if (address.hosts.length > 1) await insistOnPrimary(connection)
  return connection
}

/** A standby answers too, but takes no writes. */
async function insistOnPrimary(connection: Connection): Promise<void> {
  const [row] = await connection.ask({ text: 'SHOW transaction_read_only', values: [] })
  if (row?.transaction_read_only !== 'on') return
  connection.close()
  throw Object.assign(new Error('The server takes no writes.'), { code: '25006' })
}
