/** A model of lists: filters, sorts and cuts rows in memory, without a database. */

import type { Ask } from './listed-services.ts'

export interface Row {
  readonly id: string
  readonly [field: string]: unknown
}

export interface Order {
  readonly field: string
  readonly descending: boolean
  readonly nulls: 'first' | 'last'
}

export type Filter = readonly [field: string, operator: string, value: string | readonly string[]]

const folded = (text: string) => text.normalize('NFC').toLowerCase()

/** How the values of each field are compared. */
const readers: Readonly<Record<string, (value: unknown) => string | bigint | number>> = {
  word: (value) => String(value),
  name: (value) => String(value),
  soft: (value) => folded(String(value)),
  count: (value) => BigInt(value as number),
  huge: (value) => BigInt(String(value)),
  cost: (value) => digits(String(value), 2),
  mass: (value) => digits(String(value), 12),
  flag: (value) => (String(value) === 'true' ? 1 : 0),
  day: (value) => String(value),
  'spot.depth': (value) => BigInt(value as number),
}

/** A decimal as an integer in units of its last digit. */
function digits(text: string, scale: number): bigint {
  const [units = '', fraction = ''] = text.split('.')
  const size = BigInt(units.replace('-', '') + fraction.padEnd(scale, '0'))
  return units.startsWith('-') ? -size : size
}

export function valueIn(row: Row, field: string): unknown {
  return field
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name] ?? null, row)
}

export const read = (field: string, value: unknown) => (readers[field] ?? String)(value)

/** Compares texts by code point, and other values by size. */
export function compared(a: string | bigint | number, b: string | bigint | number): number {
  if (typeof a !== 'string' || typeof b !== 'string') return a < b ? -1 : a > b ? 1 : 0
  const [left, right] = [[...a], [...b]]
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = (left[i]?.codePointAt(0) as number) - (right[i]?.codePointAt(0) as number)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/** An order by how near to the beginning the words of a search stand. */
export const byRelevance = 'relevance'

/** The words of a text that has only small letters and spaces, each once. */
const wordsIn = ({ said }: Row): readonly string[] => [
  ...new Set(
    String(said ?? '')
      .split(' ')
      .filter(Boolean),
  ),
]

const placeIn = (row: Row, search: readonly string[]): number =>
  search.reduce((sum, one) => sum + ` ${wordsIn(row).join(' ')}`.indexOf(` ${one}`), 0)

export function sorted(rows: readonly Row[], order: readonly Order[], search: readonly string[] | null): Row[] {
  const whole = [...order, { field: 'id', descending: order[0]?.descending ?? false, nulls: 'last' as const }]
  return [...rows].sort((a, b) => {
    for (const { field, descending, nulls } of whole) {
      if (field === byRelevance) {
        const difference = placeIn(a, search ?? []) - placeIn(b, search ?? [])
        if (difference !== 0) return difference
        continue
      }
      const [left, right] = [valueIn(a, field), valueIn(b, field)]
      if (left === null && right === null) continue
      if (left === null || right === null) return (left === null) === (nulls === 'first') ? -1 : 1
      const difference = compared(read(field, left), read(field, right))
      if (difference !== 0) return descending ? -difference : difference
    }
    return 0
  })
}

const operators: Readonly<Record<string, (difference: number) => boolean>> = {
  eq: (difference) => difference === 0,
  ne: (difference) => difference !== 0,
  gt: (difference) => difference > 0,
  gte: (difference) => difference >= 0,
  lt: (difference) => difference < 0,
  lte: (difference) => difference <= 0,
}

function holds(row: Row, [field, operator, wanted]: Filter): boolean {
  const value = valueIn(row, field)
  if (operator === 'null') return (value === null) === (wanted === 'true')
  if (value === null) return false
  if (operator === 'in')
    return (wanted as readonly string[]).some((one) => compared(read(field, value), read(field, one)) === 0)
  if (operator === 'like')
    return alike(String(read(field, value)), field === 'soft' ? folded(wanted as string) : (wanted as string))
  return (operators[operator] as (difference: number) => boolean)(compared(read(field, value), read(field, wanted)))
}

/** Whether a text matches a pattern, compared letter by letter. */
function alike(text: string, pattern: string): boolean {
  const letters: { any: boolean; one: string }[] = []
  const all = [...pattern]
  for (let i = 0; i < all.length; i++) {
    const literal = all[i] === '\\'
    if (literal) i++
    letters.push({ any: all[i] === '%' && !literal, one: all[i] as string })
  }
  const free = { any: true, one: '' }
  const wanted = letters.some(({ any }) => any) ? letters : [free, ...letters, free]
  let places = new Set([0])
  const given = [...text]
  for (const { any, one } of wanted) {
    const next = new Set<number>()
    for (const place of places) {
      if (any) for (let i = place; i <= given.length; i++) next.add(i)
      else if (given[place] === one) next.add(place + 1)
    }
    places = next
  }
  return places.has(given.length)
}

/** The rows that match all filters, one of `any`, and have all words. */
export function matching(
  rows: readonly Row[],
  { filters, any, search }: Pick<Ask, 'filters' | 'any' | 'search'>,
): Row[] {
  const isFound = (row: Row) =>
    search === null || search.every((one) => wordsIn(row).some((word) => word.startsWith(one)))
  return rows
    .filter(isFound)
    .filter((row) => filters.every((filter) => holds(row, filter)))
    .filter((row) => any === null || any.some((filter) => holds(row, filter)))
}
