/** The results of a run: a table, goals, and a plot for docs/performance.md. */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import type { LoadResult } from './load.ts'

/** A workload with the results of each side in each round. */
export interface WorkloadResult {
  readonly store: string
  readonly rows: number
  readonly workload: string
  readonly about: string
  readonly rounds: Readonly<Record<string, readonly LoadResult[]>>
}

export interface Target {
  readonly name: string
  readonly ratio: number
  readonly target: number
  /** Whether the ratio has to be at least or at most the target. */
  readonly at: 'least' | 'most'
  readonly met: boolean
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** The median, over the rounds, of the ratio of two sides' rates in the same round. */
export function ratio({ rounds }: WorkloadResult, one: string, other: string): number {
  const [own = [], theirs = []] = [rounds[one], rounds[other]]
  return median(own.map(({ rate }, i) => rate / (theirs[i]?.rate ?? Number.NaN)))
}

/** The rate of ours as a multiple of the side that the workload is compared with. */
export function compared(row: WorkloadResult): string {
  const other = row.rounds.plain ? 'plain' : 'expert'
  return `${ratio(row, 'ours', other).toFixed(2)} × ${other}`
}

export function target(name: string, measured: number, bound: number, at: Target['at'] = 'least'): Target {
  const met = at === 'least' ? measured >= bound : measured <= bound
  return { name, ratio: Math.round(measured * 100) / 100, target: bound, at, met }
}

export const machine = (): string => `${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown'}`

const figure = (value: number): string =>
  Number.isNaN(value) ? '' : value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)

/** A table of the goals: what was measured, the bound, and whether it was met. */
export function goals(targets: readonly Target[]): string {
  const head = ['goal', 'measured', 'to be', '']
  const lines = targets.map(({ name, ratio: measured, target: bound, at, met }) => [
    name,
    String(measured),
    `at ${at} ${bound}`,
    met ? 'met' : '**missed**',
  ])
  return columns(head, lines)
}

/** A table with a line for each side of each workload. */
export function table(rows: readonly WorkloadResult[]): string {
  const head = [
    'store',
    'rows',
    'workload',
    'side',
    'requests/s',
    'p50 ms',
    'p99 ms',
    'against expert',
    'against floor',
  ]
  const lines = rows.flatMap((row) =>
    Object.entries(row.rounds).map(([side, all]) => [
      row.store,
      row.rows.toLocaleString('en'),
      row.workload,
      side,
      figure(median(all.map(({ rate }) => rate))),
      figure(median(all.map(({ p50 }) => p50))),
      figure(median(all.map(({ p99 }) => p99))),
      side === 'ours' ? figure(ratio(row, side, 'expert')) : '',
      side === 'ours' && row.rounds.floor ? figure(ratio(row, side, 'floor')) : '',
    ]),
  )
  return columns(head, lines)
}

export function columns(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const widths = head.map((_, i) => Math.max(3, ...[head, ...lines].map((line) => (line[i] as string).length)))
  const written = [head, widths.map((width) => '-'.repeat(width)), ...lines].map(
    (line) => `| ${line.map((cell, i) => cell.padEnd(widths[i] as number)).join(' | ')} |`,
  )
  return written.join('\n')
}

const colours: Readonly<Record<string, string>> = {
  floor: '#9aa0a6',
  expert: '#e8a33d',
  plain: '#7fb08a',
  ours: '#2a78d6',
}
const step = 22
const left = 250

const short = (rows: number): string => (rows >= 1e6 ? `${rows / 1e6} M` : `${rows / 1000} k`)

/** Draws bars of requests a second, with the ratio to the expert; each workload has a scale of its own. */
export function plot(rows: readonly WorkloadResult[], caption: string): string {
  const height = 60 + rows.reduce((sum, { rounds }) => sum + Object.keys(rounds).length * step + 14, 0)
  const parts: string[] = []
  let y = 50
  for (const row of rows) {
    const rates = Object.entries(row.rounds).map(([side, all]) => [side, median(all.map(({ rate }) => rate))] as const)
    const most = Math.max(...rates.map(([, rate]) => rate))
    parts.push(
      `<text x="${left - 12}" y="${y + 15}" text-anchor="end">${row.store}, ${short(row.rows)}: ${row.workload}</text>`,
    )
    for (const [side, rate] of rates) {
      const width = Math.round((rate / most) * 400)
      const times = side === 'ours' ? `, ${compared(row)}` : ''
      parts.push(
        `<rect x="${left}" y="${y}" width="${width}" height="${step - 5}" rx="2" fill="${colours[side]}"/>`,
        `<text x="${left + width + 8}" y="${y + 13}" font-size="12">${side} ${Math.round(rate).toLocaleString('en')}/s${times}</text>`,
      )
      y += step
    }
    y += 14
  }
  return drawing('Requests a second', caption, height, parts)
}

/** An SVG drawing with a caption above its parts. */
export function drawing(title: string, caption: string, height: number, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 ${height}" font-family="system-ui, sans-serif" font-size="14"><title>${title}</title>
<rect width="860" height="${height}" fill="#ffffff"/>
<text x="16" y="28" font-weight="600">${caption}</text>
${parts.join('\n')}
</svg>
`
}

/** Replaces the text of docs/performance.md between the two marks of a benchmark. */
export function writeFigures([opening, closing]: readonly [string, string], parts: readonly string[]): void {
  const path = join(import.meta.dirname, '../docs/performance.md')
  const [before, rest = ''] = readFileSync(path, 'utf8').split(opening) as [string, string?]
  const [, after = ''] = rest.split(closing)
  writeFileSync(path, before + [opening, ...parts, closing].join('\n\n') + after)
}
