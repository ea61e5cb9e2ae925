/** Old nodes: the checks of a store during a rolling upgrade, while nodes of the former declaration still write. The store. */

import {
  type Backlog,
  hiddenColumn,
  type PreparedCollection,
  preparedCollection,
  type StoreContext,
  type ViewedRow,
} from '../catalog/context.ts'
import type { Steps } from '../catalog/steps.ts'
import { Problem } from '../errors/problem.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Create, ListRows, Plan } from '../flow/plan.ts'
import {
  cellsIn,
  encodeDocument,
  hasKeptForOthers,
  keptWithoutWriteOnly,
  type Waiting,
  withDerivedValues,
} from '../rows/collection.ts'
import type { Layout } from '../sql/layout.ts'
import { metaTable, type Statement } from '../sql/statements.ts'

/** Refuses a list by columns that rows written by old nodes lack so far. */
export function* refusePendingColumns(
  context: StoreContext,
  { collection, pending }: PreparedCollection,
  { where, order }: ListRows,
): Steps<void> {
  const waiting = waitingIn(context, collection.name)
  if (pending.size === 0 && waiting === null) return
  const columns = [...where, ...order].map(({ column }) => column)
  const unfilled = collection.columns.find(({ name, field }) => waiting?.derived.has(field) && columns.includes(name))
  if (unfilled) throw migratedColumnProblem(collection.name, unfilled.field)
  if (context.backlog) return
  if (!columns.some((column) => pending.has(column))) return
  const [row] = yield readLayoutStatement
  const layout = JSON.parse(row?.value as string) as Layout
  for (const column of pending) if (!layout.tables[collection.name]?.pending.includes(column)) pending.delete(column)
  const missing = collection.columns.find(({ name }) => pending.has(name) && columns.includes(name))
  if (missing) throw migratedColumnProblem(collection.name, missing.field)
}

const migratedColumnProblem = (collection: string, field: string): Problem =>
  new Problem(
    'dependency-unavailable',
    `The field ${field} of ${collection} is still being migrated; lists cannot be filtered, sorted or summarized by it yet. Try again later.`,
  )

/** The behaviour of a collection that waits for the second phase, as of the last probe; null if none waits. */
export const waitingIn = ({ backlog, collections }: StoreContext, collection: string): Waiting | null =>
  backlog?.isOver === false ? (collections.get(collection)?.waiting ?? null) : null

/**
 * The same, read in the transaction of a write. When the second phase begins, no old node runs any more, and the step that
 * begins it waits for all transactions that have read that it had not begun. From then on nodes behave as declared.
 */
export function* readWaiting(context: StoreContext, collection: string): Steps<Waiting | null> {
  const waiting = waitingIn(context, collection)
  if (waiting === null) return null
  const [row] = yield (context.backlog as Backlog).closed
  return row ? waiting : null
}

/** A new row without the totals that old nodes would not change. */
export function* withoutWaitingTotals(context: StoreContext, plan: Create): Steps<Create> {
  const { totals } = (yield* readWaiting(context, plan.collection)) ?? {}
  if (!totals?.size) return plan
  const { collection } = preparedCollection(context, plan.collection)
  const document = { ...JSON.parse(plan.row.hidden ?? '{}'), ...JSON.parse(plan.row.doc) }
  for (const name of totals) document[name] = null
  const derived = withDerivedValues(collection.fields, document)
  return { ...plan, row: { ...encodeDocument(collection, derived), cells: cellsIn(collection, derived) } }
}

/**
 * What the row of an event keeps for nodes of other declarations; null if it keeps nothing. Write-only values are never in
 * events: the stored layout names those of newer shapes too.
 */
export function* keptByEvent(own: PreparedCollection, viewed: ViewedRow, doc: string): Steps<string | null> {
  const hidden = hiddenColumn(own, viewed, { doc, hidden: null })
  if (!hasKeptForOthers(hidden)) return null
  const [row] = yield readLayoutStatement
  const { tables } = JSON.parse(row?.value as string) as Layout
  const stored = Object.values(tables).find(({ table }) => table === own.collection.table)
  return keptWithoutWriteOnly(hidden, stored?.shapes ?? [])
}

/** The error for a write by a node whose declaration the database no longer accepts. */
export const outdatedNodeProblem = (cause: unknown): Problem =>
  new Problem(
    'dependency-unavailable',
    'This node runs a declaration that is older than the database; nothing was changed. Try again: another node may answer.',
    { cause },
  )

const readLayoutStatement: Statement = { text: `SELECT value FROM ${metaTable} WHERE name = 'layout'`, values: [] }

const rowPlanKinds: ReadonlySet<Plan['do']> = new Set(['read', 'list', 'create', 'decide', 'waiting'])

/** Whether to check for rows written by old nodes before a plan runs. */
export const needsBacklogCheck = ({ backlog }: StoreContext, plan: Plan): boolean =>
  backlog?.isOver === false && rowPlanKinds.has(plan.do)

/** Whether old nodes may read the rows of a write. */
export const oldNodesMayRead = ({ backlog }: StoreContext, { former }: PreparedCollection): boolean =>
  backlog?.isOver === false && former !== null

/**
 * Converts the rows that old nodes wrote, batch by batch, before a plan runs; concurrent callers share a batch. What old nodes
 * write after that is not waited for: while they write without a pause, a request would never be answered.
 */
export function sharedCatchUp(
  hasBacklog: () => boolean | Promise<boolean>,
  convertBatch: () => Promise<Outcome>,
): () => Promise<void> {
  let converting: Promise<Outcome> | null = null
  return async () => {
    if (!(await hasBacklog())) return
    await converting // it may have begun before some of these rows were written
    for (let more = true; more; ) {
      converting ??= convertBatch().finally(() => {
        converting = null
      })
      const converted = await converting
      more = converted.is === 'caughtUp' && converted.more
    }
  }
}

/** Whether rows have to be converted first. Also notes when there can be no more such rows. */
export function* checkBacklog({ backlog }: StoreContext): Steps<boolean> {
  if (!backlog) return false
  const [row] = yield backlog.probe
  backlog.isOver = Number(row?.behind) === 0
  return Number(row?.behind) === 2
}
