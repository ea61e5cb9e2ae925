/** Runs the `bylaw` command as users do, in a separate process and folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { recordLoopDelay } from '../../src/limits/overload.ts'
import { bylawCommand, checkout } from './built.ts'

/** The greatest lifetime of a process. It is longer than that of `until`, whose message says more. */
const patience = 150_000
/** Each source file is compiled once, not once in every process: a short test mostly loads `src`. */
export const compiled = { NODE_COMPILE_CACHE: join(checkout, 'node_modules/.cache/compiled') }

/** A module for processes of a service: they do not refuse requests if a busy machine delays their event loop. */
const unhurried = `--import=data:text/javascript,(s=>{globalThis.setInterval=(f,t,...a)=>s(f,/${recordLoopDelay.name}/.test(f)?2**31-1:t,...a)})(setInterval)`

/** `serve` executes itself again with this option unless it is set. It is set here, so that each process starts once. */
export const startedOnce = {
  NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --max-semi-space-size=8 ${unhurried}`.trim(),
}

/** A folder outside of the checkout, which is removed after the tests of the file. */
export function folder(files: Readonly<Record<string, string>> = {}): string {
  const path = mkdtempSync(join(tmpdir(), 'bylaw-cli-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
  after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A folder that commands prepare once, copied for each test: the commands take longer than a copy. */
export function prepared(
  files: Readonly<Record<string, string>>,
  prepare: (cwd: string) => Promise<void>,
): () => Promise<string> {
  const original = folder(files)
  let ready: Promise<void> | undefined
  return async () => {
    const path = folder() // before the first `await`, so that the folder belongs to the current test
    ready ??= prepare(original)
    await ready
    cpSync(original, path, { recursive: true })
    return path
  }
}

export const notes = `import { f, service } from 'bylaw'

export default service({
  name: 'notes',
  resources: {
    notes: { prefix: 'not', fields: { text: f.text({ max: 200 }) }, access: 'public' },
  },
})
`

export interface Place {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** The script to run instead of `bylaw`. */
  readonly script?: string
}

/** A running process with its output so far. */
export interface Launched {
  readonly child: ChildProcess
  readonly said: { stdout: string; stderr: string }
  /** Waits until its stdout matches the pattern at or after the given position. */
  readonly hear: (pattern: RegExp, from?: number) => Promise<RegExpExecArray>
  /** Waits until it ends and returns the exit code. */
  readonly end: () => Promise<number | null>
  readonly stop: () => Promise<number | null>
}

export function launch(words: readonly string[], { cwd, env = {}, script }: Place): Launched {
  const { NODE_ENV, PORT, HOST, DATABASE_URL, LOG_LEVEL, DRAIN, NODE_TEST_CONTEXT, FORCE_COLOR, ...rest } = process.env
  const program = script === undefined ? bylawCommand() : ['--conditions=bylaw-source', script]
  const child = spawn(process.execPath, [...program, ...words], {
    cwd,
    env: { ...rest, ...compiled, ...startedOnce, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const late = setTimeout(() => child.kill('SIGKILL'), patience)
  ended.then(() => clearTimeout(late))
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (chunk) => {
      said[name] += chunk
    })
  const hear = (pattern: RegExp, from = 0) =>
    new Promise<RegExpExecArray>((found, failed) => {
      const look = (): void => {
        const match = pattern.exec(said.stdout.slice(from))
        if (match) setImmediate(() => setImmediate(() => found(match))) // what it wrote to stderr before is read by then
      }
      child.stdout.on('data', look)
      ended.then(() => failed(new Error(`It ended before it said ${pattern}:\n${said.stdout}\n${said.stderr}`)))
      look()
    })
  const stop = () => {
    child.kill('SIGTERM')
    return ended
  }
  return { child, said, hear, end: () => ended, stop }
}

export async function run(
  words: readonly string[],
  place: Place,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { end, said } = launch(words, place)
  const code = await end()
  return { code, ...said }
}

/** Runs `bylaw serve` on a free port and reads the URL from its first line. */
export async function served(words: readonly string[], place: Place): Promise<Launched & { readonly url: string }> {
  const launched = launch(['serve', ...words, '--port', '0'], place)
  const [, url = ''] = await launched.hear(/^bylaw serves \S+ at (http:\/\/\S+) .*\n/)
  return { ...launched, url }
}

export async function post(url: string, json: object): Promise<{ status: number; json: Record<string, unknown> }> {
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(json) })
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> }
}
