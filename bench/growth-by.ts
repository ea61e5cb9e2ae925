/** Growth by resources, by connections and by versions: the time of one item, and of a start. */
import type { Line } from './growth-lines.ts'
import { type Growing, inTurn, newDatabase, type Size, started } from './growth-rounds.ts'
import { type Asking, load } from './load.ts'
import { paced } from './paced.ts'
import { median } from './report.ts'
import type { Served } from './server.ts'

const resourceCounts = [10, 100, 1000]
const versionCounts = [1, 2, 3, 4, 5]
const connectionCounts = [1, 100, 1000, 10_000]
/** With more requests at once than a service accepts, it would refuse some. */
const loadedCounts = [1, 100]
/** How many items are asked for, of all resources together. */
const items = 1000

const item = { title: 'A note', text: 'Some words that a note has. '.repeat(10), stars: 3 }
const headers = { 'content-type': 'application/json' }

/** Creates items in turn in each list, and returns the requests for them. */
async function createdItems(url: string, paths: readonly string[], made: object, count = items): Promise<Asking[]> {
  const all: Asking[] = []
  for (let i = 0; i < count; i++) {
    const path = paths[i % paths.length] as string
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(made) })
    if (answer.status !== 201) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`)
    const { id } = (await answer.json()) as { id: string }
    all.push({ path: `${path}/${id}` })
  }
  return all
}

/** The paths of the lists, as the service tells them. */
async function listsOf(url: string): Promise<string[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, unknown> }
  return Object.keys(paths).filter((path) => /^\/[a-z]+-notes$/.test(path))
}

/** One item among all resources, and the time from the start of the process to its first answer, of a file that exists. */
async function resources(growing: Growing): Promise<Line[]> {
  const { store, rounds } = growing
  const made: { at: number; database: string; env: Record<string, string>; asked: Asking[] }[] = []
  for (const at of resourceCounts) {
    const env = { BENCH_RESOURCES: String(at) }
    const database = await newDatabase(growing, `resources_${at}`, env)
    const server = await started(growing, 'growing.ts', database, env)
    made.push({ at, database, env, asked: await createdItems(server.url, await listsOf(server.url), item) })
    await server.stop()
  }
  const starts = made.map(({ at }) => ({ at, rounds: [] as number[], used: [] as number[], held: [] as number[] }))
  const sizes: Size[] = []
  for (let round = 0; round < rounds; round++)
    for (const [i, { at, database, env, asked }] of made.entries()) {
      const began = performance.now()
      const server = await started(growing, 'growing.ts', database, env)
      starts[i]?.rounds.push(performance.now() - began)
      starts[i]?.used.push(server.cpu())
      starts[i]?.held.push(server.memory())
      if (round === rounds - 1) sizes.push({ at, server, asked })
      else await server.stop()
    }
  const line = { part: 'resources', store, bound: null }
  return [
    ...inTurn(growing, { part: 'resources', what: 'one item' }, sizes),
    { ...line, unit: 'ms', what: 'start', points: starts.map(({ at, rounds }) => ({ at, rounds })) },
    { ...line, unit: 'ms', what: 'start, CPU time', points: starts.map(({ at, used }) => ({ at, rounds: used })) },
    {
      ...line,
      unit: 'MB',
      what: 'memory after the start',
      points: starts.map(({ at, held }) => ({ at, rounds: held })),
    },
  ]
}

/**
 * One item at half of the highest rate of one connection or of a hundred, the lower one, over more and more connections, on both
 * HTTP engines.
 */
async function connections(growing: Growing): Promise<Line[]> {
  const lines: Line[] = []
  for (const engine of ['node', 'own']) {
    const env = { BENCH_ENGINE: engine }
    const database = await newDatabase(growing, `connections_${engine}`, env)
    const server = await started(growing, 'growing.ts', database, env)
    lines.push(...overConnections(growing, engine, server, await createdItems(server.url, ['/aaaa-notes'], item, 1)))
    await server.stop()
  }
  return lines
}

function overConnections(
  { store, rounds, seconds }: Growing,
  engine: string,
  { url }: Served,
  asked: readonly Asking[],
): Line[] {
  load(url, asked, seconds) // warms it up
  const line = { part: 'connections', store }
  const inRounds = (counts: readonly number[], figure: (at: number) => number) => {
    const points = counts.map((at) => ({ at, rounds: [] as number[] }))
    for (let round = 0; round < rounds; round++)
      for (const point of round % 2 === 0 ? points : points.toReversed()) point.rounds.push(figure(point.at))
    return points
  }
  const highest = inRounds(loadedCounts, (at) => load(url, asked, seconds, at).rate)
  const rate = Math.round(Math.min(...highest.map(({ rounds }) => median(rounds))) / 2)
  const times = inRounds(connectionCounts, (at) => paced(url, asked, rate, seconds, at))
  const what = `p99 of one item, ${rate.toLocaleString('en')} a second, engine ${engine}`
  return [
    { ...line, what, unit: 'ms', bound: 1.5, points: times },
    { ...line, what: `one item at the highest rate, engine ${engine}`, unit: 'a second', bound: null, points: highest },
  ]
}

/** One item in the oldest of some versions, each of which changed the resource. */
async function versions(growing: Growing): Promise<Line[]> {
  const sizes: Size[] = []
  for (const at of versionCounts) {
    const env = { BENCH_VERSIONS: String(at) }
    const database = await newDatabase(growing, `versions_${at}`, env)
    const server = await started(growing, 'growing.ts', database, env)
    const newest = await createdItems(server.url, [`/v${at}/aaaa-notes`], item)
    sizes.push({ at, server, asked: newest.map(({ path }) => ({ path: path.replace(`/v${at}/`, '/v1/') })) })
  }
  return inTurn(growing, { part: 'versions', what: 'one item in the oldest' }, sizes)
}

export const growthBy = { resources, connections, versions }
