/** Window: turns the parameters of the three pagination styles into the rows of a page. Part 4, pagination. */
import type { Violation } from '../errors/problem.ts'
import type { PaginationStyle } from '../flow/intent.ts'
import type { Term, Window } from '../flow/plan.ts'
import type { ServiceWorld } from '../flow/world.ts'
import type { Settings } from '../settings.ts'
import { type CursorFault, readCursor } from './cursor.ts'
import { type ListRules, styleParameters, windowParameters } from './list-rules.ts'
import { queryViolation } from './query-string.ts'

const paginationStyles = Object.keys(styleParameters) as PaginationStyle[]

type ParameterValues = ReadonlyMap<string, string>

export interface PageWindow {
  readonly style: PaginationStyle
  readonly window: Window
}

/** The context for reading a cursor. */
export interface CursorContext {
  readonly rules: ListRules
  readonly list: string
  readonly bound: string
  readonly order: readonly Term[]
  readonly world: ServiceWorld
}

/** The style and the window of a page. Adds mistakes to `faults`. R74 to R80. */
export function readWindow(values: ParameterValues, reading: CursorContext, faults: Violation[]): PageWindow {
  const { list } = reading.rules.resource.settings
  if (reading.rules.whole) return readAllRows(values, faults)
  const before = faults.length
  const style = readStyle(values, reading.rules, faults)
  const [limit, pageSize] = ['limit', 'page_size'].map((name) =>
    readPageSize(values, name, reading.rules.resource.settings, faults),
  )
  const [offset, page] = [readNumber(values, 'offset', 0, 0, faults), readNumber(values, 'page', 1, 1, faults)]
  const size = (style === 'page' ? pageSize : limit) as number
  if (style === 'cursor') return { style, window: windowAtCursor(values.get('cursor') ?? '', size, reading, faults) }
  const from = style === 'page' ? (page - 1) * size : offset
  if (faults.length === before && from > list.maxOffset) {
    const mend = list.pagination.styles.includes('cursor') ? 'Go further with cursor.' : 'Narrow the list with filters.'
    const message = `At most ${list.maxOffset} rows can be skipped. ${mend}`
    faults.push(queryViolation('invalid-parameter-value', style === 'page' ? 'page' : 'offset', message))
  }
  return { style, window: { from: 'offset', offset: from, limit: size } }
}

/** How many rows of an export are read at a time. */
const pageOfExport = 100

/** The window of all rows, for an export: it has no pages. R238. */
function readAllRows(values: ParameterValues, faults: Violation[]): PageWindow {
  for (const name of windowParameters.filter((one) => values.has(one)))
    faults.push(
      queryViolation('unsupported-pagination', name, `An export has all items and no pages. Leave ${name} out.`),
    )
  return { style: 'cursor', window: { from: 'offset', offset: 0, limit: pageOfExport } }
}

/** The style that all parameters of the request belong to. R74, R76, R77. */
function readStyle(values: ParameterValues, { resource }: ListRules, faults: Violation[]): PaginationStyle {
  const { styles: enabled, style: usual } = resource.settings.list.pagination
  const otherwise = enabled.includes(usual) ? usual : (enabled[0] as PaginationStyle)
  const named = [...values.keys()].filter((name) => windowParameters.includes(name))
  if (named.length === 0) return otherwise
  const offered = enabled.flatMap((style) => styleParameters[style])
  const foreign = named.filter((name) => !offered.includes(name))
  const allowed = enabled.map((style) => styleParameters[style].join(', ')).join('; ')
  for (const name of foreign) {
    faults.push(
      queryViolation('unsupported-pagination', name, `${name} is not offered by this list. Offered: ${allowed}.`),
    )
  }
  const fitting = paginationStyles.filter((style) => named.every((name) => styleParameters[style].includes(name)))
  if (foreign.length === 0 && fitting.length === 0) {
    const message = `${named.join(' and ')} belong to different styles of pagination; use one: ${allowed}.`
    faults.push(queryViolation('pagination-conflict', named[1] as string, message))
  }
  return fitting.find((style) => enabled.includes(style)) ?? otherwise
}

/** The size of a page from `limit` or `page_size`. R79. */
export function readPageSize(values: ParameterValues, name: string, { list }: Settings, faults: Violation[]): number {
  const { maxPageSize, pageSize, overMax } = list
  const text = values.get(name)
  if (text === undefined) return Math.min(pageSize, maxPageSize)
  const size = parseDigits(text)
  if (size >= 1 && size <= maxPageSize) return size
  if (size > maxPageSize && overMax === 'clamp') return maxPageSize
  const range = overMax === 'clamp' ? 'of at least 1' : `between 1 and ${maxPageSize}`
  const most = size > maxPageSize ? `: at most ${maxPageSize} rows at a time` : ''
  faults.push(queryViolation('invalid-parameter-value', name, `${name} must be a whole number ${range}${most}.`))
  return maxPageSize
}

/** The number of a parameter, or `usual` without it. R78. */
function readNumber(values: ParameterValues, name: string, usual: number, least: number, faults: Violation[]): number {
  const text = values.get(name)
  if (text === undefined) return usual
  const value = parseDigits(text)
  if (value >= least) return value
  const message = `${name} must be a whole number of at least ${least}, written in plain digits.`
  faults.push(queryViolation('invalid-parameter-value', name, message))
  return usual
}

const parseDigits = (text: string): number => (/^(0|[1-9][0-9]{0,9})$/.test(text) ? Number(text) : Number.NaN)

export const cursorFaultMessages: Readonly<Record<CursorFault, string>> = {
  'invalid-cursor':
    'The cursor does not belong to this list. Send it unchanged, or start again with an empty one: cursor=',
  'cursor-mismatch':
    'The cursor belongs to other filters or another sort. Send the same ones again, or start again with cursor=',
  'cursor-expired':
    'The cursor is too old, or of a time before the database was restored. Start again with an empty one: cursor=',
}

/** The window at a cursor; the first page for an empty one. R81 to R85. */
export function windowAtCursor(
  text: string,
  limit: number,
  { rules, list, bound, order, world }: CursorContext,
  faults: Violation[],
): Window {
  const start: Window = { from: 'offset', offset: 0, limit }
  if (text === '') return start
  const { ttl } = rules.resource.settings.list.cursor
  const position = readCursor(text, { list, bound, ttl }, world)
  if (typeof position === 'string') {
    faults.push(queryViolation(position, 'cursor', cursorFaultMessages[position]))
    return start
  }
  const place = order.map(({ column }, i) => {
    const value = position.position[i] ?? null
    return value !== null && rules.columns.get(column)?.type === 'integer' ? BigInt(value) : value
  })
  return { from: 'place', position: place, back: position.back, including: position.including, limit }
}
