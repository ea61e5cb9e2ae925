/** Both sides on a store, filled with the same books: ours as it is served, the expert's beside it. */
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
import type { Asking } from './load.ts'
import type { Served } from './server.ts'

interface Scene {
  readonly folder: string
  readonly rows: number
  readonly started: (name: string, words: (port: number) => readonly string[]) => Promise<Served>
}

interface Pair {
  readonly sides: readonly [ours: Served, expert: Served]
  /** Ours once more, for those with a key and a quota alone. */
  readonly guarded: Served & { readonly key: string }
  /** Makes one more database on the store, which is empty, and returns its URL. */
  readonly another: (name: string) => Promise<string>
  readonly close: () => Promise<void>
}

/** Doors that are opened and closed again, and those of the expert. */
interface Doors {
  readonly sides: readonly [ours: Served, expert: Served]
  /** One walk: all doors are opened, then all of them closed. */
  readonly walks: readonly [ours: readonly Asking[], expert: readonly Asking[]]
}

interface Linked {
  readonly server: Served
  readonly ours: readonly Asking[]
  readonly plain: readonly Asking[]
}

const jsonBody = { 'content-type': 'application/json' }
const here = import.meta.dirname
process.env.BYLAW_PEPPER ??= randomBytes(32).toString('base64') // what the servers inherit
const main = join(here, '../bin/bylaw.js') // as it is published
export const served = (database: string, declaration: string) => (port: number) => [
  main,
  'serve',
  join(here, declaration),
  '--port',
  String(port),
  '--database',
  database,
]

/** Makes the tables of a declaration in a database, as a service makes them in development only. */
export function apply(database: string, declaration: string, env: Readonly<Record<string, string>> = {}): void {
  const words = [main, 'migrate', 'apply', join(here, declaration), '--database', database]
  insistently(() => execFileSync(process.execPath, words, { env: { ...process.env, ...env } }))
}

async function guardedOn(database: string, { started }: Scene): Promise<Pair['guarded']> {
  apply(database, 'guarded.ts')
  const words = ['keys', 'create', join(here, 'guarded.ts'), '--name', 'bench', '--tier', 'reader']
  const made = [main, ...words, '--database', database, '--json']
  const { key } = JSON.parse(insistently(() => execFileSync(process.execPath, made, { encoding: 'utf8' })))
  return { ...(await started('guarded', served(database, 'guarded.ts'))), key }
}

/** A server with orders that have links and orders that do not, and the questions for both. */
export async function onLinks({ folder, started }: Scene): Promise<Linked> {
  const database = `sqlite:${join(folder, 'linked.db')}`
  await (await openStore(linked, database, 'apply')).close()
  const server = await started('linked', served(database, 'linked.ts'))
  const asked = async (name: string) => {
    const all: Asking[] = []
    for (let i = 0; i < 500; i++) {
      const body = JSON.stringify({ note: 'x'.repeat(80), total: `${i}.50`, country: 'IT', tags: ['a', 'b'] })
      const made = await fetch(`${server.url}/${name}`, { method: 'POST', body, headers: jsonBody })
      const { id } = (await made.json()) as { id: string }
      all.push({ path: `/${name}/${id}` })
    }
    return all
  }
  return { server, ours: await asked('linked'), plain: await asked('plain') }
}

/** On databases of their own. */
export async function onDoors({ started }: Scene, { another }: Pair): Promise<Doors> {
  const [own, other] = [await another('doors'), await another('expert_doors')]
  apply(own, 'doors.ts')
  const ours = await started('doors', served(own, 'doors.ts'))
  const expert = await started('expert-doors', (port) => [join(here, 'doors-expert.ts'), other, String(port)])
  const walk = async ({ url }: Served) => {
    const ids: string[] = []
    for (let i = 0; i < 2000; i++) {
      const body = JSON.stringify({ name: `Door ${i}` })
      const made = await fetch(`${url}/doors`, { method: 'POST', body, headers: jsonBody })
      ids.push(((await made.json()) as { id: string }).id)
    }
    return ['openings', 'closings'].flatMap((name) =>
      ids.map((id): Asking => ({ method: 'POST', path: `/doors/${id}/${name}` })),
    )
  }
  return { sides: [ours, expert], walks: [await walk(ours), await walk(expert)] }
}

/** The database may look after its new rows, and keep their table from being changed meanwhile. */
function insistently<T>(act: () => T): T {
  for (let tries = 1; ; tries++) {
    try {
      return act()
    } catch (error) {
      if (tries === 5) throw error
    }
  }
}

export async function onSqlite(scene: Scene): Promise<Pair> {
  const { folder, rows, started } = scene
  const [file, beside, other] = ['ours.db', 'guarded.db', 'expert.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  await fill(file, rows)
  copyFileSync(file, beside) // another declaration: on one file nodes of both would tell each other what they write
  fillExpert(other, manyBooks(rows))
  const ours = await started('ours', served(`sqlite:${file}`, 'library.ts'))
  const expert = await started('expert', (port) => [join(here, 'expert.ts'), other, String(port)])
  const another = async (name: string) => `sqlite:${join(folder, `${name}.db`)}`
  return { sides: [ours, expert], guarded: await guardedOn(`sqlite:${beside}`, scene), another, close: async () => {} }
}

/** On a server of its own, as it comes, with durable commits. */
export async function onPostgres(scene: Scene): Promise<Pair> {
  const { rows, started } = scene
  const server = await cluster(['shared_buffers=256MB', 'log_min_messages=fatal'])
  const client = new pg.Client(server.url)
  await client.connect()
  const books = [...manyBooks(rows)]
  await fillPostgres(client, server.url, rows, books)
  await fillExpertPostgres(client, books)
  await client.query('VACUUM ANALYZE')
  await client.query(`CREATE DATABASE guarded TEMPLATE "${new URL(server.url).pathname.slice(1)}"`)
  await client.end()
  const beside = new URL(server.url)
  beside.pathname = '/guarded'
  const ours = await started('ours', served(server.url, 'library.ts'))
  const expert = await started('expert', (port) => [join(here, 'expert-postgres.ts'), server.url, String(port)])
  const another = async (name: string) => {
    await withClient(server.url, (one) => one.query(`CREATE DATABASE ${name}`))
    return Object.assign(new URL(server.url), { pathname: `/${name}` }).href
  }
  return { sides: [ours, expert], guarded: await guardedOn(beside.href, scene), another, close: server.close }
}
