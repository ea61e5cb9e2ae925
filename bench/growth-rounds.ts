/** Loads servers of different sizes in turn, and measures the time and the CPU time of a request. */
import { join } from 'node:path'
import { freePort } from '../test/help/free-port.ts'
import type { Databases } from './databases.ts'
import type { Curve } from './growth-lines.ts'
import { type BenchRequest, load } from './load.ts'
import { loadOnce } from './once.ts'
import { type RunningServer, serve } from './server.ts'
import { applyDeclaration, serveCommand } from './sides.ts'

export interface GrowthRun {
  readonly store: string
  readonly folder: string
  readonly databases: Databases
  /** The servers to stop at the end. */
  readonly running: RunningServer[]
  readonly rounds: number
  readonly seconds: number
  /** The largest number of rows. */
  readonly maxRows: number
}

/** A server of one size, and the requests to send to it. */
export interface SizedServer {
  readonly at: number
  readonly server: RunningServer
  readonly requests: readonly BenchRequest[]
}

/** A new database with the tables of the service in `growing.ts`. */
export async function newDatabase(
  { databases }: GrowthRun,
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const database = await databases.make(name)
  applyDeclaration(database, 'growing.ts', env)
  return database
}

export async function startServer(
  { folder, running }: GrowthRun,
  declaration: string,
  database: string,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const port = await freePort()
  const log = join(folder, 'log')
  const server = await serve(serveCommand(database, declaration)(port), port, log, { NODE_ENV: 'production', ...env })
  running.push(server)
  return server
}

export interface MeasuredRequest {
  readonly part: string
  readonly what: string
  /** The number of requests in a round, if each can be sent only once; missing if they can be repeated. */
  readonly single?: number
}

/** Loads the servers in turn, and in every second round in the opposite order; the first round only warms them up. */
export function loadInTurn(
  run: GrowthRun,
  { part, what, single }: MeasuredRequest,
  sizes: readonly SizedServer[],
): Curve[] {
  const { store, databases, rounds, seconds } = run
  const [times, cpuTimes] = [sizes.map((): number[] => []), sizes.map((): number[] => [])]
  const cpu = (server: RunningServer) => server.cpu() + databases.cpu()
  for (let round = 0; round <= rounds; round++)
    for (const [i, { server, requests }] of round % 2 === 0
      ? [...sizes.entries()]
      : [...sizes.entries()].toReversed()) {
      const before = cpu(server)
      const requestsOfRound =
        single &&
        Array.from({ length: single }, (_, n) => requests[(round * single + n) % requests.length] as BenchRequest)
      const { rate } = requestsOfRound ? loadOnce(server.url, requestsOfRound) : load(server.url, requests, seconds)
      if (round === 0) continue
      times[i]?.push(1e6 / rate)
      cpuTimes[i]?.push((1000 * (cpu(server) - before)) / (single ?? rate * seconds))
    }
  const line = { part, store, unit: 'µs' }
  const points = (all: readonly number[][]) => sizes.map(({ at }, i) => ({ at, rounds: all[i] ?? [] }))
  return [
    { ...line, what, bound: 1.5, points: points(times) },
    { ...line, what: `${what}, CPU time`, bound: null, points: points(cpuTimes) },
  ]
}
