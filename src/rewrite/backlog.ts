/** Backlog: finds and converts the rows that old nodes write during a rolling upgrade. The store. */

import type { Backlog, PreparedCollection, StoreContext, StoreLayouts } from '../catalog/context.ts'
import { begunMark, unfinishedRow } from '../schema/behaviour-steps.ts'
import { layoutName } from '../schema/state.ts'
import { quoted, rowKeyColumns } from '../sql/dialect.ts'
import type { Layout } from '../sql/layout.ts'
import { metaTable } from '../sql/statements.ts'
import { refill } from './refill.ts'

/** Adds the backlog to a store context, if old nodes may write rows that lack columns or read columns that are gone. */
export function withBacklog(context: StoreContext, { layout }: StoreLayouts): StoreContext {
  const backlog = backlogOf(context, layout)
  return backlog ? { ...context, backlog: backlog } : context
}

function backlogOf(context: StoreContext, layout: Layout): Backlog | undefined {
  const { dialect } = context
  const { tables, open } = layout
  const concerned = [...context.collections.values()].filter(concernsOldNodes)
  if (!open || concerned.length === 0) return undefined
  const all = concerned.filter(needsCatchUp)
  // ORDER BY forces the partial index; a planner that overestimates the rows of old shapes would scan the table.
  const firsts = all.map(({ collection, shape }) => {
    const order = rowKeyColumns(collection, dialect).join(', ')
    return `(SELECT 1 FROM ${quoted(collection.table)} WHERE shape < ${shape} ORDER BY ${order} LIMIT 1)`
  })
  const rows = firsts.map((one) => `${one} IS NOT NULL`)
  // After the end of the change there are neither such rows nor the partial index; another change may have begun since.
  const named = `SELECT 1 AS found FROM ${metaTable} WHERE name = '${unfinishedRow}' AND value`
  const name = layoutName(layout)
  const isOpen = `EXISTS (${named} IN ('${name}', '${name}${begunMark}'))`
  const some = rows.length === 0 ? '1' : `CASE WHEN ${rows.join(' OR ')} THEN 2 ELSE 1 END`
  const text = dialect.distribute
    ? distributedProbeText(firsts, `${named} IN ('${name}', '${name}${begunMark}')`)
    : `SELECT CASE WHEN ${isOpen} THEN ${some} ELSE 0 END AS behind`
  return {
    probe: { text, values: [], autocommit: 'read' },
    closed: { text: `${named} = '${name}'`, values: [] },
    *catchUp() {
      let more = false
      for (const prepared of all) {
        const { name } = prepared.collection
        const fill = { collection: name, again: false, ahead: true, latest: true }
        more = (yield* refill({ prepared, table: tables[name], fill, dialect, context }, null)) !== null || more
      }
      return more
    },
    isOver: false,
  }
}

/** The probe of a sharded database, where subqueries on other machines may only stand in FROM. */
function distributedProbeText(firsts: readonly string[], unfinished: string): string {
  const behind = firsts.map((one, i) => `(SELECT count(*) AS rows FROM ${one} AS one) AS t${i}`)
  const some = ['0', ...firsts.map((_, i) => `t${i}.rows`)].join(' + ')
  const change = `(SELECT count(*) AS rows FROM (${unfinished}) AS one) AS change`
  return `SELECT CASE WHEN change.rows = 0 THEN 0 WHEN ${some} > 0 THEN 2 ELSE 1 END AS behind FROM ${[change, ...behind].join(', ')}`
}

/** Whether rows written by old nodes lack columns, or hold values that move to other collections. */
const needsCatchUp = ({ collection, former, pending }: PreparedCollection): boolean =>
  former !== null && (pending.size > 0 || (collection.conversions?.receivers.length ?? 0) > 0)

/** Whether rows written by old nodes need conversion, old nodes query columns that are gone, or behaviour waits until they stop. */
const concernsOldNodes = (one: PreparedCollection): boolean =>
  needsCatchUp(one) || (one.former?.columns.length ?? 0) > 0 || one.waiting !== null
