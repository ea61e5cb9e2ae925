/** One PostgreSQL server for all tests of a run, with a separate schema for each store. */
import type { TestContext } from 'node:test'
import pg from 'pg'
import { buildPackage } from './built.ts'
import { type Cluster, cluster, useTemplate } from './cluster.ts'
import { compiled } from './command.ts'
import { useMemoryFolder } from './memory-folder.ts'

/** The data need not survive a test, so nothing waits for the disk. */
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
let removeFiles = (): void => {}
let removeTemplate = (): void => {}

/** The server of the run; a test file that runs alone starts its own. */
async function serverUrl(): Promise<string> {
  const given = process.env[variable]
  if (given !== undefined) return given
  own ??= cluster(quick)
  return (await own).url
}

/** The schemas of tests that ended. */
const left: string[] = []

/**
 * Creates an empty schema and returns the URL of a store in it. `drop` leaves the schema until the next one is created: hooks run
 * in the order of their registration, so the services on it may still be open.
 */
export async function freshPostgres(): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> {
  const url = await serverUrl()
  const name = `t${process.pid}_${++count}`
  for (const old of left.splice(0)) await dropSchema(url, old)
  await sql(url, `CREATE SCHEMA ${name}`)
  return {
    url: `${url}?options=${encodeURIComponent(`-c search_path=${name} -c client_min_messages=error`)}`,
    drop: async () => {
      left.push(name)
    },
  }
}

/** The server may still run the last statement of a process that was killed; the two can wait for each other. */
async function dropSchema(url: string, name: string, tries = 5): Promise<void> {
  try {
    await sql(url, `SET client_min_messages = error; DROP SCHEMA ${name} CASCADE`)
  } catch (error) {
    if ((error as { readonly code?: string }).code !== '40P01' || tries === 1) throw error
    await dropSchema(url, name, tries - 1)
  }
}

/** A connection that ends with the test, also if the test fails: an open one would keep its process from ending. */
export async function connected(t: TestContext, url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  t.after(() => client.end())
  return client
}

/** Runs a statement on a connection outside of the store. */
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

/** Starts the server for this process and those that it starts; the result ends it. */
export async function runPostgres(): Promise<() => Promise<void>> {
  removeFiles = useMemoryFolder()
  removeTemplate = useTemplate()
  own = cluster(quick)
  process.env[variable] = (await own).url
  return globalTeardown
}

/** Runs before the first test file, in the process that starts them all. */
export async function globalSetup(): Promise<void> {
  buildPackage()
  await runPostgres()
  if (process.env.NODE_V8_COVERAGE === undefined) Object.assign(process.env, compiled) // coverage would be less precise
}

/** Runs after the last test file. */
export async function globalTeardown(): Promise<void> {
  await (await own)?.close()
  removeTemplate()
  removeFiles()
}
