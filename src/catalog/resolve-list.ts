/** Resolve list: replaces declared names in a list by those of the database, also while a column is renamed. The store. */

import {
  type PreparedCollection,
  preparedCollection,
  type ResolvedList,
  type StoreContext,
} from '../catalog/context.ts'
import type { Condition, JoinedColumn, ListRows, PairedRows, Term } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'

/** A list with the column names of the database; cached by list, and by which cells of its position are null. */
export function resolveList(context: StoreContext, plan: ListRows): ListRows {
  const own = preparedCollection(context, plan.collection)
  const at = plan.window.from === 'place' ? plan.window.position : []
  const name = `${plan.parent?.collection} ${at.map((cell) => (cell === null ? 'n' : 'v')).join('')}`
  const prepared = context.caches ? preparedOf(plan).for(own) : new Prepared()
  const resolved = { ...plan, ...prepared.form(name, () => resolveListAt(context, own, plan, at)) }
  const { parent } = plan
  return parent?.pairs ? { ...resolved, parent: { ...parent, pairs: resolvePairs(context, parent.pairs) } } : resolved
}

function resolvePairs(context: StoreContext, { collection: name, from, to }: PairedRows): PairedRows {
  const { columnName, collection } = preparedCollection(context, name)
  return {
    collection: collection.table,
    from: columnName(from),
    to: columnName(to),
    owned: collection.account !== null,
  }
}

const preparedOf = ({ prepared, rights }: ListRows): Prepared => rights?.visible.preparedFor(prepared) ?? prepared

/** Columns that have no nulls are marked, so that more indexes serve the order. */
function resolveListAt(
  context: StoreContext,
  own: PreparedCollection,
  { collection, where: conditions, order, rights }: ListRows,
  at: readonly unknown[],
): ResolvedList {
  const { nonNullColumns, columnName } = own
  const where = rights ? [...conditions, ...rights.visible.conditionsFor(collection)] : conditions
  const isFull = (column: string, i: number) => nonNullColumns.has(column) && at[i] !== null
  return {
    prepared: new Prepared(),
    shared: own.prepared,
    where: where.map((one) => resolveCondition(context, own, one)),
    order: order.map((term, i): Term => {
      if (term.reach) return { ...term, reach: resolveJoinedColumn(context, own, term.reach) }
      const column = columnName(term.column)
      return isFull(column, i) ? { ...term, column, nulls: 'none' } : { ...term, column }
    }),
  }
}

function resolveCondition(context: StoreContext, own: PreparedCollection, one: Condition): Condition {
  const column = own.columnName(one.column)
  if (one.is === 'any')
    return { ...one, column, of: one.of.map((all) => all.map((inner) => resolveCondition(context, own, inner))) }
  if (one.is !== 'among') return { ...one, column }
  const other = preparedCollection(context, one.collection)
  const { table: collection, account } = other.collection
  return {
    ...one,
    column,
    collection,
    owned: account !== null,
    where: one.where.map((inner) => resolveCondition(context, other, inner)),
  }
}

function resolveJoinedColumn(
  context: StoreContext,
  { columnName, collection: own }: PreparedCollection,
  reach: JoinedColumn,
): JoinedColumn {
  const other = preparedCollection(context, reach.collection)
  const { table: collection, account } = other.collection
  const owned = account !== null && own.account !== null
  const kept = reach.kept && columnName(reach.kept)
  return { ...reach, collection, owned, by: columnName(reach.by), column: other.columnName(reach.column), kept }
}
