/** Shows how the time of a request grows with rows, resources, connections and versions: as a table, as goals, and as curves. */
import { columns, drawing, median, type Target, target } from './report.ts'

/** A measured figure at several sizes. */
export interface Curve {
  readonly part: string
  readonly store: string
  readonly what: string
  readonly unit: string
  /** The goal: each figure is at most this multiple of the one at the smallest size; null if there is no goal. */
  readonly bound: number | null
  readonly points: readonly { readonly at: number; readonly rounds: readonly number[] }[]
}

/** For each size, the median of its figures as multiples of the figure at the smallest size in the same round. */
const growthOf = ({ points: [first, ...rest] }: Curve): number[] => [
  1,
  ...rest.map(({ rounds }) => median(rounds.map((one, i) => one / (first?.rounds[i] ?? Number.NaN)))),
]

export const goalsOf = (lines: readonly Curve[]): Target[] =>
  lines.flatMap((line) => {
    if (line.bound === null || line.points.length < 2) return []
    const [least = 0, most = 0] = [line.points[0], line.points.at(-1)].map((point) => point?.at)
    const name = `${line.what}, ${line.store}, ${line.part}: ${count(least)} to ${count(most)}`
    return [target(name, Math.max(...growthOf(line)), line.bound, 'most')]
  })

const count = (at: number): string => at.toLocaleString('en')
const figure = (value: number): string => (value >= 100 ? count(Math.round(value)) : value.toFixed(value < 10 ? 2 : 1))

/** A table line for each curve: the median at each size and, in parentheses, its multiple of the smallest size. */
export function tableOf(lines: readonly Curve[]): string {
  const sizes = [...new Set(lines.flatMap(({ points }) => points.map(({ at }) => at)))].toSorted((a, b) => a - b)
  const rows = lines.map((line) => {
    const growth = growthOf(line)
    const cells = sizes.map((size) => {
      const i = line.points.findIndex(({ at }) => at === size)
      const middle = figure(median(line.points[i]?.rounds ?? []))
      return i < 0 ? '' : i === 0 ? middle : `${middle} (${growth[i]?.toFixed(2)})`
    })
    return [line.what, line.store, line.unit, ...cells]
  })
  return columns([lines[0]?.part ?? '', 'store', 'unit', ...sizes.map(count)], rows)
}

const [wide, high, left, above] = [330, 190, 70, 60]
const colours = ['#2a78d6', '#e8a33d', '#7fb08a', '#b0413e', '#7d5ba6', '#3f9c9c', '#8a6d3b', '#9aa0a6']

/** Draws the curves that have a goal, as multiples of the figure at the smallest size; one panel for each part. */
export function curves(lines: readonly Curve[], caption: string): string {
  const shown = lines.filter(({ bound, points }) => bound !== null && points.length > 1)
  const parts = [...new Set(shown.map(({ part }) => part))]
  const of = (name: string) => shown.filter(({ part }) => part === name)
  const most = Math.max(0, ...parts.map((name) => of(name).length))
  const step = above + high + 40 + most * 18
  const panels = parts.map((name, i) => panel(of(name), left + (i % 2) * 420, above + Math.floor(i / 2) * step))
  return drawing('Growth', caption, above + Math.ceil(parts.length / 2) * step, panels.flat())
}

function panel(lines: readonly Curve[], x: number, y: number): string[] {
  const sizes = [...new Set(lines.flatMap(({ points }) => points.map(({ at }) => at)))].toSorted((a, b) => a - b)
  const top = Math.max(2, ...lines.flatMap(growthOf))
  const across = (at: number) => x + Math.round((sizes.indexOf(at) / Math.max(1, sizes.length - 1)) * wide)
  const up = (times: number) => y + high - Math.round((times / top) * high)
  const grid = [0, 1, 1.5, 2].map(
    (times) =>
      `<path d="M${x} ${up(times)}h${wide}" stroke="#d0d3d6"${times === 1.5 ? ' stroke-dasharray="6 4"' : ''}/>` +
      `<text x="${x - 8}" y="${up(times) + 4}" text-anchor="end" font-size="12">${times}</text>`,
  )
  const labels = sizes.map(
    (at) => `<text x="${across(at)}" y="${y + high + 18}" text-anchor="middle" font-size="12">${count(at)}</text>`,
  )
  return [
    `<text x="${x}" y="${y - 12}" font-weight="600">${lines[0]?.part}</text>`,
    ...grid,
    ...labels,
    ...lines.flatMap((line, i) => {
      const places = line.points.map(({ at }, n) => `${across(at)},${up(growthOf(line)[n] as number)}`)
      const [colour, below] = [colours[i % colours.length], y + high + 40 + i * 18]
      return [
        `<polyline points="${places.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
        `<rect x="${x}" y="${below - 9}" width="14" height="4" fill="${colour}"/>`,
        `<text x="${x + 22}" y="${below - 2}" font-size="12">${line.what}, ${line.store}</text>`,
      ]
    }),
  ]
}
