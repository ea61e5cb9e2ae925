/** Counts what was spent of a quota, in one statement, and forgets windows that are over. The cellar. */
import type { Outcome } from '../flow/outcome.ts'
import type { Spend } from '../flow/plan.ts'
import type { Cellar, Steps } from './cellar.ts'
import { quotas } from './compile.ts'

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
