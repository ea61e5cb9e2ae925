/** Summary columns: the columns that a summary reads, and how the database summarizes them. Part 4, list parameters. R236. */
import { defaultPrecision } from '../fields/bounds.ts'
import { mostGroups, type Summary, type TimePart } from '../fields/summary.ts'
import type { ListRows, RowSummary, Term } from '../flow/plan.ts'
import { listRules, type SortKey } from '../lists/list-rules.ts'
import type { Resource } from '../resources/resource.ts'

/** How many first characters of a time are its day, month and year. */
const lengths: Readonly<Record<TimePart, number>> = { day: 10, month: 7, year: 4 }

/** The reads that each function needs. */
const readsOf = { sum: ['sum'], average: ['sum', 'filled'], min: ['least'], max: ['greatest'] } as const

export interface SummaryColumns {
  readonly order: ListRows['order']
  readonly summary: RowSummary
  /** Whether the columns of groups and those of values have whole numbers, which are read as texts. */
  readonly numeric: { readonly groups: readonly boolean[]; readonly values: readonly boolean[] }
  /** By value of the summary: the place of its column among those of the values. */
  readonly places: readonly number[]
}

/** The columns of a summary of the resource as it is stored. */
export function summaryColumns(today: Resource, { groups, values }: Summary): SummaryColumns {
  const { keys } = listRules(today, new Map([[today.name, today]]))
  const keyOf = (path: string) => keys.get(path) as SortKey
  const paths = [...new Set(values.map(({ path }) => path))]
  const term = (path: string): Term => ({ column: keyOf(path).column, descending: false, nulls: 'last' })
  return {
    order: [...groups, ...paths.map((path) => ({ path }))].map(({ path }) => term(path)),
    summary: {
      groups: groups.map(({ part }) => (part === null ? null : lengths[part])),
      values: paths.map((path) => {
        const own = values.filter((one) => one.path === path)
        const { kind, options } = (own[0] as (typeof own)[number]).field
        const isText = kind === 'decimal' && keyOf(path).type === 'text'
        return {
          reads: new Set(own.flatMap(({ of }) => readsOf[of])),
          digits: isText ? (options.precision ?? defaultPrecision) : null,
        }
      }),
      most: mostGroups,
    },
    numeric: {
      groups: groups.map(({ path, part }) => part === null && keyOf(path).type === 'integer'),
      values: paths.map((path) => keyOf(path).type === 'integer'),
    },
    places: values.map(({ path }) => paths.indexOf(path)),
  }
}
