/** Command: a command with its arguments and flags; parses the command line and writes the help. */
import { flushCompileCache } from 'node:module'
import { parseArgs, styleText } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { realWorld } from '../flow/real-world.ts'
import { pause } from '../flow/world.ts'
import { listInWords, nearestName } from '../formats/naming.ts'
import { commandError } from './command-error.ts'

export interface Flag {
  /** The placeholder of the value in help; a flag without it is a switch. */
  readonly value?: string
  /** Whether the value is a list, which cannot be given in parts. */
  readonly isList?: true
  /** The environment variable that is read if the flag is not given. */
  readonly env?: string
  readonly about: string
}

export interface Argument {
  readonly name: string
  /** A description for the message if it is missing. */
  readonly about: string
  /** Optional, and so are all arguments after it. */
  readonly optional?: true
}

export interface Command {
  readonly name: string
  readonly about: string
  readonly details: string
  readonly arguments: readonly Argument[]
  readonly flags: Readonly<Record<string, Flag>>
  /** Complete command lines; messages show them too. */
  readonly examples: readonly string[]
  /** Runs the command and returns the exit code. */
  readonly run: (input: CommandInput) => Promise<number>
}

/** The value of a flag and its source, for messages. */
interface FlagValue {
  readonly text: string
  readonly from: string
}

/** The parsed command line. */
export interface CommandInput {
  readonly arguments: readonly string[]
  /** A flag's value from the command line, otherwise from the environment. */
  readonly flagValue: (flag: string) => FlagValue | undefined
  readonly isOn: (flag: string) => boolean
}

export const declarationArgument: Argument = { name: 'api.ts', about: 'the file of the declaration' }
const helpFlag: Flag = { about: 'Shows this help.' }

/** Parses the words after the command; refuses unknown flags, and suggests a similar one. */
export function parseCommand(command: Command, words: readonly string[], env: NodeJS.ProcessEnv): CommandInput {
  const { tokens } = parseArgs({ args: [...words], options: optionsOf(command), strict: false, tokens: true })
  const values = new Map<string, string>()
  const on = new Set<string>()
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const flag = findFlag(command, token.name, token.rawName)
    if (flag.value === undefined) on.add(readSwitch(token.name, token.value))
    else {
      const text = readFlagValue(command, token.name, flag.value, token.value)
      if (flag.isList) refuseSecondList(token.name, values.get(token.name), text)
      values.set(token.name, text)
    }
  }
  if (!on.has('help')) checkArgumentCount(command, positionals)
  const fromEnv = (name: string): FlagValue | undefined => {
    const variable = command.flags[name]?.env
    const text = variable === undefined ? undefined : env[variable]
    return variable === undefined || text === undefined || text === '' ? undefined : { text, from: variable }
  }
  const worth = (name: string): FlagValue | undefined => {
    const text = values.get(name)
    return text === undefined ? fromEnv(name) : { text, from: `--${name}` }
  }
  return { arguments: positionals, flagValue: worth, isOn: (name) => on.has(name) }
}

function optionsOf({ flags }: Command) {
  const types = Object.entries(flags).map(
    ([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }] as const,
  )
  return { ...Object.fromEntries(types), help: { type: 'boolean', short: 'h' } } as const
}

function findFlag(command: Command, name: string, written: string): Flag {
  const flags: Readonly<Record<string, Flag>> = { ...command.flags, help: helpFlag }
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined
  if (flag) return flag
  const names = Object.keys(flags)
  const guess = nearestName(name, names)
  throw commandError(
    `bylaw ${command.name} has no flag ${written}.`,
    guess
      ? `Did you mean --${guess}?`
      : `It has ${listInWords(
          names.map((one) => `--${one}`),
          'and',
        )}.`,
  )
}

/** The last one of two values wins, as usual, but of two lists the first one would be lost unnoticed. */
function refuseSecondList(name: string, before: string | undefined, text: string): void {
  if (before !== undefined)
    throw commandError(`--${name} is given twice.`, `Give all values at once, as in:  --${name} ${before},${text}`)
}

function readSwitch(name: string, value: string | undefined): string {
  if (value !== undefined) throw commandError(`--${name} takes no value.`, `Write --${name} alone.`)
  return name
}

function readFlagValue(command: Command, name: string, placeholder: string, value: string | undefined): string {
  if (value !== undefined && value !== '' && !value.startsWith('-')) return value
  const [example = `--${name} ${placeholder}`] = new RegExp(`--${name} \\S+`).exec(command.examples.join('\n')) ?? []
  throw commandError(`--${name} needs a value.`, `As in:  ${example}`)
}

function checkArgumentCount(command: Command, positionals: readonly string[]): void {
  const missing = command.arguments[positionals.length]
  if (missing && !missing.optional)
    throw commandError(`bylaw ${command.name} needs ${missing.about}.`, `As in:  ${command.examples[0]}`)
  const extra = positionals[command.arguments.length]
  if (extra !== undefined)
    throw commandError(`bylaw ${command.name} takes no argument "${extra}".`, `As in:  ${command.examples[0]}`)
}

/** The function of the action that the first argument names; refuses unknown actions, and suggests a similar one. */
export function actionOf<Action>(name: string, input: CommandInput, actions: Readonly<Record<string, Action>>): Action {
  const [word = ''] = input.arguments
  const action = Object.hasOwn(actions, word) ? actions[word] : undefined
  if (action !== undefined) return action
  const names = Object.keys(actions)
  const guess = nearestName(word, names)
  throw commandError(
    `bylaw ${name} has no action "${word}".`,
    guess ? `Did you mean \`bylaw ${name} ${guess}\`?` : `Its actions are ${listInWords(names, 'and')}.`,
  )
}

const usage = (command: Command): string =>
  [command.name, ...command.arguments.map(({ name, optional }) => (optional ? `[${name}]` : `<${name}>`))].join(' ')

export function helpText(command: Command): string {
  const flags = Object.entries({ ...command.flags, help: helpFlag }).map(([name, { value, env, about }]) => [
    `  --${name}${value === undefined ? '' : ` ${value}`}`,
    env === undefined ? about : `${about} (environment: ${env})`,
  ])
  const examples = command.examples.map((line) => `  ${line}`).join('\n')
  return `bylaw ${usage(command)}\n\n${command.about} ${command.details}\n\n${title('Flags')}\n${formatTable(flags)}\n\n${title('Examples')}\n${examples}\n`
}

export function overviewText(commands: readonly Command[]): string {
  const rows = commands.map((command) => [`  bylaw ${usage(command)}`, command.about])
  const rest = [
    ['  bylaw <command> --help', 'Explains a command, with examples.'],
    ['  bylaw --version', 'Prints the version.'],
  ]
  return `bylaw turns a declaration of resources into an HTTP/JSON service.\n\n${title('Commands')}\n${formatTable([...rows, ...rest])}\n`
}

const title = (text: string): string => styleText('bold', text)

/** Aligns rows in columns, each as wide as its widest cell. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** How long compilations in the background may take to end, in milliseconds. */
const compilationTime = 10

/**
 * Ends the process. Node.js can hang at its exit while V8 compiles a function in the background: the compilation waits for a
 * garbage collection, and the main thread waits for the compilation (nodejs/node#54918). So none begins any more, and those that
 * run get the time to end. The cache of compiled code is written first: it is of use only with the flags that it was made with.
 */
export async function exitProcess(code: number): Promise<never> {
  flushCompileCache()
  for (const flag of ['--no-maglev', '--no-opt']) setFlagsFromString(flag)
  await pause(realWorld, compilationTime)
  return process.exit(code)
}
