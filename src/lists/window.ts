/** Turns the parameters of the three pagination styles into a window. Part 4, pagination. */
import type { Violation } from '../errors/problem.ts'
import type { World } from '../flow/call.ts'
import type { Style } from '../flow/intent.ts'
import type { Term, Window } from '../flow/plan.ts'
import { type CursorFault, positionOf } from './cursor.ts'
import { wrong } from './parameters.ts'
import { type Rules, styleNames, windowNames } from './rules.ts'

const styles = Object.keys(styleNames) as Style[]

type Given = ReadonlyMap<string, string>

export interface Asked {
  readonly style: Style
  readonly window: Window
}

/** What is needed to read a cursor. */
export interface Reading {
  readonly rules: Rules
  readonly list: string
  readonly bound: string
  readonly order: readonly Term[]
  readonly world: World
}

/** R74 to R80. */
export function windowOf(given: Given, reading: Reading, faults: Violation[]): Asked {
  const { list } = reading.rules.resource.settings
  const before = faults.length
  const style = styleOf(given, reading.rules, faults)
  const [limit, pageSize] = ['limit', 'page_size'].map((name) => sizeOf(given, name, reading.rules, faults))
  const [offset, page] = [number(given, 'offset', 0, 0, faults), number(given, 'page', 1, 1, faults)]
  const size = (style === 'page' ? pageSize : limit) as number
  if (style === 'cursor') return { style, window: placedAt(given.get('cursor') ?? '', size, reading, faults) }
  const from = style === 'page' ? (page - 1) * size : offset
  if (faults.length === before && from > list.maxOffset) {
    const mend = list.pagination.styles.includes('cursor') ? 'Go further with cursor.' : 'Narrow the list with filters.'
    const message = `At most ${list.maxOffset} rows can be passed over. ${mend}`
    faults.push(wrong('invalid-parameter-value', style === 'page' ? 'page' : 'offset', message))
  }
  return { style, window: { from: 'offset', offset: from, limit: size } }
}

/** The style that all given parameters belong to. R74, R76, R77. */
function styleOf(given: Given, { resource }: Rules, faults: Violation[]): Style {
  const { styles: enabled, style: usual } = resource.settings.list.pagination
  const otherwise = enabled.includes(usual) ? usual : (enabled[0] as Style)
  const named = [...given.keys()].filter((name) => windowNames.includes(name))
  if (named.length === 0) return otherwise
  const offered = enabled.flatMap((style) => styleNames[style])
  const foreign = named.filter((name) => !offered.includes(name))
  const allowed = enabled.map((style) => styleNames[style].join(', ')).join('; ')
  for (const name of foreign) {
    faults.push(wrong('unsupported-pagination', name, `${name} is not offered by this list. Offered: ${allowed}.`))
  }
  const fitting = styles.filter((style) => named.every((name) => styleNames[style].includes(name)))
  if (foreign.length === 0 && fitting.length === 0) {
    const message = `${named.join(' and ')} belong to different styles of pagination; use one: ${allowed}.`
    faults.push(wrong('pagination-conflict', named[1] as string, message))
  }
  return fitting.find((style) => enabled.includes(style)) ?? otherwise
}

/** R79. */
function sizeOf(given: Given, name: string, { resource }: Rules, faults: Violation[]): number {
  const { maxPageSize, pageSize, overMax } = resource.settings.list
  const text = given.get(name)
  if (text === undefined) return Math.min(pageSize, maxPageSize)
  const size = plain(text)
  if (size >= 1 && size <= maxPageSize) return size
  if (size > maxPageSize && overMax === 'clamp') return maxPageSize
  const range = overMax === 'clamp' ? 'of at least 1' : `between 1 and ${maxPageSize}`
  const most = size > maxPageSize ? `: at most ${maxPageSize} rows at a time` : ''
  faults.push(wrong('invalid-parameter-value', name, `${name} must be a whole number ${range}${most}.`))
  return maxPageSize
}

/** R78. */
function number(given: Given, name: string, usual: number, least: number, faults: Violation[]): number {
  const text = given.get(name)
  if (text === undefined) return usual
  const value = plain(text)
  if (value >= least) return value
  const message = `${name} must be a whole number of at least ${least}, written in plain digits.`
  faults.push(wrong('invalid-parameter-value', name, message))
  return usual
}

const plain = (text: string): number => (/^(0|[1-9][0-9]{0,9})$/.test(text) ? Number(text) : Number.NaN)

const sentences: Readonly<Record<CursorFault, string>> = {
  'invalid-cursor':
    'The cursor is not one of this list. Take it as it was given, or start again without a position: cursor=',
  'cursor-mismatch':
    'The cursor belongs to other filters or another sort. Send those it was given with, or start again with cursor=',
  'cursor-expired': 'The cursor is too old. Start again with cursor=',
}

/** R81 to R85. */
export function placedAt(
  text: string,
  limit: number,
  { rules, list, bound, order, world }: Reading,
  faults: Violation[],
): Window {
  const start: Window = { from: 'offset', offset: 0, limit }
  if (text === '') return start
  const { ttl } = rules.resource.settings.list.cursor
  const position = positionOf(text, { list, bound, ttl }, world)
  if (typeof position === 'string') {
    faults.push(wrong(position, 'cursor', sentences[position]))
    return start
  }
  const place = order.map(({ column }, i) => {
    const value = position.place[i] ?? null
    return value !== null && rules.columns.get(column)?.type === 'integer' ? BigInt(value) : value
  })
  return { from: 'place', place, back: position.back, including: position.including, limit }
}
