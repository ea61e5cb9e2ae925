/** A PostgreSQL server of one's own, that can be killed and started again. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { childrenOf, lives } from './processes.ts'
import { serverPrograms } from './server.ts'

/** Whom the server runs as: never root, which it refuses. */
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

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

export interface Cluster {
  /** Of its database `postgres`. */
  readonly url: string
  readonly port: number
  readonly start: () => Promise<void>
  /** Ends it in one of the ways it can end. */
  readonly stop: (how: 'fast' | 'immediate' | 'kill') => Promise<void>
  /** Runs statements in a process of their own, and gives the values of the rows as psql writes them. */
  readonly psql: (statement: string) => string
  /** Settles when it takes connections. */
  readonly ready: () => Promise<void>
  /** The server's own process; 0 where it does not run. */
  readonly pid: () => number
  /** Ends it and removes its files. */
  readonly close: () => Promise<void>
}

const signals = { fast: 'SIGINT', immediate: 'SIGQUIT', kill: 'SIGKILL' } as const

/** Makes a server in a folder of its own, or a standby of another one; settings as `-c` takes them, on a given port or a free one. */
// long because: its acts share the process
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
  mkdirSync(data)
  if (as) chownSync(data, as.uid, as.gid)
  chmodSync(data, 0o700)
  const [program, args] = of
    ? ['pg_basebackup', ['-D', data, '-d', of.url, '-R', '-X', 'stream', '-c', 'fast', '--no-sync']]
    : ['initdb', ['-D', data, '-U', 'bylaw', '--auth=trust', '-E', 'UTF8', '--locale=C', '--no-sync']]
  execFileSync(join(bin, program as string), args as string[], {
    ...as,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
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
    started.unref() // a process that is through is not held up
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
    const over = new Promise((resolve) => ending.once('close', resolve))
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

/** Whether the server takes connections, be it only to refuse who asks. */
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

/** What a server says that does not take connections yet, or no more. */
const startingUp = '57P03'

/** A pipe that holds no process up. */
const unref = (pipe: unknown): void => (pipe as { unref: () => void }).unref()

/** Ends a process without a warning, if it is still there. */
export function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {} // it went by itself
}

/** None is left behind: the system closes the pipe to the keeper when this process ends, in whatever way. */
function keep(folder: string): void {
  const over = 'read -r _; kill -QUIT "$(head -n 1 "$1/data/postmaster.pid")"; sleep 1; rm -rf "$1"'
  const keeper = spawn('sh', ['-c', over, 'keeper', folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  keeper.unref()
  unref(keeper.stdin)
}
