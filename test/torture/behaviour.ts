/** Behaviour: applies each behaviour mutant to a copy of the sources, and runs the tests that must find it. */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runPostgres } from '../help/postgres.ts'
import { type BehaviourMutant, behaviourMutants } from './behaviour-mutants.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What the tests print if they fail with the defect, else null; throws if it no longer applies to the sources. */
async function failureWith({ changes, tests }: BehaviourMutant): Promise<string | null> {
  const copy = mkdtempSync(join(tmpdir(), 'bylaw-mutant-'))
  try {
    for (const name of ['src', 'test', 'examples', 'bin', 'package.json', 'tsconfig.json'])
      cpSync(join(root, name), join(copy, name), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    for (const { file, from, to } of changes) {
      const path = join(copy, 'src', file)
      const text = readFileSync(path, 'utf8')
      if (!text.includes(from)) throw new Error(`The defect no longer applies to src/${file}. Write it anew.`)
      writeFileSync(
        path,
        text.replace(from, () => to),
      )
    }
    return await firstFailure(copy, tests)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

const flags = [
  '--conditions=bylaw-source',
  '--test',
  '--test-force-exit', // a test that fails may leave a node open
  '--test-reporter=./test/help/report.ts',
  '--test-reporter-destination=stdout',
]

/** Runs the tests of a folder until one fails; what they printed then, else null. */
function firstFailure(cwd: string, tests: readonly string[]): Promise<string | null> {
  return new Promise((settle, fail) => {
    const child = spawn(process.execPath, [...flags, ...tests], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    let printed = ''
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      fail(new Error(`The tests did not end within ${patience / 1000} s:\n${printed}`))
    }, patience)
    const read = (text: Buffer): void => {
      printed += text
      // The remaining tests could not tell us more. SIGTERM lets the runner end its test processes.
      if (/^FAILED /m.test(printed)) setTimeout(() => child.kill(), 200)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('close', (status) => {
      clearTimeout(timer)
      settle(status === 0 ? null : printed)
    })
  })
}

const patience = 300_000

/** Some defects show only under the right timing, so the tests get three chances to find one. */
const attempts = [1, 2, 3]

/** Without a defect the tests have to pass; otherwise their output is returned. */
async function control(mutant: BehaviourMutant): Promise<'passed' | 'FAILED'> {
  const failure = await failureWith(mutant)
  if (failure !== null) console.log(failure)
  return failure === null ? 'passed' : 'FAILED'
}

async function trial(mutant: BehaviourMutant): Promise<string> {
  for (const _ of attempts) {
    const failure = await failureWith(mutant)
    if (failure !== null) return `found by ${/^FAILED (.*)/m.exec(failure)?.[1] ?? failure}`
  }
  return 'NOT FOUND'
}

const wanted = process.argv.slice(2)
const waiting = Object.entries(behaviourMutants).filter(([name]) => wanted.length === 0 || wanted.includes(name))
let lost = 0

async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [name, mutant] = next
    const started = Date.now()
    const result = mutant.changes.length === 0 ? await control(mutant) : await trial(mutant)
    if (result === 'FAILED' || result === 'NOT FOUND') lost++
    const seconds = Math.round((Date.now() - started) / 1000)
    console.log(`${name} (${mutant.about}): ${seconds} s, ${result}`)
  }
}

const stop = await runPostgres()
// Most tests wait for a timer or a lock now and then, so two at a time fill the processors.
await Promise.all([work(), work()])
await stop()
process.exit(lost === 0 ? 0 : 1)
