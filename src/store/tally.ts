/** Keeps how often each version was used by whom, and when last. The cellar. */
import type { Outcome } from '../flow/outcome.ts'
import type { Tally } from '../flow/plan.ts'
import type { Cellar, Steps } from './cellar.ts'
import { uses } from './compile.ts'

/** Adds what a process has counted; each statement stands for itself, so that no row is held for long. R202. */
export function* tally({ dialect: { mark } }: Cellar, plan: Tally): Steps<Outcome> {
  const text = `INSERT INTO ${uses} (version, caller, requests, last) VALUES (${mark(1)}, ${mark(2)}, ${mark(3)}, ${mark(4)})
    ON CONFLICT (version, caller) DO UPDATE SET
      requests = ${uses}.requests + excluded.requests,
      last = CASE WHEN ${uses}.last > excluded.last THEN ${uses}.last ELSE excluded.last END`
  for (const { version, caller, requests, last } of plan.uses) yield { text, values: [version, caller, requests, last] }
  return { is: 'tallied' }
}

export function* usage(): Steps<Outcome> {
  const text = `SELECT version, caller, requests, last FROM ${uses} ORDER BY version, last DESC, caller`
  const rows = yield { text, values: [], lone: 'read' }
  const found = rows.map(({ version, caller, requests, last }) => ({
    version: version as string,
    caller: caller as string,
    requests: Number(requests),
    last: Number(last),
  }))
  return { is: 'usage', uses: found }
}
