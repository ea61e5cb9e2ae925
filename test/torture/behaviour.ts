/** Behaviour: applies each behaviour mutant to a copy of the sources, and runs the tests that must find it. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BehaviourMutant, behaviourMutants } from './behaviour-mutants.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Whether the tests fail with the defect; throws if it no longer applies to the sources. */
function isFound({ changes, tests }: BehaviourMutant): boolean {
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
      '--test-global-setup=test/help/postgres.ts',
      '--test-reporter=./test/help/report.ts',
    ]
    const run = spawnSync(process.execPath, [...flags, '--test-reporter-destination=stdout', ...tests], {
      cwd: copy,
      timeout: 120_000,
    })
    return run.status !== 0
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Some defects show only under the right timing, so the tests get three chances to find one. */
const attempts = [1, 2, 3]

const wanted = process.argv.slice(2)
let lost = 0
for (const [name, mutant] of Object.entries(behaviourMutants)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const started = Date.now()
  const isControl = mutant.changes.length === 0
  const found = isControl ? !isFound(mutant) : attempts.some(() => isFound(mutant))
  if (!found) lost++
  console.log(
    `${found ? (isControl ? 'passed' : 'found') : isControl ? 'FAILED' : 'NOT FOUND'} in ${Math.round((Date.now() - started) / 1000)} s: ${name} (${mutant.about})`,
  )
}
process.exit(lost === 0 ? 0 : 1)
