/** Cuts the way through ordered rows into stretches that an index can seek, and tells whether one bounds a list. Pure. The cellar. */
import type { Condition, List, Term, Window } from '../flow/plan.ts'
import { type Cell, type Collection, indexesOf, keyColumns } from '../resources/collection.ts'
import type { Dialect } from './dialect.ts'
import { fitting } from './width.ts'

/** A condition on the columns of an order. */
export type Bound =
  | { readonly column: string; readonly is: 'at' | 'beyond' | 'before'; readonly value: Cell }
  | { readonly column: string; readonly is: 'null' | 'present' }
  /** A comparison of several columns at once, in the order given. */
  | { readonly columns: readonly string[]; readonly is: 'beyond' | 'before'; readonly values: readonly Cell[] }

/** Rows that follow each other in the order; the stretches of a way follow each other too. */
export interface Stretch {
  readonly bounds: readonly Bound[]
  readonly order: readonly Term[]
}

/** Stands in a statement for a value that is known when it is asked, so that the same one serves again. */
export interface Slot {
  readonly slot: number
}

/** What they stand for: the account, the owner and where its rows lie, an offset or a bound, and from there on the cells of a place. */
export const slotAt = { account: 0, owner: 1, home: 2, offset: 3, place: 4 }
const slots: Slot[] = []

/** It is bound, and never looked at, as if it were the value. */
export function slot<T extends Cell>(n: number): T {
  slots[n] ??= Object.freeze({ slot: n })
  return slots[n] as unknown as T
}

export const isSlot = (value: unknown): value is Slot => typeof value === 'object' && value !== null

const made = new WeakMap<object, Map<string, unknown>>()

/** What is made of an object is made once, under a name. */
export function once<T>(of: object, name: string, make: () => T): T {
  const all = made.get(of) ?? new Map<string, unknown>()
  if (all.size === 0) made.set(of, all)
  const found = all.get(name) ?? make()
  all.set(name, found)
  return found as T
}

/** An order and a place in it without what filters hold fixed, as it is the same in all rows. */
export function loose(
  { order, where }: { readonly order: readonly Term[]; readonly where: readonly Condition[] },
  place: readonly Cell[],
): { readonly order: readonly Term[]; readonly place: readonly Cell[] } {
  const fixed = new Set(where.filter(({ is }) => is === 'eq' || is === 'null').map(({ column }) => column))
  const isLoose = (i: number) => !fixed.has(order[i]?.column as string)
  return { order: order.filter((_, i) => isLoose(i)), place: place.filter((_, i) => isLoose(i)) }
}

/** All rows: those with a value of the first term, and those without one, in their order. */
export function whole(order: readonly Term[]): readonly Stretch[] {
  const [first] = order
  if (!first || first.nulls === 'none') return [{ bounds: [], order }]
  const values: Stretch = {
    bounds: [{ column: first.column, is: 'present' }],
    order: [valued(first), ...order.slice(1)],
  }
  const nulls: Stretch = { bounds: [{ column: first.column, is: 'null' }], order: order.slice(1) }
  return first.nulls === 'first' ? [nulls, values] : [values, nulls]
}

/** The very row at a place, if it is there. */
const at = (order: readonly Term[], place: readonly Cell[]): Stretch => ({
  bounds: order.map(({ column }, i): Bound => {
    const value = place[i] ?? null
    return value === null ? { column, is: 'null' } : { column, is: 'at', value }
  }),
  order: [],
})

/** The rows behind a place. */
export function behind(order: readonly Term[], place: readonly Cell[]): readonly Stretch[] {
  const [first, ...rest] = order
  if (!first) return []
  const [value = null, ...others] = place
  if (uniform(order) && value !== null) {
    const bounds: Bound[] = [{ columns: order.map(({ column }) => column), is: direction(first), values: place }]
    return [{ bounds, order: [valued(first), ...rest] }, ...nullsAfter(first, rest)]
  }
  const here: Bound = value === null ? { column: first.column, is: 'null' } : { column: first.column, is: 'at', value }
  const equal = behind(rest, others).map((stretch) => ({ ...stretch, bounds: [here, ...stretch.bounds] }))
  if (value === null)
    return first.nulls === 'first'
      ? [...equal, { bounds: [{ column: first.column, is: 'present' }], order: [valued(first), ...rest] }]
      : equal
  const further: Stretch = {
    bounds: [{ column: first.column, is: direction(first), value }],
    order: [valued(first), ...rest],
  }
  return [...equal, further, ...nullsAfter(first, rest)]
}

type From = Pick<Extract<Window, { from: 'place' }>, 'place' | 'back' | 'including'>

/** The stretches of the rows that follow a place, or come before it, with slots for its cells. */
export function stretchesFrom(plan: List, { place, back, including }: From): readonly Stretch[] {
  const slots = place.map((cell, i) => (cell === null ? null : slot(slotAt.place + i)))
  return once(plan.order, `${back} ${including} ${place.map((cell) => cell === null)}`, () => {
    const { order, place: cells } = loose(plan, slots)
    const own = including ? [at(order, cells)] : []
    return [...own, ...behind(back ? reversed(order) : order, cells)]
  })
}

/** The same order the other way round. */
export const reversed = (order: readonly Term[]): readonly Term[] =>
  order.map(({ descending, nulls, ...rest }) => ({
    ...rest,
    descending: !descending,
    nulls: nulls === 'none' ? nulls : nulls === 'first' ? ('last' as const) : ('first' as const),
  }))

/** Whether one comparison of all columns finds what is behind: one direction, and values everywhere but in the first term. */
const uniform = (order: readonly Term[]): boolean =>
  order.every(({ descending, nulls }, i) => descending === order[0]?.descending && (i === 0 || nulls === 'none'))

const direction = ({ descending }: Term) => (descending ? ('before' as const) : ('beyond' as const))
const valued = (term: Term): Term => ({ ...term, nulls: 'none' })
const nullsAfter = ({ column, nulls }: Term, rest: readonly Term[]): Stretch[] =>
  nulls === 'last' ? [{ bounds: [{ column, is: 'null' }], order: rest }] : []

const bounded = new WeakMap<List['order'], boolean>()

/** True where the rows of a page lie next to each other in one index: filters by equality come first, then the order. */
export function isBounded(collection: Collection, plan: List, dialect: Dialect): boolean {
  const before = bounded.get(plan.order)
  if (before !== undefined) return before
  const found = isServed(collection, plan, dialect)
  bounded.set(plan.order, found)
  return found
}

const mostParts = 16

/** The filters of a list for each member of its only set: what they find one by one, merged, is the list. */
function split({ where, order }: List, { spread }: Dialect): readonly List['where'][] {
  const [set, ...more] = where.filter(({ is }) => is === 'in')
  if (set?.is !== 'in' || more.length > 0 || spread || order.some(({ reach }) => reach)) return [where]
  const members = [...new Set(set.values)]
  if (members.length === 0 || members.length > mostParts) return [where]
  return members.map((value) => where.map((one) => (one === set ? { is: 'eq', column: set.column, value } : one)))
}

/** The filters of lists that are read in the order of an index, and merged; those of the list itself where no index serves them. */
export function partsOf(collection: Collection, plan: List, dialect: Dialect): readonly List['where'][] {
  const all = split(plan, dialect)
  const [where = plan.where] = all
  return all.length > 1 && isInOrder(collection, { ...plan, where }, dialect) ? all : [plan.where]
}

function isServed(collection: Collection, plan: List, dialect: Dialect): boolean {
  const [where = plan.where] = split(plan, dialect)
  return isInOrder(collection, { ...plan, where }, dialect)
}

function isInOrder(collection: Collection, { where, order, parent }: List, dialect: Dialect): boolean {
  const whose = collection.account === null ? [] : ['account']
  const owner = [...whose, ...(parent && collection.parent ? [collection.parent.column] : [])]
  const fixed = where.filter(({ is }) => is === 'eq' || is === 'null').map(({ column }) => column)
  const rest = where.filter(({ is }) => is !== 'eq' && is !== 'null')
  const wanted = order.filter(({ column }) => ![...owner, ...fixed].includes(column))
  const [first] = wanted
  if (rest.some(({ is, column }) => ['like', 'in', 'ne', 'among', 'any'].includes(is) || column !== first?.column))
    return false
  return indexesIn(collection, dialect).some((index) => serves(index, [...owner, ...fixed], wanted))
}

const known = new WeakMap<Dialect, WeakMap<Collection, readonly (readonly string[])[]>>()

function indexesIn(collection: Collection, dialect: Dialect): readonly (readonly string[])[] {
  const own = known.get(dialect) ?? new WeakMap()
  known.set(dialect, own)
  const found = own.get(collection) ?? all(collection, dialect)
  own.set(collection, found)
  return found
}

/** The columns of all indexes, descending ones with a minus sign, the primary key among them; every one ends in it. */
function all(collection: Collection, dialect: Dialect): readonly (readonly string[])[] {
  const key = keyColumns(collection)
  const unique = (dialect.spread ? [] : collection.uniques).map(({ columns }) => [...columns, ...key])
  const free = indexesOf(collection).map(({ columns }) => columns)
  return [key, ...[...unique, ...free].map((columns) => fitting(collection, columns, dialect, false))]
}

/** Whether the order is that of an index, or the reverse of it, behind the columns that are fixed. */
function serves(index: readonly string[], fixed: readonly string[], order: readonly Term[]): boolean {
  const start = index.slice(0, fixed.length).map((name) => name.replace(/^-/, ''))
  if (!fixed.every((column) => start.includes(column))) return false
  const behind = index.slice(fixed.length)
  const reverse = behind[0]?.startsWith('-') !== order[0]?.descending
  return order.every(({ column, descending, nulls }, i) => {
    const sign = descending !== reverse ? '-' : ''
    return behind[i] === sign + column && (i === 0 || nulls === 'none')
  })
}
