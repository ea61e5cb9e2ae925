/** `npm run bench:events`: creates and changes that are recorded as events, against the same writes without events, in turn. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { sourceCommand } from '../test/help/built.ts'
import { cluster } from '../test/help/cluster.ts'
import { freePort } from '../test/help/free-port.ts'
import { type BenchRequest, load } from './load.ts'
import { median } from './report.ts'
import { type RunningServer, serve } from './server.ts'

const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
const [rounds, seconds, bound] = [7, 2, 0.8]

async function startServer(name: string, api: string, database: string): Promise<RunningServer> {
  const port = await freePort()
  const args = [...sourceCommand, 'serve', join(here, api), '--database', database]
  return serve([...args, '--port', String(port)], port, join(folder, `${name}.log`))
}

const note = { title: 'A note', text: 'Some words that a note has. '.repeat(10), stars: 3 }

/** Requests that change the same item in turn. */
async function changes(url: string): Promise<BenchRequest[]> {
  const headers = { 'content-type': 'application/json' }
  const created = await fetch(`${url}/notes`, { method: 'POST', headers, body: JSON.stringify(note) })
  const { id } = (await created.json()) as { id: string }
  return [1, 2, 3].map((stars) => ({ method: 'PATCH', path: `/notes/${id}`, body: JSON.stringify({ stars }) }))
}

async function compare(store: string, recorded: RunningServer, plain: RunningServer): Promise<void> {
  const creates = async (): Promise<BenchRequest[]> => [{ method: 'POST', path: '/notes', body: JSON.stringify(note) }]
  for (const [what, requestsFor] of [
    ['creates', creates],
    ['changes of one item', changes],
  ] as const) {
    const loads = await Promise.all([recorded, plain].map(async ({ url }) => [url, await requestsFor(url)] as const))
    const rates = loads.map((): number[] => [])
    for (let round = 0; round <= rounds; round++)
      for (const [i, [url, requests]] of loads.entries()) {
        const { rate } = load(url, requests, seconds)
        if (round > 0) rates[i]?.push(rate)
      }
    const [own = 0, other = 0] = rates.map(median)
    const verdict = own / other >= bound ? '' : `, below ${bound}`
    console.log(
      `${store}, ${what}: ${own.toFixed(0)} a second with events, ${other.toFixed(0)} without: ${(own / other).toFixed(2)} times as many${verdict}`,
    )
  }
}

async function compareOn(store: string, databases: readonly [string, string]): Promise<void> {
  const both = [
    await startServer(`${store}-recorded`, 'notes-recorded.ts', databases[0]),
    await startServer(store, 'notes.ts', databases[1]),
  ] as const
  await compare(store, ...both)
  for (const { stop } of both) await stop()
}

try {
  await compareOn('SQLite', [`sqlite:${join(folder, 'recorded.db')}`, `sqlite:${join(folder, 'plain.db')}`])
  const server = await cluster()
  const client = new pg.Client(server.url)
  await client.connect()
  await client.query('CREATE DATABASE plain')
  await client.end()
  const other = new URL(server.url)
  other.pathname = '/plain'
  await compareOn('PostgreSQL', [server.url, other.href])
  await server.close()
} finally {
  rmSync(folder, { recursive: true })
}
