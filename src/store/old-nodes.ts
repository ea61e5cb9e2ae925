/** Old nodes: what a store does during a rolling upgrade, while nodes of the former declaration still write. The cellar. */
import { Problem } from '../errors/problem.ts'
import type { ListRows, Plan } from '../flow/plan.ts'
import { metaTable, type Statement } from '../sql/compile.ts'
import type { Layout } from '../sql/layout.ts'
import type { PreparedCollection, StoreContext } from './context.ts'
import type { Steps } from './steps.ts'

/** Refuses a list by columns that rows written by old nodes lack so far. */
export function* refusePendingColumns(
  { backlog }: StoreContext,
  { collection, pending }: PreparedCollection,
  { where, order }: ListRows,
): Steps<void> {
  if (pending.size === 0 || backlog) return
  const asked = [...where, ...order].map(({ column }) => column)
  if (!asked.some((column) => pending.has(column))) return
  const [row] = yield readLayoutStatement
  const layout = JSON.parse(row?.value as string) as Layout
  for (const column of pending) if (!layout.tables[collection.name]?.pending.includes(column)) pending.delete(column)
  const missing = collection.columns.find(({ name }) => pending.has(name) && asked.includes(name))
  if (!missing) return
  throw new Problem(
    'dependency-unavailable',
    `The field ${missing.field} of ${collection.name} is still being migrated; lists cannot be filtered or sorted by it yet. Try again later.`,
  )
}

/** The error for a write by a node whose declaration the database no longer accepts. */
export const outdatedNodeProblem = (cause: unknown): Problem =>
  new Problem(
    'dependency-unavailable',
    'This node runs a declaration that is older than the database; nothing was changed. Try again: another node may answer.',
    { cause },
  )

const readLayoutStatement: Statement = { text: `SELECT value FROM ${metaTable} WHERE name = 'layout'`, values: [] }

const rowPlanKinds: ReadonlySet<Plan['do']> = new Set(['read', 'list', 'create', 'decide'])

/** Whether to check for rows written by old nodes before a plan runs. */
export const needsBacklogCheck = ({ backlog }: StoreContext, plan: Plan): boolean =>
  backlog?.isOver === false && rowPlanKinds.has(plan.do)

/** Whether old nodes may read what is written. */
export const oldNodesMayRead = ({ backlog }: StoreContext, { former }: PreparedCollection): boolean =>
  backlog?.isOver === false && former !== null

/** Converts the rows that old nodes wrote, batch by batch, before a plan runs; concurrent callers share a batch. */
export function sharedCatchUp(
  lags: () => boolean | Promise<boolean>,
  raise: () => Promise<unknown>,
): () => Promise<void> {
  let raising: Promise<unknown> | null = null
  return async () => {
    while (await lags()) {
      raising ??= raise().finally(() => {
        raising = null
      })
      await raising
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
