/** Both sides on a store, filled with the same books: ours as it is served, the expert's beside it. */
import { join } from 'node:path'
import pg from 'pg'
import { cluster } from '../test/help/cluster.ts'
import { fill, fillPostgres, manyBooks } from './books.ts'
import { fillExpert } from './expert.ts'
import { fillExpert as fillExpertPostgres } from './expert-postgres.ts'
import type { Served } from './server.ts'

interface Scene {
  readonly folder: string
  readonly rows: number
  readonly started: (name: string, words: (port: number) => readonly string[]) => Promise<Served>
}

interface Pair {
  readonly sides: readonly [ours: Served, expert: Served]
  readonly close: () => Promise<void>
}

const here = import.meta.dirname
const served = (database: string) => (port: number) => [
  join(here, '../src/cli/main.ts'),
  'serve',
  join(here, 'library.ts'),
  '--port',
  String(port),
  '--database',
  database,
]

export async function onSqlite({ folder, rows, started }: Scene): Promise<Pair> {
  const [file, other] = [join(folder, 'ours.db'), join(folder, 'expert.db')]
  fill(file, rows)
  fillExpert(other, manyBooks(rows))
  const ours = await started('ours', served(`sqlite:${file}`))
  const expert = await started('expert', (port) => [join(here, 'expert.ts'), other, String(port)])
  return { sides: [ours, expert], close: async () => {} }
}

/** On a server of its own, as it comes, with durable commits. */
export async function onPostgres({ rows, started }: Scene): Promise<Pair> {
  const server = await cluster(['shared_buffers=256MB', 'log_min_messages=fatal'])
  const client = new pg.Client(server.url)
  await client.connect()
  const books = [...manyBooks(rows)]
  await fillPostgres(client, server.url, books)
  await fillExpertPostgres(client, books)
  await client.query('VACUUM ANALYZE')
  await client.end()
  const ours = await started('ours', served(server.url))
  const expert = await started('expert', (port) => [join(here, 'expert-postgres.ts'), server.url, String(port)])
  return { sides: [ours, expert], close: server.close }
}
