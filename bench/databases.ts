/** Makes empty databases on a store, for benchmarks that need several, and measures the CPU time of their server. */
import { join } from 'node:path'
import pg from 'pg'
import { cluster } from '../test/help/cluster.ts'
import { childrenOf } from '../test/help/processes.ts'
import { cpuOf } from './server.ts'

export interface Databases {
  /** Makes an empty database, and returns its URL. */
  readonly make: (name: string) => Promise<string>
  /** Milliseconds of CPU time that the database server has used so far; 0 for SQLite, which runs inside the service. */
  readonly cpu: () => number
  readonly close: () => Promise<void>
}

export async function databasesOn(store: string, folder: string): Promise<Databases> {
  if (store === 'sqlite')
    return { make: async (name) => `sqlite:${join(folder, `${name}.db`)}`, cpu: () => 0, close: async () => {} }
  const server = await cluster(['shared_buffers=256MB', 'log_min_messages=fatal'])
  return {
    make: async (name) => {
      await withClient(server.url, (client) => client.query(`CREATE DATABASE ${name}`))
      return Object.assign(new URL(server.url), { pathname: `/${name}` }).href
    },
    cpu: () => [server.pid(), ...childrenOf(server.pid())].reduce((sum, pid) => sum + cpuUnlessEnded(pid), 0),
    close: server.close,
  }
}

export async function withClient<T>(url: string, act: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await act(client)
  } finally {
    await client.end()
  }
}

function cpuUnlessEnded(pid: number): number {
  try {
    return cpuOf(pid)
  } catch {
    return 0
  }
}
