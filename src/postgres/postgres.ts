/** PostgreSQL: what a store is, on a pool of connections. The cellar. */
import { isDeed } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import type { Cellar } from '../store/cellar.ts'
import { meta, type Statement } from '../store/compile.ts'
import type { Times } from './connect.ts'
import { look } from './look.ts'
import type { Pool } from './pool.ts'
import { write } from './write.ts'

/** What a store is opened with. */
export interface Opened {
  readonly pool: Pool
  readonly cellar: Cellar
  readonly secret: string
  /** How long a plan may take, in milliseconds. */
  readonly patience: number
  /** Times that each transaction has to be told, as the connection does not keep them; null where it does. */
  readonly times: Times | null
}

const plain = (text: string): Statement => ({ text, values: [] })

export function postgresStore({ pool, cellar, secret, patience, times }: Opened): Store {
  const local = times === null ? [] : [plain(timesText(times))]
  const writing = { pool, cellar, patience, begin: [plain('BEGIN'), ...local] }
  const looking = { pool, cellar, snapshot: [plain('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'), ...local] }
  return {
    execute: (plan) => (isDeed(plan) ? write(writing, plan) : look(looking, plan)),
    secret,
    mark: () => null,
    ready: async () => {
      try {
        const { ask } = await pool.share()
        await ask(plain(`SELECT 1 AS found FROM ${meta} LIMIT 1`))
        return null
      } catch (error) {
        return String(error)
      }
    },
    close: pool.close,
  }
}

/** One statement, so that it is one way there and back. */
const timesText = ({ statement, lock, idle }: Times): string =>
  `SELECT set_config('statement_timeout', '${statement}', true), set_config('lock_timeout', '${lock}', true), set_config('idle_in_transaction_session_timeout', '${idle}', true)`
