/** Counts what was spent of a quota, and forgets windows that are over; keeps how often each version was used by whom. The cellar. */
import type { Outcome } from '../flow/outcome.ts'
import type { Spend, Tally } from '../flow/plan.ts'
import type { Cellar, Steps } from './cellar.ts'
import { quotas, uses } from './compile.ts'

/** Each statement stands for itself, so that a row is held no longer than its own one takes. R184. */
export function* spend({ dialect: { mark } }: Cellar, { name, amount, time, until }: Spend): Steps<Outcome> {
  // A window that ends later than one that begins now could was begun by a clock that went wrong.
  const isOver = `(${quotas}.until <= ${mark(4)} OR ${quotas}.until > ${mark(5)})`
  const text = `INSERT INTO ${quotas} (name, used, until) VALUES (${mark(1)}, ${mark(2)}, ${mark(3)})
    ON CONFLICT (name) DO UPDATE SET
      used = CASE WHEN ${isOver} THEN excluded.used ELSE ${quotas}.used + excluded.used END,
      until = CASE WHEN ${isOver} THEN excluded.until ELSE ${quotas}.until END
    RETURNING used, until`
  const [row] = yield { text, values: [name, amount, until, time, until + (until - time)], lone: 'write' }
  if (!row) throw new Error('A quota cannot be counted.')
  const spent = { is: 'spent', used: Number(row.used), until: Number(row.until) } as const
  if (spent.until === until)
    yield {
      text: `DELETE FROM ${quotas} WHERE name IN (SELECT name FROM ${quotas} WHERE until <= ${mark(1)} ORDER BY until LIMIT ${mark(2)})`,
      values: [time, mostSwept],
      lone: 'write',
    }
  return spent
}

/** More than one window adds, so that those that are over cannot pile up. */
const mostSwept = 4

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
