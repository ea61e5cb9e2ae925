/** Answers reads: in the loop where an index bounds the work, else on the reading thread. The cellar. */
import type { Outcome } from '../flow/outcome.ts'
import type { Deed, List, Plan, Read } from '../flow/plan.ts'
import { keyBeside, textBeside } from '../store/beside.ts'
import { type Cellar, finish, type Run, type Shelf, settled, shelf } from '../store/cellar.ts'
import { perform } from '../store/perform.ts'
import { isBounded } from '../store/segments.ts'
import type { Reader } from './reader.ts'
import type { Rows } from './rows.ts'
import type { Snapshot } from './snapshot.ts'
import type { Totals } from './totals.ts'

/** As many rows are counted in the loop; where more match, the thread counts. */
const mostInLoop = 2000

export interface Looking {
  readonly cellar: Cellar
  readonly run: Run
  readonly snapshot: Snapshot
  /** None for a database in memory, which no other thread can see. */
  readonly reader: Reader | null
  readonly totals: Totals
  readonly rows: Rows
  /** How long a list may take, in milliseconds. */
  readonly patience: number
}

/** A plan that changes nothing. */
type Glance = Exclude<Plan, Deed>

/** Rows and total from one state. R54 */
export const look = (looking: Looking, plan: Glance): Outcome | Promise<Outcome> =>
  looking.snapshot.within(() => {
    if (plan.do === 'list') return list(looking, plan)
    return plan.do === 'read' ? whole(looking, plan) : inLoop(looking, plan)
  })

const inLoop = ({ cellar, run }: Looking, plan: Glance): Outcome => finish(perform(cellar, plan), run)

/** A row with those beside it, each of which may be remembered. */
function whole(looking: Looking, { beside, ...plan }: Read): Outcome {
  const own = read(looking, plan)
  if (own.is !== 'found' || beside === undefined) return own
  const document = JSON.parse(own.doc) as Record<string, unknown>
  const others = beside.map((one) => {
    const key = keyBeside(shelf(looking.cellar, one.collection), one, document, plan.key.account)
    const other = key && read(looking, { ...plan, collection: one.collection, key })
    return other?.is === 'found' ? { doc: textBeside(one, other), revision: other.revision } : null
  })
  return { ...own, document, beside: others }
}

function read(looking: Looking, plan: Read): Outcome {
  const before = looking.rows.known(plan)
  if (before) return before
  const outcome = inLoop(looking, plan)
  looking.rows.learn(plan, outcome)
  return outcome
}

function list(looking: Looking, plan: List): Outcome | Promise<Outcome> {
  const { cellar, reader, totals } = looking
  const own = cellar.shelves.get(plan.collection) as Shelf
  const total = plan.countTo === null ? null : totals.known(plan)
  if (reader !== null && !isBounded(own.collection, settled(cellar, plan), cellar.dialect))
    return afar(looking, plan, reader, total)
  if (total !== undefined) return withTotal(inLoop(looking, { ...plan, countTo: null }), total)
  if (reader === null || (plan.countTo as number) <= mostInLoop) return learned(totals, plan, inLoop(looking, plan))
  const outcome = inLoop(looking, { ...plan, countTo: mostInLoop })
  if (outcome.is === 'page' && outcome.total === null) return afar(looking, plan, reader, undefined)
  return learned(totals, plan, outcome)
}

/**
 * Reads on the thread, whose state may be later than the one held here. A total is only put to its rows if nothing was written in between;
 * else rows and total are read together. R54
 */
async function afar(
  { cellar, snapshot, totals, patience }: Looking,
  plan: List,
  reader: Reader,
  total: number | null | undefined,
): Promise<Outcome> {
  const until = performance.now() + patience
  const before = totals.mark([plan.collection])
  const isStill = (): boolean => {
    snapshot.end() // what is held may be older than what the thread has read
    return before === totals.mark([plan.collection])
  }
  if (total !== undefined) {
    const rows = await reader.look(perform(cellar, { ...plan, countTo: null }), until)
    if (plan.countTo === null) return rows
    if (isStill()) return withTotal(rows, total)
  }
  const outcome = await reader.look(perform(cellar, plan), until)
  return isStill() ? learned(totals, plan, outcome) : outcome
}

function learned(totals: Totals, plan: List, outcome: Outcome): Outcome {
  if (outcome.is === 'page' && plan.countTo !== null) totals.learn(plan, outcome.total)
  return outcome
}

const withTotal = (outcome: Outcome, total: number | null): Outcome =>
  outcome.is === 'page' ? { ...outcome, total } : outcome
