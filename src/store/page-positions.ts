/** Page positions: the parts of a page, and the positions of its first and last row, for cursors. The store. */

import { type PreparedCollection, viewStoredRow } from '../catalog/context.ts'
import type { ResultRow } from '../catalog/steps.ts'
import { documentSeparator, type Position } from '../flow/outcome.ts'
import { isRelevance, type ListRows } from '../flow/plan.ts'
import { type Cell, cellIn } from '../rows/collection.ts'

/** The positions of the first and the last row; for an empty page, the position that it was requested from. */
export function endPositions(
  own: PreparedCollection,
  plan: ListRows,
  { docs, count, positions }: PagePart,
): [first: Cells | null, last: Cells | null] {
  if (count === 0) {
    const start = plan.window.from === 'place' ? plan.window.position : null
    return [start, start]
  }
  const back = plan.window.from === 'place' // a page from the beginning needs no cursor to earlier rows
  const [first, last] = [docs.indexOf(documentSeparator), docs.lastIndexOf(documentSeparator)]
  const positionAt = (place: Position | undefined, doc: string): Cells =>
    place?.length === plan.order.length
      ? positionInColumns(own, plan, place)
      : positionInDocument(own, plan, doc, place?.[0])
  return [
    back ? positionAt(positions?.[0], first < 0 ? docs : docs.slice(0, first)) : null,
    positionAt(positions?.at(-1), last < 0 ? docs : docs.slice(last + documentSeparator.length)),
  ]
}

/** The position of a row, read from its document and its relevance. */
function positionInDocument(
  { collection }: PreparedCollection,
  { order }: ListRows,
  doc: string,
  relevance: string | null | undefined,
): Cells {
  const document = JSON.parse(doc) as Record<string, unknown>
  return order.map((term) => {
    if (isRelevance(term)) return BigInt(relevance as string)
    const { column: name } = term
    const column = collection.columns.find((one) => one.name === name)
    return column ? cellIn(column, document) : (document.id as string)
  })
}

/** The position of a row, read from the texts of its columns. */
export function positionInColumns({ collection }: PreparedCollection, { order }: ListRows, place: Position): Cells {
  const types = new Map(collection.columns.map(({ name, type }) => [name, type]))
  return order.map((term, i) => {
    const value = place[i] ?? null
    const type = isRelevance(term) ? 'integer' : (term.reach?.type ?? types.get(term.column))
    return value !== null && type === 'integer' ? BigInt(value) : value
  })
}

export const positionTexts = (place: Cells | null): Position | null =>
  place?.map((cell) => (cell === null ? null : String(cell))) ?? null

/** Consecutive rows of a list, their documents joined. */
export interface PagePart {
  readonly count: number
  readonly docs: string
  /** The position of each row, or only its relevance if the rest can be read from the document; null if all can. */
  readonly positions: readonly Position[] | null
  /** Whether all documents have the current shape. */
  readonly current: boolean
  /** Whether there are rows on the side that a cursor came from; null if this was not queried with the rows. */
  readonly otherSide: boolean | null
  /** How many rows match, up to a limit; null if this was not queried with the rows. */
  readonly total: number | null
  /** The position to continue from if rows were left out because they no longer match. */
  readonly resume?: Cells
}

export type Cells = readonly Cell[]

export const emptyPart: PagePart = { count: 0, docs: '', positions: null, current: true, otherSide: null, total: null }

export const appendPart = (a: PagePart, b: PagePart): PagePart =>
  a.count === 0
    ? { ...b, otherSide: a.otherSide ?? b.otherSide, total: a.total ?? b.total }
    : b.count === 0
      ? a
      : {
          count: a.count + b.count,
          docs: a.docs + documentSeparator + b.docs,
          positions: a.positions && [...a.positions, ...(b.positions ?? [])],
          current: a.current && b.current,
          otherSide: a.otherSide,
          total: a.total,
        }

export const withoutLastRow = ({ docs, count, positions, ...rest }: PagePart): PagePart => ({
  ...rest,
  docs: docs.slice(0, docs.lastIndexOf(documentSeparator)),
  count: count - 1,
  positions: positions?.slice(0, -1) ?? null,
})

/** Rows in the order of the list: those before a position are read backwards. */
export function inListOrder({ window }: ListRows, part: PagePart): PagePart {
  if (window.from === 'offset' || !window.back || part.count < 2) return part
  return {
    ...part,
    docs: part.docs.split(documentSeparator).reverse().join(documentSeparator),
    positions: part.positions?.toReversed() ?? null,
  }
}

/** Rows that were read one by one, and their positions. */
export const partOfRows = (
  own: PreparedCollection,
  plan: ListRows,
  rows: readonly ResultRow[],
  places: readonly ResultRow[],
): PagePart => ({
  count: rows.length,
  docs: rows.map((row) => viewStoredRow(own, row).doc).join(documentSeparator),
  positions: places.map((row) => placeOf(plan, row)),
  current: true,
  otherSide: null,
  total: null,
})

export const placeOf = ({ order }: ListRows, row: ResultRow): Position =>
  order.map((_, i) => row[`place${i}`] as string | null)

/** Whether documents of all these shapes can be answered as they are stored. */
export function areSameShape({ alike }: PreparedCollection, oldest: number, newest: number): boolean {
  for (let shape = oldest; shape <= newest; shape++) if (!alike.has(shape)) return false
  return true
}

/** The total of a list, known from its last page; null if it may have more rows. */
export const totalOfLastPage = ({ window }: ListRows, count: number, more: boolean): number | null =>
  more || window.from !== 'offset' || (count === 0 && window.offset > 0) ? null : window.offset + count
