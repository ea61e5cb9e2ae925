/** `npm run bench`: a bare server, an expert's, and ours, in turn in one run, as ratios; all of it on few rows, what depends on them on many too. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Book, manyBooks } from './books.ts'
import { deep } from './deep.ts'
import { type Asking, load, loader, type Measured } from './load.ts'
import { once } from './once.ts'
import { paced } from './paced.ts'
import {
  compared,
  goals,
  machine,
  median,
  plot,
  type Row,
  ratio,
  type Target,
  table,
  target,
  writeFigures,
} from './report.ts'
import { ask, freePort, type Served, serve } from './server.ts'
import { onDoors, onLinks, onPostgres, onSqlite } from './sides.ts'
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
const chosen = values.only === '' ? null : values.only.split(',')
/** The workloads that depend on the number of rows. */
const large = ['item', 'list', 'cold', 'varied', 'moving', 'total', 'deep']
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
const here = import.meta.dirname
const running: Served[] = []
const marks = ['<!-- figures, written by npm run bench -->', '<!-- end of figures -->'] as const

/** [store and workload, against the expert, against the floor] */
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
  const found: Row[] = []
  const targets: Target[] = []
  for (const [i, rows] of sizes.entries()) {
    const wanted = (name: string) => (chosen ?? (i === 0 ? null : large))?.includes(name) ?? true
    for (const store of values.stores.split(',')) {
      await onStore({ store, rows, first: i === 0, wanted, found, targets })
      if (!values.dry) writeDown(found, targets) // now: what is still to come takes long, and may be stopped
    }
  }
  console.log(table(found))
  for (const { name, ratio: measured, target: bound, at, met } of targets)
    console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${measured} (at ${at} ${bound})`)
}

/** The workloads on a store with a number of rows, and their results. */
interface Part {
  readonly store: string
  readonly rows: number
  /** Whether the goals are about this part. */
  readonly first: boolean
  readonly wanted: (name: string) => boolean
  readonly found: Row[]
  readonly targets: Target[]
}

async function onStore({ store, rows, first, wanted, found, targets }: Part): Promise<void> {
  console.log(`making ${rows} rows on ${store}`)
  const part = mkdtempSync(join(folder, 'part-'))
  const pair = await (store === 'sqlite' ? onSqlite : onPostgres)({ folder: part, rows, started })
  const [ours, expert] = pair.sides
  const asked = (
    await workloads(ours.url, expert.url, { sample: sample(rows), ids: idsOf(rows), key: pair.guarded.key })
  ).filter(({ name }) => wanted(name))
  const own: Row[] = []
  for (const one of asked)
    own.push(await measured({ store, rows, one, ours: one.guarded ? pair.guarded : ours, expert }))
  found.push(...own)
  if (first) targets.push(...own.flatMap(targetsOf))
  if (first && store === 'sqlite') {
    const item = asked.find(({ name }) => name === 'item')
    if (item) targets.push(steady(item, ours, expert, own))
    targets.push(target('memory of ours on SQLite after the run, MB', ours.memory(), 225, 'most'))
  }
  console.log(`memory on ${store}: ours ${ours.memory()} MB, expert ${expert.memory()} MB`)
  if (first && wanted('transition')) found.push(await transitions(part, store, pair))
  if (first && store === 'sqlite' && wanted('linked')) targets.push(await links(part, found))
  if (store === 'sqlite' && wanted('deep')) targets.push(await deep(ours.url, rows, sample(rows)[0] as Book))
  await Promise.all([ours, expert, pair.guarded].map(({ stop }) => stop()))
  await pair.close()
  rmSync(part, { recursive: true })
}

async function started(name: string, words: (port: number) => readonly string[]): Promise<Served> {
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
function warm(url: string, asked: readonly Asking[]): void {
  for (let done = 0, seconds = 0; done < 20_000 && seconds < 8; seconds++) done += load(url, asked, 1).rate
}

interface Measure {
  readonly store: string
  readonly rows: number
  readonly one: Workload
  readonly ours: Served
  readonly expert: Served
}

async function measured({ store, rows, one, ours, expert }: Measure): Promise<Row> {
  const floor = one.floor && store === 'sqlite' ? await floorOf(one, ours) : null
  const row = inTurn({ store, rows, workload: one.name, about: one.about }, one.once ?? null, [
    ...(floor ? [['floor', floor, one.ours] as const] : []),
    ['expert', expert, one.expert],
    ['ours', ours, one.ours],
  ])
  await floor?.stop()
  return row
}

/** Loads the sides in turn, round by round; with requests that are sent once, each round has some of its own. */
function inTurn(
  about: Omit<Row, 'rounds'>,
  single: number | null,
  sides: readonly (readonly [Side, Served, asked: readonly Asking[]])[],
): Row {
  const some = (asked: readonly Asking[], i: number) => asked.slice(i * Number(single), (i + 1) * Number(single))
  for (const [, { url }, asked] of sides) single === null ? warm(url, asked) : once(url, some(asked, rounds))
  const done = new Map<Side, Measured[]>(sides.map(([side]) => [side, []]))
  for (let i = 0; i < rounds; i++) {
    for (const [side, { url }, asked] of i % 2 === 0 ? sides : sides.toReversed())
      done.get(side)?.push(single === null ? load(url, asked, seconds) : once(url, some(asked, i)))
  }
  const row = { ...about, rounds: Object.fromEntries(done) }
  console.log(`${row.store}, ${row.rows} rows, ${row.about}: ${compared(row)}`)
  return row
}

/** An item with links against one without, of the same server. */
async function links(folder: string, found: Row[]): Promise<Target> {
  const { server, ours, plain } = await onLinks({ folder, rows: 0, started })
  const about = 'one item with links (the plain one without)'
  const row = inTurn({ store: 'sqlite', rows: ours.length, workload: 'linked', about }, null, [
    ['plain', server, plain],
    ['ours', server, ours],
  ])
  await server.stop()
  found.push(row)
  return target('one item with links, sqlite, against one without', ratio(row, 'ours', 'plain'), 0.91)
}

/** Transitions of doors: each round opens all of them and closes them again, so that each can be repeated. */
async function transitions(folder: string, store: string, pair: Parameters<typeof onDoors>[1]): Promise<Row> {
  const { sides, walks } = await onDoors({ folder, rows: 0, started }, pair)
  const asked = walks.map((walk) => Array.from({ length: rounds + 1 }, () => walk).flat())
  const about = { store, rows: walks[0].length / 2, workload: 'transition', about: 'a transition, durable' }
  const row = inTurn(about, walks[0].length, [
    ['expert', sides[1], asked[1] ?? []],
    ['ours', sides[0], asked[0] ?? []],
  ])
  await Promise.all(sides.map(({ stop }) => stop()))
  return row
}

/** A bare server that sends our answer. */
async function floorOf({ ours: [asked] }: Workload, { url }: Served): Promise<Served> {
  const answer = await ask(url + asked?.path, { 'Accept-Encoding': 'identity' })
  const body = await answer.text()
  const own = ['connection', 'keep-alive'] // the engine writes these
  const headers = Object.fromEntries([...answer.headers].filter(([name]) => !own.includes(name)))
  return started('floor', (port) => [join(here, 'floor.ts'), JSON.stringify({ headers, body }), `${port}`])
}

function targetsOf(row: Row): Target[] {
  const [, least, ofFloor] = bounds.find(([name]) => name === `${row.store} ${row.workload}`) ?? []
  const name = `${row.about}, ${row.store}, against`
  return [
    ...(least === undefined ? [] : [target(`${name} the expert`, ratio(row, 'ours', 'expert'), least)]),
    ...(ofFloor === undefined ? [] : [target(`${name} the floor`, ratio(row, 'ours', 'floor'), ofFloor)]),
  ]
}

/** Both at half of the expert's maximum rate. */
function steady(item: Workload, ours: Served, expert: Served, found: readonly Row[]): Target {
  const most = median((found.find(({ workload }) => workload === 'item')?.rounds.expert ?? []).map(({ rate }) => rate))
  const times: [number, number][] = []
  for (let i = 0; i < rounds; i++)
    times.push([paced(ours.url, item.ours, most / 2, 3), paced(expert.url, item.expert, most / 2, 3)])
  const [own, theirs] = [median(times.map(([one]) => one)), median(times.map(([, other]) => other))]
  console.log(
    `p99 at ${Math.round(most / 2)} items a second: ours ${own.toFixed(2)} ms, expert ${theirs.toFixed(2)} ms`,
  )
  return target('p99 at half of the expert’s highest load, against the expert', own / theirs, 1, 'most')
}

/** The load of other processes: on a busy machine, the larger program loses more. */
function others(): string {
  return `The machine had ${loadavg()[1]?.toFixed(0)} processes to run at a time, the bench among them.`
}

/** Writes the results as JSON, as a plot, and into the page of figures between two marks. */
function writeDown(found: readonly Row[], targets: readonly Target[]): void {
  const on = `${machine()}, Node.js ${process.versions.node}, load by ${loader}`
  const results = { machine: on, rows: sizes, rounds, seconds, targets, workloads: found }
  writeFileSync(join(here, 'results.json'), `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(join(here, '../docs/performance.svg'), plot(found, `Requests a second. ${on}`))
  const reported = `${on}; ${rounds} rounds of ${seconds} s, each figure the median. ${others()}`
  writeFigures(marks, [reported, table(found), goals(targets)])
}
