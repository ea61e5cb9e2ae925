/** `npm run bench`: a bare server, an expert's, and ours, in turn, as ratios; with more rows, only workloads that depend on their number. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePort } from '../test/help/free-port.ts'
import { type Book, manyBooks } from './books.ts'
import { deep } from './deep.ts'
import { type BenchRequest, type LoadResult, load, loader } from './load.ts'
import { loadOnce } from './once.ts'
import { loadAtRate } from './paced.ts'
import {
  compared,
  goals,
  machine,
  median,
  plot,
  ratio,
  type Target,
  table,
  target,
  type WorkloadResult,
  writeFigures,
} from './report.ts'
import { getWithRetry, type RunningServer, serve } from './server.ts'
import { startDoors, startLinked, startOnPostgres, startOnSqlite } from './sides.ts'
import { type Side, type Workload, workloads } from './workloads.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000,1000000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    stores: { type: 'string', default: 'sqlite,postgres' },
    only: { type: 'string', default: '' },
    /** Writes no files. */
    dry: { type: 'boolean', default: false },
  },
})
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
const sizes = values.rows.split(',').map(Number)
const selectedNames = values.only === '' ? null : values.only.split(',')
/** The workloads whose results depend on the number of rows. */
const workloadsOnMany = ['item', 'list', 'cold', 'varied', 'moving', 'total', 'deep']
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
const here = import.meta.dirname
const running: RunningServer[] = []
const marks = ['<!-- figures, written by npm run bench -->', '<!-- end of figures -->'] as const

/** Goals: [store and workload, least ratio to the expert, least ratio to the floor]. */
const bounds: readonly (readonly [string, number, number?])[] = [
  ['sqlite item', 1.2, 0.55],
  ['sqlite unchanged', 1.3],
  ['sqlite list', 2],
  ['sqlite cold', 2],
  ['sqlite varied', 2],
  ['sqlite total', 1.8],
  ['sqlite keyed', 3],
  ['sqlite change', 1.5],
  ['sqlite delete', 3],
  ['postgres item', 1.5],
  ['postgres list', 2],
  ['postgres cold', 2],
  ['postgres varied', 2],
  ['postgres keyed', 1.2],
  ['postgres delete', 1.2],
]

try {
  await main()
} finally {
  await Promise.all(running.map(({ stop }) => stop()))
  rmSync(folder, { recursive: true })
}

async function main(): Promise<void> {
  console.log(`load by ${loader}; ${machine()}`)
  const results: WorkloadResult[] = []
  const targets: Target[] = []
  for (const [i, rows] of sizes.entries()) {
    const isSelected = (name: string) => (selectedNames ?? (i === 0 ? null : workloadsOnMany))?.includes(name) ?? true
    for (const store of values.stores.split(',')) {
      await onStore({ store, rows, first: i === 0, isSelected, results, targets })
      if (!values.dry) writeResults(results, targets) // at once, because the rest takes long and may be interrupted
    }
  }
  console.log(table(results))
  for (const { name, ratio: measured, target: bound, at, met } of targets)
    console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${measured} (at ${at} ${bound})`)
}

/** One store with one number of rows: its workloads, and the lists that results are added to. */
interface StoreRun {
  readonly store: string
  readonly rows: number
  /** Whether the goals are judged by this run: the first number of rows. */
  readonly first: boolean
  readonly isSelected: (name: string) => boolean
  readonly results: WorkloadResult[]
  readonly targets: Target[]
}

async function onStore({ store, rows, first, isSelected, results, targets }: StoreRun): Promise<void> {
  console.log(`making ${rows} rows on ${store}`)
  const part = mkdtempSync(join(folder, 'part-'))
  const pair = await (store === 'sqlite' ? startOnSqlite : startOnPostgres)({ folder: part, rows, startServer })
  const [ours, expert] = pair.sides
  const selected = (
    await workloads(ours.url, expert.url, { sample: sample(rows), ids: idsOf(rows), key: pair.guarded.key })
  ).filter(({ name }) => isSelected(name))
  const ownResults: WorkloadResult[] = []
  for (const workload of selected)
    ownResults.push(
      await measureWorkload({ store, rows, workload, ours: workload.guarded ? pair.guarded : ours, expert }),
    )
  results.push(...ownResults)
  if (first) targets.push(...ownResults.flatMap(targetsOf))
  if (first && store === 'sqlite') {
    const item = selected.find(({ name }) => name === 'item')
    if (item) targets.push(comparePaced(item, ours, expert, ownResults))
    targets.push(target('memory of ours on SQLite after the run, MB', ours.memory(), 225, 'most'))
  }
  console.log(`memory on ${store}: ours ${ours.memory()} MB, expert ${expert.memory()} MB`)
  if (first && isSelected('transition')) results.push(await compareTransitions(part, store, pair))
  if (first && store === 'sqlite' && isSelected('linked')) targets.push(await compareLinked(part, results))
  if (store === 'sqlite' && isSelected('deep')) targets.push(await deep(ours.url, rows, sample(rows)[0] as Book))
  await Promise.all([ours, expert, pair.guarded].map(({ stop }) => stop()))
  await pair.close()
  rmSync(part, { recursive: true })
}

async function startServer(name: string, words: (port: number) => readonly string[]): Promise<RunningServer> {
  const port = await freePort()
  const served = await serve(words(port), port, join(folder, `${name}.log`), { NODE_ENV: 'production' })
  running.push(served)
  return served
}

function idsOf(rows: number): string[] {
  return Array.from(manyBooks(rows), ({ id }) => id)
}

/** Some books, evenly spread. */
function sample(rows: number): Book[] {
  const every = Math.max(1, Math.floor(rows / 2000))
  return [...manyBooks(rows)].filter((_, i) => i % every === 0)
}

/** Warms the server up, so that hot code is compiled before the measurement. */
function warm(url: string, requests: readonly BenchRequest[]): void {
  for (let done = 0, seconds = 0; done < 20_000 && seconds < 8; seconds++) done += load(url, requests, 1).rate
}

interface Measurement {
  readonly store: string
  readonly rows: number
  readonly workload: Workload
  readonly ours: RunningServer
  readonly expert: RunningServer
}

async function measureWorkload({ store, rows, workload, ours, expert }: Measurement): Promise<WorkloadResult> {
  const floor = workload.floor && store === 'sqlite' ? await floorOf(workload, ours) : null
  const row = loadInTurn(
    { store, rows, workload: workload.name, about: workload.about },
    workload.singleRequests ?? null,
    [
      ...(floor ? [['floor', floor, workload.ours] as const] : []),
      ['expert', expert, workload.expert],
      ['ours', ours, workload.ours],
    ],
  )
  await floor?.stop()
  return row
}

/** Loads the sides in turn, round by round. If requests can be sent only once (`single` in a round), each round sends others. */
function loadInTurn(
  about: Omit<WorkloadResult, 'rounds'>,
  single: number | null,
  sides: readonly (readonly [Side, RunningServer, requests: readonly BenchRequest[]])[],
): WorkloadResult {
  const requestsOfRound = (requests: readonly BenchRequest[], i: number) =>
    requests.slice(i * Number(single), (i + 1) * Number(single))
  for (const [, { url }, requests] of sides)
    single === null ? warm(url, requests) : loadOnce(url, requestsOfRound(requests, rounds))
  const done = new Map<Side, LoadResult[]>(sides.map(([side]) => [side, []]))
  for (let i = 0; i < rounds; i++) {
    for (const [side, { url }, requests] of i % 2 === 0 ? sides : sides.toReversed())
      done.get(side)?.push(single === null ? load(url, requests, seconds) : loadOnce(url, requestsOfRound(requests, i)))
  }
  const row = { ...about, rounds: Object.fromEntries(done) }
  console.log(`${row.store}, ${row.rows} rows, ${row.about}: ${compared(row)}`)
  return row
}

/** Reads of an item with links against an item without links, of the same server. */
async function compareLinked(folder: string, results: WorkloadResult[]): Promise<Target> {
  const { server, ours, plain } = await startLinked({ folder, rows: 0, startServer })
  const about = 'one item with links (the plain one without)'
  const row = loadInTurn({ store: 'sqlite', rows: ours.length, workload: 'linked', about }, null, [
    ['plain', server, plain],
    ['ours', server, ours],
  ])
  await server.stop()
  results.push(row)
  return target('one item with links, sqlite, against one without', ratio(row, 'ours', 'plain'), 0.91)
}

/** Transitions: each round opens all doors and closes them again, so that the next round can repeat the same requests. */
async function compareTransitions(
  folder: string,
  store: string,
  pair: Parameters<typeof startDoors>[1],
): Promise<WorkloadResult> {
  const { sides, requests: walks } = await startDoors({ folder, rows: 0, startServer }, pair)
  const requests = walks.map((walk) => Array.from({ length: rounds + 1 }, () => walk).flat())
  const about = { store, rows: walks[0].length / 2, workload: 'transition', about: 'a transition, durable' }
  const row = loadInTurn(about, walks[0].length, [
    ['expert', sides[1], requests[1] ?? []],
    ['ours', sides[0], requests[0] ?? []],
  ])
  await Promise.all(sides.map(({ stop }) => stop()))
  return row
}

/** Starts a bare server that sends the same answer as ours. */
async function floorOf({ ours: [request] }: Workload, { url }: RunningServer): Promise<RunningServer> {
  const answer = await getWithRetry(url + request?.path, { 'Accept-Encoding': 'identity' })
  const body = await answer.text()
  const engineHeaders = ['connection', 'keep-alive'] // the engine writes these
  const headers = Object.fromEntries([...answer.headers].filter(([name]) => !engineHeaders.includes(name)))
  return startServer('floor', (port) => [join(here, 'floor.ts'), JSON.stringify({ headers, body }), `${port}`])
}

function targetsOf(row: WorkloadResult): Target[] {
  const [, least, ofFloor] = bounds.find(([name]) => name === `${row.store} ${row.workload}`) ?? []
  const name = `${row.about}, ${row.store}, against`
  return [
    ...(least === undefined ? [] : [target(`${name} the expert`, ratio(row, 'ours', 'expert'), least)]),
    ...(ofFloor === undefined ? [] : [target(`${name} the floor`, ratio(row, 'ours', 'floor'), ofFloor)]),
  ]
}

/** The 99th percentile of both sides at half of the expert's highest rate. */
function comparePaced(
  item: Workload,
  ours: RunningServer,
  expert: RunningServer,
  results: readonly WorkloadResult[],
): Target {
  const most = median(
    (results.find(({ workload }) => workload === 'item')?.rounds.expert ?? []).map(({ rate }) => rate),
  )
  const times: [number, number][] = []
  for (let i = 0; i < rounds; i++)
    times.push([loadAtRate(ours.url, item.ours, most / 2, 3), loadAtRate(expert.url, item.expert, most / 2, 3)])
  const [own, theirs] = [median(times.map(([one]) => one)), median(times.map(([, other]) => other))]
  console.log(
    `p99 at ${Math.round(most / 2)} items a second: ours ${own.toFixed(2)} ms, expert ${theirs.toFixed(2)} ms`,
  )
  return target('p99 at half of the expert’s highest load, against the expert', own / theirs, 1, 'most')
}

/** The load of the machine during the run: on a busy machine, the larger program loses more. */
function machineLoad(): string {
  return `The machine had ${loadavg()[1]?.toFixed(0)} processes to run at a time, the bench among them.`
}

/** Writes the results as JSON, as a plot, and into docs/performance.md between two marks. */
function writeResults(results: readonly WorkloadResult[], targets: readonly Target[]): void {
  const on = `${machine()}, Node.js ${process.versions.node}, load by ${loader}`
  const report = { machine: on, rows: sizes, rounds, seconds, targets, workloads: results }
  writeFileSync(join(here, 'results.json'), `${JSON.stringify(report, null, 2)}\n`)
  writeFileSync(join(here, '../docs/performance.svg'), plot(results, `Requests a second. ${on}`))
  const reported = `${on}; ${rounds} rounds of ${seconds} s, each figure the median. ${machineLoad()}`
  writeFigures(marks, [reported, table(results), goals(targets)])
}
