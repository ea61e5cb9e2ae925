/** Main: runs the given command and prints errors without a stack; importing this file starts it. */
import { readFileSync } from 'node:fs'
import { listInWords, nearestName } from '../formats/naming.ts'
import { type Command, exitProcess, helpText, overviewText, parseCommand } from '../terminal/command.ts'
import { commandError, printError } from '../terminal/command-error.ts'

/** Each command is loaded when needed, so that a server starts sooner. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import('./init.ts')).initCommand,
  dev: async () => (await import('./dev.ts')).devCommand,
  serve: async () => (await import('./serve.ts')).serveCommand,
  check: async () => (await import('./check.ts')).checkCommand,
  routes: async () => (await import('./routes.ts')).routesCommand,
  openapi: async () => (await import('./routes.ts')).openapiCommand,
  explain: async () => (await import('./explain.ts')).explainCommand,
  keys: async () => (await import('./keys.ts')).keysCommand,
  verify: async () => (await import('./verify.ts')).verifyCommand,
  contract: async () => (await import('./contract.ts')).contractCommand,
  migrate: async () => (await import('./migrate.ts')).migrateCommand,
  seed: async () => (await import('../seed/seed.ts')).seedCommand,
  export: async () => (await import('../seed/export.ts')).exportCommand,
  import: async () => (await import('../seed/import.ts')).importCommand,
  erase: async () => (await import('../erasure/erase.ts')).eraseCommand,
  backup: async () => (await import('../backup/backup.ts')).backupCommand,
  restore: async () => (await import('../backup/restore.ts')).restoreCommand,
  restored: async () => (await import('../backup/restore.ts')).restoredCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  versions: async () => (await import('./versions.ts')).versionsCommand,
  events: async () => (await import('./events.ts')).eventsCommand,
  listen: async () => (await import('./listen.ts')).listenCommand,
  timers: async () => (await import('./timers.ts')).timersCommand,
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
}

async function main(words: readonly string[]): Promise<number> {
  const [word, ...rest] = words
  if (word === '--version' || word === '-v') return print(version())
  if (word === '--help' || word === '-h') return print(await fullHelp())
  if (word === 'help') return main(rest[0] === undefined ? ['--help'] : [rest[0], '--help'])
  if (word === undefined) {
    process.stderr.write(await fullHelp())
    return 1
  }
  const command = await loadCommand(word)
  const input = parseCommand(command, rest, process.env)
  return input.isOn('help') ? print(helpText(command).trimEnd()) : command.run(input)
}

function print(text: string): number {
  console.log(text.trimEnd())
  return 0
}

async function fullHelp(): Promise<string> {
  return overviewText(await Promise.all(Object.values(commands).map((command) => command())))
}

async function loadCommand(word: string): Promise<Command> {
  const names = Object.keys(commands)
  const command = Object.hasOwn(commands, word) ? commands[word] : undefined
  if (command) return command()
  if (/\.[cm]?[jt]s$/.test(word))
    throw commandError(`"${word}" is a file; a command has to come before it.`, `As in:  bylaw serve ${word}`)
  if (word.startsWith('-'))
    throw commandError(
      `bylaw without a command has no flag ${word}.`,
      'It has --version and --help; all others come after a command.',
    )
  const guess = nearestName(word, names)
  const mend = guess
    ? `Did you mean \`bylaw ${guess}\`?`
    : `There are ${listInWords(names, 'and')}; \`bylaw --help\` says more.`
  throw commandError(`bylaw has no command "${word}".`, mend)
}

// npm runs a script of this package in its root, but the user names files relative to where npm was called.
const { npm_lifecycle_event: script, npm_package_name: home, INIT_CWD: startedIn } = process.env
if (script === 'bylaw' && home === 'bylaw' && startedIn) process.chdir(startedIn)
process.stdout.on('error', () => {}) // a closed pipe ends neither a server nor a listing
const code = await main(process.argv.slice(2)).catch(printError)
process.stdout.write('', () => exitProcess(code)) // timers or sockets of a declaration must not keep the command running
