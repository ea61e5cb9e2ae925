/** PostgreSQL: reads in one statement or one snapshot, writes in one transaction. The cellar. */
import { setTimeout as pause } from 'node:timers/promises'
import { isLasting, type Outcome } from '../flow/outcome.ts'
import { isDeed, type Plan } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import { type Cellar, finishLater, moved } from '../store/cellar.ts'
import { meta, type Statement } from '../store/compile.ts'
import { perform } from '../store/perform.ts'
import type { Connection } from './connect.ts'
import { duplicate, isPassing, told } from './failure.ts'
import type { Pool } from './pool.ts'

/** What a store is opened with. */
export interface Opened {
  readonly pool: Pool
  readonly cellar: Cellar
  readonly secret: string
  /** How long a plan may take, in milliseconds. */
  readonly patience: number
}

const begin: Statement = { text: 'BEGIN', values: [] }
const snapshot: Statement = { text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', values: [] }
const commit: Statement = { text: 'COMMIT', values: [] }
const rollback: Statement = { text: 'ROLLBACK', values: [] }
const mostTries = 5

export function postgresStore({ pool, cellar, secret, patience }: Opened): Store {
  return {
    execute: (plan) =>
      insistently((held) => pool.use((connection) => attempt(cellar, plan, connection, held)), patience),
    secret,
    mark: () => null,
    ready: async () => {
      try {
        await pool.use(({ ask }) => ask({ text: `SELECT 1 AS found FROM ${meta} LIMIT 1`, values: [] }))
        return null
      } catch (error) {
        return String(error)
      }
    },
    close: pool.close,
  }
}

/** A plan is data, so that one that others were in the way of is carried out again, whole. */
async function insistently(act: (held: boolean) => Promise<Outcome>, patience: number): Promise<Outcome> {
  const until = performance.now() + patience
  for (let tries = 1; ; tries++) {
    try {
      return await act(tries > 1)
    } catch (error) {
      if (!isPassing(error) || tries === mostTries || performance.now() > until) throw told(error)
    }
    await pause(Math.random() * 5 * 2 ** tries)
  }
}

async function attempt(cellar: Cellar, plan: Plan, connection: Connection, held: boolean): Promise<Outcome> {
  const deed = isDeed(plan)
  await connection.ask(deed ? begin : snapshot)
  try {
    const outcome = await finishLater(perform(cellar, plan, held), connection.ask)
    if (isOvertaken(plan, outcome)) throw moved(plan.do)
    await connection.ask(!deed || isLasting(outcome) ? commit : rollback)
    return outcome
  } catch (error) {
    await undone(connection)
    const taken = duplicate(error, cellar)
    if (!taken) throw error
    if (isOvertaken(plan, taken)) throw moved(plan.do)
    return taken
  }
}

/** Somebody else made the row since it was decided to make it; what is there now is to be decided on. */
const isOvertaken = (plan: Plan, outcome: Outcome): boolean =>
  plan.do !== 'create' && outcome.is === 'duplicate' && outcome.fields[0] === 'id'

/** A connection whose transaction cannot be ended is given up. */
async function undone(connection: Connection): Promise<void> {
  try {
    await connection.ask(rollback)
  } catch {
    connection.close()
  }
}
