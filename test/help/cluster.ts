/** A PostgreSQL server for one test, which can be killed and started again. */
import { type ChildProcess, execFileSync, type StdioOptions, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { childrenOf, lives } from './processes.ts'
import { serverPrograms } from './server.ts'

/** The user that runs the server: PostgreSQL refuses to run as root. */
export function owner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const user of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) =>
      Number(spawnSync('id', [flag, user]).stdout?.toString() || Number.NaN),
    )
    if (uid !== undefined && gid !== undefined && uid > 0) return { uid, gid }
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user postgres nor nobody.')
}

export interface Cluster {
  /** The URL of its database `postgres`. */
  readonly url: string
  readonly port: number
  readonly start: () => Promise<void>
  /** Shuts the server down, or kills it with all its processes. */
  readonly stop: (how: 'fast' | 'immediate' | 'kill') => Promise<void>
  /** Runs statements in a separate process and returns the rows in the format of psql. */
  readonly psql: (statement: string) => string
  /** Resolves when the server accepts connections. */
  readonly ready: () => Promise<void>
  /** The main process of the server; 0 if it does not run. */
  readonly pid: () => number
  /** Stops the server and removes its files. */
  readonly close: () => Promise<void>
}

/** A variable with a folder that `initdb` has made: copying it takes a tenth of the time that `initdb` takes. */
const templateVariable = 'BYLAW_TEST_TEMPLATE'

/** Makes the template for the servers of this process and its children; returns how it is removed. */
export function useTemplate(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-template-'))
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  makeData(data)
  process.env[templateVariable] = data
  return () => rmSync(folder, { recursive: true, force: true })
}

/** Makes the data folder of a server: a copy of the template, a copy of a running server, or a new one. */
function makeData(data: string, of?: Pick<Cluster, 'url'>): void {
  const as = owner()
  const template = process.env[templateVariable]
  mkdirSync(data)
  if (as) chownSync(data, as.uid, as.gid)
  chmodSync(data, 0o700)
  if (!of && template) return void execFileSync('cp', ['-a', `${template}/.`, data])
  const [program, args] = of
    ? ['pg_basebackup', ['-D', data, '-d', of.url, '-R', '-X', 'stream', '-c', 'fast', '--no-sync']]
    : ['initdb', ['-D', data, '-U', 'bylaw', '--auth=trust', '-E', 'UTF8', '--locale=C', '--no-sync']]
  const stdio: StdioOptions = ['ignore', 'ignore', 'pipe']
  execFileSync(join(serverPrograms(as), program as string), args as string[], { ...as, cwd: '/', stdio })
}

const signals = { fast: 'SIGINT', immediate: 'SIGQUIT', kill: 'SIGKILL' } as const

/** Starts a server in a new folder, or a standby of another server; `settings` are arguments of `-c`. */
// long because: its functions share the process
export async function cluster(
  settings: readonly string[] = [],
  of?: Pick<Cluster, 'url'>,
  at?: number,
): Promise<Cluster> {
  const as = owner()
  const bin = serverPrograms(as)
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-postgres-'))
  const data = join(folder, 'data')
  chmodSync(folder, 0o755)
  makeData(data, of)
  const port = at ?? (await freePort())
  const url = `postgres://bylaw@127.0.0.1:${port}/postgres`
  const options = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`, ...settings]
  let child: ChildProcess | null = null
  let said = ''

  async function start(): Promise<void> {
    const args = ['-D', data, ...options.flatMap((one) => ['-c', one])]
    const started = spawn(join(bin, 'postgres'), args, { ...as, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
    started.stderr?.on('data', (chunk) => {
      said = `${said}${chunk}`.slice(-4000)
    })
    child = started
    started.unref() // the server does not keep this process alive
    unref(started.stderr)
    said = ''
    await taking()
  }

  async function taking(): Promise<void> {
    const until = performance.now() + 30_000
    while (!(await takes(url))) {
      if (child?.exitCode !== null || performance.now() > until) throw new Error(`PostgreSQL does not stand:\n${said}`)
      await pause(20)
    }
  }

  async function stop(how: keyof typeof signals): Promise<void> {
    const ending = child
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return
    // not `close`, which waits for the pipe: this process may end before it, as the pipe does not keep it alive
    const over = new Promise((resolve) => ending.once('exit', resolve))
    const servants = how === 'kill' ? childrenOf(ending.pid as number) : []
    ending.ref()
    ending.kill(signals[how])
    for (const pid of servants) end(pid)
    await over
    while (how === 'kill' && servants.some(lives)) await pause(5)
    if (how === 'kill') rmSync(join(data, 'postmaster.pid'), { force: true })
  }

  await start()
  keep(folder)
  return {
    url,
    port,
    start,
    stop,
    ready: taking,
    pid: () => (child?.exitCode === null && child.signalCode === null ? (child.pid ?? 0) : 0),
    psql: (statement) => execFileSync(process.execPath, [client, url, statement], { encoding: 'utf8' }).trim(),
    close: async () => {
      await stop('immediate')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const client = fileURLToPath(new URL('./psql.ts', import.meta.url))

/** Whether the server answers a connection, even if it refuses the client. */
async function takes(url: string): Promise<boolean> {
  const asking = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  asking.on('error', () => {})
  try {
    await asking.connect()
    return true
  } catch (error) {
    const { code = '' } = error as { code?: string }
    return /^[0-9A-Z]{5}$/.test(code) && code !== startingUp
  } finally {
    await asking.end().catch(() => {})
  }
}

/** SQLSTATE of a server that starts or shuts down (cannot_connect_now). */
const startingUp = '57P03'

/** Lets the process end while the pipe is open. */
const unref = (pipe: unknown): void => (pipe as { unref: () => void }).unref()

/** Kills a process if it still runs. */
export function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {} // it has already ended
}

/** Starts a shell that stops the server when this process ends in any way: its pipe to this process is closed then. */
function keep(folder: string): void {
  const over = 'read -r _; kill -QUIT "$(head -n 1 "$1/data/postmaster.pid")"; sleep 1; rm -rf "$1"'
  const keeper = spawn('sh', ['-c', over, 'keeper', folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  keeper.unref()
  unref(keeper.stdin)
}
