/** Remembers how many rows matched, for the state of the database that they were counted in. The cellar. */
import type { Outcome } from '../flow/outcome.ts'
import { countedBy, type List } from '../flow/plan.ts'

interface Counted {
  readonly state: string
  /** Null where more match than are counted. */
  readonly total: number | null
}

export interface Totals {
  /** What was counted in the state that was seen last, as long as nobody seems to write; whether it still holds is to be asked. */
  readonly likely: (plan: List) => Counted | undefined
  readonly learn: (plan: List, state: string | null, outcome: Outcome) => void
  /** Told where a likely total did not hold. */
  readonly failed: () => void
}

const most = 1000
/** For so long no total is likely once one did not hold, in milliseconds. */
const rest = 200

export function totals(): Totals {
  const known = new Map<string, Counted>()
  let last: string | null = null
  let until = 0
  return {
    likely: (plan) => {
      if (performance.now() < until) return undefined
      const found = known.get(countedBy(plan))
      return found?.state === last ? found : undefined
    },
    learn: (plan, state, outcome) => {
      if (state === null || outcome.is !== 'page') return
      last = state
      if (known.size >= most) known.clear()
      known.set(countedBy(plan), { state, total: outcome.total })
    },
    failed: () => {
      until = performance.now() + rest
    },
  }
}
