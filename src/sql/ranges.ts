/** Key ranges: splits ordered rows into ranges that an index can seek; finds out if an index serves a list. Pure. The store. */
import type { Condition, ListRows, Term, Window } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'
import { type Cell, type Collection, compareCells, indexesOf, keyColumns } from '../rows/collection.ts'
import type { Dialect } from './dialect.ts'
import { fitIndexColumns } from './index-width.ts'

/** A condition on the columns of an order. */
export type KeyBound =
  | { readonly column: string; readonly is: 'at' | 'beyond' | 'before'; readonly value: Cell }
  | { readonly column: string; readonly is: 'null' | 'present' }
  /** A row comparison: `(a, b) > (1, 2)`. */
  | { readonly columns: readonly string[]; readonly is: 'beyond' | 'before'; readonly values: readonly Cell[] }

/** Consecutive rows of an order. Lists of ranges have the order in which their rows are read. */
export interface KeyRange {
  readonly bounds: readonly KeyBound[]
  readonly order: readonly Term[]
}

/** A key range with the statements that read it. */
export interface PreparedRange extends KeyRange {
  readonly prepared: Prepared
}

const withPrepared = (range: KeyRange): PreparedRange => ({ ...range, prepared: new Prepared() })

/** A placeholder in a cached statement, for a value that is known when the statement runs. */
export interface Slot {
  readonly slot: number
}

/** The numbers of slots: the account, the owner, its shard key, an offset or the limit of a count, then the cells of a position. */
export const slotAt = { account: 0, owner: 1, home: 2, offset: 3, place: 4 }
const slots: readonly Slot[] = Array.from({ length: 64 }, (_, n) => Object.freeze({ slot: n }))

/** A slot with the type of the value that replaces it; callers only bind it. */
export const slot = <T extends Cell>(n: number): T => (slots[n] ?? { slot: n }) as unknown as T

export const isSlot = (value: unknown): value is Slot => typeof value === 'object' && value !== null

/** An order and a position without the terms that filters fix to one value, as all rows are equal there. */
export function withoutFixedTerms(
  { order, where }: { readonly order: readonly Term[]; readonly where: readonly Condition[] },
  place: readonly Cell[],
): { readonly order: readonly Term[]; readonly place: readonly Cell[] } {
  const fixed = new Set(where.filter(({ is }) => is === 'eq' || is === 'null').map(({ column }) => column))
  const isLoose = (i: number) => !fixed.has(order[i]?.column as string)
  return { order: order.filter((_, i) => isLoose(i)), place: place.filter((_, i) => isLoose(i)) }
}

/** All rows: those with a value of the first term and those without one, in the order of the list. */
export function allRanges(order: readonly Term[]): readonly KeyRange[] {
  const [first] = order
  if (!first || first.nulls === 'none') return [{ bounds: [], order }]
  const values: KeyRange = {
    bounds: [{ column: first.column, is: 'present' }],
    order: [withoutNulls(first), ...order.slice(1)],
  }
  const nulls: KeyRange = { bounds: [{ column: first.column, is: 'null' }], order: order.slice(1) }
  return first.nulls === 'first' ? [nulls, values] : [values, nulls]
}

/** The range of the row at a position, if it still exists. */
const rangeAt = (order: readonly Term[], place: readonly Cell[]): KeyRange => ({
  bounds: order.map(({ column }, i): KeyBound => {
    const value = place[i] ?? null
    return value === null ? { column, is: 'null' } : { column, is: 'at', value }
  }),
  order: [],
})

/** The rows after a position. */
export function rangesAfter(order: readonly Term[], place: readonly Cell[]): readonly KeyRange[] {
  const [first, ...rest] = order
  if (!first) return []
  const [value = null, ...others] = place
  if (isUniform(order) && value !== null) {
    const bounds: KeyBound[] = [
      { columns: order.map(({ column }) => column), is: boundDirection(first), values: place },
    ]
    return [{ bounds, order: [withoutNulls(first), ...rest] }, ...nullRangeAfter(first, rest)]
  }
  const here: KeyBound =
    value === null ? { column: first.column, is: 'null' } : { column: first.column, is: 'at', value }
  const equal = rangesAfter(rest, others).map((range) => ({ ...range, bounds: [here, ...range.bounds] }))
  if (value === null)
    return first.nulls === 'first'
      ? [...equal, { bounds: [{ column: first.column, is: 'present' }], order: [withoutNulls(first), ...rest] }]
      : equal
  const further: KeyRange = {
    bounds: [{ column: first.column, is: boundDirection(first), value }],
    order: [withoutNulls(first), ...rest],
  }
  return [...equal, further, ...nullRangeAfter(first, rest)]
}

type RangeStart = Pick<Extract<Window, { from: 'place' }>, 'position' | 'back' | 'including'>

/** The ranges of the rows after a position, or before it with `back`, with slots for its cells. */
export function rangesFrom(plan: ListRows, { position, back, including }: RangeStart): readonly PreparedRange[] {
  const name = `${back} ${including} ${position.map((cell) => cell === null)}`
  return plan.prepared.form(name, () => {
    const place = position.map((cell, i) => (cell === null ? null : slot(slotAt.place + i)))
    const { order, place: cells } = withoutFixedTerms(plan, place)
    const own = including ? [rangeAt(order, cells)] : []
    return [...own, ...rangesAfter(back ? reverseOrder(order) : order, cells)].map(withPrepared)
  })
}

/** The ranges of all rows of a list. */
export const rangesOf = (plan: ListRows): readonly PreparedRange[] =>
  plan.prepared.form('whole', () => allRanges(withoutFixedTerms(plan, []).order).map(withPrepared))

/** The reverse order, nulls included. */
export const reverseOrder = (order: readonly Term[]): readonly Term[] =>
  order.map(({ descending, nulls, ...rest }) => ({
    ...rest,
    descending: !descending,
    nulls: nulls === 'none' ? nulls : nulls === 'first' ? ('last' as const) : ('first' as const),
  }))

/** Whether one row comparison finds the rows after a position: one direction, and no nulls except in the first term. */
const isUniform = (order: readonly Term[]): boolean =>
  order.every(({ descending, nulls }, i) => descending === order[0]?.descending && (i === 0 || nulls === 'none'))

const boundDirection = ({ descending }: Term) => (descending ? ('before' as const) : ('beyond' as const))
const withoutNulls = (term: Term): Term => ({ ...term, nulls: 'none' })
const nullRangeAfter = ({ column, nulls }: Term, rest: readonly Term[]): KeyRange[] =>
  nulls === 'last' ? [{ bounds: [{ column, is: 'null' }], order: rest }] : []

/**
 * Whether the rows of a page, or of each value of its `in` filter, are adjacent in one index: the columns of equality
 * filters come first, then the order.
 */
export const isBounded = (collection: Collection, plan: ListRows, dialect: Dialect): boolean =>
  plan.prepared.form('bounded', () => isServedByIndex(collection, plan, dialect))

const maxParts = 16

/** The filters of a list for each value of its only `in` filter: the rows of all of them, merged, are the list. */
function splitBySet({ where, order }: ListRows, { distribute }: Dialect): readonly ListRows['where'][] {
  const [set, ...more] = where.filter(({ is }) => is === 'in')
  if (set?.is !== 'in' || more.length > 0 || distribute || order.some(({ reach }) => reach)) return [where]
  const members = [...new Set(set.values)]
  if (members.length === 0 || members.length > maxParts) return [where]
  return members.map((value) => where.map((one) => (one === set ? { is: 'eq', column: set.column, value } : one)))
}

/** The filters of the parts that are read in index order and merged; the filters of the list itself if no index serves the parts. */
export function listParts(collection: Collection, plan: ListRows, dialect: Dialect): readonly ListRows['where'][] {
  const all = splitBySet(plan, dialect)
  const [where = plan.where] = all
  return all.length > 1 && isInIndexOrder(collection, { ...plan, where }, dialect) ? all : [plan.where]
}

/**
 * The filters of the parts of a list by its only `any`, which may have rows in common; empty unless an index serves each
 * part in the order of the list.
 */
export function alternativeParts(
  collection: Collection,
  plan: ListRows,
  dialect: Dialect,
): readonly ListRows['where'][] {
  const { where, order } = plan
  const { distribute } = dialect
  const [any, ...more] = where.filter(({ is }) => is === 'any')
  if (any?.is !== 'any' || more.length > 0 || distribute || order.some(({ reach }) => reach)) return []
  const rest = where.filter((one) => one !== any)
  const parts = any.of.flatMap(equalAlternatives).map((all) => [...rest, ...all])
  const isServed = (part: ListRows['where']) => isInIndexOrder(collection, { ...plan, where: part }, dialect)
  return parts.length <= maxParts && parts.every(isServed) ? parts : []
}

/** A set as one alternative for each of its values. */
function equalAlternatives(all: readonly Condition[]): readonly (readonly Condition[])[] {
  const [one] = all
  if (all.length !== 1 || one?.is !== 'in') return [all]
  return [...new Set(one.values)].map((value) => [{ column: one.column, is: 'eq', value }])
}

type Comparison = Extract<Condition, { readonly value: Cell }>

const isOnSide = (one: Condition, side: KeyBound['is']): one is Comparison =>
  side === 'beyond' ? one.is === 'gt' || one.is === 'gte' : one.is === 'lt' || one.is === 'lte'

/**
 * The filters and bounds of a part of a key range. A filter and the bound of the position may limit the same side of a column;
 * only the stricter one is kept, so that the database seeks by it.
 */
export function withStricterBounds(
  where: ListRows['where'],
  { bounds }: KeyRange,
  { order, window }: ListRows,
): { readonly where: ListRows['where']; readonly bounds: readonly KeyBound[] } {
  const [first, ...more] = bounds
  if (window.from !== 'place' || (first?.is !== 'beyond' && first?.is !== 'before')) return { where, bounds }
  const column = 'columns' in first ? first.columns[0] : first.column
  const at = window.position[order.findIndex((one) => one.column === column)] ?? null
  const isStricter = (one: Condition) =>
    one.column === column && isOnSide(one, first.is) && (at === null || !isMetBy(one, at))
  return where.some(isStricter)
    ? {
        where: where.filter((one) => one.column !== column || !isOnSide(one, first.is) || isStricter(one)),
        bounds: more,
      }
    : { where, bounds }
}

function isMetBy({ is, value }: Comparison, cell: Cell): boolean {
  const order = compareCells(cell, value)
  return order === 0 ? is === 'gte' || is === 'lte' : order > 0 === is.startsWith('g')
}

/** How the position compares with the values of alternatives, by which their statements differ. */
export const formAtPosition = ({ where, order, window }: ListRows): string =>
  where
    .flatMap((one) => (one.is === 'any' ? one.of.flat() : []))
    .map((one) => {
      const at =
        window.from === 'place'
          ? (window.position[order.findIndex(({ column }) => column === one.column)] ?? null)
          : null
      return at === null || !('value' in one) ? '' : Math.sign(compareCells(at, one.value))
    })
    .join()

function isServedByIndex(collection: Collection, plan: ListRows, dialect: Dialect): boolean {
  if (plan.summary || plan.parent?.pairs) return false
  const { window } = plan
  const isAtStart = window.from === 'place' || window.offset === 0
  if (isAtStart && alternativeParts(collection, plan, dialect).length > 0) return true
  const [where = plan.where] = splitBySet(plan, dialect)
  return isInIndexOrder(collection, { ...plan, where }, dialect)
}

function isInIndexOrder(collection: Collection, plan: ListRows, dialect: Dialect): boolean {
  const { where, order, parent, prepared, shared = prepared } = plan
  const whose = collection.account === null ? [] : ['account']
  const owner = [...whose, ...(parent && collection.parent ? [collection.parent.column] : [])]
  const fixed = where.filter(({ is }) => is === 'eq' || is === 'null').map(({ column }) => column)
  const rest = where.filter(({ is }) => is !== 'eq' && is !== 'null')
  const wanted = order.filter(({ column }) => ![...owner, ...fixed].includes(column))
  const [first] = wanted
  if (
    rest.some(
      ({ is, column }) => ['like', 'in', 'ne', 'among', 'any', 'search'].includes(is) || column !== first?.column,
    )
  )
    return false
  const indexes = shared.form('indexes', () => indexColumns(collection, dialect))
  return indexes.some((index) => indexServes(index, [...owner, ...fixed], wanted))
}

/** The columns of all indexes and of the primary key, descending ones with a minus sign. Each ends in the primary key. */
function indexColumns(collection: Collection, dialect: Dialect): readonly (readonly string[])[] {
  const key = keyColumns(collection)
  const unique = (dialect.distribute ? [] : collection.uniques).map(({ columns }) => [...columns, ...key])
  const free = indexesOf(collection).map(({ columns }) => columns)
  return [key, ...[...unique, ...free].map((columns) => fitIndexColumns(collection, columns, dialect, false))]
}

/** Whether the index has the order, or its reverse, after the fixed columns. */
function indexServes(index: readonly string[], fixed: readonly string[], order: readonly Term[]): boolean {
  const start = index.slice(0, fixed.length).map((name) => name.replace(/^-/, ''))
  if (!fixed.every((column) => start.includes(column))) return false
  const behind = index.slice(fixed.length)
  const reverse = behind[0]?.startsWith('-') !== order[0]?.descending
  return order.every(({ column, descending, nulls }, i) => {
    const sign = descending !== reverse ? '-' : ''
    return behind[i] === sign + column && (i === 0 || nulls === 'none')
  })
}
