/** Placeholder: a value that fits a field, used where no other value is known. Part 9, versioning. */

import { matchingText } from '../check/matching-text.ts'
import type { FieldTerms } from '../fields/kind.ts'
import { standardKinds } from '../fields/kinds.ts'
import { plainValue } from '../fields/value-terms.ts'
import { valueCode } from './code.ts'
import type { ResourceContract } from './contract.ts'

/** The source code of a placeholder; undefined if there is none, as for a reference, which must name an existing row. */
export function placeholderCode(terms: FieldTerms): string | undefined {
  const value = terms.default ?? (terms.nullable ? null : placeholderValue(terms))
  return value === undefined ? undefined : valueCode(value)
}

/** A placeholder that is not null. */
function placeholderValue(terms: FieldTerms): unknown {
  if (terms.default !== undefined && fitsTerms(terms.default, terms)) return terms.default
  if (terms.kind === 'ref') return undefined
  if (terms.kind === 'object') return placeholderObject(terms)
  if (terms.kind === 'list') return placeholderList(terms)
  if (terms.kind === 'text' && terms.pattern !== undefined) return placeholderText(terms)
  const value = Object.hasOwn(standardKinds, terms.kind) ? plainValue(terms, standardKinds) : undefined
  return value !== undefined && fitsTerms(value, terms) ? value : undefined
}

function placeholderObject({ fields = {} }: FieldTerms): unknown {
  const members = Object.entries(fields).map(([name, one]) => [
    name,
    one.default ?? (one.nullable ? null : placeholderValue(one)),
  ])
  return members.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(members)
}

function placeholderList({ min = 0, item }: FieldTerms): unknown {
  if (Number(min) === 0) return []
  const one = item && (item.nullable ? null : placeholderValue(item))
  return one === undefined ? undefined : Array.from({ length: Number(min) }, () => one)
}

const mostTries = 200

/** The simplest text that matches, or else a pseudo-random one; always the same text for the same terms. */
function placeholderText(terms: FieldTerms): string | undefined {
  const { pattern = '' } = terms
  let state = 1
  const next = (count: number): number => {
    state = (Math.imul(state, 0x5851_f42d) + 0x1405_7b7f) >>> 0
    return Math.floor((state / 2 ** 32) * count)
  }
  for (let i = 0; i < mostTries; i++) {
    const text = matchingText(pattern, { below: i === 0 ? () => 0 : next })
    if (fitsTerms(text, terms)) return text
  }
  return undefined
}

/** Whether a value keeps the bounds of a field, as far as a placeholder could break them. */
export function fitsTerms(value: unknown, { kind, min, max, pattern, scale = 0, precision = 18 }: FieldTerms): boolean {
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

/**
 * Fields of an older version, as a change declares them. One that the service sets needs a value for new items: the initial
 * state, or a placeholder. `search` stays only where the field is searched now, as the start refuses it elsewhere.
 */
export const formerFields = (
  old: Record<string, FieldTerms>,
  { states }: ResourceContract,
  now: ResourceContract['fields'] = {},
): Record<string, FieldTerms> =>
  Object.fromEntries(
    Object.entries(old).map(([name, { search, ...rest }]) => {
      const terms = { ...rest, ...(now[name]?.search && { search }) }
      const usual = () => (states?.field === name ? states.initial : placeholderValue(terms))
      return [name, terms.readOnly && !terms.nullable ? { ...terms, default: usual() } : terms]
    }),
  )
