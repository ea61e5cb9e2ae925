/** `npm run bench:events`: creates and changes that are recorded as events against the same without events, in turn, as ratios. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { cluster } from '../test/help/cluster.ts'
import { type Asking, load } from './load.ts'
import { median } from './report.ts'
import { freePort, type Served, serve } from './server.ts'

const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
const [rounds, seconds, bound] = [7, 2, 0.8]

async function started(name: string, api: string, database: string): Promise<Served> {
  const port = await freePort()
  const words = [join(here, '../src/cli/main.ts'), 'serve', join(here, api), '--database', database]
  return serve(['--conditions=bylaw-source', ...words, '--port', String(port)], port, join(folder, `${name}.log`))
}

const note = { title: 'A note', text: 'Some words that a note has. '.repeat(10), stars: 3 }

/** Requests that change the same item in turn. */
async function changes(url: string): Promise<Asking[]> {
  const headers = { 'content-type': 'application/json' }
  const made = await fetch(`${url}/notes`, { method: 'POST', headers, body: JSON.stringify(note) })
  const { id } = (await made.json()) as { id: string }
  return [1, 2, 3].map((stars) => ({ method: 'PATCH', path: `/notes/${id}`, body: JSON.stringify({ stars }) }))
}

async function compare(store: string, recorded: Served, plain: Served): Promise<void> {
  const creates = async (): Promise<Asking[]> => [{ method: 'POST', path: '/notes', body: JSON.stringify(note) }]
  for (const [what, asking] of [
    ['creates', creates],
    ['changes of one item', changes],
  ] as const) {
    const works = await Promise.all([recorded, plain].map(async ({ url }) => [url, await asking(url)] as const))
    const rates = works.map((): number[] => [])
    for (let round = 0; round <= rounds; round++)
      for (const [i, [url, asked]] of works.entries()) {
        const { rate } = load(url, asked, seconds)
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
    await started(`${store}-recorded`, 'notes-recorded.ts', databases[0]),
    await started(store, 'notes.ts', databases[1]),
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
