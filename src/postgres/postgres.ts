/** PostgreSQL: what a store is, on a pool of connections. The cellar. */
import { hostname } from 'node:os'
import { isDeed, type Plan } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import type { Misfits } from '../resources/bounds.ts'
import { attend, attendance, depart, forgetLost, insistence } from '../schema/state.ts'
import { abreast, type Cellar, finishLater, isBehind, minds, type Steps } from '../store/cellar.ts'
import { meta, type Statement } from '../store/compile.ts'
import { postgres } from '../store/dialect.ts'
import { nodeName } from '../store/merging.ts'
import type { Followed } from './clock.ts'
import { plannedOnce, type Times } from './connect.ts'
import { onceATurn } from './gather.ts'
import { look, patiently, reads } from './look.ts'
import type { Pool } from './pool.ts'
import { states } from './state.ts'
import { totals } from './totals.ts'
import { lonely, write } from './write.ts'

/** What a store is opened with. */
export interface Opened {
  readonly pool: Pool
  readonly cellar: Cellar
  readonly secret: string
  /** The rows that do not fit what is declared. */
  readonly misfits?: Misfits
  /** How long a plan may take, in milliseconds. */
  readonly patience: number
  /** Times that each transaction has to be told, as the connection does not keep them; null where it does. */
  readonly times: Times | null
  /** Whether the database tells its state. */
  readonly tells: boolean
  readonly clock: Followed
  /** Names the declaration that is served, to those who change the schema. */
  readonly name: string
  /** Takes copies of dropped values that were kept for long enough. */
  readonly expire?: ((due: null) => Steps<void>) | null | undefined
}

const plain = (text: string): Statement => ({ text, values: [] })

// long because: its parts share the pool and what is known of it
export function postgresStore({
  pool,
  cellar,
  secret,
  patience,
  times,
  name,
  tells,
  clock,
  misfits = {},
  expire,
}: Opened): Store {
  const begin = (how: string, ...more: readonly string[]) =>
    plain([`BEGIN${how}`, ...[...local(times), ...more].map((one) => `SET LOCAL ${one}`)].join('; '))
  const read = reads(pool)
  const writing = {
    pool,
    cellar,
    patience,
    begin: begin(''),
    lone: times === null ? lonely(pool, read) : null,
    turns: new Map(),
  }
  const still = ' ISOLATION LEVEL REPEATABLE READ READ ONLY'
  const short = cellar.dialect.spread ? begin(still) : begin(still, plannedOnce)
  const counts = tells ? { totals: totals(), states: states(pool) } : null
  const looking = { pool, read, cellar, snapshot: { short, long: begin(still) }, counts }
  const presence = attending(pool, { name, expire })
  clock.follow(async () => pool.share())
  const execute = (plan: Plan) => (isDeed(plan) ? write(writing, plan) : look(looking, plan))
  const lags = onceATurn(() => patiently(async () => finishLater(isBehind(cellar), (await pool.share()).ask)))
  const keepUp = abreast(lags, () => write(writing, { do: 'raise' }))
  return {
    execute: (plan) => (minds(cellar, plan) ? keepUp().then(() => execute(plan)) : execute(plan)),
    secret,
    clock,
    misfits,
    mark: () => null,
    ...(counts && { asked: counts.states.now }),
    ready: () => reasonNot(pool),
    attend: presence.begin,
    close: async () => {
      clock.stop()
      await presence.end()
      await pool.close()
    },
  }
}

/** Why it cannot answer; null where it can. */
async function reasonNot(pool: Pool): Promise<string | null> {
  try {
    const { ask } = await pool.share()
    await ask(plain(`SELECT 1 AS found FROM ${meta} LIMIT 1`))
    return null
  } catch (error) {
    return String(error)
  }
}

const local = (times: Times | null): readonly string[] =>
  times === null
    ? []
    : [
        `statement_timeout = ${times.statement}`,
        `lock_timeout = ${times.lock}`,
        `idle_in_transaction_session_timeout = ${times.idle}`,
      ]

/** A node that cannot say that it runs says so again soon. */
function attending(
  pool: Pool,
  { name, expire }: Pick<Opened, 'name' | 'expire'>,
): { begin: () => Promise<void>; end: () => Promise<void> } {
  const node = nodeName(hostname(), process.pid)
  let timer: NodeJS.Timeout | undefined
  let saying: Promise<boolean> | undefined
  let over = false
  const said = async (steps: Steps<void>): Promise<boolean> => {
    try {
      await finishLater(steps, (await pool.share()).ask)
      return true
    } catch {
      return false
    }
  }
  const begin = async (): Promise<void> => {
    saying = said(attend(postgres, node, name))
    if (expire) void said(expire(null))
    const rest = (await saying) ? attendance : insistence
    if (!over) timer = setTimeout(begin, rest).unref()
  }
  const end = async (): Promise<void> => {
    over = true
    clearTimeout(timer)
    if (saying === undefined) return
    await saying // else what is on its way would come behind the farewell
    await said(depart(postgres, node))
    await said(forgetLost(postgres))
  }
  return { begin, end }
}
