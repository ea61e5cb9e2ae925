/** Verify: what a declaration promises between its versions, tried with items that are made from it. Part 9, versioning. */
import type { Service } from '../service.ts'
import { mendOf } from './blame.ts'
import { again, type Chance, one, seeded, smallest } from './chance.ts'
import { promisesOf, type Tell } from './promises.ts'
import {
  type Answer,
  type Ask,
  creation,
  filled,
  nameAt,
  type Pool,
  type Released,
  type Request,
  releasedOf,
  type Stage,
  type Stand,
  standOf,
} from './trial.ts'

export interface Failure {
  /** What was promised and did not hold. */
  readonly says: string
  /** Which part of which change to look at; nothing where none has to do with it. */
  readonly mend: string
  /** The requests that led there, each with its answer. */
  readonly steps: readonly Step[]
}

export interface Step {
  readonly version: string
  readonly request: Request
  readonly answer: Answer
}

export interface Verdict {
  readonly versions: readonly string[]
  /** How many cases were tried, by resource. */
  readonly cases: ReadonlyMap<string, number>
  /** Fields that changes make of others and that did not come back as they were sent, each with an example; that may be meant. */
  readonly lossy: ReadonlyMap<string, string>
  /** Resources of which no item could be made, so that nothing was tried. */
  readonly untried: readonly string[]
  readonly failure: Failure | null
}

interface Ground {
  readonly service: Service
  readonly released: readonly Released[]
  readonly pool: Pool
  readonly ask: Ask
  readonly lossy: Map<string, string>
}

/** Opens an empty service. */
type Open = () => Promise<Stage>

interface Trying {
  readonly seed: number
  readonly runs: number
  /** Is given the first failure as soon as it is found, before it is made smaller. */
  readonly found?: (failure: Failure) => void
  /** The time in milliseconds, by which `patience` is measured; without it there is no such bound. */
  readonly now?: () => number
}

/** How long a failure is made smaller, in milliseconds. */
export const patience = 10_000

/** Tries every resource so many times; what fails is made as small as it can be, on a new store each time. */
export async function verify(
  service: Service,
  open: Open,
  { seed, runs, found: tell = () => {}, now = () => 0 }: Trying,
): Promise<Verdict> {
  const released = releasedOf(service)
  const newest = released[0] as Released
  const cases = new Map<string, number>()
  const lossy = new Map<string, string>()
  const verdict = { versions: released.map(({ label }) => label), cases, lossy }
  const within = async <T>(work: (ground: Ground) => Promise<T>): Promise<T> => {
    const { ask, close } = await open()
    const ground = { service, released, ask, lossy, pool: await filled(newest, ask, seed) }
    return work(ground).finally(close)
  }
  const alone = (name: string, row: readonly number[]) => within((ground) => lifeOf(name, again(row), ground))
  const found = await within((ground) => firstFailure(ground, { seed, runs }, cases))
  const untried = [...service.resources.keys()].filter((name) => !cases.has(name))
  if (!found) return { ...verdict, untried, failure: null }
  const { name, row, failure } = found
  tell(failure)
  const until = now() + patience
  const fails = async (less: readonly number[]) => now() <= until && isFailure(await alone(name, less))
  const least = await alone(name, await smallest(row, fails))
  return { ...verdict, untried: [], failure: isFailure(least) ? least : failure }
}

/** The resource and the choices of the first item that breaks a promise. */
async function firstFailure(ground: Ground, { seed, runs }: Pick<Trying, 'seed' | 'runs'>, cases: Map<string, number>) {
  for (const name of ground.service.resources.keys()) {
    for (let run = 0; run < runs; run++) {
      const row: number[] = []
      const tried = await lifeOf(name, seeded(seed * 7919 + run, row), ground)
      if (tried !== 'untried') cases.set(name, (cases.get(name) ?? 0) + 1)
      if (isFailure(tried)) return { name, row, failure: tried }
    }
  }
  return null
}

type Outcome = Failure | 'untried' | null
const isFailure = (outcome: Outcome): outcome is Failure => outcome !== null && outcome !== 'untried'

/** One item, written in one version and met in another. */
async function lifeOf(name: string, chance: Chance, ground: Ground): Promise<Outcome> {
  const { service, released, pool } = ground
  const stands = released.flatMap((release) => standOf(service.changes, name, release) ?? [])
  const [writer, reader] = [one(chance, stands), one(chance, stands)]
  const steps: Step[] = []
  const tell: Tell = async ({ release: { label: version } }, request) => {
    const answer = await ground.ask(version, request)
    steps.push({ version, request, answer })
    return answer
  }
  const items = (own: string) => pool.get(newestName(own, writer.release, ground)) ?? []
  const request = creation(writer, chance, items)
  if (!request) return 'untried'
  const made = await tell(writer, request)
  const promised = await promisesOf(made, {
    name,
    ground,
    writer,
    reader,
    newest: stands[0] as Stand,
    request,
    chance,
    tell,
    another: () => creation(writer, chance, items),
  })
  if (promised === null) return null
  return { says: promised.says, mend: mendOf(service.changes, name, promised), steps }
}

const newestName = (own: string, { label }: Released, { service }: Ground): string =>
  [...service.resources.keys()].find((name) => nameAt(service.changes, name, label) === own) ?? own
