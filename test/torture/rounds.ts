/** Rounds: clients at work, the service killed among it and started again, the clients at rest, and the check. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { random } from '../fuzz/mutate.ts'
import { asking } from './ask.ts'
import { check } from './check.ts'
import { client, type Scene } from './client.ts'
import { Ledger } from './ledger.ts'
import { losePower } from './power.ts'
import { launch, type Server } from './server.ts'

export interface Torture {
  readonly rounds: number
  readonly seed: number
  readonly mutant: string | null
  /** Whether power is lost with each kill. */
  readonly power: boolean
  /** After how many milliseconds no further round begins. */
  readonly time: number
  readonly tell: (text: string) => void
}

export interface Tally {
  rounds: number
  kills: number
  acknowledged: number
  keys: number
  /** Writes that were not synced when the power was lost. */
  lost: number
  violations: readonly string[]
}

const clients = 8
/** So many rounds share a database. */
const epoch = 10

export async function torture(options: Torture): Promise<Tally> {
  const until = performance.now() + options.time
  const tally: Tally = { rounds: 0, kills: 0, acknowledged: 0, keys: 0, lost: 0, violations: [] }
  const next = random(options.seed)
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-torture-'))
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

/** Some rounds on one database. */
async function share(options: Torture, { tally, next, place, until }: Share): Promise<void> {
  const ledger = new Ledger()
  const stage = new Stage(options, place, next, tally)
  let stopping = false
  const names = { count: 0 }
  const scene: Scene = {
    ask: asking(() => stage.port),
    ledger,
    random: next,
    token: () => `${tally.rounds}-${++names.count}`,
    up: () => stage.up,
    stopping: () => stopping,
  }
  try {
    await stage.start()
    for (let round = 1; round <= epoch && performance.now() < until; round++) {
      stopping = false
      const busy = Promise.all(Array.from({ length: clients }, () => client(scene)))
      busy.catch(() => {}) // told below, if nothing else is
      await work(ledger, 200 + next(600))
      await stage.crash()
      stopping = true
      if (next(5) === 0) {
        await pause(next(100))
        await stage.crash()
      }
      await busy
      await check(scene, round === epoch)
      tally.rounds++
      if (ledger.violations.length > 0 || tally.rounds === options.rounds) break
    }
  } catch (error) {
    if (!stage.stood) throw error
    stage.failures.push((error as Error).message)
  } finally {
    await stage.close()
    tally.acknowledged += ledger.acknowledged
    tally.keys += [...ledger.creations.values()].filter(({ key }) => key !== null).length
    tally.violations = [...stage.failures, ...ledger.violations]
  }
}

/** Lets clients work for a while, on a slow machine until they have done something. */
async function work(ledger: Ledger, ms: number): Promise<void> {
  const [enough, late] = [ledger.acknowledged + 50, performance.now() + 5000]
  await pause(ms)
  while (ledger.acknowledged < enough && performance.now() < late) await pause(5)
}

/** Where the service stands, and falls. */
class Stage {
  port = 0
  up: Promise<unknown> = Promise.resolve()
  /** Whether it ever stood; a service that does not come up again is a finding, one that never did is none. */
  stood = false
  readonly failures: string[] = []
  private server: Server | null = null
  private starts = 0
  private expected = true
  private readonly options: Torture
  private readonly place: string
  private readonly next: (below: number) => number
  private readonly tally: Tally

  constructor(options: Torture, place: string, next: (below: number) => number, tally: Tally) {
    this.options = options
    this.place = place
    this.next = next
    this.tally = tally
  }

  private file(start: number): string {
    return join(this.place, this.options.power ? `${start}.db` : 'torture.db')
  }

  start(): Promise<unknown> {
    const number = ++this.starts
    this.expected = false
    const trace = this.options.power ? join(this.place, `${number}.trace`) : null
    this.up = launch({ file: this.file(number), mutant: this.options.mutant, trace }).then((server) => {
      this.server = server
      this.stood = true
      this.port = server.port
      server.ended.then(
        () => this.starts === number && !this.expected && this.failures.push('the service ended by itself'),
      )
    })
    return this.up
  }

  /** Kills the service and starts it again. */
  async crash(): Promise<void> {
    this.expected = true
    await this.server?.kill()
    this.tally.kills++
    if (this.options.power) {
      const [old, copy] = [this.file(this.starts), this.file(this.starts + 1)]
      this.tally.lost += losePower(old, copy, join(this.place, `${this.starts}.trace`), this.next)
      for (const end of ['', '-wal', '-shm']) rmSync(old + end, { force: true })
    }
    await this.start()
  }

  async close(): Promise<void> {
    this.expected = true
    await this.server?.kill()
  }
}
