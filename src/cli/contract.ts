/** `bylaw contract`: locks published contracts, prints differences, and writes migration guides. Part 9, versioning. */
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { changelog } from '../contract/changelog.ts'
import type { Contract } from '../contract/contract.ts'
import { onlyBreaking } from '../contract/difference.ts'
import { differences } from '../contract/differences.ts'
import { contractAt, servedLabels } from '../contract/gate.ts'
import { lockText, type NextLock, nextLock } from '../contract/lock.ts'
import { listInWords } from '../formats/naming.ts'
import { exchangesText, type RecordedExchange } from '../proof/exchanges.ts'
import { migrationGuide as guideFor } from '../proof/guide.ts'
import { recordExchanges } from '../proof/record.ts'
import { type VersionService, versionServices } from '../proof/version-service.ts'
import type { Service } from '../service.ts'
import { actionOf, type Command, type CommandInput } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { contractFolder } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { labelOfLock, readLock, readLocks } from '../terminal/locks.ts'
import { answersPath, findDeviation, readAnswers } from '../terminal/recorded-answers.ts'
import { openSandbox } from '../terminal/sandbox.ts'

export const contractCommand: Command = {
  name: 'contract',
  about: 'Locks the contracts of published versions, and shows the differences from them.',
  details:
    'lock writes contract/v1.json and so on beside the declaration; keep them in version control. ' +
    'diff prints the changelog between two files, folders, declarations or locked versions. ' +
    'guide writes how to move from one version to another.',
  arguments: [
    { name: 'lock|diff|guide', about: 'an action: lock, diff or guide' },
    { name: 'a', about: 'the declaration to lock, or the older version', optional: true },
    { name: 'b', about: 'the newer version', optional: true },
    { name: 'api.ts', about: 'the file of the declaration', optional: true },
  ],
  flags: { anew: { about: 'Locks in spite of breaking differences: for a version that nobody uses yet.' } },
  examples: [
    'bylaw contract lock api.ts',
    'bylaw contract lock api.ts --anew',
    'bylaw contract diff contract/v1.json api.ts',
    'bylaw contract diff v1 v2',
    'bylaw contract guide v1 v2 api.ts',
  ],
  run,
}

const subcommands: Readonly<Record<string, (input: CommandInput) => Promise<number>>> = { lock, diff, guide }
const defaultFile = 'api.ts'

async function run(input: CommandInput): Promise<number> {
  return actionOf('contract', input, subcommands)(input)
}

/** Writes the contract of every version to the folder next to the declaration. */
async function lock(input: CommandInput): Promise<number> {
  const [, file = defaultFile, ...more] = input.arguments
  if (more.length > 0)
    throw commandError(`bylaw contract lock takes no second argument "${more[0]}".`, 'Name one declaration.')
  const service = await loadService(file)
  const folder = contractFolder(file)
  const locks = readLocks(folder)
  const other = [...locks.values()].find((one) => one.service !== service.name)
  if (other)
    throw commandError(
      `${folder} holds the contract of ${other.service}, and ${file} declares ${service.name}.`,
      `Keep each declaration in a folder of its own. If ${other.service} was renamed to ${service.name}, change the name in the files of ${folder}.`,
    )
  const contracts = servedLabels(service.declaration).map((label) => {
    const before = input.isOn('anew') ? null : (locks.get(label) ?? null)
    return { label, before, ...nextLock(contractAt(service, label), label, before) }
  })
  for (const one of contracts) refuseBreaking(file, one)
  if (!input.isOn('anew')) await refuseDeviation(service, file)
  mkdirSync(folder, { recursive: true })
  for (const { label, lock: locked, found, before } of contracts) {
    const path = join(folder, `${label}.json`)
    writeFileSync(path, lockText(locked))
    const fresh = !before || found.length > 0 || readAnswers(folder, label).length === 0
    if (fresh) writeFileSync(answersPath(folder, label), exchangesText(await recordAnswers(service, label)))
    const what = !before ? 'locked' : found.length === 0 ? 'unchanged' : `${found.length} new`
    console.log(`${path}  ${locked.version}  ${what}`)
  }
  return 0
}

/** Records answers of a version, to be stored next to its lock. */
async function recordAnswers(service: Service, label: string): Promise<readonly RecordedExchange[]> {
  const release = versionServices(service).find((one) => one.label === label) as VersionService
  const sandbox = await openSandbox(service)
  try {
    const exchanges = await recordExchanges(release, sandbox.ask)
    const failed = exchanges.find(({ answer }) => answer.status >= 500)
    if (!failed) return exchanges
    const { method, path, body } = failed.request
    throw commandError(
      `${label} fails: ${method} ${path} ${JSON.stringify(body ?? null)} answers ${failed.answer.status}.`,
      'Mend that first.',
    )
  } finally {
    await sandbox.close()
  }
}

async function refuseDeviation(service: Service, file: string): Promise<void> {
  const deviation = await findDeviation(service, contractFolder(file))
  if (!deviation) return
  const { label, request, says } = deviation
  throw commandError(
    `${label} no longer gives a recorded answer.\n  ${request.method} ${request.path}: ${says}.`,
    `\`bylaw verify ${file}\` shows the whole answer. If nobody uses ${label} yet:  bylaw contract lock ${file} --anew`,
  )
}

function refuseBreaking(file: string, { label, found }: NextLock & { readonly label: string }): void {
  const broken = onlyBreaking(found)
  if (broken.length === 0) return
  throw commandError(
    `${label} is locked, and these differences would break its consumers:\n${broken.map(({ place, says }) => `  - ${place}: ${says}`).join('\n')}`,
    `Publish this as another version; \`bylaw check ${file}\` shows the change to paste.\nIf nobody uses ${label} yet:  bylaw contract lock ${file} --anew`,
  )
}

/** One side of a comparison: one contract, or those of several versions. */
type DiffSide =
  | { readonly name: string; readonly one: Contract }
  | { readonly name: string; readonly many: ReadonlyMap<string, Contract> }

async function diff(input: CommandInput): Promise<number> {
  const [, a, b, ...more] = input.arguments
  if (a === undefined || b === undefined || more.length > 0)
    throw commandError(
      'bylaw contract diff needs two arguments.',
      'As in:  bylaw contract diff contract/v1.json api.ts',
    )
  const [from, to] = [await readSide(a), await readSide(b)]
  console.log(diffText(from, to).trimEnd())
  return 0
}

/** Reads a side by its name: a locked version, a lock file, a folder of locks, or a declaration. */
async function readSide(name: string): Promise<DiffSide> {
  if (/^v[1-9]\d{0,3}$/.test(name)) return { name, one: readLock(existingPath(join('contract', `${name}.json`))) }
  const path = existingPath(name)
  if (path.endsWith('.json')) return { name: labelOfLock(path) ?? basename(path), one: readLock(path) }
  if (statSync(path).isDirectory()) return { name, many: lockedContracts(path) }
  const service = await loadService(path)
  return {
    name,
    many: new Map(servedLabels(service.declaration).map((label) => [label, contractAt(service as Service, label)])),
  }
}

function existingPath(path: string): string {
  if (existsSync(path)) return path
  throw commandError(
    `There is no ${path}.`,
    'Name a locked version as v1, a file of one, a folder of them, or a declaration.',
  )
}

function lockedContracts(folder: string): ReadonlyMap<string, Contract> {
  const own = readLocks(folder)
  const locks = own.size > 0 ? own : readLocks(join(folder, 'contract'))
  if (locks.size > 0) return locks
  throw commandError(`There is no locked contract in ${folder}.`, 'Write one with:  bylaw contract lock api.ts')
}

function diffText(from: DiffSide, to: DiffSide): string {
  if ('one' in from && 'one' in to) return changelog(from.name, to.name, differences(from.one, to.one))
  const label = 'one' in from ? from.name : 'one' in to ? to.name : null
  if (label === null) return [...labelsIn(from, to)].map((one) => versionDiff(one, from, to)).join('\n')
  if (versionIn(from, label) && versionIn(to, label)) return versionDiff(label, from, to)
  throw commandError(
    `Only one of the two sides has ${label}.`,
    'Compare one version with one, or folders with folders.',
  )
}

/** Writes a migration guide next to the locked versions. */
async function guide(input: CommandInput): Promise<number> {
  const [, from = '', to = '', file = defaultFile] = input.arguments
  const service = await loadService(file)
  const served = servedLabels(service.declaration)
  for (const label of [from, to])
    if (!served.includes(label))
      throw commandError(
        `${file} serves no version "${label}".`,
        `It serves ${listInWords(served, 'and')}. As in:  bylaw contract guide v1 v2 ${file}`,
      )
  if (served.indexOf(from) >= served.indexOf(to))
    throw commandError(`${from} does not come before ${to}.`, 'Name the older version first.')
  const sandbox = await openSandbox(service)
  try {
    const text = await guideFor({ service, from, to, ask: sandbox.ask })
    const folder = contractFolder(file)
    mkdirSync(folder, { recursive: true })
    const path = join(folder, `${from}-to-${to}.md`)
    writeFileSync(path, text)
    console.log(`${path}  written`)
    return 0
  } finally {
    await sandbox.close()
  }
}

function labelsIn(...sides: readonly DiffSide[]): string[] {
  const labels = sides.flatMap((one) => ('many' in one ? [...one.many.keys()] : []))
  return [...new Set(labels)].toSorted()
}

const versionIn = (side: DiffSide, label: string): Contract | undefined =>
  'one' in side ? side.one : side.many.get(label)
const sideTitle = (side: DiffSide, label: string): string => ('one' in side ? side.name : `${label} of ${side.name}`)

function versionDiff(label: string, from: DiffSide, to: DiffSide): string {
  const [before, after] = [versionIn(from, label), versionIn(to, label)]
  if (!before) return `# ${label}\n\n${label} is new in ${to.name}.\n`
  if (!after) return `# ${label}\n\n${label} is gone from ${to.name}.\n`
  return changelog(sideTitle(from, label), sideTitle(to, label), differences(before, after))
}
