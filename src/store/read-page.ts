/** Reads a page of a list: its rows as one text, and the positions of its ends. The store. */

import { type PreparedCollection, preparedCollection, type StoreContext } from '../catalog/context.ts'
import type { ResultRow, Steps } from '../catalog/steps.ts'
import type { Page } from '../flow/outcome.ts'
import { isRelevance, type ListRows, type Window } from '../flow/plan.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import { keyColumns } from '../rows/collection.ts'
import type { Dialect } from '../sql/dialect.ts'
import {
  aggregateStatement,
  arrayText,
  countStatement,
  fillSlots,
  listedDocuments,
  listedKeys,
  listStatement,
  type OffsetAndLimit,
  probeStatement,
} from '../sql/list-statements.ts'
import { formAtPosition, type KeyRange, type PreparedRange, rangesFrom, rangesOf, slot, slotAt } from '../sql/ranges.ts'
import type { Statement } from '../sql/statements.ts'
import { shardKeyIn } from '../sql/where.ts'
import { type PageExtras, pageWithExtras } from './combined.ts'
import {
  appendPart,
  areSameShape,
  type Cells,
  emptyPart,
  endPositions,
  inListOrder,
  type PagePart,
  partOfRows,
  placeOf,
  positionInColumns,
  positionTexts,
  totalOfLastPage,
  withoutLastRow,
} from './page-positions.ts'

/** The limit for all cached totals together, in characters of their `countKey`. */
export const mostTotals = 262_144

/** How a list is read: row by row, or aggregated to one text by the database, which works only if all rows have the current shape. */
interface ListContext {
  readonly context: StoreContext
  readonly own: PreparedCollection
  /** With slots for the values that differ between callers, owners and positions. */
  readonly plan: ListRows
  readonly rowByRow: boolean
  /** The values of the slots for the account and the owner. */
  readonly given: Cells
}

interface ListWithExtras extends ListContext {
  /** Extra queries in the statement of the first rows. */
  readonly extras: PageExtras | null
}

const noEnds = [null, null] as const

export function* readPage(context: StoreContext, list: ListRows): Steps<Page> {
  const own = preparedCollection(context, list.collection)
  // On a sharded database, an aggregate would have to move the rows between machines first.
  const rowByRow =
    context.dialect.distribute !== null ||
    (list.withPositions && !list.order.every((term) => isRelevance(term) || own.columnsInDocument.has(term.column)))
  const reach = { context, own, rowByRow, ...withSlots(list, context.dialect) }
  const { plan } = reach
  const joined = yield* readWindow({ ...reach, extras: extrasOf(context, plan) })
  const all = joined.current ? joined : yield* readWindow({ ...reach, rowByRow: true, extras: null })
  const { limit } = plan.window
  const more = all.count > limit
  const page = inListOrder(plan, more ? withoutLastRow(all) : all)
  const known = joined.total ?? totalOfLastPage(plan, page.count, more)
  const total = plan.countTo === null ? null : yield* countUpTo(reach, plan.countTo, known)
  const [first, last] =
    plan.withPositions && (more || plan.window.from === 'place') ? endPositions(own, plan, page) : noEnds
  const sides = yield* findNeighbours(reach, { first, last, otherSide: joined.otherSide }, more)
  return {
    is: 'page',
    data: page.docs,
    count: page.count,
    first: positionTexts(first),
    last: positionTexts(last),
    ...sides,
    total,
  }
}

/** Replaces the values that differ between callers and owners by slots. */
function withSlots(plan: ListRows, { distribute }: Dialect): Pick<ListContext, 'plan' | 'given'> {
  const { account, parent } = plan
  return {
    plan: { ...plan, account: slot(slotAt.account), parent: parent && { ...parent, id: slot(slotAt.owner) } },
    given: [account, parent?.id ?? null, distribute && parent && shardKeyOf(parent.id)],
  }
}

/** The rows of the window and one more, which shows whether more rows follow. */
const readWindow = (reach: ListWithExtras): Steps<PagePart> => {
  const { window } = reach.plan
  return window.from === 'offset' ? readFromOffset(reach, window.offset) : readFromPosition(reach, window)
}

/** The rows of one key range. */
function* readRange(
  taking: ListWithExtras,
  range: PreparedRange,
  { offset, limit }: OffsetAndLimit,
  place: Cells,
): Steps<PagePart> {
  const { context, own, plan, rowByRow, extras, given } = taking
  const isOnAllShards = context.dialect.distribute && shardKeyIn(own.collection, plan, context.dialect) === null
  if (isOnAllShards && !plan.order.some(({ reach }) => reach))
    return yield* readByKeys(taking, range, { offset, limit }, place)
  const cut = { offset: offset === 0 ? offset : slot<number>(slotAt.offset), limit }
  const name = `${offset === 0} ${limit} ${rowByRow} ${plan.withPositions} ${extras?.countTo} ${formAtPosition(plan)}`
  const statement = range.prepared.form(name, () => rangeStatement(taking, range, cut))
  const filled = fillSlots(statement, [...given, offset, ...place])
  const rows = yield filled
  if (rowByRow) return partOfRows(own, plan, rows, rows)
  const [row] = rows
  const count = Number(row?.count ?? 0)
  const extraAnswers = {
    otherSide: extras && extras.ranges.length > 0 ? Boolean(row?.other_side) : null,
    total: extras?.countTo == null ? null : Number(row?.total),
  }
  if (!row || count === 0) return { ...emptyPart, ...extraAnswers }
  return {
    count,
    docs: row.docs as string,
    positions:
      row.ranks === undefined
        ? null
        : String(row.ranks)
            .split(',')
            .map((rank) => [rank]),
    current: areSameShape(own, Number(row.oldest), Number(row.newest)),
    ...extraAnswers,
  }
}

/**
 * The rows of one key range of a list that goes to all shards: first their keys, then the documents of those that are shown, as
 * each shard would send the documents of a whole page otherwise. A row that does not match any more is left out.
 */
function* readByKeys(
  taking: ListContext,
  range: PreparedRange,
  { offset, limit }: OffsetAndLimit,
  place: Cells,
): Steps<PagePart> {
  const { context, own, plan, given } = taking
  const cut = { offset: offset === 0 ? offset : slot<number>(slotAt.offset), limit }
  const { dialect } = context
  const make = () => listedKeys(own.collection, plan, range, cut, dialect)
  const keys = yield fillSlots(range.prepared.form(`keys ${offset === 0} ${limit}`, make), [...given, offset, ...place])
  if (keys.length === 0) return emptyPart
  const [homes, ids] = [slot<number>(slotAt.offset), slot<string>(slotAt.place)]
  const documents = plan.prepared.form('documents', () => listedDocuments(own.collection, plan, [homes, ids], dialect))
  const names = keyColumns(own.collection).map((_, i) => `key${i}`)
  const arrays = ['home', names.at(-1) as string].map((name) => arrayText(keys.map((row) => row[name])))
  const nameOf = (row: ResultRow): string => JSON.stringify(names.map((name) => row[name]))
  const rows = yield fillSlots(documents, [...given, ...arrays])
  const byName = new Map(rows.map((row) => [nameOf(row), row]))
  const kept = keys.filter((key) => byName.has(nameOf(key)))
  const part = partOfRows(
    own,
    plan,
    kept.map((key) => byName.get(nameOf(key)) as ResultRow),
    kept,
  )
  const isWhole = kept.length === keys.length || keys.length < limit
  return isWhole ? part : { ...part, resume: positionInColumns(own, plan, placeOf(plan, keys.at(-1) as ResultRow)) }
}

function rangeStatement(
  { context, own, plan, rowByRow, extras }: ListWithExtras,
  range: KeyRange,
  cut: OffsetAndLimit,
): Statement {
  const { dialect } = context
  if (rowByRow) return listStatement(own.collection, plan, range, { ...cut, withWriteOnly: true }, dialect)
  const ranked = plan.withPositions && plan.order.some(isRelevance)
  const joined = aggregateStatement({ collection: own.collection, plan, range, cut, dialect }, ranked)
  return extras ? pageWithExtras(joined, own.collection, plan, extras, dialect) : joined
}

/** The rows from an offset on. */
function* readFromOffset(taking: ListWithExtras, from: number): Steps<PagePart> {
  const { plan } = taking
  const wanted = plan.window.limit + 1
  let all = emptyPart
  let offset = from
  let first = taking
  for (const range of rangesOf(plan)) {
    const next = yield* readRange(first, range, { offset, limit: wanted - all.count }, [])
    all = appendPart(all, next)
    if (next.resume) return yield* readOn(taking, all, { position: next.resume, back: false })
    first = { ...taking, extras: null }
    if (all.count === wanted) break
    if (next.count > 0) offset = 0
    else if (offset > 0) offset -= yield* countRows(taking, range, offset)
  }
  return all
}

/** The rows after a position, or before it when going back. */
function* readFromPosition(
  taking: ListWithExtras,
  { position, back, including, limit }: Extract<Window, { from: 'place' }>,
): Steps<PagePart> {
  let all = emptyPart
  let own = taking
  for (const range of rangesFrom(taking.plan, { position, back, including })) {
    const next = yield* readRange(own, range, { offset: 0, limit: limit + 1 - all.count }, position)
    all = appendPart(all, next)
    if (next.resume) return yield* readOn(taking, all, { position: next.resume, back })
    own = { ...taking, extras: null }
    if (all.count > limit) break
  }
  return all
}

/** Fills a page from which rows were left out with those after the last key that was read. */
function* readOn(
  taking: ListWithExtras,
  all: PagePart,
  from: { readonly position: Cells; readonly back: boolean },
): Steps<PagePart> {
  const limit = taking.plan.window.limit - all.count
  return appendPart(all, yield* readFromPosition(taking, { from: 'place', including: false, limit, ...from }))
}

/** How many rows match; null if they are more than the limit. R75. */
function* countUpTo(reach: ListContext, upTo: number, known: number | null): Steps<number | null> {
  const total = known ?? (yield* countRows(reach, null, countLimit(upTo)))
  return total > upTo ? null : total
}

function* countRows(
  { context, own, plan, given }: ListContext,
  range: PreparedRange | null,
  upTo: number,
): Steps<number> {
  const make = () => countStatement(own.collection, plan, range, slot(slotAt.offset), context.dialect)
  const [row] = yield fillSlots((range ?? plan).prepared.form('count', make), [...given, upTo])
  return Math.min(Number(row?.total), upTo)
}

/** One more than the limit, to see whether more rows match. */
const countLimit = (upTo: number): number => (upTo === Number.MAX_SAFE_INTEGER ? upTo : upTo + 1)

interface PageEnds {
  readonly first: Cells | null
  readonly last: Cells | null
  readonly otherSide: boolean | null
}

/** Rows on the side that a cursor came from and the total are read along with the page where round trips are expensive. */
function extrasOf({ dialect }: StoreContext, plan: ListRows): PageExtras | null {
  const { window, countTo } = plan
  if (!dialect.combines || (window.from === 'offset' && countTo === null)) return null
  const back = window.from === 'place' && { ...window, back: !window.back, including: !window.including }
  return {
    ranges: back ? rangesFrom(plan, back) : [],
    countTo: countTo === null ? null : countLimit(countTo),
  }
}

/** Whether there are rows before and after the page. The side that a cursor came from is checked, as its rows may be deleted by now. */
function* findNeighbours(
  { context, own, plan, given }: ListContext,
  { first, last, otherSide }: PageEnds,
  more: boolean,
): Steps<{ hasBefore: boolean; hasAfter: boolean }> {
  const { window } = plan
  if (window.from === 'offset') return { hasBefore: window.offset > 0, hasAfter: more }
  const neighbours = (other: boolean) =>
    window.back ? { hasBefore: more, hasAfter: other } : { hasBefore: other, hasAfter: more }
  if (otherSide !== null) return neighbours(otherSide)
  const end = window.back ? last : first
  const from = { position: end ?? window.position, back: !window.back, including: end === window.position }
  let other = false
  for (const range of rangesFrom(plan, from)) {
    const here: ListRows = { ...plan, window: { ...window, position: from.position } }
    const name = `probe ${formAtPosition(here)}`
    const probe = range.prepared.form(name, () => probeStatement(own.collection, here, range, context.dialect))
    other = (yield fillSlots(probe, [...given, null, ...from.position])).length > 0
    if (other) break
  }
  return neighbours(other)
}
