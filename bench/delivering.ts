/** The services that `deliveries.ts` and `arrivals.ts` measure. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sourceCommand } from '../test/help/built.ts'
import { cluster } from '../test/help/cluster.ts'
import { freePort } from '../test/help/free-port.ts'
import { type RunningServer, serve } from './server.ts'

const api = join(import.meta.dirname, 'notes-delivered.ts')
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))

export const log = (name: string): string => join(folder, `${name}.log`)
export const note = { title: 'A note', text: 'Some words that a note has. '.repeat(10), stars: 3 }

/** A running service, and a key for requests that may create webhook endpoints. */
export interface DeliveryService {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly post: (path: string, json: object) => Promise<{ readonly id: string }>
}

/** Starts the service on each store in turn, and measures it. */
export async function onBothStores(
  measure: (store: string, service: DeliveryService) => Promise<void>,
  env = {},
): Promise<void> {
  try {
    await measureOn('SQLite', `sqlite:${join(folder, 'notes.db')}`, env, measure)
    const server = await cluster()
    await measureOn('PostgreSQL', server.url, env, measure).finally(server.close)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function measureOn(
  store: string,
  database: string,
  env: object,
  measure: Parameters<typeof onBothStores>[0],
): Promise<void> {
  const port = await freePort()
  const args = ['serve', api, '--database', database, '--port', String(port), '--webhooks-to-private']
  const served: RunningServer = await serve([...sourceCommand, ...args], port, log(store), env)
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${keyOf(database)}` }
  const post = async (path: string, json: object): Promise<{ id: string }> => {
    const response = await fetch(served.url + path, { method: 'POST', headers, body: JSON.stringify(json) })
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
    return (await response.json()) as { id: string }
  }
  await measure(store, { url: served.url, headers, post }).finally(served.stop)
}

function keyOf(database: string): string {
  const scopes = 'webhook-endpoints:read,webhook-endpoints:write'
  const args = ['keys', 'create', api, '--name', 'bench', '--scopes', scopes, '--json', '--database', database]
  const { stdout, stderr } = spawnSync(process.execPath, [...sourceCommand, ...args], { encoding: 'utf8' })
  if (stdout === '') throw new Error(stderr)
  return (JSON.parse(stdout) as { key: string }).key
}
