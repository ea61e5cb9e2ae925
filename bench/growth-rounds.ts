/** Servers of different sizes loaded in turn, with the time and the CPU time of a request. */
import { join } from 'node:path'
import type { Databases } from './databases.ts'
import type { Line } from './growth-lines.ts'
import { type Asking, load } from './load.ts'
import { once } from './once.ts'
import { freePort, type Served, serve } from './server.ts'
import { apply, served } from './sides.ts'

export interface Growing {
  readonly store: string
  readonly folder: string
  readonly databases: Databases
  /** Servers that are to be stopped at the end. */
  readonly running: Served[]
  readonly rounds: number
  readonly seconds: number
  /** The largest number of rows. */
  readonly most: number
}

/** A server of one size, and what it is asked. */
export interface Size {
  readonly at: number
  readonly server: Served
  readonly asked: readonly Asking[]
}

/** A new database with the tables of the growing service. */
export async function newDatabase(
  { databases }: Growing,
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const database = await databases.make(name)
  apply(database, 'growing.ts', env)
  return database
}

export async function started(
  { folder, running }: Growing,
  declaration: string,
  database: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const port = await freePort()
  const log = join(folder, 'log')
  const server = await serve(served(database, declaration)(port), port, log, { NODE_ENV: 'production', ...env })
  running.push(server)
  return server
}

export interface Figure {
  readonly part: string
  readonly what: string
  /** How many of the requests a round sends, each once; missing if they can be repeated. */
  readonly single?: number
}

/** Loads the servers in turn, and in every second round in the opposite order; the first round only warms them up. */
export function inTurn(growing: Growing, { part, what, single }: Figure, sizes: readonly Size[]): Line[] {
  const { store, databases, rounds, seconds } = growing
  const [times, used] = [sizes.map((): number[] => []), sizes.map((): number[] => [])]
  const cpu = (server: Served) => server.cpu() + databases.cpu()
  for (let round = 0; round <= rounds; round++)
    for (const [i, { server, asked }] of round % 2 === 0 ? [...sizes.entries()] : [...sizes.entries()].toReversed()) {
      const before = cpu(server)
      const some =
        single && Array.from({ length: single }, (_, n) => asked[(round * single + n) % asked.length] as Asking)
      const { rate } = some ? once(server.url, some) : load(server.url, asked, seconds)
      if (round === 0) continue
      times[i]?.push(1e6 / rate)
      used[i]?.push((1000 * (cpu(server) - before)) / (single ?? rate * seconds))
    }
  const line = { part, store, unit: 'µs' }
  const points = (all: readonly number[][]) => sizes.map(({ at }, i) => ({ at, rounds: all[i] ?? [] }))
  return [
    { ...line, what, bound: 1.5, points: points(times) },
    { ...line, what: `${what}, CPU time`, bound: null, points: points(used) },
  ]
}
