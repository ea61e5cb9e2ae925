/** Counts a whole test run in its last line, and in the file that `TEST_COUNT_FILE` names; names the tests that were left out. */
import { writeFileSync } from 'node:fs'
import { dot, type TestEvent } from 'node:test/reporters'
import { needs } from './programs.ts'

/** Shows a dot for each test and the failures, and counts last. */
export default async function* count(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const run: Run = { left: new Map(), counted: '' }
  yield* dot(noted(events, run))
  yield `\n${told(run.left)}${run.counted}\n`
}

interface Run {
  /** Titles of tests by the reason for which they are left out. */
  readonly left: Map<string, string[]>
  counted: string
}

async function* noted(events: AsyncIterable<TestEvent>, run: Run): AsyncGenerator<TestEvent> {
  for await (const event of events) {
    if (event.type === 'test:pass') note(run.left, event.data)
    if (event.type === 'test:summary' && event.data.file === undefined) run.counted = counted(event.data.counts, run)
    yield event
  }
}

interface Counts {
  readonly passed: number
  readonly tests: number
}

function counted({ passed, tests }: Counts, { left }: Run): string {
  // A test that was left out for another reason, or cancelled, proved nothing, so it does not pass.
  const accepted = process.env.BYLAW_TEST_ALL === undefined ? [...left.values()].flat().length : 0
  const failed = tests - passed - accepted
  if (failed > 0) process.exitCode = 1
  const file = process.env.TEST_COUNT_FILE
  if (file) writeFileSync(file, `${passed} ${failed}\n`)
  return `${passed} passed, ${failed} failed`
}

function note(
  left: Map<string, string[]>,
  { name, skip }: { readonly name: string; readonly skip?: string | boolean },
): void {
  if (typeof skip !== 'string' || !skip.startsWith(needs)) return
  const titles = left.get(skip) ?? []
  left.set(skip, titles)
  titles.push(name)
}

function told(left: ReadonlyMap<string, readonly string[]>): string {
  const groups = [...left].map(
    ([reason, titles]) => `${titles.length} left out, ${reason}\n${titles.map((title) => `  - ${title}\n`).join('')}`,
  )
  return groups.length === 0 ? '' : `${groups.join('')}\n`
}
