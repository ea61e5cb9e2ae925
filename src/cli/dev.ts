/** `bylaw dev`: serves a declaration with readable logs, and restarts when it or its imports change. */
import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, watch } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { styleText } from 'node:util'
import { type Command, type CommandInput, declarationArgument } from '../terminal/command.ts'
import { allowLossFlag, allowMisfitsFlag } from '../terminal/consent.ts'
import { keepInFlag } from '../terminal/dropped-values.ts'
import { databaseFlag, hostFlag, portFlag, portOf } from '../terminal/flags.ts'
import type { DevMessage } from './dev-server.ts'

export const devCommand: Command = {
  name: 'dev',
  about: 'Serves a declaration for development, and starts again on every change.',
  details:
    'Prints all URLs, a sample request and a line for every answer. A declaration with mistakes, or one that would lose stored ' +
    'values or drops a version that has callers, is reported, and the former one is served until the next change.',
  arguments: [declarationArgument],
  flags: {
    port: portFlag,
    host: hostFlag,
    database: databaseFlag,
    'allow-loss': allowLossFlag,
    'allow-misfits': allowMisfitsFlag,
    'keep-in': keepInFlag,
  },
  examples: ['bylaw dev api.ts', 'bylaw dev api.ts --port 8080 --database sqlite::memory:'],
  run,
}

/** Set in the serving process; the process without it is the supervisor. */
const serverVariable = 'BYLAW_DEV_TURN'

const maxExitWait = 3000

async function run(given: CommandInput): Promise<number> {
  if (process.env[serverVariable] !== undefined) return (await import('./dev-server.ts')).devServer(given)
  portOf(given) // fail now: no change of a file can fix a wrong port
  return new Promise(supervise)
}

/** The child processes: one serves, the next one checks a newer declaration until it may take over. */
interface DevProcesses {
  serving: ChildProcess | null
  next: ChildProcess | null
  /** The one that is ending, so that the next one can use its port. */
  leaving: ChildProcess | null
  /** Whether the next one can serve. */
  ready: boolean
}

/**
 * Each declaration is served by a process of its own, without loaded modules or open connections of the former one. The
 * serving process continues until the next one has found that its declaration is valid and the database is safe to change.
 */
// long because: all parts share the processes and their state
function supervise(ended: (code: number) => void): void {
  const turns: DevProcesses = { serving: null, next: null, leaving: null, ready: false }
  let mendable = false
  let isEnd = false
  const watched = fileWatcher((file) => {
    console.log(dim(`${relative('', file)} changed.`))
    begin()
  })
  function begin(): void {
    turns.next?.kill('SIGKILL') // it has not changed anything yet
    const child = fork(process.argv[1] as string, process.argv.slice(2), {
      env: { ...process.env, [serverVariable]: '1' },
    })
    turns.next = child
    turns.ready = false
    child.on('message', (word: DevMessage) => {
      mendable ||= word.mendable
      for (const file of word.files) watched(file)
      turns.ready ||= word.ready === true && turns.next === child
      if (turns.ready) takeOver()
    })
    child.on('exit', (code) => over(child, code ?? 1))
  }
  function takeOver(): void {
    if (turns.leaving) return // its exit calls `go`
    if (turns.serving) leave(turns.serving)
    else go()
  }
  function go(): void {
    if (!turns.ready) return
    turns.ready = false
    turns.serving = turns.next
    turns.next = null
    turns.serving?.send('go')
  }
  function leave(child: ChildProcess): void {
    turns.serving = null
    turns.leaving = child
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), maxExitWait).unref()
  }
  function over(child: ChildProcess, code: number): void {
    const was = (['serving', 'next', 'leaving'] as const).find((one) => turns[one] === child)
    if (was) turns[was] = null
    if (isEnd) {
      if (!turns.serving && !turns.next && !turns.leaving) ended(0)
    } else if (was === 'leaving') go()
    else if (was === 'next' && turns.serving)
      console.log(dim('Still serving the former declaration. Waiting for a change.'))
    else if (was && mendable) console.log(dim('Waiting for a change.'))
    else if (was) ended(code)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      isEnd = true
      turns.next?.kill('SIGKILL')
      if (turns.serving) leave(turns.serving)
      else if (!turns.next && !turns.leaving) ended(0)
    })
  begin()
}

const dim = (text: string): string => styleText('dim', text)

/** Watches files by their folders, because editors replace files; reports changes that come together once. */
function fileWatcher(changed: (file: string) => void): (file: string) => void {
  const files = new Set<string>()
  const folders = new Set<string>()
  let soon: NodeJS.Timeout | undefined
  return (file) => {
    files.add(file)
    const folder = dirname(file)
    if (folders.has(folder) || !existsSync(folder)) return
    folders.add(folder)
    watch(folder, (_, name) => {
      const path = join(folder, name ?? '')
      if (!files.has(path)) return
      clearTimeout(soon)
      soon = setTimeout(() => changed(path), 50)
    })
  }
}
