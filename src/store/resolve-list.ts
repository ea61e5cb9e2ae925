/** Resolve list: replaces declared names in a list by those of the database, also while a column is renamed. The cellar. */
import type { Condition, JoinedColumn, ListRows, Term } from '../flow/plan.ts'
import { type PreparedCollection, preparedCollection, type ResolvedList, type StoreContext } from './context.ts'

/** Resolved lists by their filters, so that equal requests get the same objects, by which statements are cached. */
const resolvedLists = new WeakMap<
  PreparedCollection,
  WeakMap<ListRows['where'], { order: ListRows['order']; byPlace: Map<string, ResolvedList> }>
>()

/**
 * A list with the column names of the database; the same objects for the same list if its position has values in the same
 * columns.
 */
export function resolveList(cellar: StoreContext, plan: ListRows): ListRows {
  const own = preparedCollection(cellar, plan.collection)
  const { order, where, window } = plan
  const all = resolvedLists.get(own) ?? new WeakMap()
  if (!resolvedLists.has(own)) resolvedLists.set(own, all)
  const before = all.get(where)
  const kept = before?.order === order ? before : { order, byPlace: new Map() }
  if (kept !== before) all.set(where, kept)
  const at = window.from === 'place' ? window.position : []
  const name = `${plan.parent?.collection} ${at.map((cell) => (cell === null ? 'n' : 'v')).join('')}`
  const found = kept.byPlace.get(name) ?? resolveListAt(cellar, own, plan, at)
  kept.byPlace.set(name, found)
  return { ...plan, ...found }
}

/** Columns that have no nulls are marked, so that more indexes serve the order. */
function resolveListAt(
  cellar: StoreContext,
  own: PreparedCollection,
  { where, order }: ListRows,
  at: readonly unknown[],
): ResolvedList {
  const { nonNullColumns, columnName } = own
  const isFull = (column: string, i: number) => nonNullColumns.has(column) && at[i] !== null
  return {
    where: where.map((one) => resolveCondition(cellar, own, one)),
    order: order.map((term, i): Term => {
      if (term.reach) return { ...term, reach: resolveJoinedColumn(cellar, own, term.reach) }
      const column = columnName(term.column)
      return isFull(column, i) ? { ...term, column, nulls: 'none' } : { ...term, column }
    }),
  }
}

function resolveCondition(cellar: StoreContext, own: PreparedCollection, one: Condition): Condition {
  const column = own.columnName(one.column)
  if (one.is === 'any')
    return { ...one, column, of: one.of.map((all) => all.map((inner) => resolveCondition(cellar, own, inner))) }
  if (one.is !== 'among') return { ...one, column }
  const other = preparedCollection(cellar, one.collection)
  const { table: collection, account } = other.collection
  return {
    ...one,
    column,
    collection,
    owned: account !== null,
    where: one.where.map((inner) => resolveCondition(cellar, other, inner)),
  }
}

function resolveJoinedColumn(
  cellar: StoreContext,
  { columnName, collection: own }: PreparedCollection,
  reach: JoinedColumn,
): JoinedColumn {
  const other = preparedCollection(cellar, reach.collection)
  const { table: collection, account } = other.collection
  const owned = account !== null && own.account !== null
  const kept = reach.kept && columnName(reach.kept)
  return { ...reach, collection, owned, by: columnName(reach.by), column: other.columnName(reach.column), kept }
}
