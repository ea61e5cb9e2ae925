/** Starts both sides on a store, filled with the same books: our service, and the expert's. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { openStore } from '../src/terminal/open.ts'
import { cluster } from '../test/help/cluster.ts'
import { fill, fillPostgres, manyBooks } from './books.ts'
import { withClient } from './databases.ts'
import { fillExpert } from './expert.ts'
import { fillExpert as fillExpertPostgres } from './expert-postgres.ts'
import linked from './linked.ts'
import type { BenchRequest } from './load.ts'
import type { RunningServer } from './server.ts'

interface BenchSetup {
  readonly folder: string
  readonly rows: number
  readonly startServer: (name: string, words: (port: number) => readonly string[]) => Promise<RunningServer>
}

interface Pair {
  readonly sides: readonly [ours: RunningServer, expert: RunningServer]
  /** A second server of ours, with an API key and a quota. */
  readonly guarded: RunningServer & { readonly key: string }
  /** Makes one more, empty database on the store, and returns its URL. */
  readonly newDatabase: (name: string) => Promise<string>
  readonly close: () => Promise<void>
}

/** Servers of doors, ours and the expert's. */
interface Doors {
  readonly sides: readonly [ours: RunningServer, expert: RunningServer]
  /** For each side: requests that open all doors, then requests that close all of them. */
  readonly requests: readonly [ours: readonly BenchRequest[], expert: readonly BenchRequest[]]
}

interface Linked {
  readonly server: RunningServer
  readonly ours: readonly BenchRequest[]
  readonly plain: readonly BenchRequest[]
}

const jsonBody = { 'content-type': 'application/json' }
const here = import.meta.dirname
process.env.BYLAW_PEPPER ??= randomBytes(32).toString('base64') // inherited by the servers
const main = join(here, '../bin/bylaw.js') // the published command, not the sources
export const serveCommand = (database: string, declaration: string) => (port: number) => [
  main,
  'serve',
  join(here, declaration),
  '--port',
  String(port),
  '--database',
  database,
]

/** Creates the tables of a declaration in a database: in production, a service does not do that itself. */
export function applyDeclaration(
  database: string,
  declaration: string,
  env: Readonly<Record<string, string>> = {},
): void {
  const args = [main, 'migrate', 'apply', join(here, declaration), '--database', database]
  retry(() => execFileSync(process.execPath, args, { env: { ...process.env, ...env } }))
}

async function guardedOn(database: string, { startServer }: BenchSetup): Promise<Pair['guarded']> {
  applyDeclaration(database, 'guarded.ts')
  const subcommand = ['keys', 'create', join(here, 'guarded.ts'), '--name', 'bench', '--tier', 'reader']
  const args = [main, ...subcommand, '--database', database, '--json']
  const { key } = JSON.parse(retry(() => execFileSync(process.execPath, args, { encoding: 'utf8' })))
  return { ...(await startServer('guarded', serveCommand(database, 'guarded.ts'))), key }
}

/** Starts a server with orders that have links and orders that do not, and returns requests for both. */
export async function startLinked({ folder, startServer }: BenchSetup): Promise<Linked> {
  const database = `sqlite:${join(folder, 'linked.db')}`
  await (await openStore(linked, database, 'apply')).close()
  const server = await startServer('linked', serveCommand(database, 'linked.ts'))
  const createOrders = async (name: string) => {
    const all: BenchRequest[] = []
    for (let i = 0; i < 500; i++) {
      const body = JSON.stringify({ note: 'x'.repeat(80), total: `${i}.50`, country: 'IT', tags: ['a', 'b'] })
      const response = await fetch(`${server.url}/${name}`, { method: 'POST', body, headers: jsonBody })
      const { id } = (await response.json()) as { id: string }
      all.push({ path: `/${name}/${id}` })
    }
    return all
  }
  return { server, ours: await createOrders('linked'), plain: await createOrders('plain') }
}

/** Starts both servers of doors, on new databases, and creates the doors. */
export async function startDoors({ startServer }: BenchSetup, { newDatabase }: Pair): Promise<Doors> {
  const [own, other] = [await newDatabase('doors'), await newDatabase('expert_doors')]
  applyDeclaration(own, 'doors.ts')
  const ours = await startServer('doors', serveCommand(own, 'doors.ts'))
  const expert = await startServer('expert-doors', (port) => [join(here, 'doors-expert.ts'), other, String(port)])
  const createDoors = async ({ url }: RunningServer) => {
    const ids: string[] = []
    for (let i = 0; i < 2000; i++) {
      const body = JSON.stringify({ name: `Door ${i}` })
      const response = await fetch(`${url}/doors`, { method: 'POST', body, headers: jsonBody })
      ids.push(((await response.json()) as { id: string }).id)
    }
    return ['openings', 'closings'].flatMap((name) =>
      ids.map((id): BenchRequest => ({ method: 'POST', path: `/doors/${id}/${name}` })),
    )
  }
  return { sides: [ours, expert], requests: [await createDoors(ours), await createDoors(expert)] }
}

/** Tries up to five times: after many new rows, autovacuum may hold a lock that a change of the table needs. */
function retry<T>(act: () => T): T {
  for (let tries = 1; ; tries++) {
    try {
      return act()
    } catch (error) {
      if (tries === 5) throw error
    }
  }
}

export async function startOnSqlite(setup: BenchSetup): Promise<Pair> {
  const { folder, rows, startServer } = setup
  const [file, guardedFile, other] = ['ours.db', 'guarded.db', 'expert.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  await fill(file, rows)
  copyFileSync(file, guardedFile) // a file of its own, because nodes with different declarations on one database would write for each other too
  fillExpert(other, manyBooks(rows))
  const ours = await startServer('ours', serveCommand(`sqlite:${file}`, 'library.ts'))
  const expert = await startServer('expert', (port) => [join(here, 'expert.ts'), other, String(port)])
  const newDatabase = async (name: string) => `sqlite:${join(folder, `${name}.db`)}`
  return {
    sides: [ours, expert],
    guarded: await guardedOn(`sqlite:${guardedFile}`, setup),
    newDatabase,
    close: async () => {},
  }
}

/** Starts both sides on a new PostgreSQL server with durable commits. */
export async function startOnPostgres(setup: BenchSetup): Promise<Pair> {
  const { rows, startServer } = setup
  const server = await cluster(['shared_buffers=256MB', 'log_min_messages=fatal'])
  const client = new pg.Client(server.url)
  await client.connect()
  const books = [...manyBooks(rows)]
  await fillPostgres(client, server.url, rows, books)
  await fillExpertPostgres(client, books)
  await client.query('VACUUM ANALYZE')
  await client.query(`CREATE DATABASE guarded TEMPLATE "${new URL(server.url).pathname.slice(1)}"`)
  await client.end()
  const guardedUrl = new URL(server.url)
  guardedUrl.pathname = '/guarded'
  const ours = await startServer('ours', serveCommand(server.url, 'library.ts'))
  const expert = await startServer('expert', (port) => [join(here, 'expert-postgres.ts'), server.url, String(port)])
  const newDatabase = async (name: string) => {
    await withClient(server.url, (one) => one.query(`CREATE DATABASE ${name}`))
    return Object.assign(new URL(server.url), { pathname: `/${name}` }).href
  }
  return { sides: [ours, expert], guarded: await guardedOn(guardedUrl.href, setup), newDatabase, close: server.close }
}
