/** `npm run bench:handlers`: a handler with two reads and two writes against an expert's transaction, in turn, as ratios. */
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
const [rounds, seconds, bound] = [5, 2, 0.5]

async function started(name: string, words: (port: string) => readonly string[]): Promise<Served> {
  const port = await freePort()
  return serve(['--conditions=bylaw-source', ...words(String(port))], port, join(folder, `${name}.log`))
}

/** Transfers to and fro between some accounts, so that no balance ends. */
async function transfers(url: string, accounts: number): Promise<Asking[]> {
  const ids: string[] = []
  const headers = { 'content-type': 'application/json' }
  for (let i = 0; i < accounts; i++) {
    const sent = { method: 'POST', headers, body: JSON.stringify({ balance: 1_000_000 }) }
    ids.push(((await (await fetch(`${url}/accounts`, sent)).json()) as { id: string }).id)
  }
  return ids.map((from, i) => {
    const body = JSON.stringify({ from, to: ids[(i + 1) % accounts], amount: 1 })
    return { method: 'POST', path: '/transfers', body }
  })
}

async function compare(store: string, ours: Served, expert: Served): Promise<void> {
  for (const [what, accounts] of [
    ['between 200 accounts', 200],
    ['between 2 accounts', 2],
  ] as const) {
    const works = await Promise.all(
      [ours, expert].map(async ({ url }) => [url, await transfers(url, accounts)] as const),
    )
    const rates = works.map((): number[] => [])
    for (let round = 0; round <= rounds; round++)
      for (const [i, [url, asked]] of works.entries()) {
        const { rate } = load(url, asked, seconds)
        if (round > 0) rates[i]?.push(rate)
      }
    const [own = 0, other = 0] = rates.map(median)
    const verdict = own / other >= bound ? '' : `, below ${bound}`
    console.log(
      `${store}, transfers ${what}: ${own.toFixed(0)} a second, the expert's ${other.toFixed(0)}: ${(own / other).toFixed(2)} times as many${verdict}`,
    )
  }
}

const bylaw = (database: string) => (port: string) => [
  ...[join(here, '../src/cli/main.ts'), 'serve', join(here, 'transfers.ts')],
  ...['--port', port, '--database', database],
]
const expert = (database: string) => (port: string) => [join(here, 'transfers-expert.ts'), database, port]

try {
  const onFile = [
    await started('sqlite', bylaw(`sqlite:${join(folder, 'ours.db')}`)),
    await started('sqlite-expert', expert(join(folder, 'expert.db'))),
  ] as const
  await compare('SQLite', ...onFile)
  for (const { stop } of onFile) await stop()
  const server = await cluster()
  const client = new pg.Client(server.url)
  await client.connect()
  await client.query('CREATE DATABASE expert')
  await client.end()
  const other = new URL(server.url)
  other.pathname = '/expert'
  const onServer = [
    await started('postgres', bylaw(server.url)),
    await started('postgres-expert', expert(other.href)),
  ] as const
  await compare('PostgreSQL', ...onServer)
  for (const { stop } of onServer) await stop()
  await server.close()
} finally {
  rmSync(folder, { recursive: true })
}
