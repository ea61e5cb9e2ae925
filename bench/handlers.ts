/**
 * `npm run bench:handlers`: a handler with two reads and two writes against an expert's transaction, in turn, as ratios.
 * `-- plain`: writes without a handler, on a service without handlers and on one with handlers of other resources. `-- slow`:
 * the same writes with and without other handlers that have read one of the rows and take 5 s.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { sourceCommand } from '../test/help/built.ts'
import { cluster } from '../test/help/cluster.ts'
import { freePort } from '../test/help/free-port.ts'
import { type BenchRequest, type LoadResult, load } from './load.ts'
import { median } from './report.ts'
import { type RunningServer, serve } from './server.ts'

const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
const [rounds, seconds, bound] = [5, 2, 0.5]
const [pairs, pairSeconds] = [30, 1]
const [slowPairs, slowHandlers] = [10, 16]
const headers = { 'content-type': 'application/json' }

async function startServer(name: string, args: (port: string) => readonly string[]): Promise<RunningServer> {
  const port = await freePort()
  return serve(['--conditions=bylaw-source', ...args(String(port))], port, join(folder, `${name}.log`))
}

async function openAccounts(url: string, accounts: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < accounts; i++) {
    const sent = { method: 'POST', headers, body: JSON.stringify({ balance: 1_000_000 }) }
    ids.push(((await (await fetch(`${url}/accounts`, sent)).json()) as { id: string }).id)
  }
  return ids
}

/** Transfers from each account to the next one, in a circle, so that no balance runs out. */
const transfers = (ids: readonly string[]): BenchRequest[] =>
  ids.map((from, i) => {
    const body = JSON.stringify({ from, to: ids[(i + 1) % ids.length], amount: 1 })
    return { method: 'POST', path: '/transfers', body }
  })

/** Writes without a handler: for each account one new account and two changes, each to another balance than the one before. */
const plainWrites = (ids: readonly string[]): BenchRequest[] =>
  [1, 2].flatMap((balance) =>
    ids.flatMap((id): BenchRequest[] => {
      const body = JSON.stringify({ balance })
      const change = { method: 'PATCH', path: `/accounts/${id}`, body } as const
      return balance === 1 ? [{ method: 'POST', path: '/accounts', body }, change] : [change]
    }),
  )

async function compare(store: string, [ours, expert]: readonly RunningServer[]): Promise<void> {
  for (const [what, accounts] of [
    ['between 200 accounts', 200],
    ['between 2 accounts', 2],
  ] as const) {
    const loads = await Promise.all(
      [ours as RunningServer, expert as RunningServer].map(
        async ({ url }) => [url, transfers(await openAccounts(url, accounts))] as const,
      ),
    )
    const rates = loads.map((): number[] => [])
    for (let round = 0; round <= rounds; round++)
      for (const [i, [url, requests]] of loads.entries()) {
        const { rate } = load(url, requests, seconds)
        if (round > 0) rates[i]?.push(rate)
      }
    const [own = 0, other = 0] = rates.map(median)
    const verdict = own / other >= bound ? '' : `, below ${bound}`
    console.log(
      `${store}, transfers ${what}: ${own.toFixed(0)} a second, the expert's ${other.toFixed(0)}: ${(own / other).toFixed(2)} times as many${verdict}`,
    )
  }
}

/** The median and the quartiles. */
function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [0.25, 0.75].map((part) => sorted[Math.floor(part * sorted.length)] ?? Number.NaN)
  return `${median(values).toFixed(3)} (${low?.toFixed(3)} to ${high?.toFixed(3)})`
}

/** Loads both sides in pairs of runs; which side runs first alternates from pair to pair. */
async function inPairs(
  sides: readonly RunningServer[],
  count: number,
  time: number,
  before = async (_: RunningServer, __: readonly string[]) => {},
) {
  const loads = await Promise.all(sides.map(async (side) => [side, await openAccounts(side.url, 50)] as const))
  const results = loads.map((): (LoadResult & { cpu: number })[] => [])
  for (let pair = 0; pair <= count; pair++)
    for (const i of pair % 2 === 0 ? [0, 1] : [1, 0]) {
      const [side, ids] = loads[i] as (typeof loads)[0]
      await before(side, ids)
      const used = side.cpu()
      const measured = load(side.url, plainWrites(ids), time)
      if (pair > 0) results[i]?.push({ ...measured, cpu: (side.cpu() - used) / measured.rate / time })
    }
  return (of: (one: LoadResult & { cpu: number }) => number) =>
    spread((results[0] ?? []).map((one, i) => of(results[1]?.[i] as typeof one) / of(one)))
}

async function comparePlain(store: string, sides: readonly RunningServer[]): Promise<void> {
  const ratio = await inPairs(sides, pairs, pairSeconds)
  console.log(
    `${store}, writes without a handler, with handlers on another resource: ${ratio(({ rate }) => rate)} times as many a second, ${ratio(({ cpu }) => cpu)} times the CPU time, median of ${pairs} pairs and quartiles`,
  )
}

/** On the second side, handlers that have read one of the written rows are waiting meanwhile. */
async function compareSlow(store: string, sides: readonly RunningServer[]): Promise<void> {
  let waiting = 0
  const ratio = await inPairs(sides, slowPairs, seconds, async (side, [account]) => {
    if (side !== sides[1]) return
    for (; waiting < slowHandlers; waiting++)
      void fetch(`${side.url}/audits`, { method: 'POST', headers, body: JSON.stringify({ account }) })
        .then((answer) => answer.arrayBuffer())
        .finally(() => waiting--)
    await new Promise((done) => setTimeout(done, 200))
  })
  console.log(
    `${store}, writes while ${slowHandlers} handlers take 5 s: p99 ${ratio(({ p99 }) => p99)} times that without them, p50 ${ratio(({ p50 }) => p50)}, ${ratio(({ rate }) => rate)} times as many a second, median of ${slowPairs} pairs and quartiles`,
  )
}

const bylaw = (file: string) => (database: string) => (port: string) => [
  ...[...sourceCommand, 'serve', join(here, file)],
  ...['--port', port, '--database', database],
]
const expert = (database: string) => (port: string) => [
  join(here, 'transfers-expert.ts'),
  database.replace('sqlite:', ''),
  port,
]
const [handled, plain] = [bylaw('transfers.ts'), bylaw('accounts.ts')]
const modes = {
  transfers: { sides: [handled, expert], run: compare },
  plain: { sides: [plain, handled], run: comparePlain },
  slow: { sides: [handled, handled], run: compareSlow },
}
const { sides, run } = modes[(process.argv[2] ?? 'transfers') as keyof typeof modes]

/** Starts both sides, each on its own database, and runs the benchmark. */
async function measure(store: string, databases: readonly [string, string]): Promise<void> {
  const servers: RunningServer[] = []
  for (const [i, side] of sides.entries())
    servers.push(await startServer(`${store}-${i}`, side(databases[i] as string)))
  await run(store, servers)
  for (const { stop } of servers) await stop()
}

try {
  await measure('SQLite', [`sqlite:${join(folder, 'one.db')}`, `sqlite:${join(folder, 'other.db')}`])
  const server = await cluster()
  const client = new pg.Client(server.url)
  await client.connect()
  await client.query('CREATE DATABASE other')
  await client.end()
  const other = new URL(server.url)
  other.pathname = '/other'
  await measure('PostgreSQL', [server.url, other.href])
  await server.close()
} finally {
  rmSync(folder, { recursive: true })
}
