/** Starts a service in a separate process, as users do, and stops it by its process id. */
import { type ChildProcess, spawn } from 'node:child_process'
import { bylawCommand } from './built.ts'
import { startedOnce } from './command.ts'

/** The time in which a service has to start. */
const patience = 60_000

/** The services that run; they end with this process, also if a test or a hook fails before it stops them. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export interface Running {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Sends a signal, waits for the end and returns the exit code. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>
}

/** Ends a service that does not start in time, or that still runs when this process ends. */
function watched(child: ChildProcess) {
  running.add(child)
  const late = setTimeout(() => child.kill('SIGKILL'), patience)
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  ended.then(() => {
    clearTimeout(late)
    running.delete(child)
  })
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.ref()
    child.kill(signal)
    return ended
  }
  /** A test that fails does not stop the service, and this process must end nevertheless. */
  const release = (): void => {
    clearTimeout(late)
    for (const one of [child, child.stdout, child.stderr] as { unref?: () => void }[]) one.unref?.()
  }
  return { ended, stop, release }
}

export function startService(
  file: string,
  { database = 'sqlite::memory:', port = 0, args = [] as string[], env = {} as Record<string, string> } = {},
): Promise<Running> {
  const all = [
    ...bylawCommand(),
    'serve',
    file,
    '--port',
    String(port),
    '--host',
    '127.0.0.1',
    '--database',
    database,
    ...args,
  ]
  const child = spawn(process.execPath, all, {
    env: { ...process.env, ...startedOnce, LOG_LEVEL: 'fatal', NODE_TEST_CONTEXT: undefined, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { ended, stop, release } = watched(child)
  return new Promise((resolve, reject) => {
    let text = ''
    const hear = (chunk: Buffer) => {
      text += chunk
      const [url] = /http:\/\/[\w.]+:\d+/.exec(text) ?? []
      if (!url) return
      release()
      resolve({ url, port: Number(new URL(url).port), pid: child.pid as number, stop })
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    ended.then((code) => reject(new Error(`the service ended with ${code}:\n${text}`)))
  })
}
