/** Verify: checks the promises between the versions of a declaration with generated items. Part 9, versioning. */
import { isAddedResource } from '../resources/service-fields.ts'
import type { Service } from '../service.ts'
import { type Chance, pickOne, replayedChance, seededChance, shrinkChoices } from './chance.ts'
import { mendOfFault } from './fault.ts'
import type { SendRequest } from './item-trial.ts'
import { firstBrokenPromise } from './promises.ts'
import {
  type AskVersion,
  creationRequest,
  fillItemPool,
  type ItemPool,
  nameInVersion,
  type ResourceInVersion,
  resourceInVersion,
  type TrialAnswer,
  type TrialRequest,
  type TrialService,
  type VersionService,
  versionServices,
} from './version-service.ts'

export interface VerifyFailure {
  /** The promise that did not hold. */
  readonly says: string
  /** Names the part of a change to look at; empty if no change is involved. */
  readonly mend: string
  /** The requests that led to the failure, each with its answer. */
  readonly steps: readonly VerifyStep[]
}

export interface VerifyStep {
  readonly version: string
  readonly request: TrialRequest
  readonly answer: TrialAnswer
}

export interface VerifyReport {
  readonly versions: readonly string[]
  /** The number of cases that were tried, by resource. */
  readonly cases: ReadonlyMap<string, number>
  /** Derived fields that did not come back as sent, each with an example; this may be intended. */
  readonly lossy: ReadonlyMap<string, string>
  /** Resources of which no item could be made, so that nothing was checked. */
  readonly untried: readonly string[]
  readonly failure: VerifyFailure | null
}

interface VerifyRun {
  readonly service: Service
  readonly versions: readonly VersionService[]
  readonly pool: ItemPool
  readonly ask: AskVersion
  readonly lossy: Map<string, string>
}

/** Opens a service on an empty store. */
type OpenTrial = () => Promise<TrialService>

interface VerifyOptions {
  readonly seed: number
  readonly runs: number
  /** Called with the first failure as soon as it is found, before it is shrunk. */
  readonly onFailure?: (failure: VerifyFailure) => void
  /** Returns the time in milliseconds, to limit shrinking to `shrinkTime`; without it there is no limit. */
  readonly now?: () => number
}

/** How long a failure is shrunk, in milliseconds. */
export const shrinkTime = 10_000

/** Tries every resource `runs` times; the first failure is shrunk, with a new store for each attempt. */
export async function verifyService(
  service: Service,
  open: OpenTrial,
  { seed, runs, onFailure: tell = () => {}, now = () => 0 }: VerifyOptions,
): Promise<VerifyReport> {
  const released = versionServices(service)
  const newest = released[0] as VersionService
  const cases = new Map<string, number>()
  const lossy = new Map<string, string>()
  const verdict = { versions: released.map(({ label }) => label), cases, lossy }
  const within = async <T>(work: (context: VerifyRun) => Promise<T>): Promise<T> => {
    const { ask, close } = await open()
    const context = { service, versions: released, ask, lossy, pool: await fillItemPool(newest, ask, seed) }
    return work(context).finally(close)
  }
  const alone = (name: string, row: readonly number[]) =>
    within((context) => tryItem(name, replayedChance(row), context))
  const failed = await within((context) => firstFailure(context, { seed, runs }, cases))
  const untried = declaredNames(service).filter((name) => !cases.has(name))
  if (!failed) return { ...verdict, untried, failure: null }
  const { name, row, failure } = failed
  tell(failure)
  const until = now() + shrinkTime
  const fails = async (less: readonly number[]) => now() <= until && isFailure(await alone(name, less))
  const least = await alone(name, await shrinkChoices(row, fails))
  return { ...verdict, untried: [], failure: isFailure(least) ? least : failure }
}

/** The names of the resources without those that the service adds. */
const declaredNames = ({ resources }: Service): string[] =>
  [...resources].flatMap(([name, { declaration }]) => (isAddedResource(declaration) ? [] : [name]))

/** The resource and the choices of the first item that breaks a promise. */
async function firstFailure(
  context: VerifyRun,
  { seed, runs }: Pick<VerifyOptions, 'seed' | 'runs'>,
  cases: Map<string, number>,
) {
  for (const name of declaredNames(context.service)) {
    for (let run = 0; run < runs; run++) {
      const row: number[] = []
      const tried = await tryItem(name, seededChance(seed * 7919 + run, row), context)
      if (tried !== 'untried') cases.set(name, (cases.get(name) ?? 0) + 1)
      if (isFailure(tried)) return { name, row, failure: tried }
    }
  }
  return null
}

type ItemResult = VerifyFailure | 'untried' | null
const isFailure = (outcome: ItemResult): outcome is VerifyFailure => outcome !== null && outcome !== 'untried'

/** Writes one item in one version, and checks it in another. */
async function tryItem(name: string, chance: Chance, context: VerifyRun): Promise<ItemResult> {
  const { service, versions, pool } = context
  const inVersions = versions.flatMap((release) => resourceInVersion(service.changes, name, release) ?? [])
  const [writer, reader] = [pickOne(chance, inVersions), pickOne(chance, inVersions)]
  const steps: VerifyStep[] = []
  const tell: SendRequest = async ({ version: { label: version } }, request) => {
    const answer = await context.ask(version, request)
    steps.push({ version, request, answer })
    return answer
  }
  const items = (own: string) => pool.get(nameInNewest(own, writer.version, context)) ?? []
  const request = creationRequest(writer, chance, items)
  if (!request) return 'untried'
  const creation = await tell(writer, request)
  const promised = await firstBrokenPromise(creation, {
    name,
    run: context,
    writer,
    reader,
    newest: inVersions[0] as ResourceInVersion,
    request,
    chance,
    send: tell,
    another: () => creationRequest(writer, chance, items),
  })
  if (promised === null) return null
  return { says: promised.says, mend: mendOfFault(service.changes, name, promised), steps }
}

const nameInNewest = (own: string, { label }: VersionService, { service }: VerifyRun): string =>
  [...service.resources.keys()].find((name) => nameInVersion(service.changes, name, label) === own) ?? own
