/** Behaviour: applies each behaviour mutant to a copy of the sources, and runs the tests that must find it. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BehaviourMutant, behaviourMutants } from './behaviour-mutants.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What the tests print if they fail with the defect, else null; throws if it no longer applies to the sources. */
function failureWith({ changes, tests }: BehaviourMutant): string | null {
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
    const flags = [
      '--conditions=bylaw-source',
      '--test',
      '--test-force-exit', // a test that fails may leave a node open
      '--test-global-setup=test/help/postgres.ts',
      '--test-reporter=./test/help/report.ts',
    ]
    const run = spawnSync(process.execPath, [...flags, '--test-reporter-destination=stdout', ...tests], {
      cwd: copy,
      timeout: 120_000,
    })
    if (run.error) throw new Error(`The tests did not end: ${run.error.message}`)
    return run.status === 0 ? null : `${run.stdout}${run.stderr}`
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Some defects show only under the right timing, so the tests get three chances to find one. */
const attempts = [1, 2, 3]

/** Without a defect the tests have to pass; if they do not, what they print says why. */
function control(mutant: BehaviourMutant): 'passed' | 'FAILED' {
  const failure = failureWith(mutant)
  if (failure !== null) console.log(failure)
  return failure === null ? 'passed' : 'FAILED'
}

const trial = (mutant: BehaviourMutant): 'found' | 'NOT FOUND' =>
  attempts.some(() => failureWith(mutant) !== null) ? 'found' : 'NOT FOUND'

const wanted = process.argv.slice(2)
let lost = 0
for (const [name, mutant] of Object.entries(behaviourMutants)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const started = Date.now()
  const result = mutant.changes.length === 0 ? control(mutant) : trial(mutant)
  if (result === 'FAILED' || result === 'NOT FOUND') lost++
  console.log(`${result} in ${Math.round((Date.now() - started) / 1000)} s: ${name} (${mutant.about})`)
}
process.exit(lost === 0 ? 0 : 1)
