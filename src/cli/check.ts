/** `bylaw check`: lists every mistake of a declaration, or its resources if there is no mistake. Part 2. */
import { existsSync } from 'node:fs'
import { styleText } from 'node:util'
import { stateWarnings } from '../check/state-mistakes.ts'
import { undescribed } from '../describe/undescribed.ts'
import { personalNotes, personalWarnings } from '../erasure/personal-notes.ts'
import { listInWords } from '../formats/naming.ts'
import { quotaWarnings } from '../limits/quota-warnings.ts'
import { indexAdvice, listWarning } from '../lists/index-advice.ts'
import type { Mistake } from '../resources/declaration.ts'
import { isAddedResource } from '../resources/service-fields.ts'
import { type Command, type CommandInput, declarationArgument } from '../terminal/command.ts'
import { isCommandError } from '../terminal/command-error.ts'
import { contractFolder, contractMistakes, hasLocks, noLocksText } from '../terminal/flags.ts'
import { type LoadResult, mistakesText, tryLoad } from '../terminal/load.ts'
import { operationsOf } from './routes.ts'

export const checkCommand: Command = {
  name: 'check',
  about: 'Lists all mistakes of a declaration; exits with 1 if there are any.',
  details:
    'Each mistake is printed with its place, its reason, its fix and its source lines. Parts without a description are named. Nothing is served and no database is opened.',
  arguments: [declarationArgument],
  flags: {
    json: { about: 'Prints {"file", "mistakes": [{"place", "reason", "mend"}]}.' },
    indexes: { about: 'Suggests indexes for lists in each of their orders.' },
  },
  examples: ['bylaw check api.ts', 'bylaw check api.ts --json', 'bylaw check api.ts --indexes'],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const [file = ''] = input.arguments
  const json = input.isOn('json')
  const files = new Set<string>()
  const result = await (json ? checkFile(file, files).catch(asMistake(file)) : checkFile(file, files))
  const { mistakes } = result
  if (json) console.log(JSON.stringify({ file, mistakes }, null, 2))
  else if ('service' in result)
    console.log(
      [
        styleText('green', successText(file, result)),
        ...warnings(result, input.isOn('indexes')),
        ...(await unlockedWarnings(file, result)),
        ...descriptionNote(result),
        ...personalNotes(result.service).map((text) => styleText('dim', text)),
      ].join('\n'),
    )
  else console.log(coloured(mistakesText(file, mistakes, files)))
  return mistakes.length === 0 ? 0 : 1
}

/** Breaking changes to locked versions are mistakes too. */
async function checkFile(file: string, files: Set<string>): Promise<LoadResult> {
  const result = await tryLoad(file, files)
  const mistakes =
    'service' in result
      ? [...(await contractMistakes(file, result.service)), ...(await changedFunctions(file, result))]
      : []
  return mistakes.length === 0 ? result : { mistakes }
}

/** Functions of changes that differ from the locked ones. No start checks this, as a build changes their text. */
async function changedFunctions(
  file: string,
  { service }: Extract<LoadResult, { service: unknown }>,
): Promise<readonly Mistake[]> {
  const folder = contractFolder(file)
  return existsSync(folder) ? (await import('../terminal/locks.ts')).changedFunctionMistakes(folder, service) : []
}

/** A file that cannot be loaded is reported as one mistake. */
const asMistake =
  (file: string) =>
  (error: unknown): LoadResult => {
    if (!isCommandError(error)) throw error
    return { mistakes: [{ place: file, reason: error.message, mend: error.mend }] }
  }

function successText(file: string, { service }: Extract<LoadResult, { service: unknown }>): string {
  const count = (number: number, word: string) => `${number} ${word}${number === 1 ? '' : 's'}`
  const operations = operationsOf(service).length
  const pairs = Object.keys(service.declaration.pairs ?? {}).length
  const own = [...service.resources.values()].filter(({ declaration }) => !isAddedResource(declaration)).length - pairs
  const also = pairs === 0 ? '' : `, ${count(pairs, 'kind')} of pairs`
  return `${file} is in order: ${service.name} has ${count(own, 'resource')}${also} and ${count(operations, 'operation')} at ${count(service.places.length, 'path')}.`
}

/** Warns of states that cannot be reached or left, of lists without an index and of operations without a quota. */
function warnings({ service }: Extract<LoadResult, { service: unknown }>, whole: boolean): string[] {
  const { resources, quotas } = service
  const lists = [...resources.values()].flatMap(whole ? indexAdvice : listWarning)
  const machines = [...resources].flatMap(
    ([
      name,
      {
        declaration: { states },
      },
    ]) => (states ? stateWarnings(name, states) : []),
  )
  const more = whole || lists.length === 0 ? [] : ['The indexes that would serve them:  bylaw check --indexes']
  return [
    ...machines,
    ...lists,
    ...more,
    ...quotaWarnings(quotas, resources.values()),
    ...personalWarnings(resources.values()),
  ].map((text) => styleText('yellow', text))
}

/** Warns of released versions that are not locked. */
async function unlockedWarnings(
  file: string,
  { service }: Extract<LoadResult, { service: unknown }>,
): Promise<string[]> {
  if (!(await hasLocks(file))) return [styleText('yellow', noLocksText(file))]
  const labels = (await import('../terminal/locks.ts')).unlockedVersions(contractFolder(file), service)
  return labels.map((label) =>
    styleText('yellow', `${label} is released but not locked; lock it with:  bylaw contract lock ${file}`),
  )
}

const mostNamed = 8

/** Names the parts without a description: a note and no warning, as not every part needs one. */
function descriptionNote({ service: { declaration } }: Extract<LoadResult, { service: unknown }>): string[] {
  const all = undescribed(declaration)
  const named = all.length > mostNamed ? [...all.slice(0, mostNamed), `${all.length - mostNamed} more`] : all
  return all.length === 0 ? [] : [styleText('dim', `Without a description: ${listInWords(named, 'and')}.`)]
}

const coloured = (text: string): string =>
  text
    .trimEnd()
    .replace(/^.*/, (line) => styleText('red', line))
    .replaceAll(/^\d+\. .*/gm, (line) => styleText('bold', line))
