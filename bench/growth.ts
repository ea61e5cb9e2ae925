/**
 * `npm run bench:growth`: the time of a request with more and more rows, resources, connections and versions, as multiples of
 * the time with the fewest. `--only rows,versions` and `--stores sqlite` measure a part and keep the stored figures of the others,
 * `--most 10000000` goes to ten million rows on SQLite, `--dry` writes nothing.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { databasesOn } from './databases.ts'
import { growthBy } from './growth-by.ts'
import { type Curve, curves, goalsOf, tableOf } from './growth-lines.ts'
import { growthOfRows } from './growth-rows.ts'
import { loader } from './load.ts'
import { goals, machine, writeFigures } from './report.ts'
import type { RunningServer } from './server.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'rows,resources,connections,versions' },
    stores: { type: 'string', default: 'sqlite,postgres' },
    most: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
    /** Writes no files. */
    dry: { type: 'boolean', default: false },
  },
})
const [rounds, seconds, most] = [Number(values.rounds), Number(values.seconds), Number(values.most)]
const parts = { rows: growthOfRows, ...growthBy }
const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'bylaw-growth-'))
const running: RunningServer[] = []
const marks = ['<!-- growth, written by npm run bench:growth -->', '<!-- end of growth -->'] as const
const resultsFile = join(here, 'growth.json')

interface Results {
  /** For each part on a store: the machine, the load and the rounds that it was measured with. */
  readonly measured: Readonly<Record<string, string>>
  readonly lines: readonly Curve[]
}

try {
  for (const part of values.only.split(','))
    for (const store of values.stores.split(',')) {
      const lines = await measure(part as keyof typeof parts, store)
      console.log(`${tableOf(lines)}\n`)
      if (!values.dry) storeResults(`${part} on ${store}`, lines) // kept at once, as the other parts take long and may be interrupted
      for (const { name, ratio, target, met } of goalsOf(lines))
        console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${ratio} (at most ${target})`)
    }
} finally {
  await Promise.all(running.map(({ stop }) => stop()))
  rmSync(folder, { recursive: true })
}

async function measure(part: keyof typeof parts, store: string): Promise<Curve[]> {
  console.log(`${part} on ${store}`)
  const own = mkdtempSync(join(folder, `${part}-`))
  const databases = await databasesOn(store, own)
  const runningBefore = running.length
  const lines = await parts[part]({ store, folder: own, databases, running, rounds, seconds, maxRows: most })
  await Promise.all(running.splice(runningBefore).map(({ stop }) => stop()))
  await databases.close()
  rmSync(own, { recursive: true })
  return lines
}

/** Replaces the stored figures of a part on a store, and writes all figures as JSON, as curves, and into docs/performance.md. */
function storeResults(part: string, lines: readonly Curve[]): void {
  const before = results()
  const nameOf = (line: Curve) => `${line.part} on ${line.store}`
  const method = `${machine()}, Node.js ${process.versions.node}, load by ${loader}, ${rounds} rounds of ${seconds} s, ${loadavg()[1]?.toFixed(0)} processes to run at a time`
  const order = Object.keys(parts).flatMap((name) => ['sqlite', 'postgres'].map((store) => `${name} on ${store}`))
  const all = [...before.lines.filter((one) => nameOf(one) !== part), ...lines]
  const sorted = order.flatMap((name) => all.filter((one) => nameOf(one) === name))
  const measured = { ...before.measured, [part]: method }
  writeFileSync(resultsFile, `${JSON.stringify({ measured, lines: sorted } satisfies Results, rounded, 2)}\n`)
  writeFileSync(
    join(here, '../docs/growth.svg'),
    curves(sorted, 'Time of a request, as a multiple of that at the fewest'),
  )
  const partsByMethod = Map.groupBy(
    order.filter((name) => name in measured),
    (name) => measured[name],
  )
  const methods = [...partsByMethod].map(([way, names]) => `${names.join(', ')}: ${way}.`)
  const tables = Object.keys(parts).map((name) => sorted.filter((one) => one.part === name))
  writeFigures(marks, [
    methods.join(' '),
    ...tables.filter((one) => one.length > 0).map(tableOf),
    goals(goalsOf(sorted)),
  ])
}

function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(5)) : value
}

function results(): Results {
  try {
    return JSON.parse(readFileSync(resultsFile, 'utf8'))
  } catch {
    return { measured: {}, lines: [] }
  }
}
