/** Growth by resources, by connections and by versions: the time of one item, and of a start. */
import type { Curve } from './growth-lines.ts'
import { type GrowthRun, loadInTurn, newDatabase, type SizedServer, startServer } from './growth-rounds.ts'
import { type BenchRequest, load } from './load.ts'
import { loadAtRate } from './paced.ts'
import { median } from './report.ts'
import type { RunningServer } from './server.ts'

const resourceCounts = [10, 100, 1000]
const versionCounts = [1, 2, 3, 4, 5]
const connectionCounts = [1, 100, 1000, 10_000]
/**
 * The numbers of connections for the highest rate. With 1,000 connections, the service would refuse requests, as too many
 * arrive at once.
 */
const loadedCounts = [1, 100]
/** How many items are read, of all resources together. */
const items = 1000

const item = { title: 'A note', text: 'Some words that a note has. '.repeat(10), stars: 3 }
const headers = { 'content-type': 'application/json' }

/** Creates items in turn in each list, and returns the requests for them. */
async function createdItems(
  url: string,
  paths: readonly string[],
  body: object,
  count = items,
): Promise<BenchRequest[]> {
  const all: BenchRequest[] = []
  for (let i = 0; i < count; i++) {
    const path = paths[i % paths.length] as string
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (answer.status !== 201) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`)
    const { id } = (await answer.json()) as { id: string }
    all.push({ path: `${path}/${id}` })
  }
  return all
}

/** The paths of the lists, from the OpenAPI document of the service. */
async function listsOf(url: string): Promise<string[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, unknown> }
  return Object.keys(paths).filter((path) => /^\/[a-z]+-notes$/.test(path))
}

/** Reads of one item of all resources, and the time from the start of the process to its first answer, on an existing database. */
async function resources(run: GrowthRun): Promise<Curve[]> {
  const { store, rounds } = run
  const filled: { at: number; database: string; env: Record<string, string>; requests: BenchRequest[] }[] = []
  for (const at of resourceCounts) {
    const env = { BENCH_RESOURCES: String(at) }
    const database = await newDatabase(run, `resources_${at}`, env)
    const server = await startServer(run, 'growing.ts', database, env)
    filled.push({ at, database, env, requests: await createdItems(server.url, await listsOf(server.url), item) })
    await server.stop()
  }
  const starts = filled.map(({ at }) => ({ at, rounds: [] as number[], cpu: [] as number[], memory: [] as number[] }))
  const sizes: SizedServer[] = []
  for (let round = 0; round < rounds; round++)
    for (const [i, { at, database, env, requests }] of filled.entries()) {
      const began = performance.now()
      const server = await startServer(run, 'growing.ts', database, env)
      starts[i]?.rounds.push(performance.now() - began)
      starts[i]?.cpu.push(server.cpu())
      starts[i]?.memory.push(server.memory())
      if (round === rounds - 1) sizes.push({ at, server, requests })
      else await server.stop()
    }
  const line = { part: 'resources', store, bound: null }
  return [
    ...loadInTurn(run, { part: 'resources', what: 'one item' }, sizes),
    { ...line, unit: 'ms', what: 'start', points: starts.map(({ at, rounds }) => ({ at, rounds })) },
    { ...line, unit: 'ms', what: 'start, CPU time', points: starts.map(({ at, cpu }) => ({ at, rounds: cpu })) },
    {
      ...line,
      unit: 'MB',
      what: 'memory after the start',
      points: starts.map(({ at, memory }) => ({ at, rounds: memory })),
    },
  ]
}

/**
 * Reads of one item over more and more connections, on both HTTP engines, at a fixed rate: half of the highest rate over one
 * connection or over a hundred, whichever is lower.
 */
async function connections(run: GrowthRun): Promise<Curve[]> {
  const lines: Curve[] = []
  for (const engine of ['node', 'own']) {
    const env = { BENCH_ENGINE: engine }
    const database = await newDatabase(run, `connections_${engine}`, env)
    const server = await startServer(run, 'growing.ts', database, env)
    lines.push(...overConnections(run, engine, server, await createdItems(server.url, ['/aaaa-notes'], item, 1)))
    await server.stop()
  }
  return lines
}

function overConnections(
  { store, rounds, seconds }: GrowthRun,
  engine: string,
  { url }: RunningServer,
  requests: readonly BenchRequest[],
): Curve[] {
  load(url, requests, seconds) // warms it up
  const line = { part: 'connections', store }
  const inRounds = (counts: readonly number[], figure: (at: number) => number) => {
    const points = counts.map((at) => ({ at, rounds: [] as number[] }))
    for (let round = 0; round < rounds; round++)
      for (const point of round % 2 === 0 ? points : points.toReversed()) point.rounds.push(figure(point.at))
    return points
  }
  const highest = inRounds(loadedCounts, (at) => load(url, requests, seconds, at).rate)
  const rate = Math.round(Math.min(...highest.map(({ rounds }) => median(rounds))) / 2)
  const times = inRounds(connectionCounts, (at) => loadAtRate(url, requests, rate, seconds, at))
  const what = `p99 of one item, ${rate.toLocaleString('en')} a second, engine ${engine}`
  return [
    { ...line, what, unit: 'ms', bound: 1.5, points: times },
    { ...line, what: `one item at the highest rate, engine ${engine}`, unit: 'a second', bound: null, points: highest },
  ]
}

/** Reads of one item in the oldest version of a service; each later version changed the resource. */
async function versions(run: GrowthRun): Promise<Curve[]> {
  const sizes: SizedServer[] = []
  for (const at of versionCounts) {
    const env = { BENCH_VERSIONS: String(at) }
    const database = await newDatabase(run, `versions_${at}`, env)
    const server = await startServer(run, 'growing.ts', database, env)
    const newest = await createdItems(server.url, [`/v${at}/aaaa-notes`], item)
    sizes.push({ at, server, requests: newest.map(({ path }) => ({ path: path.replace(`/v${at}/`, '/v1/') })) })
  }
  return loadInTurn(run, { part: 'versions', what: 'one item in the oldest' }, sizes)
}

export const growthBy = { resources, connections, versions }
