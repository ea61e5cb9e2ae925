/** `bylaw verify`: tests the promises of a declaration in all versions, with generated items. Part 9, versioning. */
import { randomInt } from 'node:crypto'
import { styleText } from 'node:util'
import type { Deviation } from '../proof/exchanges.ts'
import {
  shrinkTime,
  verifyService as tried,
  type VerifyFailure,
  type VerifyReport,
  type VerifyStep,
} from '../proof/verify.ts'
import { type Command, type CommandInput, declarationArgument } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { contractFolder, contractMistakes } from '../terminal/flags.ts'
import { loadService, mistakesText } from '../terminal/load.ts'
import { findDeviation } from '../terminal/recorded-answers.ts'
import { openSandbox } from '../terminal/sandbox.ts'

export const verifyCommand: Command = {
  name: 'verify',
  about: 'Tests the promises of a declaration in all its versions; exits with 1 if one is broken.',
  details:
    'Items are generated from the declaration, written in one version, and read, replaced and listed in another, in a database in memory. ' +
    'A failing example is reduced as far as possible. The recorded requests of locked versions are sent again.',
  arguments: [declarationArgument],
  flags: {
    runs: { value: 'N', about: 'How many items of each resource are generated; 100 unless given.' },
    seed: { value: 'N', about: 'The seed of the random items, to repeat a run; a new one each time unless given.' },
  },
  examples: ['bylaw verify api.ts', 'bylaw verify api.ts --runs 1000', 'bylaw verify api.ts --seed 4711'],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const [file = ''] = input.arguments
  const [runs, seed] = [numberOf(input, 'runs') ?? 100, numberOf(input, 'seed') ?? randomInt(1_000_000)]
  const service = await loadService(file)
  const unkept = await contractMistakes(file, service)
  if (unkept.length > 0) return print(mistakesText(file, unkept, []), 1)
  const deviation = await findDeviation(service, contractFolder(file))
  if (deviation) return print(changedAnswerText(file, deviation), 1)
  const printFailure = ({ says, mend }: VerifyFailure): void =>
    console.error(
      `Found: ${says}${mend === '' ? '' : ` ${mend}`}\nThe example is being reduced, for ${shrinkTime / 1000} seconds at most.\n`,
    )
  const verdict = await tried(service, () => openSandbox(service), {
    seed,
    runs,
    onFailure: printFailure,
    now: Date.now,
  })
  return verdict.failure
    ? print(failureText(file, verdict.failure, seed), 1)
    : print(successText(file, verdict, seed), 0)
}

function print(text: string, code: number): number {
  console.log(text)
  return code
}

/** Reports a recorded answer that is different now. */
function changedAnswerText(
  file: string,
  { label, request, answer, came, says }: Deviation & { label: string },
): string {
  const head = styleText('red', `${file} does not keep its promises.`)
  const steps = [
    { version: label, request, answer },
    { version: label, request, answer: came },
  ]
  const [was, is] = steps.map(stepText)
  return `${head}\n\n${label} no longer gives a recorded answer: ${says}.\n\nRecorded:\n${was}\n\nNow:\n${is}`
}

function numberOf(input: CommandInput, flag: string): number | undefined {
  const worth = input.flagValue(flag)
  if (worth === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(worth.text)) return Number(worth.text)
  throw commandError(`${worth.from} has to be a whole number from 1, not "${worth.text}".`, `As in:  --${flag} 500`)
}

function successText(file: string, { versions, cases, untried, lossy }: VerifyReport, seed: number): string {
  const count = [...cases.values()].reduce((sum, one) => sum + one, 0)
  const where = versions.length === 1 ? '' : ` between ${versions.length} versions`
  const what = `${cases.size} ${cases.size === 1 ? 'resource' : 'resources'}`
  const fine = styleText('green', `${file} keeps its promises: ${count} items of ${what}${where} (seed ${seed}).`)
  const left = untried.map((name) =>
    styleText('yellow', `No item of ${name} could be generated, so it was not tested.`),
  )
  const lost = [...lossy].map(([one, example]) =>
    styleText(
      'yellow',
      `${one} does not return everything that is sent: a change computes it from other fields, so ${example}.`,
    ),
  )
  return [fine, ...lost, ...left].join('\n')
}

function failureText(file: string, { says, mend, steps }: VerifyFailure, seed: number): string {
  const lines = steps.map(stepText)
  const head = styleText('red', `${file} does not keep its promises.`)
  return `${head}\n\n${says}${mend === '' ? '' : `\n${mend}`}\n\n${lines.join('\n')}\n\nAgain:  bylaw verify ${file} --seed ${seed}`
}

const stepText = ({ version, request: { method, path, body }, answer }: VerifyStep): string =>
  [
    `  ${version}  ${method} ${path}${body ? ` ${JSON.stringify(body)}` : ''}`,
    `      ${answer.status}${answer.body ? ` ${JSON.stringify(answer.body)}` : ''}`,
  ].join('\n')
