/** `bylaw dev`: serves a declaration with readable logs, and again whenever it or what it imports changes. */
import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, watch } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { styleText } from 'node:util'
import { type Command, declarationFile, type Given } from '../terminal/command.ts'
import { databaseFlag, hostFlag, portFlag, portOf } from '../terminal/place.ts'
import type { Word } from './turn.ts'

export const dev: Command = {
  name: 'dev',
  about: 'Serves a declaration while it is written, anew on every change.',
  details:
    'Prints all URLs, a request to try and a line for every answer. What a change breaks is told, and the next one awaited.',
  arguments: [declarationFile],
  flags: { port: portFlag, host: hostFlag, database: databaseFlag },
  examples: ['bylaw dev api.ts', 'bylaw dev api.ts --port 8080 --database sqlite::memory:'],
  run,
}

/** Marks the process that serves; the one without it watches over that one. */
const mark = 'BYLAW_DEV_TURN'

const mostPatience = 3000

async function run(given: Given): Promise<number> {
  if (process.env[mark] !== undefined) return (await import('./turn.ts')).turn(given)
  portOf(given) // what no change of a file can mend is told first
  return new Promise(watchOver)
}

/** Serves in a process of its own, so that a change meets neither what was loaded nor what was left running. */
function watchOver(ended: (code: number) => void): void {
  let child: ChildProcess | null = null
  let mendable = false
  let asked: 'again' | 'end' | null = null
  const watched = watching((file) => {
    console.log(dim(`${relative('', file)} changed.`))
    if (child) leave('again', 'SIGTERM')
    else begin()
  })
  function begin(): void {
    asked = null
    child = fork(process.argv[1] as string, process.argv.slice(2), { env: { ...process.env, [mark]: '1' } })
    child.on('message', (word: Word) => {
      mendable ||= word.mendable
      for (const file of word.files) watched(file)
    })
    child.on('exit', (code) => over(code ?? 1))
  }
  function leave(why: 'again' | 'end', signal: NodeJS.Signals): void {
    asked = why
    const left = child as ChildProcess
    left.kill(signal)
    setTimeout(() => left.kill('SIGKILL'), mostPatience).unref()
  }
  function over(code: number): void {
    child = null
    if (asked === 'end') ended(0)
    else if (asked === 'again') begin()
    else if (mendable) console.log(dim('Waiting for a change.'))
    else ended(code)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => (child ? leave('end', signal) : ended(0)))
  begin()
}

const dim = (text: string): string => styleText('dim', text)

/** Watches files by their folders, because editors replace files; tells once for changes that come together. */
function watching(changed: (file: string) => void): (file: string) => void {
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
