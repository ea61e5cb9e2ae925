/** Starts servers as processes, each on one core, measures their memory and CPU time, and stops them. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'

export interface RunningServer {
  readonly url: string
  /** Megabytes of memory it holds now. */
  readonly memory: () => number
  /** Milliseconds of CPU time it has used so far. */
  readonly cpu: () => number
  readonly stop: () => Promise<void>
}

const hasTaskset = spawnSync('taskset', ['--version']).error === undefined

/** The command that runs on one core only, if the system has `taskset`. */
export const pinned = (core: number, ...args: readonly string[]): readonly string[] =>
  hasTaskset ? ['taskset', '-c', String(core), ...args] : args

/** Starts a file with Node.js on one core, and waits until it answers; its output is appended to the log file. */
export async function serve(
  args: readonly string[],
  port: number,
  log: string,
  env = {},
  core = 0,
): Promise<RunningServer> {
  const out = openSync(log, 'a')
  const [command, ...rest] = pinned(core, process.execPath, ...args) as [string, ...string[]]
  const child = spawn(command, rest, { stdio: ['ignore', out, out], env: { ...process.env, ...env } })
  const url = `http://127.0.0.1:${port}`
  await waitForAnswer(url, child, log)
  return {
    url,
    memory: () => memoryOf(child.pid as number),
    cpu: () => cpuOf(child.pid as number),
    stop: () => stopChild(child),
  }
}

async function waitForAnswer(url: string, child: ChildProcess, log: string): Promise<void> {
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

/** Milliseconds of CPU time, from the scheduler's counters, which have a resolution of 10 ms. */
export function cpuOf(pid: number): number {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13) ?? []
  return 10 * (Number(user) + Number(system))
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((done) => child.once('exit', done))
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(late)
}

/** A request by the benchmark itself. It is sent again if it fails, because its connection may have been closed during the load. */
export async function getWithRetry(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  try {
    return await fetch(url, { headers })
  } catch {
    return await fetch(url, { headers })
  }
}
