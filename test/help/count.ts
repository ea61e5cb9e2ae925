/** Counts a whole test run in one line, and in the file that `TEST_COUNT_FILE` names. */
import { writeFileSync } from 'node:fs'
import type { TestEvent } from 'node:test/reporters'

export default async function* count(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:summary' || event.data.file !== undefined) continue
    const { passed, cancelled, tests, skipped, todo } = event.data.counts
    // A test that was left out proved nothing, so it does not pass.
    const failed = tests - passed
    const leftOut = skipped + todo
    if (failed > 0) process.exitCode = 1
    const file = process.env.TEST_COUNT_FILE
    if (file) writeFileSync(file, `${passed} ${failed}\n`)
    yield `\n${passed} passed, ${failed} failed${cancelled + leftOut ? ` (${cancelled} cancelled, ${leftOut} left out)` : ''}\n`
  }
}
