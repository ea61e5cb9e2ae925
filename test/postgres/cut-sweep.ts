/** Sweeps: sends requests again and again, and cuts their connections at one position after the other. */
import { writeFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { realWorld } from '../../src/flow/real-world.ts'
import type { World } from '../../src/flow/world.ts'
import { random } from '../fuzz/mutate.ts'
import { type Cluster, cluster } from '../help/cluster.ts'
import { isFull } from '../help/runs.ts'
import { until } from '../help/until.ts'
import { cutApi, type steps } from './cut-steps.ts'
import { databaseOf, type Place, type Step } from './cut-trials.ts'
import { type Cut, type CuttingProxy, cuttingProxy, type Direction } from './cutting.ts'
import { type Node, node } from './service-on-server.ts'

/** By default every n-th position is tried, from a random first one; `npm run cuts` tries all. */
export const stride = Number(process.env.BYLAW_TEST_STRIDE ?? (isFull ? 32 : 256))
export const isWhole = stride === 1
export const seed = Number(process.env.BYLAW_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const again = `BYLAW_TEST_STRIDE=${stride} BYLAW_TEST_SEED=${seed}`
export const chance = random(seed)
/** About as many bytes as the last message or two have. */
const lastBytes = 32

export const directions: readonly Direction[] = ['to the server', 'from the server']

/** A node behind a proxy. */
export interface Site extends Place {
  readonly proxy: CuttingProxy
  readonly usage: Node['usage']
}

interface SiteOptions {
  /** The port of the server. */
  readonly port: number
  /** Parameters of the URL. */
  readonly parameters?: string
  readonly world?: World
}

async function siteOf(t: TestContext, { port, parameters = '', world = realWorld }: SiteOptions): Promise<Site> {
  const proxy = await cuttingProxy(t, port)
  const own = await node(urlAt(proxy.port) + parameters, cutApi, world)
  const { rows, close } = await databaseOf(`postgres://bylaw@127.0.0.1:${port}/postgres`)
  t.after(() => Promise.all([own.close(), close()]))
  return { call: own.call, usage: own.usage, rows, proxy }
}

export const sitesOf = (t: TestContext, count: number, options: SiteOptions): Promise<Site[]> =>
  Promise.all(Array.from({ length: count }, () => siteOf(t, options)))

/** A world whose clock and timers are faster. */
export const fastWorld = (times: number): World => ({
  ...realWorld,
  monotonic: () => realWorld.monotonic() * times,
  after: (time, act) => realWorld.after(time / times, act),
  inBackground: (time, act) => realWorld.inBackground(time / times, act),
  every: (interval, act) => realWorld.every(interval / times, act),
})

/** A server with a role that has a password. */
export async function serverWithPassword(settings: readonly string[] = []): Promise<Cluster> {
  const server = await cluster(['shared_buffers=64MB', 'max_connections=200', 'fsync=off', ...settings])
  server.psql(`CREATE ROLE ann LOGIN SUPERUSER PASSWORD 'secret'`)
  writeFileSync(server.psql('SHOW hba_file'), 'host all ann all scram-sha-256\nhost all all all trust\n')
  server.psql('SELECT pg_reload_conf()')
  return server
}

/** The URL of that role for a server at a port. */
export const urlAt = (port: number): string => `postgres://ann:secret@127.0.0.1:${port}/postgres`

let trials = 0
const nextName = (): string => `trial-${String(++trials).padStart(7, '0')}`

/** How many requests of the same kind have used the connections before; they are new if there were none. */
type Warm = number

interface SiteOfTrial extends Place {
  readonly proxy: { readonly drop: () => Promise<void> }
}

/** Makes a trial of a step, with connections in the given state. */
export async function trialOf({ proxy, ...place }: SiteOfTrial, step: Step, warm: Warm) {
  for (let i = 0; i < warm; i++) await (await step.make(place, nextName())).send()
  const trial = await step.make(place, nextName())
  if (warm === 0) await proxy.drop()
  return trial
}

/** How many bytes a step sends in each direction. */
async function lengthsOf(site: Site, step: Step, warm: Warm): Promise<Readonly<Record<Direction, number>>> {
  const trial = await trialOf(site, step, warm)
  site.proxy.arm({ direction: 'to the server', at: Number.POSITIVE_INFINITY, ending: 'close' })
  const answers = await trial.send()
  const { passed } = await site.proxy.disarm()
  await trial.check(answers, false)
  return passed
}

export interface Position extends Cut {
  readonly step: Step
  readonly warm: Warm
}

interface PositionOptions extends Omit<Position, 'step' | 'at' | 'direction'> {
  readonly every?: number
  /** How many positions of a step and a direction are tried at least; with more than one, two of them are in the last bytes. */
  readonly fewest?: number
}

/** The positions of all bytes that steps send, or every so many of them. */
export async function positionsOf(
  site: Site,
  all: typeof steps,
  { every = stride, fewest = 1, ...more }: PositionOptions,
): Promise<Position[]> {
  const found: Position[] = []
  for (const step of all) {
    const lengths = await lengthsOf(site, step, more.warm)
    for (const direction of directions) {
      const pace = Math.max(1, Math.min(every, Math.floor(lengths[direction] / fewest)))
      const add = (at: number) => found.push({ ...more, step, direction, at })
      for (let at = chance(pace); at < lengths[direction]; at += pace) add(at)
      if (pace > 1 && fewest > 1) for (let i = 0; i < 2; i++) add(lengths[direction] - 1 - chance(lastBytes)) // where writes are committed
    }
  }
  return found
}

/** Sends the requests of a step while a connection is cut, and checks the answers. Returns whether it was cut. */
async function cutOnce(site: Site, { step, warm, ...cut }: Position, most: number): Promise<boolean> {
  const trial = await trialOf(site, step, warm)
  site.proxy.arm(cut)
  const answers = await inTime(trial.send(), most)
  const { cuts } = await inTime(site.proxy.disarm(), most)
  await inTime(trial.check(answers, cut.always === true), most)
  await until(() => site.usage().connections.every(({ busy, waiting }) => busy === 0 && waiting === 0))
  return cuts > 0
}

/** Fails if a promise does not settle in time. */
export function inTime<T>(promise: Promise<T>, most: number): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`This has not ended after ${most} ms.`)), most)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}

/**
 * Tries positions on several nodes at the same time, and reports those that fail. Each has to end within the given time, in
 * milliseconds. Returns how many connections were cut: a position may lie behind the last byte, as not every run has the same.
 */
export async function sweep(sites: readonly Site[], positions: readonly Position[], most: number): Promise<number> {
  const rest = [...positions]
  const failures: Error[] = []
  let cuts = 0
  const work = async (site: Site): Promise<void> => {
    for (let one = rest.shift(); one && failures.length === 0; one = rest.shift())
      try {
        if (await cutOnce(site, one, most)) cuts++
      } catch (cause) {
        const connections = one.warm === 0 ? 'new connections' : 'used connections'
        const place = `${one.step.name}, ${connections}, ${one.ending} after byte ${one.at} ${one.direction}`
        failures.push(new Error(`${place}; to repeat it: ${again}`, { cause }))
      }
  }
  await Promise.all(sites.map(work))
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} positions failed`)
  return cuts
}
