/** Rounds: clients send requests, the service is killed and started again, the clients stop, and the result is checked. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { random } from '../fuzz/mutate.ts'
import { asking } from './ask.ts'
import { type Backend, file, server, spread } from './backend.ts'
import { check, walk } from './check.ts'
import { type ClientContext, client, pages, write } from './client.ts'
import { checkEvents, following, Seen } from './events.ts'
import { Ledger } from './ledger.ts'
import { recordsEvents } from './mutants.ts'
import { nodesOf } from './nodes.ts'
import { standby } from './standby.ts'
import { upgrade } from './upgrade.ts'

/** The databases for the service. */
export const backends = { sqlite: file, postgres: server, standby, citus: spread } as const

export interface Torture {
  readonly store: keyof typeof backends
  readonly rounds: number
  readonly seed: number
  readonly mutant: string | null
  /** Whether power is lost with each kill. */
  readonly power: boolean
  /** Whether the rounds begin with a rolling upgrade. */
  readonly upgrades: boolean
  /** No round begins after this time, in milliseconds. */
  readonly time: number
  readonly tell: (text: string) => void
}

export interface Tally {
  rounds: number
  kills: number
  acknowledged: number
  keys: number
  promotions: number
  /** The number of unsynced writes at losses of power. */
  lost: number
  violations: readonly string[]
}

const clients = 8
/** The number of rounds on one database. */
const epoch = 10

export async function torture(options: Torture): Promise<Tally> {
  const until = performance.now() + options.time
  const tally: Tally = { rounds: 0, kills: 0, acknowledged: 0, keys: 0, promotions: 0, lost: 0, violations: [] }
  const next = random(options.seed)
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-torture-'))
  if (options.upgrades) await upgraded(options, { tally, next, place: join(folder, 'upgrade'), until })
  while (tally.rounds < options.rounds && performance.now() < until && tally.violations.length === 0) {
    const place = join(folder, String(tally.rounds))
    mkdirSync(place)
    await share(options, { tally, next, place, until })
    if (tally.violations.length === 0) rmSync(place, { recursive: true })
    options.tell(`${tally.rounds} rounds, ${tally.kills} kills, ${tally.acknowledged} writes acknowledged`)
  }
  if (tally.violations.length === 0 || options.mutant !== null) rmSync(folder, { recursive: true })
  else options.tell(`the files are kept in ${folder}`)
  return tally
}

interface Share {
  readonly tally: Tally
  readonly next: (below: number) => number
  readonly place: string
  readonly until: number
}

/** A rolling upgrade on a new database. */
async function upgraded({ store, mutant }: Torture, { tally, next, place }: Share): Promise<void> {
  mkdirSync(place)
  const backend = await backends[store]({ place, random: next, power: false })
  const killed = (): void => {
    tally.kills++
  }
  try {
    const { database } = backend.next()
    tally.violations = await upgrade({ database, mutant: mutant && `${store} ${mutant}`, random: next, killed })
  } finally {
    await backend.close()
  }
}

/** Some rounds on one database. */
async function share(options: Torture, { tally, next, place, until }: Share): Promise<void> {
  const ledger = new Ledger()
  const backend = await backends[options.store]({ place, random: next, power: options.power })
  const killed = (lost: number): void => {
    tally.kills++
    tally.lost += lost
  }
  const floor = nodesOf({
    backend,
    mutant: options.mutant && `${options.store} ${options.mutant}`,
    random: next,
    killed,
  })
  let stopping = false
  const names = { count: 0 }
  const records = recordsEvents(options.mutant)
  const context: ClientContext = {
    ask: asking(floor.port),
    ledger,
    seen: new Seen(),
    random: next,
    token: () => `${tally.rounds}-${++names.count}`,
    up: floor.up,
    falls: backend.fall !== null,
    stopping: () => stopping,
  }
  try {
    await floor.start()
    for (let round = 1; round <= epoch && performance.now() < until; round++) {
      stopping = false
      const busy = Promise.all([
        records && following(context),
        ...Array.from({ length: clients }, () => client(context)),
      ])
      busy.catch(() => {}) // reported below, unless there is another error
      await work(ledger, 200 + next(600))
      await floor.crash()
      stopping = true
      if (next(5) === 0) {
        await pause(next(100))
        await floor.crash()
      }
      await busy
      await floor.ready()
      for (let times = 0; times < 3; times++) await pages(context)
      if (backend.repeat && next(2) === 0) await repeated(context, backend.repeat, floor.ready)
      await check(context, round === epoch)
      if (records) await checkEvents(context)
      for (const why of await backend.wrong()) ledger.violated(why)
      tally.rounds++
      if (ledger.violations.length > 0 || tally.rounds === options.rounds) break
    }
  } catch (error) {
    if (!floor.stood()) throw error
    floor.failures.push((error as Error).message)
  } finally {
    await floor.close()
    tally.acknowledged += ledger.acknowledged
    tally.promotions += backend.promotions()
    tally.keys += [...ledger.creations.values()].filter(({ key }) => key !== null).length
    tally.violations = [...floor.failures, ...ledger.violations]
  }
}

/** The time in which the service does not ask for the state of a database under constant writes, in milliseconds. */
const rest = 250

/** Lists that were cached before a crash must not be answered after it; the check finds it if they are. */
async function repeated(
  context: ClientContext,
  repeat: NonNullable<Backend['repeat']>,
  ready: () => Promise<void>,
): Promise<void> {
  await pause(rest)
  await repeat(async () => {
    for (let times = 0; times < 6; times++) await walk(context, '')
  })
  await ready()
  const item = [...context.ledger.items.values()].findLast(({ gone }) => !gone)
  if (item) await write(context, item, 'PATCH', false)
}

/** Lets clients run for a while, and on a slow machine until they have written something. */
async function work(ledger: Ledger, ms: number): Promise<void> {
  const [enough, late] = [ledger.acknowledged + 50, performance.now() + 5000]
  await pause(ms)
  while (ledger.acknowledged < enough && performance.now() < late) await pause(5)
}
