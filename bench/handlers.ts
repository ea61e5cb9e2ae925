/**
 * `npm run bench:handlers`: a handler with two reads and two writes against an expert's transaction, in turn, as ratios.
 * `-- plain`: writes without a handler, on a service without handlers and on one that has some. `-- slow`: the same writes
 * while handlers that have read the rows take 5 s, and without them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { cluster } from '../test/help/cluster.ts'
import { type Asking, load, type Measured } from './load.ts'
import { median } from './report.ts'
import { freePort, type Served, serve } from './server.ts'

const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
const [rounds, seconds, bound] = [5, 2, 0.5]
const [pairs, pairSeconds] = [30, 1]
const [slowPairs, slowHandlers] = [10, 16]
const headers = { 'content-type': 'application/json' }

async function started(name: string, words: (port: string) => readonly string[]): Promise<Served> {
  const port = await freePort()
  return serve(['--conditions=bylaw-source', ...words(String(port))], port, join(folder, `${name}.log`))
}

async function opened(url: string, accounts: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < accounts; i++) {
    const sent = { method: 'POST', headers, body: JSON.stringify({ balance: 1_000_000 }) }
    ids.push(((await (await fetch(`${url}/accounts`, sent)).json()) as { id: string }).id)
  }
  return ids
}

/** Transfers to and fro between some accounts, so that no balance ends. */
const transfers = (ids: readonly string[]): Asking[] =>
  ids.map((from, i) => {
    const body = JSON.stringify({ from, to: ids[(i + 1) % ids.length], amount: 1 })
    return { method: 'POST', path: '/transfers', body }
  })

/** Writes without a handler: a new account and two changes of another one, each to another value than before. */
const plainWrites = (ids: readonly string[]): Asking[] =>
  [1, 2].flatMap((balance) =>
    ids.flatMap((id): Asking[] => {
      const body = JSON.stringify({ balance })
      const change = { method: 'PATCH', path: `/accounts/${id}`, body } as const
      return balance === 1 ? [{ method: 'POST', path: '/accounts', body }, change] : [change]
    }),
  )

async function compare(store: string, [ours, expert]: readonly Served[]): Promise<void> {
  for (const [what, accounts] of [
    ['between 200 accounts', 200],
    ['between 2 accounts', 2],
  ] as const) {
    const works = await Promise.all(
      [ours as Served, expert as Served].map(async ({ url }) => [url, transfers(await opened(url, accounts))] as const),
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

/** The median and the quartiles. */
function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [0.25, 0.75].map((part) => sorted[Math.floor(part * sorted.length)] ?? Number.NaN)
  return `${median(values).toFixed(3)} (${low?.toFixed(3)} to ${high?.toFixed(3)})`
}

/** Runs both sides in pairs; the first one of a pair is the other one in the next. */
async function inPairs(
  sides: readonly Served[],
  count: number,
  time: number,
  before = async (_: Served, __: readonly string[]) => {},
) {
  const works = await Promise.all(sides.map(async (side) => [side, await opened(side.url, 50)] as const))
  const made = works.map((): (Measured & { cpu: number })[] => [])
  for (let pair = 0; pair <= count; pair++)
    for (const i of pair % 2 === 0 ? [0, 1] : [1, 0]) {
      const [side, ids] = works[i] as (typeof works)[0]
      await before(side, ids)
      const used = side.cpu()
      const measured = load(side.url, plainWrites(ids), time)
      if (pair > 0) made[i]?.push({ ...measured, cpu: (side.cpu() - used) / measured.rate / time })
    }
  return (of: (one: Measured & { cpu: number }) => number) =>
    spread((made[0] ?? []).map((one, i) => of(made[1]?.[i] as typeof one) / of(one)))
}

async function comparePlain(store: string, sides: readonly Served[]): Promise<void> {
  const ratio = await inPairs(sides, pairs, pairSeconds)
  console.log(
    `${store}, writes without a handler, with handlers on another resource: ${ratio(({ rate }) => rate)} times as many a second, ${ratio(({ cpu }) => cpu)} times the CPU time, median of ${pairs} pairs and quartiles`,
  )
}

/** Handlers of the second side have read one of the rows that are written, and wait. */
async function compareSlow(store: string, sides: readonly Served[]): Promise<void> {
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
  ...[join(here, '../src/cli/main.ts'), 'serve', join(here, file)],
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

/** Starts both sides, each on a database of its own. */
async function measure(store: string, databases: readonly [string, string]): Promise<void> {
  const served: Served[] = []
  for (const [i, side] of sides.entries()) served.push(await started(`${store}-${i}`, side(databases[i] as string)))
  await run(store, served)
  for (const { stop } of served) await stop()
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
