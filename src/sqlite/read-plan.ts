/** Read plan: runs reads on the event loop if an index bounds their work, else on the reading thread. The store. */

import { type PreparedCollection, preparedCollection, type StoreContext } from '../catalog/context.ts'
import { resolveList } from '../catalog/resolve-list.ts'
import { type RunStatement, runSteps } from '../catalog/steps.ts'
import type { FoundRow } from '../flow/found-row.ts'
import type { Outcome } from '../flow/outcome.ts'
import { columnsOfList, countKey, type ListRows, type Plan, type Read, type WritePlan } from '../flow/plan.ts'
import type { Remembered } from '../flow/remembered.ts'
import type { World } from '../flow/world.ts'
import { pagesAtOnce, type Readings } from '../readings/page-stream.ts'
import { isBounded } from '../sql/ranges.ts'
import { tombstoneId } from '../sql/statements.ts'
import { joinedKey, joinedText } from '../store/joined.ts'
import { perform } from '../store/perform.ts'
import type { Snapshot } from './snapshot.ts'
import type { ThreadReader } from './thread-reader.ts'
import type { WriteCounts } from './write-counts.ts'

/** How many rows may be counted on the event loop; if more match, the thread counts. */
const maxCountInLoop = 2000

export interface SqliteReadDeps {
  readonly context: StoreContext
  readonly run: RunStatement
  readonly snapshot: Snapshot
  /** Null for a database in memory, which no other thread can see. */
  readonly reader: ThreadReader | null
  /** Starts a thread that reads one whole list; null for a database in memory. */
  readonly ownReader: (() => ThreadReader) | null
  readonly readings: Readings
  /** Totals, each with the write count of its collection. */
  readonly totals: Remembered<number | null, number>
  readonly counts: WriteCounts
  /** Rows by `rowName`; a write of another process clears them. */
  readonly rows: Remembered<FoundRow, null>
  /** The collections with a sum that did not fit 64 bits. */
  readonly wide: Set<string>
  /** How long a list may take, and a write may wait for the lock of the file, in milliseconds. */
  readonly patience: number
  readonly world: World
}

/** A plan that changes nothing. */
type ReadOnlyPlan = Exclude<Plan, WritePlan>

/** Reads rows and total from one snapshot. R54 */
export const runSqliteRead = (deps: SqliteReadDeps, plan: ReadOnlyPlan): Outcome | Promise<Outcome> =>
  deps.snapshot.within(() => {
    if (plan.do === 'list' && plan.whole) return readWhole(deps, plan)
    if (plan.do === 'list') return plan.summary ? readSummary(deps, plan, plan.summary) : readList(deps, plan)
    return plan.do === 'read' && !plan.embeds ? readWithJoined(deps, plan) : readInLoop(deps, plan)
  })

const readInLoop = ({ context, run }: SqliteReadDeps, plan: ReadOnlyPlan): Outcome =>
  runSteps(perform(context, plan), run)

/** Reads a row with its joined rows, each from the cache if possible. */
function readWithJoined(deps: SqliteReadDeps, { joined, ...plan }: Read): Outcome {
  const own = readRow(deps, plan)
  if (own.is !== 'found' || joined === undefined) return own
  const document = JSON.parse(own.doc) as Record<string, unknown>
  const others = joined.map((one) => {
    const key = joinedKey(preparedCollection(deps.context, one.collection), one, document, plan.key.account)
    const other = key && readRow(deps, { ...plan, collection: one.collection, key })
    return other?.is === 'found' ? { doc: joinedText(one, other), revision: other.revision } : null
  })
  return { ...own, document, joined: others }
}

/** A name that is unique among the rows of all collections. */
export const rowName = (context: StoreContext, { collection, key }: Pick<Read, 'collection' | 'key'>): string =>
  `${collection} ${tombstoneId(preparedCollection(context, collection).collection, key)}`

function readRow(deps: SqliteReadDeps, plan: Read): Outcome {
  if (plan.rights) return readInLoop(deps, plan)
  const name = rowName(deps.context, plan)
  const before = deps.rows.get(name, null)
  if (before) return before
  const outcome = readInLoop(deps, plan)
  if (outcome.is === 'found') deps.rows.put(name, null, outcome, outcome.doc.length + (outcome.hidden?.length ?? 0))
  return outcome
}

/** SQLite refuses a sum that does not fit 64 bits. Then the sum is read in halves, and later sums of the collection too. */
function readSummary(
  deps: SqliteReadDeps,
  plan: ListRows,
  summary: NonNullable<ListRows['summary']>,
): Outcome | Promise<Outcome> {
  const byHalves = (): Outcome | Promise<Outcome> => readList(deps, { ...plan, summary: { ...summary, halves: true } })
  const addHalves = (error: unknown) => {
    if ((error as Error).message !== 'integer overflow') throw error
    deps.wide.add(plan.collection)
    return byHalves()
  }
  if (deps.wide.has(plan.collection)) return byHalves()
  try {
    const rows = readList(deps, plan)
    return rows instanceof Promise ? rows.catch(addHalves) : rows
  } catch (error) {
    return addHalves(error)
  }
}

/** Reads all rows on a separate thread. A database in memory, which no other thread can see, is read at once. */
function readWhole(deps: SqliteReadDeps, plan: ListRows): Outcome | Promise<Outcome> {
  const { context, patience, world, ownReader } = deps
  if (ownReader === null) return pagesAtOnce(context, plan, (page) => readInLoop(deps, page))
  return deps.readings.open(plan, () => {
    const { run, close } = ownReader()
    return { read: (page) => run(perform(context, page), world.monotonic() + patience), close }
  })
}

function readList(deps: SqliteReadDeps, plan: ListRows): Outcome | Promise<Outcome> {
  const { context, reader } = deps
  const own = context.collections.get(plan.collection) as PreparedCollection
  const total = plan.countTo === null ? null : knownTotal(deps, plan)
  if (reader !== null && !isBounded(own.collection, resolveList(context, plan), context.dialect))
    return readListOnThread(deps, plan, reader, total)
  if (total !== undefined) return withTotal(readInLoop(deps, { ...plan, countTo: null }), total)
  if (reader === null || (plan.countTo as number) <= maxCountInLoop)
    return rememberTotal(deps, plan, readInLoop(deps, plan))
  const outcome = readInLoop(deps, { ...plan, countTo: maxCountInLoop })
  if (outcome.is === 'page' && outcome.total === null) return readListOnThread(deps, plan, reader, undefined)
  return rememberTotal(deps, plan, outcome)
}

/**
 * Reads on the thread, whose snapshot may be newer than the one held here. A cached total is used only if nothing was written
 * in between; otherwise rows and total are read again together. R54
 */
async function readListOnThread(
  deps: SqliteReadDeps,
  plan: ListRows,
  reader: ThreadReader,
  total: number | null | undefined,
): Promise<Outcome> {
  const { context, snapshot, counts, patience, world } = deps
  const until = world.monotonic() + patience
  const before = counts.mark([plan.collection])
  const isStill = (): boolean => {
    snapshot.end() // the held snapshot may be older than the one that the thread read
    return before === counts.mark([plan.collection])
  }
  if (total !== undefined) {
    const rows = await reader.run(perform(context, { ...plan, countTo: null }), until)
    if (plan.countTo === null) return rows
    if (isStill()) return withTotal(rows, total)
  }
  const outcome = await reader.run(perform(context, plan), until)
  return isStill() ? rememberTotal(deps, plan, outcome) : outcome
}

type TotalDeps = Pick<SqliteReadDeps, 'totals' | 'counts'>

/** The cached total of a list, unless its collection was written to since. */
function knownTotal({ totals, counts }: TotalDeps, plan: ListRows): number | null | undefined {
  const { collection, rights } = plan
  const columns = rights ? null : columnsOfList({ where: plan.where, order: [] })
  const isSame = (since: number) => columns !== null && counts.leave({ collection, columns }, since)
  return totals.get(countKey(plan), counts.of(collection), isSame)
}

/** Caches the total of a page; the caller checks that nothing was written since it was counted. */
function rememberTotal({ totals, counts }: TotalDeps, plan: ListRows, outcome: Outcome): Outcome {
  if (outcome.is !== 'page' || plan.countTo === null || dependsOnOthers(plan)) return outcome
  const key = countKey(plan)
  totals.put(key, counts.of(plan.collection), outcome.total, key.length)
  return outcome
}

/** Whether a total depends on other collections too. */
const dependsOnOthers = ({ where, parent }: Pick<ListRows, 'where'> & Partial<Pick<ListRows, 'parent'>>): boolean =>
  parent?.pairs !== undefined ||
  where.some((one) => one.is === 'among' || (one.is === 'any' && one.of.some((all) => dependsOnOthers({ where: all }))))

const withTotal = (outcome: Outcome, total: number | null): Outcome =>
  outcome.is === 'page' ? { ...outcome, total } : outcome
