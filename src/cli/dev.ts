/** `bylaw dev`: serves a declaration with readable logs, and restarts when it or its imports change. */
import { type ChildProcess, fork } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import { existsSync, watch } from 'node:fs'
import * as net from 'node:net'
import { dirname, join, relative } from 'node:path'
import { styleText } from 'node:util'
import { type Command, type CommandInput, declarationArgument } from '../terminal/command.ts'
import { allowLossFlag, allowMisfitsFlag } from '../terminal/consent.ts'
import { keepInFlag } from '../terminal/dropped-values.ts'
import { databaseFlag, filesFlag, hostFlag, hostOf, portFlag, portOf } from '../terminal/flags.ts'
import type { DevMessage, FormerService } from './dev-server.ts'

export const devCommand: Command = {
  name: 'dev',
  about: 'Serves a declaration for development, and starts again on every change.',
  details:
    'Prints all URLs, a sample request and a line for every answer. A declaration with mistakes, or one that would lose stored ' +
    'values or drops a version that has callers, is reported, and the former one is served until the next change. Requests ' +
    'during a restart wait.',
  arguments: [declarationArgument],
  flags: {
    port: portFlag,
    host: hostFlag,
    database: databaseFlag,
    files: filesFlag,
    'allow-loss': allowLossFlag,
    'allow-misfits': allowMisfitsFlag,
    'keep-in': keepInFlag,
  },
  examples: ['bylaw dev api.ts', 'bylaw dev api.ts --port 8080 --database sqlite::memory:'],
  run,
}

/** Set in the serving process; the process without it is the supervisor. */
const serverVariable = 'BYLAW_DEV_TURN'

/** Longer than the serving process takes to finish its requests. */
const maxExitWait = 5000

async function run(input: CommandInput): Promise<number> {
  if (process.env[serverVariable] !== undefined) return (await import('./dev-server.ts')).devServer(input)
  const [port, host] = [portOf(input), hostOf(input)] // fail now: no change of a file can fix a wrong port
  const { address, family } = await lookup(host).catch(() => ({ address: '', family: 0 }))
  return new Promise((ended) => supervise(socketMaker(address, port, family), ended))
}

/** A socket that is bound to a port but accepts nothing; it does not listen until a process that has it does. */
interface BoundSocket {
  readonly close: () => void
  /** Sets the address that it is bound to. */
  readonly getsockname: (to: { port: number }) => void
}

const { _createServerHandle: makeSocket } = net as unknown as {
  readonly _createServerHandle?: (address: string, port: number, family: number) => BoundSocket | number
}

/**
 * The supervisor keeps the socket, so that connections wait in its queue while one process follows another. `node:cluster`
 * uses the same function of Node; a public one would also accept connections here. If it cannot be bound, it is undefined:
 * then the serving process listens itself, and says what is wrong. Later sockets have the port of the first one.
 */
function socketMaker(address: string, port: number, family: number): () => BoundSocket | undefined {
  let first = port
  return () => {
    const socket = address === '' ? undefined : makeSocket?.(address, first, family)
    if (typeof socket !== 'object') return undefined
    const bound = { port: 0 }
    socket.getsockname(bound) // leaves the port out if it is in use by another program
    if (bound.port === 0) return void socket.close()
    first = bound.port
    return socket
  }
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
function supervise(bind: () => BoundSocket | undefined, ended: (code: number) => void): void {
  const turns: DevProcesses = { serving: null, next: null, leaving: null, ready: false }
  let mendable = false
  let isEnd = false
  let socket: BoundSocket | undefined
  let former: FormerService['contract'] | undefined
  let change = { changed: '', since: 0 }
  const watched = fileWatcher((file) => {
    change = { changed: relative('', file), since: Date.now() }
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
      if (word.contract && turns.serving === child) former = word.contract
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
    socket ??= bind()
    turns.serving?.send(former ? { contract: former, ...change } : {}, socket as net.Server | undefined)
  }
  function unbind(): void {
    socket?.close() // connections are refused, as nobody accepts them
    socket = undefined
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
      return
    }
    if (was === 'serving') unbind()
    if (was === 'leaving') go()
    else if (was === 'next' && turns.serving)
      console.log(dim('Still serving the former declaration. Waiting for a change.'))
    else if (was && mendable) console.log(dim('Waiting for a change.'))
    else if (was) ended(code)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      isEnd = true
      unbind()
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
