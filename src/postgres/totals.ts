/** Totals: caches how many rows match a list, for the database state that they were counted in. The cellar. */
import type { Outcome } from '../flow/outcome.ts'
import { countKey, type ListRows } from '../flow/plan.ts'
import type { World } from '../flow/world.ts'

interface CountedTotal {
  readonly state: string
  /** Null if more rows match than are counted. */
  readonly total: number | null
}

export interface PostgresTotals {
  /**
   * The total counted in the last known state, unless one was wrong a moment ago; the caller checks that the state is
   * current.
   */
  readonly likely: (plan: ListRows) => CountedTotal | undefined
  readonly put: (plan: ListRows, state: string | null, outcome: Outcome) => void
  /** Called if a likely total was wrong. */
  readonly failed: () => void
}

const maxTotals = 1000
/** After a wrong total, how long none is likely, in milliseconds. */
const restAfterFailure = 200

export function postgresTotals({ monotonic }: World): PostgresTotals {
  const known = new Map<string, CountedTotal>()
  let last: string | null = null
  let until = 0
  return {
    likely: (plan) => {
      if (monotonic() < until) return undefined
      const found = known.get(countKey(plan))
      return found?.state === last ? found : undefined
    },
    put: (plan, state, outcome) => {
      if (state === null || outcome.is !== 'page') return
      last = state
      if (known.size >= maxTotals) known.clear()
      known.set(countKey(plan), { state, total: outcome.total })
    },
    failed: () => {
      until = monotonic() + restAfterFailure
    },
  }
}
