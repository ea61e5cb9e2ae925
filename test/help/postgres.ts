/** One PostgreSQL server for all tests of a run, and a place of its own in it for each store. */
import pg from 'pg'
import { type Cluster, cluster } from './cluster.ts'
import { compiled } from './command.ts'

/** Nothing is to survive a test, so nothing waits for a disk. */
const quick = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'max_connections=300',
  'shared_buffers=32MB',
  'autovacuum=off',
  'jit=off',
  'log_min_messages=fatal',
]

const variable = 'BYLAW_TEST_POSTGRES'
let own: Promise<Cluster> | undefined
let count = 0

/** The server of the run; a file of tests that is run alone starts one for itself. */
async function serverUrl(): Promise<string> {
  const given = process.env[variable]
  if (given !== undefined) return given
  own ??= cluster(quick)
  return (await own).url
}

/** A schema that is empty, and the URL of a store in it. */
export async function freshPostgres(): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> {
  const url = await serverUrl()
  const name = `t${process.pid}_${++count}`
  await sql(url, `CREATE SCHEMA ${name}`)
  return {
    url: `${url}?options=${encodeURIComponent(`-c search_path=${name} -c client_min_messages=error`)}`,
    drop: async () => {
      await sql(url, `SET client_min_messages = error; DROP SCHEMA ${name} CASCADE`)
    },
  }
}

/** Asks a database beside the store. */
export async function sql(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Runs before the first test file, in the process that starts them all. */
export async function globalSetup(): Promise<void> {
  own = cluster(quick)
  process.env[variable] = (await own).url
  if (process.env.NODE_V8_COVERAGE === undefined) Object.assign(process.env, compiled) // coverage would be less precise
}

/** Runs after the last test file. */
export async function globalTeardown(): Promise<void> {
  await (await own)?.close()
}
