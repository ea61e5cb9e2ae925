/** Totals: caches how many rows match a list, each with the state of the database that it was counted in. Part 3, pagination. */
import { countKey, type ListRows } from '../flow/plan.ts'

interface CountedTotal<State> {
  readonly state: State
  /** Null if more rows match than are counted. */
  readonly total: number | null
}

export interface TotalCache<State> {
  /** The last total of a list; the caller checks that its state is the current one. */
  readonly get: (plan: ListRows) => CountedTotal<State> | undefined
  readonly put: (plan: ListRows, counted: CountedTotal<State>) => void
  readonly clear: () => void
}

export function totalCache<State>(most = 1000): TotalCache<State> {
  const known = new Map<string, CountedTotal<State>>()
  return {
    get: (plan) => known.get(countKey(plan)),
    put: (plan, counted) => {
      if (most === 0) return
      if (known.size >= most) known.clear()
      known.set(countKey(plan), counted)
    },
    clear: () => known.clear(),
  }
}
