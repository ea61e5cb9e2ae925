/**
 * `npm run bench:growth`: the time of a request at more and more rows, resources, connections and versions, as multiples of
 * that at the fewest. `--only rows,versions` and `--stores sqlite` measure some of it and keep the other figures,
 * `--most 10000000` goes to ten million rows on SQLite, `--dry` writes nothing.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { databasesOn } from './databases.ts'
import { growthBy } from './growth-by.ts'
import { curves, goalsOf, type Line, tableOf } from './growth-lines.ts'
import { growthOfRows } from './growth-rows.ts'
import { loader } from './load.ts'
import { goals, machine, writeFigures } from './report.ts'
import type { Served } from './server.ts'

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
const running: Served[] = []
const marks = ['<!-- growth, written by npm run bench:growth -->', '<!-- end of growth -->'] as const
const kept = join(here, 'growth.json')

interface Results {
  /** How each part was measured. */
  readonly measured: Readonly<Record<string, string>>
  readonly lines: readonly Line[]
}

try {
  for (const part of values.only.split(','))
    for (const store of values.stores.split(',')) {
      const lines = await measure(part as keyof typeof parts, store)
      console.log(`${tableOf(lines)}\n`)
      if (!values.dry) keep(`${part} on ${store}`, lines) // kept at once, as the other parts take long and may be interrupted
      for (const { name, ratio, target, met } of goalsOf(lines))
        console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${ratio} (at most ${target})`)
    }
} finally {
  await Promise.all(running.map(({ stop }) => stop()))
  rmSync(folder, { recursive: true })
}

async function measure(part: keyof typeof parts, store: string): Promise<Line[]> {
  console.log(`${part} on ${store}`)
  const own = mkdtempSync(join(folder, `${part}-`))
  const databases = await databasesOn(store, own)
  const begun = running.length
  const lines = await parts[part]({ store, folder: own, databases, running, rounds, seconds, most })
  await Promise.all(running.splice(begun).map(({ stop }) => stop()))
  await databases.close()
  rmSync(own, { recursive: true })
  return lines
}

/** Replaces the figures of a part on a store, and writes all of them as JSON, as curves, and into the page of figures. */
function keep(part: string, lines: readonly Line[]): void {
  const before = results()
  const nameOf = (line: Line) => `${line.part} on ${line.store}`
  const how = `${machine()}, Node.js ${process.versions.node}, load by ${loader}, ${rounds} rounds of ${seconds} s, ${loadavg()[1]?.toFixed(0)} processes to run at a time`
  const order = Object.keys(parts).flatMap((name) => ['sqlite', 'postgres'].map((store) => `${name} on ${store}`))
  const all = [...before.lines.filter((one) => nameOf(one) !== part), ...lines]
  const sorted = order.flatMap((name) => all.filter((one) => nameOf(one) === name))
  const measured = { ...before.measured, [part]: how }
  writeFileSync(kept, `${JSON.stringify({ measured, lines: sorted } satisfies Results, rounded, 2)}\n`)
  writeFileSync(
    join(here, '../docs/growth.svg'),
    curves(sorted, 'Time of a request, as a multiple of that at the fewest'),
  )
  const ways = Map.groupBy(
    order.filter((name) => name in measured),
    (name) => measured[name],
  )
  const told = [...ways].map(([way, names]) => `${names.join(', ')}: ${way}.`)
  const tables = Object.keys(parts).map((name) => sorted.filter((one) => one.part === name))
  writeFigures(marks, [told.join(' '), ...tables.filter((one) => one.length > 0).map(tableOf), goals(goalsOf(sorted))])
}

function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(5)) : value
}

function results(): Results {
  try {
    return JSON.parse(readFileSync(kept, 'utf8'))
  } catch {
    return { measured: {}, lines: [] }
  }
}
