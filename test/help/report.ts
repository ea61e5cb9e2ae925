/** Reports a test run: a line for each folder, each failure when it occurs, and the counts in the last line. */
import { readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { groups } from './group.ts'
import { needs } from './programs.ts'

interface Folder {
  readonly files: Set<string>
  passed: number
  failed: number
  milliseconds: number
}

interface Run {
  readonly folders: Map<string, Folder>
  /** The titles of the open suites, outermost first. */
  titles: string[]
  /** The names of skipped tests, by reason. */
  readonly left: Map<string, string[]>
  /** Of the file that is running: how many tests passed, failed, and were left out for want of a program. */
  readonly file: { passed: number; failed: number; left: number }
  passed: number
  failed: number
  /** The number of tests that were left out; a suite that was left out is not counted. */
  accepted: number
}

/** `.ci/run` installs all programs, so that it accepts no test that is left out. */
const mayLeaveOut = process.env.BYLAW_TEST_ALL === undefined
const isTerminal = process.stdout.isTTY === true && process.env.CI !== 'true'
const clear = isTerminal ? '\r\x1b[K' : ''

/** Node sends a summary of each file, and one of the run at the end. `TEST_COUNT_FILE` names a file for the counts. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const run: Run = {
    folders: new Map(),
    titles: [],
    left: new Map(),
    file: { passed: 0, failed: 0, left: 0 },
    passed: 0,
    failed: 0,
    accepted: 0,
  }
  for await (const event of events) {
    if (event.type === 'test:start') open(run, event.data)
    else if (event.type === 'test:pass') yield pass(run, event.data)
    else if (event.type === 'test:fail') yield clear + failure(run, event.data)
    else if (event.type === 'test:interrupted') yield clear + interruption(event.data)
    else if (event.type === 'test:summary')
      yield event.data.file === undefined ? total(run, event.data.counts) : close(run, event.data, event.data.file)
    if ((event.type === 'test:pass' || event.type === 'test:fail') && isFileOfGroup(event.data))
      yield closeInGroup(run, event.data)
  }
}

function open(run: Run, { name, nesting }: { name: string; nesting: number }): void {
  run.titles = [...run.titles.slice(0, nesting), name]
}

interface Passed {
  readonly name: string
  readonly file?: string
  readonly skip?: string | boolean
  readonly details: { readonly type?: string | undefined }
}

function pass(run: Run, { name, skip, details }: Passed): string {
  const lacks = typeof skip === 'string' && skip.startsWith(needs) ? skip : undefined
  if (lacks !== undefined) run.left.set(lacks, [...(run.left.get(lacks) ?? []), name])
  if (details.type !== 'suite') {
    const accepted = mayLeaveOut && lacks !== undefined
    run.file[skip === undefined ? 'passed' : accepted ? 'left' : 'failed']++
    run.passed++
    if (accepted) run.accepted++
  }
  return isTerminal ? `${clear}${run.passed} passed, ${run.failed} failed  ${name.slice(0, 60)}` : ''
}

interface Failed {
  readonly name: string
  readonly nesting: number
  readonly file?: string
  readonly line?: number
  readonly details: { readonly error: Error & { readonly failureType?: string } }
}

/** A suite that failed only because of a test in it is not reported again. */
function failure(run: Run, { name, nesting, file = '', line, details: { error } }: Failed): string {
  if (error.failureType === 'subtestsFailed') return ''
  run.failed++
  run.file.failed++
  const title = [...run.titles.slice(0, nesting), name].join(' > ')
  const reasons = causes(error.cause ?? error).join('\ncaused by ')
  return `\nFAILED ${title}\n  ${relative('.', file)}:${line ?? 1}\n${reasons.replace(/^/gm, '    ')}\n\n`
}

/** The tests that have not ended when a signal ends the run; for one with several processes, the files that wait to be reported too. */
const interruption = ({ tests }: { readonly tests: readonly { readonly name: string }[] }): string =>
  `\nFAILED: a signal ended the run before these were reported:\n${tests.map(({ name }) => `  ${name}\n`).join('')}\n`

/** The stacks of an error, of its cause and of the errors in an AggregateError, which show the difference. */
function causes(thrown: unknown): string[] {
  if (!(thrown instanceof Error)) return [String(thrown)]
  const { stack, message, cause, errors = [] } = thrown as Error & { readonly errors?: readonly unknown[] }
  return [stack ?? message, ...[...errors, ...(cause === undefined ? [] : [cause])].flatMap(causes)]
}

interface Summary {
  readonly counts: { readonly passed: number; readonly tests: number }
  readonly duration_ms: number
}

/** A group has a suite for each of its files. */
interface FileOfGroup {
  readonly name: string
  readonly nesting: number
  readonly details: { readonly type?: string | undefined; readonly duration_ms: number }
}

const isFileOfGroup = ({ name, nesting, details }: FileOfGroup): boolean =>
  nesting === 0 && details.type === 'suite' && name.endsWith('.test.ts')

function closeInGroup(run: Run, { name, details: { duration_ms } }: FileOfGroup): string {
  const { passed, failed, left } = run.file
  return close(run, { counts: { passed, tests: passed + failed + left }, duration_ms }, name)
}

function close(run: Run, { counts, duration_ms }: Summary, file: string): string {
  const { left } = run.file
  Object.assign(run.file, { passed: 0, failed: 0, left: 0 })
  if (file.includes(groups)) return ''
  const { folders } = run
  const name = dirname(relative('.', file))
  const folder = folders.get(name) ?? { files: testsIn(name), passed: 0, failed: 0, milliseconds: 0 }
  folders.set(name, folder)
  folder.files.delete(basename(file))
  folder.passed += counts.passed
  folder.failed += counts.tests - counts.passed - left
  folder.milliseconds += duration_ms
  if (folder.files.size > 0) return ''
  folders.delete(name)
  return clear + line(name, folder)
}

const testsIn = (folder: string): Set<string> =>
  new Set(readdirSync(folder).filter((name) => name.endsWith('.test.ts')))

const line = (name: string, { passed, failed, milliseconds }: Folder): string =>
  `${name.padEnd(20)} ${String(passed).padStart(5)} passed, ${failed} failed, ${(milliseconds / 1000).toFixed(1)} s\n`

function total({ folders, left, accepted, failed: reported }: Run, { passed, tests }: Summary['counts']): string {
  // Other skipped tests and cancelled ones count as failed.
  const failed = Math.max(tests - passed - accepted, reported) // a hook that fails is not counted as a test
  if (failed > 0) process.exitCode = 1
  const file = process.env.TEST_COUNT_FILE
  if (file) writeFileSync(file, `${passed} ${failed}\n`)
  const unfinished = [...folders].map(([name, folder]) => line(name, folder))
  const missing = [...left].map(
    ([reason, names]) => `${names.length} left out, ${reason}\n${names.map((name) => `  - ${name}\n`).join('')}`,
  )
  return `${clear}${unfinished.join('')}\n${missing.length > 0 ? `${missing.join('')}\n` : ''}${passed} passed, ${failed} failed\n`
}
