/** Lists rows: those of a page as one text, and the places of its ends. The cellar. */

import { homeOf } from '../flow/home.ts'
import type { Page, Place } from '../flow/outcome.ts'
import type { List, Window } from '../flow/plan.ts'
import { type Cell, cellIn } from '../resources/collection.ts'
import { type Cellar, found, type Shelf, type Steps, shelf } from './cellar.ts'
import {
  type Cut,
  countStatement,
  filled,
  joinedStatement,
  joint,
  listStatement,
  probeStatement,
  type Statement,
} from './compile.ts'
import type { Dialect } from './dialect.ts'
import { type Besides, besidesStatement } from './fused.ts'
import { loose, once, type Stretch, slot, slotAt, stretchesFrom, whole } from './segments.ts'

/** Rows that follow each other, their documents joined. */
interface Haul {
  readonly count: number
  readonly docs: string
  /** Where each row stands; null where its document tells that. */
  readonly places: readonly Place[] | null
  /** Whether the documents are of today's shape. */
  readonly current: boolean
  /** Whether there are rows on the side that a cursor came from; null where that was not asked with the rows. */
  readonly beside: boolean | null
  /** How many rows match, as far as they were counted; null where that was not asked with the rows. */
  readonly total: number | null
}

const nothing: Haul = { count: 0, docs: '', places: null, current: true, beside: null, total: null }

/** What a list is taken with: whether documents come joined, which they can where all are of today's shape. */
interface Reach {
  readonly cellar: Cellar
  readonly own: Shelf
  /** With slots for what differs from one caller, owner and place to the next. */
  readonly plan: List
  readonly apart: boolean
  /** What the first slots stand for. */
  readonly given: Cells
}

interface Taking extends Reach {
  /** What is asked along with the first rows. */
  readonly besides: Besides | null
}

const nowhere = [null, null] as const

export function* page(cellar: Cellar, asked: List): Steps<Page> {
  const own = shelf(cellar, asked.collection)
  // Where rows are spread, what they are joined to would have to go from machine to machine first.
  const apart =
    cellar.dialect.spread !== null || (asked.places && !asked.order.every(({ column }) => own.told.has(column)))
  const reach = { cellar, own, apart, ...opened(asked, cellar.dialect) }
  const { plan } = reach
  const joined = yield* taken({ ...reach, besides: besidesOf(cellar, plan) })
  const all = joined.current ? joined : yield* taken({ ...reach, apart: true, besides: null })
  const { limit } = plan.window
  const more = all.count > limit
  const shown = turned(plan, more ? shortened(all) : all)
  const total = plan.countTo === null ? null : yield* counted(reach, plan.countTo, joined.total)
  const [first, last] = plan.places && (more || plan.window.from === 'place') ? ends(own, plan, shown) : nowhere
  const sides = yield* around(reach, { first, last, beside: joined.beside }, more)
  return {
    is: 'page',
    data: shown.docs,
    count: shown.count,
    first: textsOf(first),
    last: textsOf(last),
    ...sides,
    total,
  }
}

/** Slots stand for what differs from one caller and owner to the next. */
function opened(plan: List, { spread }: Dialect): Pick<Reach, 'plan' | 'given'> {
  const { account, parent } = plan
  return {
    plan: { ...plan, account: slot(slotAt.account), parent: parent && { ...parent, id: slot(slotAt.owner) } },
    given: [account, parent?.id ?? null, spread && parent && homeOf(parent.id)],
  }
}

/** The rows of the window, one more than asked, so that it shows whether others follow. */
const taken = (reach: Taking): Steps<Haul> => {
  const { window } = reach.plan
  return window.from === 'offset' ? passedOver(reach, window.offset) : near(reach, window)
}

/** The rows of a stretch. */
function* stretchOf(taking: Taking, stretch: Stretch, { offset, limit }: Cut, place: Cells): Steps<Haul> {
  const { own, plan, apart, besides, given } = taking
  const cut = { offset: offset === 0 ? offset : slot<number>(slotAt.offset), limit }
  const name = `${offset === 0} ${limit} ${apart} ${plan.places} ${besides?.countTo}`
  const statement = once(stretch, name, () => stretchStatement(taking, stretch, cut))
  const asked = filled(statement, [...given, offset, ...place])
  if (apart) {
    const rows = yield asked
    const places = rows.map((row) => plan.order.map((_, i) => row[`place${i}`] as string | null))
    return {
      count: rows.length,
      docs: rows.map((row) => found(own, row).doc).join(joint),
      places,
      current: true,
      beside: null,
      total: null,
    }
  }
  const [row] = yield asked
  const count = Number(row?.count ?? 0)
  const told = {
    beside: besides && besides.stretches.length > 0 ? Boolean(row?.beside) : null,
    total: besides?.countTo == null ? null : Number(row?.total),
  }
  if (!row || count === 0) return { ...nothing, ...told }
  return {
    count,
    docs: row.docs as string,
    places: null,
    current: areAlike(own, Number(row.oldest), Number(row.newest)),
    ...told,
  }
}

function stretchStatement({ cellar, own, plan, apart, besides }: Taking, stretch: Stretch, cut: Cut): Statement {
  const { dialect } = cellar
  const listed = { ...plan, places: apart && plan.places }
  const statement = listStatement(own.collection, listed, stretch, { ...cut, whole: apart }, dialect)
  if (apart) return statement
  const joined = joinedStatement(statement, dialect)
  return besides ? besidesStatement(joined, own.collection, plan, besides, dialect) : joined
}

/** Whether the texts of all shapes from one to another can be answered as they are. */
function areAlike({ alike }: Shelf, oldest: number, newest: number): boolean {
  for (let shape = oldest; shape <= newest; shape++) if (!alike.has(shape)) return false
  return true
}

const both = (a: Haul, b: Haul): Haul =>
  a.count === 0
    ? { ...b, beside: a.beside ?? b.beside, total: a.total ?? b.total }
    : b.count === 0
      ? a
      : {
          count: a.count + b.count,
          docs: a.docs + joint + b.docs,
          places: a.places && [...a.places, ...(b.places ?? [])],
          current: a.current && b.current,
          beside: a.beside,
          total: a.total,
        }

/** Rows from an offset on. */
function* passedOver(taking: Taking, from: number): Steps<Haul> {
  const { plan } = taking
  const wanted = plan.window.limit + 1
  let all = nothing
  let offset = from
  let first = taking
  for (const stretch of once(plan.order, 'whole', () => whole(loose(plan, []).order))) {
    const next = yield* stretchOf(first, stretch, { offset, limit: wanted - all.count }, [])
    all = both(all, next)
    first = { ...taking, besides: null }
    if (all.count === wanted) break
    if (next.count > 0) offset = 0
    else if (offset > 0) offset -= yield* countOf(taking, stretch, offset)
  }
  return all
}

/** Rows behind a place (before it, when going back). */
function* near(taking: Taking, { place, back, including, limit }: Extract<Window, { from: 'place' }>): Steps<Haul> {
  let all = nothing
  let own = taking
  for (const stretch of stretchesFrom(taking.plan, { place, back, including })) {
    all = both(all, yield* stretchOf(own, stretch, { offset: 0, limit: limit + 1 - all.count }, place))
    own = { ...taking, besides: null }
    if (all.count > limit) break
  }
  return all
}

/** Without its last row. */
const shortened = ({ docs, count, places, ...rest }: Haul): Haul => ({
  ...rest,
  docs: docs.slice(0, docs.lastIndexOf(joint)),
  count: count - 1,
  places: places?.slice(0, -1) ?? null,
})

/** In the order of the list: what lies before a place is found from there. */
function turned({ window }: List, haul: Haul): Haul {
  if (window.from === 'offset' || !window.back || haul.count < 2) return haul
  return {
    ...haul,
    docs: haul.docs.split(joint).reverse().join(joint),
    places: haul.places?.toReversed() ?? null,
  }
}

type Cells = readonly Cell[]

/** Where the first and the last row stand; for an empty page that is the place it was asked from. */
function ends(own: Shelf, plan: List, { docs, count, places }: Haul): [first: Cells | null, last: Cells | null] {
  if (count === 0) {
    const asked = plan.window.from === 'place' ? plan.window.place : null
    return [asked, asked]
  }
  const back = plan.window.from === 'place' // nothing is sought before the beginning
  const [first, last] = [docs.indexOf(joint), docs.lastIndexOf(joint)]
  if (places === null)
    return [
      back ? told(own, plan, first < 0 ? docs : docs.slice(0, first)) : null,
      told(own, plan, last < 0 ? docs : docs.slice(last + joint.length)),
    ]
  return [back ? read(own, plan, places[0] as Place) : null, read(own, plan, places.at(-1) as Place)]
}

/** The place of a row, from its document. */
function told({ collection }: Shelf, { order }: List, doc: string): Cells {
  const document = JSON.parse(doc) as Record<string, unknown>
  return order.map(({ column: name }) => {
    const column = collection.columns.find((one) => one.name === name)
    return column ? cellIn(column, document) : (document.id as string)
  })
}

/** The place of a row, from the texts of its columns. */
function read({ collection }: Shelf, { order }: List, place: Place): Cells {
  const types = new Map(collection.columns.map(({ name, type }) => [name, type]))
  return order.map(({ column, reach }, i) => {
    const value = place[i] ?? null
    return value !== null && (reach?.type ?? types.get(column)) === 'integer' ? BigInt(value) : value
  })
}

const textsOf = (place: Cells | null): Place | null =>
  place?.map((cell) => (cell === null ? null : String(cell))) ?? null

/** How many rows match; null where they are more than are counted. R75. */
function* counted(reach: Reach, upTo: number, known: number | null): Steps<number | null> {
  const total = known ?? (yield* countOf(reach, null, beyond(upTo)))
  return total > upTo ? null : total
}

function* countOf({ cellar, own, plan, given }: Reach, stretch: Stretch | null, upTo: number): Steps<number> {
  const make = () => countStatement(own.collection, plan, stretch, slot(slotAt.offset), cellar.dialect)
  const [row] = yield filled(once(stretch ?? plan.order, 'count', make), [...given, upTo])
  return Number(row?.total)
}

/** As far as has to be counted to see whether more match. */
const beyond = (upTo: number): number => (upTo === Number.MAX_SAFE_INTEGER ? upTo : upTo + 1)

interface Ends {
  readonly first: Cells | null
  readonly last: Cells | null
  readonly beside: boolean | null
}

/** Rows on the side that a cursor came from and a total are asked with the rows, where each question is a way there and back. */
function besidesOf({ dialect }: Cellar, plan: List): Besides | null {
  const { window, countTo } = plan
  if (!dialect.fused || (window.from === 'offset' && countTo === null)) return null
  const back = window.from === 'place' && { ...window, back: !window.back, including: !window.including }
  return {
    stretches: back ? stretchesFrom(plan, back) : [],
    countTo: countTo === null ? null : beyond(countTo),
  }
}

/** Whether rows stand before and behind those shown. On the side a cursor came from it is looked up, as rows may be gone. */
function* around(
  { cellar, own, plan, given }: Reach,
  { first, last, beside }: Ends,
  more: boolean,
): Steps<{ before: boolean; after: boolean }> {
  const { window } = plan
  if (window.from === 'offset') return { before: window.offset > 0, after: more }
  if (beside !== null) return window.back ? { before: more, after: beside } : { before: beside, after: more }
  const end = window.back ? last : first
  const from = { place: end ?? window.place, back: !window.back, including: end === window.place }
  let other = false
  for (const stretch of stretchesFrom(plan, from)) {
    const probe = once(stretch, 'probe', () => probeStatement(own.collection, plan, stretch, cellar.dialect))
    other = (yield filled(probe, [...given, null, ...from.place])).length > 0
    if (other) break
  }
  return window.back ? { before: more, after: other } : { before: other, after: more }
}
