/** Resolve list: the names of a list of the declaration as the database has them, also while a column is renamed. The cellar. */
import type { Condition, JoinedColumn, ListRows, Term } from '../flow/plan.ts'
import { type PreparedCollection, preparedCollection, type ResolvedList, type StoreContext } from './context.ts'

/** What lists came to, by their filters: who asks in the same words again gives the very same ones. */
const resolvedLists = new WeakMap<
  PreparedCollection,
  WeakMap<ListRows['where'], { order: ListRows['order']; byPlace: Map<string, ResolvedList> }>
>()

/** A list as the database knows its columns; the same objects for the same list, where its place has values in the same columns. */
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

/** Its order says nothing of nulls where there are none, so that more indexes serve it. */
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
