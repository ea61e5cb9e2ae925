/** Remembers how many rows matched, for the state of the database that they were counted in. The cellar. */
import type { Outcome } from '../flow/outcome.ts'
import { countKey, type ListRows } from '../flow/plan.ts'

interface CountedTotal {
  readonly state: string
  /** Null where more match than are counted. */
  readonly total: number | null
}

export interface PostgresTotals {
  /** What was counted in the state that was seen last, as long as nobody seems to write; whether it still holds is to be asked. */
  readonly likely: (plan: ListRows) => CountedTotal | undefined
  readonly put: (plan: ListRows, state: string | null, outcome: Outcome) => void
  /** Told where a likely total did not hold. */
  readonly failed: () => void
}

const maxTotals = 1000
/** For so long no total is likely once one did not hold, in milliseconds. */
const restAfterFailure = 200

export function postgresTotals(): PostgresTotals {
  const known = new Map<string, CountedTotal>()
  let last: string | null = null
  let until = 0
  return {
    likely: (plan) => {
      if (performance.now() < until) return undefined
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
      until = performance.now() + restAfterFailure
    },
  }
}
