/**
 * The package as it is built. Commands in tests run it, as users do: a process of the sources takes twice the time to start, and
 * a run of all tests starts two thousand.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const checkout = fileURLToPath(new URL('../../', import.meta.url))

/** Tests of our own engine change a source while it is loaded, so their commands run the sources. */
const fromSources = process.env.BYLAW_TEST_ENGINE !== undefined
const built = join(checkout, 'dist/cli/main.js')
const lock = join(checkout, 'node_modules/.cache/building')
/** Set for all processes of a run once its first one has built the package, so that an edit during the run replaces nothing. */
const variable = 'BYLAW_TEST_BUILT'

/** The options of Node.js and the script that run `bylaw` from the sources, with the memory limits of the package. */
export const sourceCommand: readonly string[] = [
  '--conditions=bylaw-source',
  `--import=${join(checkout, 'bin/limit-memory.js')}`,
  join(checkout, 'src/cli/main.ts'),
]

/** The options of Node.js and the script that run `bylaw`. */
export function bylawCommand(): string[] {
  if (fromSources) return [...sourceCommand]
  buildPackage()
  return [join(checkout, 'bin/bylaw.js')]
}

/** Builds the package if a source is newer than the last build. */
export function buildPackage(): void {
  if (process.env[variable] !== undefined || fromSources) return
  for (const until = Date.now() + 60_000; newestSource() > timeOf(built) || existsSync(lock); ) {
    if (Date.now() > until) throw new Error(`Another process is building the package. If none is, remove ${lock}.`)
    if (takeLock()) build()
    else sleep(50)
  }
  process.env[variable] = 'yes'
}

function build(): void {
  try {
    if (newestSource() > timeOf(built)) execFileSync(process.execPath, [join(checkout, '.ci/bundle.mjs')])
  } finally {
    rmdirSync(lock)
  }
}

/** Returns false if another process has the lock. */
function takeLock(): boolean {
  mkdirSync(join(checkout, 'node_modules/.cache'), { recursive: true })
  try {
    mkdirSync(lock)
    return true
  } catch {
    return false
  }
}

/** Folders count too: their time changes if a file is removed. */
const newestSource = (): number =>
  ['src', ...readdirSync(join(checkout, 'src'), { recursive: true }).map((name) => join('src', String(name)))]
    .concat('.ci/bundle.mjs')
    .reduce((newest, name) => Math.max(newest, timeOf(join(checkout, name))), 0)

const timeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

const sleep = (time: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, time)
