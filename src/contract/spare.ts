/** Spare: a value that fits a field, to stand for what nothing else is known for. Part 9, versioning. */
import { matching } from '../check/pattern.ts'
import { plain } from '../check/plain.ts'
import type { Terms } from './terms.ts'
import { code } from './written.ts'

/** The source text of a value; undefined where none can stand for all: a reference has to name a row. */
export function spare(terms: Terms): string | undefined {
  const value = terms.default ?? (terms.nullable ? null : fitting(terms))
  return value === undefined ? undefined : code(value)
}

/** A value that is not null. */
function fitting(terms: Terms): unknown {
  if (terms.default !== undefined && fits(terms.default, terms)) return terms.default
  if (terms.kind === 'ref') return undefined
  if (terms.kind === 'object') return whole(terms)
  if (terms.kind === 'list') return several(terms)
  if (terms.kind === 'text' && terms.pattern !== undefined) return matched(terms)
  const value = plain(terms)
  return fits(value, terms) ? value : undefined
}

function whole({ fields = {} }: Terms): unknown {
  const members = Object.entries(fields).map(([name, one]) => [
    name,
    one.default ?? (one.nullable ? null : fitting(one)),
  ])
  return members.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(members)
}

function several({ min = 0, item }: Terms): unknown {
  if (Number(min) === 0) return []
  const one = item && (item.nullable ? null : fitting(item))
  return one === undefined ? undefined : Array.from({ length: Number(min) }, () => one)
}

const tries = 200

/** The simplest text that matches, or one of those that are made by chance; each time the same one. */
function matched(terms: Terms): string | undefined {
  const { pattern = '' } = terms
  let state = 1
  const next = (count: number): number => {
    state = (Math.imul(state, 0x5851_f42d) + 0x1405_7b7f) >>> 0
    return Math.floor((state / 2 ** 32) * count)
  }
  for (let i = 0; i < tries; i++) {
    const text = matching(pattern, { below: i === 0 ? () => 0 : next })
    if (fits(text, terms)) return text
  }
  return undefined
}

/** Whether a value keeps the bounds of a field, as far as plain values could break them. */
export function fits(value: unknown, { kind, min, max, pattern, scale = 0, precision = 18 }: Terms): boolean {
  const order = (bound: unknown): number => (typeof bound === 'number' ? bound : Number(bound))
  if (kind === 'text' || kind === 'email' || kind === 'url') {
    const length = [...String(value)].length
    const matches = pattern === undefined || new RegExp(pattern, 'u').test(String(value))
    return length >= Number(min ?? 0) && length <= Number(max ?? length) && matches
  }
  if (kind !== 'integer' && kind !== 'bigint' && kind !== 'decimal') return true
  const low = min === undefined || order(value) >= order(min)
  const high = max === undefined || order(value) <= order(max)
  return low && high && (kind !== 'decimal' || Math.abs(order(value)) < 10 ** (precision - scale))
}
