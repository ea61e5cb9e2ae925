/** The run of all tests on a machine with Node and npm alone: the source of PostgreSQL, and the report at the end. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkout } from './help/built.ts'
import { folder } from './help/command.ts'
import { groupedFiles, groups, startedFiles } from './help/group.ts'
import { packed } from './help/server.ts'

const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined

test('the PostgreSQL that npm brings runs as an ordinary user, without the install script of its package', () => {
  const bin = packed(unprivileged)
  for (const program of ['initdb', 'postgres']) {
    const { status, stdout, stderr } = spawnSync(join(bin, program), ['--version'], {
      ...unprivileged,
      cwd: '/',
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
    assert.match(stdout, /PostgreSQL\) 17\./)
  }
})

const files = `import { test } from 'node:test'
test('adds', () => {})
test('is behind a pooler', { skip: 'needs pgbouncer: apt-get install pgbouncer' }, () => {})
`

/** Runs tests in a separate process, and returns how it ended. */
function runOf(
  text: string,
  env: Readonly<Record<string, string>> = {},
): { readonly code: number | null; readonly lines: string[] } {
  const cwd = folder({ 'a.test.mjs': text })
  const words = [
    '--conditions=bylaw-source',
    '--test',
    `--test-reporter=${join(checkout, 'test/help/report.ts')}`,
    '--test-reporter-destination=stdout',
    'a.test.mjs',
  ]
  const { NODE_TEST_CONTEXT, BYLAW_TEST_ALL, TEST_COUNT_FILE, ...rest } = process.env
  const { status, stdout } = spawnSync(process.execPath, words, { cwd, env: { ...rest, ...env }, encoding: 'utf8' })
  return { code: status, lines: stdout.trim().split('\n') }
}

test('a run names the skipped tests and how to install their program, and ends with the counts', () => {
  const { code, lines } = runOf(files)
  assert.deepEqual(lines.slice(-4), [
    '1 left out, needs pgbouncer: apt-get install pgbouncer',
    '  - is behind a pooler',
    '',
    '1 passed, 0 failed',
  ])
  assert.equal(code, 0)
  assert.match(lines[0] ?? '', /1 passed, 0 failed,/, 'the line of the folder counts what was left out as no failure')
})

test('the count is the last line also if tests failed', () => {
  const { code, lines } = runOf(files.replace("'adds', () => {}", "'adds', () => { throw new Error('wrong sum') }"))
  assert.ok(lines.some((line) => line.includes('wrong sum')))
  assert.deepEqual([code, lines.at(-1)], [1, '0 passed, 1 failed'])
})

test('a failure shows the difference that lies behind the thrown error, and those of all its errors', () => {
  const { lines } = runOf(`import assert from 'node:assert/strict'
import { test } from 'node:test'
const failed = (...pair) => { try { assert.equal(...pair) } catch (error) { return error } }
test('a property', () => {
  throw new Error('Property failed after 3 tests', { cause: new Error('shrunk', { cause: failed('left 1', 'right 1') }) })
})
test('several at once', () => {
  throw new AggregateError([failed('left 2', 'right 2'), failed('left 3', 'right 3')], 'two failed')
})
test('no error', () => { throw 'a text' })
`)
  const said = lines.map((line) => line.trim())
  const heads = ['FAILED a property', 'FAILED several at once', 'FAILED no error'].map((head) => said.indexOf(head))
  assert.ok(heads.every((at, i) => at >= 0 && at > (heads[i - 1] ?? -1)))
  assert.match(said[(heads[0] ?? 0) + 1] ?? '', /^a\.test\.mjs:4$/)
  for (const line of [
    'Error: Property failed after 3 tests',
    'caused by Error: shrunk',
    'AggregateError: two failed',
    'a text',
  ])
    assert.ok(said.includes(line), line)
  for (const n of [1, 2, 3])
    for (const line of [`+ 'left ${n}'`, `- 'right ${n}'`]) assert.ok(said.includes(line), line)
})

test('a run that demands all tests fails if one was skipped', () => {
  const { code, lines } = runOf(files, { BYLAW_TEST_ALL: '1' })
  assert.deepEqual([code, lines.at(-1)], [1, '1 passed, 1 failed'])
})

test('a test that is skipped for another reason fails the run', () => {
  const { code, lines } = runOf(files.replace('needs pgbouncer', 'too slow'))
  assert.deepEqual([code, lines.at(-1)], [1, '1 passed, 1 failed'])
})

test('npm test runs each test file once, in a group or in a process of its own', () => {
  const patternsOf = (path: string): string[] =>
    [...readFileSync(join(checkout, path), 'utf8').matchAll(/'(.*?\.test\.ts)'/g)].map(
      ([, pattern]) => pattern as string,
    )
  const files = startedFiles().flatMap((path) => (path.startsWith(groups) ? groupedFiles(patternsOf(path)) : [path]))
  const all = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: checkout })
  const mend = 'Each test file belongs into one group (test/groups), or into the script `test` of package.json.'
  assert.deepEqual(files.sort(), all.sort(), mend)
})
