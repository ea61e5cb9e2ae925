/**
 * `npm run fuzz:guided -- --seconds 60 --corpus folder`: coverage-guided fuzzing of both engines by Jazzer.js, which is installed in a
 * folder of its own and needs glibc 2.38. The corpus is kept if a folder is named; a stream that both engines do not agree on
 * ends the run, and stays in a file `crash-…` of the current folder.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { rolldown } from 'rolldown'
import { read, refused, releases } from '../security/smuggled.ts'
import { random } from './mutate.ts'
import { stream } from './streams.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    corpus: { type: 'string' },
    /** The node to run with, and words before it, such as a dynamic loader with a newer glibc. */
    node: { type: 'string', default: process.execPath },
  },
})
const folder = mkdtempSync(join(tmpdir(), 'bylaw-fuzz-'))
const corpus = resolve(values.corpus ?? join(folder, 'corpus'))

/** The first streams: the smuggled requests, and some from the grammar. */
function writeSeeds(): void {
  mkdirSync(corpus, { recursive: true })
  if (readdirSync(corpus).length > 0) return
  const next = random(1)
  const known = [...Object.values(refused).flat(), ...Object.values(releases), ...Object.values(read).flat().map(first)]
  const seeds = [...known, ...Array.from({ length: 150 }, () => stream(next))]
  for (const [i, bytes] of seeds.entries())
    writeFileSync(join(corpus, `seed-${i}`), Buffer.concat([Buffer.of(i % 256), Buffer.from(bytes, 'latin1')]))
}

/** Jazzer.js instruments modules that are loaded by `require`, so the target and all of src are bundled into one such module. */
async function bundle(file: string): Promise<void> {
  const build = await rolldown({
    input: join(import.meta.dirname, 'guided-target.ts'),
    platform: 'node',
    resolve: { conditionNames: ['bylaw-source', 'node', 'import', 'default'] },
    external: ['pg-native'],
    logLevel: 'warn',
  })
  await build.write({ file, format: 'cjs', codeSplitting: false })
}

function first([bytes]: readonly [string, unknown]): string {
  return bytes
}

try {
  writeSeeds()
  execFileSync('npm', ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', '@jazzer.js/core@4.0.0'])
  const target = join(folder, 'target.cjs')
  await bundle(target)
  const [node, ...words] = values.node.split(' ') as [string, ...string[]]
  const fuzzer = join(folder, 'node_modules/@jazzer.js/core/dist/cli.js')
  const limits = ['--', `-max_total_time=${values.seconds}`, '-max_len=2000']
  const { status } = spawnSync(node, [...words, fuzzer, target, corpus, '-i', 'target.cjs', ...limits], {
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
