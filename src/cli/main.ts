/** Runs the command that was asked for and tells what went wrong without a stack; importing this file starts it. */
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { nearest, oneOf } from '../resources/naming.ts'
import { type Command, helpOf, overview, read } from '../terminal/command.ts'
import { complaint, tell } from '../terminal/complaint.ts'

/** Each is loaded when it is needed: a server starts sooner for it. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  dev: async () => (await import('./dev.ts')).dev,
  serve: async () => (await import('./serve.ts')).serve,
  check: async () => (await import('./check.ts')).check,
  routes: async () => (await import('./routes.ts')).routes,
  openapi: async () => (await import('./routes.ts')).openapi,
  explain: async () => (await import('./explain.ts')).explain,
  keys: async () => (await import('./keys.ts')).keys,
  verify: async () => (await import('./verify.ts')).verify,
  contract: async () => (await import('./contract.ts')).contract,
  migrate: async () => (await import('./migrate.ts')).migrate,
  doctor: async () => (await import('./doctor.ts')).doctor,
  versions: async () => (await import('./versions.ts')).versions,
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
}

async function main(words: readonly string[]): Promise<number> {
  const [word, ...rest] = words
  if (word === '--version' || word === '-v') return print(version())
  if (word === '--help' || word === '-h') return print(await everything())
  if (word === 'help') return main(rest[0] === undefined ? ['--help'] : [rest[0], '--help'])
  if (word === undefined) {
    process.stderr.write(await everything())
    return 1
  }
  const command = await found(word)
  const given = read(command, rest, process.env)
  return given.on('help') ? print(helpOf(command).trimEnd()) : command.run(given)
}

function print(text: string): number {
  console.log(text.trimEnd())
  return 0
}

async function everything(): Promise<string> {
  return overview(await Promise.all(Object.values(commands).map((command) => command())))
}

async function found(word: string): Promise<Command> {
  const names = Object.keys(commands)
  const command = Object.hasOwn(commands, word) ? commands[word] : undefined
  if (command) return command()
  if (/\.[cm]?[jt]s$/.test(word))
    throw complaint(`"${word}" is a file; a command has to stand before it.`, `As in:  bylaw serve ${word}`)
  if (word.startsWith('-'))
    throw complaint(
      `bylaw alone has no flag ${word}.`,
      'It has --version and --help; all others stand behind a command.',
    )
  const guess = nearest(word, names)
  const mend = guess
    ? `Did you mean \`bylaw ${guess}\`?`
    : `There are ${oneOf(names, 'and')}; \`bylaw --help\` says more.`
  throw complaint(`bylaw has no command "${word}".`, mend)
}

/**
 * What a request leaves is garbage at once: a young generation of 8 MB, where V8 takes up to 32 three times over, saves 40 MB and
 * costs nothing that could be measured. V8 wants to know before it begins, so the process becomes what it was called for anew.
 * What grew old all the same, as pages that waited to be sent, goes when there is half as much of it as of what lives, where V8 waits
 * for three times as much; that saves 15 to 25 MB.
 */
function lean(): void {
  setFlagsFromString('--heap-growing-percent=50')
  const { execArgv, execPath, argv, env } = process
  const chosen = [...execArgv, env.NODE_OPTIONS ?? ''].some((flag) => /semi[-_]space/.test(flag))
  if (chosen || process.send || process.platform === 'win32') return // a channel to who began it would be lost
  process.execve?.(execPath, [execPath, '--max-semi-space-size=8', ...execArgv, ...argv.slice(1)])
}

// A script of this package runs in its root, whereas its user names files from where he stands.
const { npm_lifecycle_event: script, npm_package_name: home, INIT_CWD: stand } = process.env
if (script === 'bylaw' && home === 'bylaw' && stand) process.chdir(stand)
if (process.argv[2] === 'serve') lean()
process.stdout.on('error', () => {}) // a reader that went away ends neither a server nor a listing
const code = await main(process.argv.slice(2)).catch(tell)
process.stdout.write('', () => process.exit(code)) // what a declaration left running does not keep the command alive
