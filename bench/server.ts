/** Servers as processes of their own, on one core, from their first line to their end. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'

export interface Served {
  readonly url: string
  /** Megabytes of memory it holds now. */
  readonly memory: () => number
  /** Milliseconds of CPU time it has used so far. */
  readonly cpu: () => number
  readonly stop: () => Promise<void>
}

const hasTaskset = spawnSync('taskset', ['--version']).error === undefined

/** A command on one core, where the system can do that. */
export const pinned = (core: number, ...words: readonly string[]): readonly string[] =>
  hasTaskset ? ['taskset', '-c', String(core), ...words] : words

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  await new Promise((done) => server.close(done))
  return port
}

/** Runs a file with Node.js on one core until it answers; what it writes goes into a file, as a log does. */
export async function serve(words: readonly string[], port: number, log: string, env = {}, core = 0): Promise<Served> {
  const out = openSync(log, 'a')
  const [command, ...rest] = pinned(core, process.execPath, ...words) as [string, ...string[]]
  const child = spawn(command, rest, { stdio: ['ignore', out, out], env: { ...process.env, ...env } })
  const url = `http://127.0.0.1:${port}`
  await answers(url, child, log)
  return {
    url,
    memory: () => memoryOf(child.pid as number),
    cpu: () => cpuOf(child.pid as number),
    stop: () => stopped(child),
  }
}

async function answers(url: string, child: ChildProcess, log: string): Promise<void> {
  for (const until = Date.now() + 60_000; ; ) {
    try {
      await (await fetch(`${url}/healthz`)).arrayBuffer()
      return
    } catch (error) {
      if (child.exitCode === null && Date.now() < until) await new Promise((done) => setTimeout(done, 10))
      else throw new Error(`A server did not start:\n${readFileSync(log, 'utf8').slice(-2000)}`, { cause: error })
    }
  }
}

function memoryOf(pid: number): number {
  const { stdout } = spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })
  return Math.round(Number(stdout) / 1024)
}

/** By the clock of the scheduler, in ticks of 10 ms. */
export function cpuOf(pid: number): number {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13) ?? []
  return 10 * (Number(user) + Number(system))
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((done) => child.once('exit', done))
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(late)
}

/** A request of the bench itself; a connection that ended while this process was waiting for the load is no failure. */
export async function ask(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  try {
    return await fetch(url, { headers })
  } catch {
    return await fetch(url, { headers })
  }
}
