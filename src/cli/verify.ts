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
  about: 'Tries what a declaration promises, in all its versions; exits with 1 where it does not hold.',
  details:
    'Items are made from the declaration, written in one version and read, put back and looked for in another, in a store in memory. ' +
    'What fails is made as small as it can be. Recorded answers of locked versions are asked for again.',
  arguments: [declarationArgument],
  flags: {
    runs: { value: 'N', about: 'How many items of each resource are tried; 100 unless given.' },
    seed: { value: 'N', about: 'Where chance begins, to try the same again; another one each time unless given.' },
  },
  examples: ['bylaw verify api.ts', 'bylaw verify api.ts --runs 1000', 'bylaw verify api.ts --seed 4711'],
  run,
}

async function run(given: CommandInput): Promise<number> {
  const [file = ''] = given.arguments
  const [runs, seed] = [numberOf(given, 'runs') ?? 100, numberOf(given, 'seed') ?? randomInt(1_000_000)]
  const service = await loadService(file)
  const unkept = await contractMistakes(file, service)
  if (unkept.length > 0) return print(mistakesText(file, unkept), 1)
  const deviation = await findDeviation(service, contractFolder(file))
  if (deviation) return print(changedAnswerText(file, deviation), 1)
  const found = ({ says, mend }: VerifyFailure): void =>
    console.error(
      `Found: ${says}${mend === '' ? '' : ` ${mend}`}\nThe example is made smaller, for ${shrinkTime / 1000} seconds at most.\n`,
    )
  const verdict = await tried(service, () => openSandbox(service), { seed, runs, onFailure: found, now: Date.now })
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
  const head = styleText('red', `${file} does not keep what it promises.`)
  const steps = [
    { version: label, request, answer },
    { version: label, request, answer: came },
  ]
  const [was, is] = steps.map(stepText)
  return `${head}\n\n${label} answers otherwise than it was recorded: ${says}.\n\nRecorded:\n${was}\n\nToday:\n${is}`
}

function numberOf(given: CommandInput, flag: string): number | undefined {
  const worth = given.flagValue(flag)
  if (worth === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(worth.text)) return Number(worth.text)
  throw commandError(`${worth.from} has to be a whole number from 1, not "${worth.text}".`, `As in:  --${flag} 500`)
}

function successText(file: string, { versions, cases, untried, lossy }: VerifyReport, seed: number): string {
  const count = [...cases.values()].reduce((sum, one) => sum + one, 0)
  const where = versions.length === 1 ? '' : ` between ${versions.length} versions`
  const what = `${cases.size} ${cases.size === 1 ? 'resource' : 'resources'}`
  const fine = styleText('green', `${file} keeps what it promises: ${count} items of ${what}${where} (seed ${seed}).`)
  const left = untried.map((name) =>
    styleText('yellow', `No item of ${name} could be made, so nothing was tried there.`),
  )
  const lost = [...lossy].map(([one, example]) =>
    styleText(
      'yellow',
      `Not everything that is sent comes back in ${one}: a change makes it of other fields, so that ${example}.`,
    ),
  )
  return [fine, ...lost, ...left].join('\n')
}

function failureText(file: string, { says, mend, steps }: VerifyFailure, seed: number): string {
  const lines = steps.map(stepText)
  const head = styleText('red', `${file} does not keep what it promises.`)
  return `${head}\n\n${says}${mend === '' ? '' : `\n${mend}`}\n\n${lines.join('\n')}\n\nAgain:  bylaw verify ${file} --seed ${seed}`
}

const stepText = ({ version, request: { method, path, body }, answer }: VerifyStep): string =>
  [
    `  ${version}  ${method} ${path}${body ? ` ${JSON.stringify(body)}` : ''}`,
    `      ${answer.status}${answer.body ? ` ${JSON.stringify(answer.body)}` : ''}`,
  ].join('\n')
