/** Starts a service in a separate process, as users do, and stops it by its process id. */
import { spawn } from 'node:child_process'
import { bylawCommand } from './built.ts'
import { startedOnce } from './command.ts'

export interface Running {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Sends a signal, waits for the end and returns the exit code. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>
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
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return ended
  }
  return new Promise((resolve, reject) => {
    let text = ''
    const hear = (chunk: Buffer) => {
      text += chunk
      const [url] = /http:\/\/[\w.]+:\d+/.exec(text) ?? []
      if (url) resolve({ url, port: Number(new URL(url).port), pid: child.pid as number, stop })
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    ended.then((code) => reject(new Error(`the service ended with ${code}:\n${text}`)))
  })
}
