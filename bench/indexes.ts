/**
 * `npm run bench:indexes -- --rows 100000`: creates of a resource with 17 fields to filter or to sort by, and 19 indexes,
 * against an expert's with the same indexes, in turn, as ratios. In every round both sides have the same number of rows.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { freePort } from '../test/help/free-port.ts'
import { databasesOn, withClient } from './databases.ts'
import type { BenchRequest } from './load.ts'
import { loadOnce } from './once.ts'
import { median } from './report.ts'
import { type RunningServer, serve } from './server.ts'
import { applyDeclaration, serveCommand } from './sides.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '7' },
    /** Creates of each side in a round. */
    creates: { type: 'string', default: '5000' },
    stores: { type: 'string', default: 'sqlite,postgres' },
  },
})
const [rows, rounds, creates] = [Number(values.rows), Number(values.rounds), Number(values.creates)]
const bound = 3
const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
const running: RunningServer[] = []

let seed = 1
function next(below: number): number {
  seed = (seed * 48_271) % 2_147_483_647
  return seed % below
}
const oneOf = (all: readonly string[]) => all[next(all.length)] as string
const time = () => new Date(1_800_000_000_000 + next(31_536_000) * 1000).toISOString()

/** The same shipment in the form that our service takes, and in the expert's form, where amounts are in cents. */
function shipment(): [ours: object, expert: object] {
  const amounts = [next(1_000_000), next(100_000), next(5_000_000)] as const
  const rest = {
    status: oneOf(['planned', 'sent', 'arrived', 'lost']),
    kind: oneOf(['letter', 'parcel', 'pallet']),
    express: next(2) === 0,
    country: oneOf(['IT', 'DE', 'FR', 'ES', 'PL', 'NL', 'SE', 'PT']),
    currency: oneOf(['EUR', 'SEK', 'PLN']),
    city: `City ${next(2000)}`,
    customer: `Customer ${next(100_000)}`,
    reference: `R-${next(1_000_000_000)}`,
    email: `person${next(1_000_000)}@example.com`,
    ...{ priority: next(10), parcels: next(100), weight: next(100_000) },
    ...{ pickedUpAt: time(), dueAt: time() },
    note: 'Some words about a shipment, as they are written by people who want to be sure that nothing is forgotten.',
  }
  const named = (of: (cents: number) => unknown) =>
    Object.fromEntries(['total', 'tax', 'insured'].map((name, i) => [name, of(amounts[i] as number)]))
  return [
    { ...rest, ...named((cents) => (cents / 100).toFixed(2)) },
    { ...rest, ...named((cents) => cents) },
  ]
}

function requests(count: number): [ours: BenchRequest[], expert: BenchRequest[]] {
  const both = Array.from({ length: count }, shipment)
  const [ours, expert] = [0, 1].map((side) =>
    both.map((one): BenchRequest => ({ method: 'POST', path: '/shipments', body: JSON.stringify(one[side]) })),
  )
  return [ours ?? [], expert ?? []]
}

async function indexesOf(database: string, table: string): Promise<number> {
  if (database.startsWith('postgres'))
    return withClient(database, async (client) => {
      const { rows } = await client.query('SELECT count(*)::integer AS n FROM pg_indexes WHERE tablename = $1', [table])
      return rows[0].n
    })
  const db = new DatabaseSync(database.replace('sqlite:', ''))
  const found = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?").get(table)
  db.close()
  return Number(found?.n)
}

async function startServer(name: string, args: (port: number) => readonly string[]): Promise<RunningServer> {
  const port = await freePort()
  const server = await serve(args(port), port, join(folder, `${name}.log`), { NODE_ENV: 'production' })
  running.push(server)
  return server
}

const spread = (all: readonly number[]): string =>
  `${median(all).toFixed(2)} (${Math.min(...all).toFixed(2)} to ${Math.max(...all).toFixed(2)})`

interface Round {
  readonly rate: number
  /** Microseconds of processor time for each create, of the service and of the database server. */
  readonly service: number
  readonly database: number
}

function describeRounds(all: readonly Round[]): string {
  const [rate, service, database] = (['rate', 'service', 'database'] as const).map((name) =>
    median(all.map((one) => one[name])).toFixed(0),
  )
  return `${rate} creates a second (CPU time ${service} µs of the service and ${database} of the database)`
}

async function compareOn(store: string): Promise<void> {
  const databases = await databasesOn(store, folder)
  const [own, other] = [await databases.make('ours'), await databases.make('expert')]
  applyDeclaration(own, 'wide.ts')
  const sides = [
    await startServer('ours', serveCommand(own, 'wide.ts')),
    await startServer('expert', (port) => [join(here, 'wide-expert.ts'), other, String(port)]),
  ] as const
  const counts = [await indexesOf(own, 'shipments'), await indexesOf(other, 'expert_shipments')]
  if (counts[0] !== counts[1]) throw new Error(`Ours has ${counts[0]} indexes, the expert has ${counts[1]}.`)
  for (let inserted = 0; inserted < rows; inserted += creates)
    for (const [i, sent] of requests(Math.min(creates, rows - inserted)).entries())
      loadOnce(sides[i as 0 | 1].url, sent)
  const measuredRounds: Round[][] = [[], []]
  for (let round = 0; round < rounds; round++) {
    const sent = requests(creates)
    for (const i of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const [service, database] = [sides[i].cpu(), databases.cpu()]
      const { rate } = loadOnce(sides[i].url, sent[i])
      const used = (milliseconds: number) => (milliseconds * 1000) / creates
      measuredRounds[i]?.push({
        rate,
        service: used(sides[i].cpu() - service),
        database: used(databases.cpu() - database),
      })
    }
  }
  const ratios = (of: (one: Round) => number) =>
    (measuredRounds[0] ?? []).map((one, i) => of(one) / of(measuredRounds[1]?.[i] as Round))
  const rate = ratios((one) => one.rate)
  const verdict = median(rate) >= bound ? '' : `, below ${bound}`
  console.log(
    `${store}, ${rows} rows, ${counts[0]} indexes with that of the key, medians of ${rounds} rounds, least and most:
  ours ${describeRounds(measuredRounds[0] ?? [])}; the expert's ${describeRounds(measuredRounds[1] ?? [])}
  ${spread(rate)} times as many${verdict}; ${spread(ratios((one) => one.service + one.database))} times the CPU time`,
  )
  await Promise.all(running.splice(0).map(({ stop }) => stop()))
  await databases.close()
}

try {
  for (const store of values.stores.split(',')) await compareOn(store)
} finally {
  await Promise.all(running.map(({ stop }) => stop()))
  rmSync(folder, { recursive: true })
}
