/** Turns the parameters of the three pagination styles into a window. Part 4, pagination. */
import type { Violation } from '../errors/problem.ts'
import type { World } from '../flow/call.ts'
import type { Style } from '../flow/intent.ts'
import type { Term, Window } from '../flow/plan.ts'
import { type CursorFault, positionOf } from './cursor.ts'
import { wrong } from './parameters.ts'
import type { Rules } from './rules.ts'

const names: Readonly<Record<Style, readonly string[]>> = {
  page: ['page', 'page_size'],
  offset: ['limit', 'offset'],
  cursor: ['cursor', 'limit'],
}
const styles: readonly Style[] = ['page', 'offset', 'cursor']

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
  const style = styleOf(given, reading.rules, faults)
  const size = sizeOf(given, style === 'page' ? 'page_size' : 'limit', reading.rules, faults)
  if (style === 'cursor') return { style, window: placed(given.get('cursor') ?? '', size, reading, faults) }
  const before = faults.length
  const offset =
    style === 'page' ? (number(given, 'page', 1, 1, faults) - 1) * size : number(given, 'offset', 0, 0, faults)
  if (faults.length === before && offset > list.maxOffset) {
    const mend = list.pagination.styles.includes('cursor') ? 'Go further with cursor.' : 'Narrow the list with filters.'
    faults.push(
      wrong(
        'invalid-parameter-value',
        style === 'page' ? 'page' : 'offset',
        `At most ${list.maxOffset} rows can be passed over. ${mend}`,
      ),
    )
  }
  return { style, window: { from: 'offset', offset, limit: size } }
}

function styleOf(given: Given, { resource }: Rules, faults: Violation[]): Style {
  const { styles: enabled, style: usual } = resource.settings.list.pagination
  const named = styles.filter((style) => names[style].some((name) => given.has(name) && name !== 'limit'))
  const limited = given.has('limit')
  if (named.length > 1 || (named[0] === 'page' && limited)) {
    const conflicting = [...given.keys()].filter((name) => styles.some((style) => names[style].includes(name)))
    faults.push(
      wrong(
        'pagination-conflict',
        conflicting[1] as string,
        `${conflicting.join(' and ')} belong to different styles of pagination; use one style.`,
      ),
    )
    return usual
  }
  const style = named[0] ?? (limited ? (enabled.includes('offset') ? 'offset' : 'cursor') : usual)
  if (enabled.includes(style)) return style
  const name = names[style].find((one) => given.has(one)) as string
  const allowed = enabled.map((one) => names[one].join(', ')).join('; ')
  faults.push(wrong('unsupported-pagination', name, `${name} is not offered by this list. Offered: ${allowed}.`))
  return usual
}

function sizeOf(given: Given, name: string, { resource }: Rules, faults: Violation[]): number {
  const { maxPageSize, pageSize, overMax } = resource.settings.list
  const before = faults.length
  const size = number(given, name, pageSize, 1, faults)
  if (faults.length > before || size <= maxPageSize) return size
  if (overMax === 'reject')
    faults.push(
      wrong(
        'invalid-parameter-value',
        name,
        `${name} must be between 1 and ${maxPageSize}: at most ${maxPageSize} rows at a time.`,
      ),
    )
  return maxPageSize
}

/** R78. */
function number(given: Given, name: string, usual: number, least: number, faults: Violation[]): number {
  const text = given.get(name)
  if (text === undefined) return usual
  if (/^(0|[1-9][0-9]{0,9})$/.test(text) && Number(text) >= least) return Number(text)
  faults.push(
    wrong(
      'invalid-parameter-value',
      name,
      `${name} must be a whole number of at least ${least}, written in plain digits.`,
    ),
  )
  return usual
}

const sentences: Readonly<Record<CursorFault, string>> = {
  'invalid-cursor':
    'The cursor is not one of this list. Take it as it was given, or start again without a position: cursor=',
  'cursor-mismatch':
    'The cursor belongs to other filters or another sort. Send those it was given with, or start again with cursor=',
  'cursor-expired': 'The cursor is too old. Start again with cursor=',
}

/** R81 to R85. */
function placed(
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
    return value !== null && rules.types.get(column) === 'integer' ? BigInt(value) : value
  })
  return { from: 'place', place, back: position.back, limit }
}
