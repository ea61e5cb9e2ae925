/** The service as a process that is killed repeatedly; strace records its writes if power is to be lost. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startedOnce } from '../help/command.ts'

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export interface Launch {
  /** The URL of the database. */
  readonly database: string
  /** A store and the name of a mutant for it. */
  readonly mutant: string | null
  /** The file for the output of strace; null without strace. */
  readonly trace: string | null
  /** The file with the declaration. */
  readonly api?: string
}

export interface Server {
  readonly port: number
  /** Kills it. */
  readonly kill: () => Promise<void>
  /** Stops it normally. */
  readonly stop: () => Promise<void>
  /** Resolves when it ends for any reason. */
  readonly ended: Promise<void>
}

const watch = ['-f', '--seccomp-bpf', '-y', '-s', '0', '-e', 'trace=pwrite64,write,fsync,fdatasync,ftruncate']

export function launch({ database, mutant, trace, api = 'api.ts' }: Launch): Promise<Server> {
  const hook = mutant === null ? [] : ['--import', path('hook.ts')]
  const serve = ['serve', path(api), '--port', '0', '--host', '127.0.0.1', '--database', database]
  const command = [process.execPath, '--conditions=bylaw-source', ...hook, path('../../src/cli/main.ts'), ...serve]
  const [program = '', ...rest] = trace === null ? command : ['strace', ...watch, '-o', trace, ...command]
  const env = {
    ...process.env,
    LOG_LEVEL: 'fatal',
    NODE_ENV: 'test',
    ...startedOnce,
    TORTURE_MUTANT: mutant ?? '',
  }
  const child = spawn(program, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const end = (): boolean => {
    if (child.exitCode !== null || child.signalCode !== null) return false
    return process.kill(trace === null ? (child.pid as number) : tracee(child), 'SIGKILL')
  }
  running.add(end)
  ended.then(() => running.delete(end))
  const kill = (): Promise<void> => {
    end()
    return ended
  }
  const stop = (): Promise<void> => {
    child.kill('SIGTERM')
    return ended
  }
  return listening(child, ended, { kill, stop, ended })
}

/** Functions that kill the running processes when this one ends. */
const running = new Set<() => unknown>()
process.once('exit', () => {
  for (const end of running) end()
})

/** The process that strace has started. */
const tracee = ({ pid }: ChildProcess): number =>
  Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'), 10)

function listening(child: ChildProcess, ended: Promise<void>, server: Omit<Server, 'port'>): Promise<Server> {
  return new Promise((resolve, reject) => {
    let text = ''
    const hear = (chunk: Buffer): void => {
      text += chunk
      const [, port] = /http:\/\/[\w.]+:(\d+)/.exec(text) ?? []
      if (port) resolve({ ...server, port: Number(port) })
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    child.once('error', ({ message }) =>
      reject(
        new Error(
          `${child.spawnfile} cannot be started: ${message}. Loss of power needs strace: apt-get install strace.`,
        ),
      ),
    )
    ended.then(() => reject(new Error(`The service did not start:\n${text}`)))
  })
}
