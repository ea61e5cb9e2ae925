/** Shifts: how the values that a field may have moved from one contract to another. Part 9, versioning. */
import type { Kind } from '../resources/field.ts'
import { scaled } from '../resources/texts.ts'
import type { Effect, Shift } from './difference.ts'
import type { Terms } from './terms.ts'

/** All shifts of a field's own values; what a list or an object holds is compared by itself. */
export function shifts(before: Terms, after: Terms): Shift[] {
  if (before.kind !== after.kind) return [kindShift(before, after)]
  return [
    ...(before.kind === 'decimal' ? digits(before, after) : []),
    ...bound('min', before, after),
    ...bound('max', before, after),
    ...(['keys', 'keyLength', 'valueLength'] as const).flatMap((name) => bound(name, before, after)),
    ...patterns(before, after),
    ...members(before, after),
    ...(before.to === after.to ? [] : [both('changes', `refers to ${after.to} instead of ${before.to}.`, true)]),
  ]
}

const both = (effect: Effect, says: string, filters = false): Shift => ({
  says,
  input: effect,
  output: effect,
  filters,
})

type Bound = 'min' | 'max' | 'keys' | 'keyLength' | 'valueLength'

function bound(name: Bound, before: Terms, after: Terms): Shift[] {
  const [was, is] = [before[name], after[name]]
  if (was === is) return []
  if (was === undefined) return [both('narrows', `has a \`${name}\` of ${is} now.`)]
  if (is === undefined) return [both('widens', `has no \`${name}\` any more; it was ${was}.`)]
  const greater = order(is, after) > order(was, before)
  const effect = greater === (name === 'min') ? 'narrows' : 'widens'
  return [both(effect, `has a \`${name}\` of ${is} instead of ${was}.`)]
}

/** A bound as something that can be compared. Dates and times are written so that their text can. */
function order(bound: number | string, { kind }: Terms): number | bigint | string {
  if (kind === 'bigint') return BigInt(bound)
  return kind === 'decimal' ? scaled(String(bound), widestScale) : bound
}
const widestScale = 38

function digits(before: Terms, after: Terms): Shift[] {
  const [was, is] = [before, after].map(({ scale = 0, precision = 0 }) => ({ scale, whole: precision - scale }))
  if (!was || !is || (was.scale === is.scale && was.whole === is.whole)) return []
  const more = is.whole >= was.whole && is.scale >= was.scale
  const less = is.whole <= was.whole && is.scale <= was.scale
  const effect = more ? 'widens' : less ? 'narrows' : 'changes'
  const says = `has ${after.precision} digits with ${after.scale} of them after the point, instead of ${before.precision} with ${before.scale}.`
  // Answers are padded to the scale, so another one is another form.
  return [{ says, input: effect, output: was.scale === is.scale ? effect : 'changes', filters: true }]
}

function patterns({ pattern: was }: Terms, { pattern: is }: Terms): Shift[] {
  if (was === is) return []
  if (was === undefined) return [both('narrows', `has to match ${is} now.`)]
  if (is === undefined) return [both('widens', `has to match no pattern any more; it was ${was}.`)]
  return [both('changes', `has to match ${is} instead of ${was}.`)]
}

function members({ values: had = [] }: Terms, { values: has = [] }: Terms): Shift[] {
  const [gone, come] = [had.filter((one) => !has.includes(one)), has.filter((one) => !had.includes(one))]
  return [
    ...(gone.length > 0 ? [both('narrows', `cannot be ${listed(gone)} any more.`, true)] : []),
    ...(come.length > 0 ? [both('widens', `can be ${listed(come)} now.`, true)] : []),
  ]
}

const listed = (values: readonly string[]): string => values.map((one) => `"${one}"`).join(', ')

function kindShift(before: Terms, after: Terms): Shift {
  const says = `is ${named(after)} instead of ${named(before)}.`
  if (isWithin(before, after)) return both('widens', says, true)
  return both(isWithin(after, before) ? 'narrows' : 'changes', says, true)
}

const named = ({ kind, to }: Terms): string => (to === undefined ? kind : `a reference to ${to}`)

/** Texts of at most so many characters that a kind writes its values as. */
const longest: Partial<Record<Kind, number>> = {
  ...{
    country: 2,
    currency: 3,
    date: 10,
    timestamp: 24,
    duration: 100,
    interval: 100,
    ref: 200,
    bigint: 20,
    decimal: 41,
  },
}

/** Whether every value of a kind is a text that the other allows, in the same order. */
function isWithin(one: Terms, { kind, min = 0, max = 0, pattern, ...text }: Terms): boolean {
  if (kind !== 'text' || pattern !== undefined || Number(min) > 1) return false
  const length = one.values ? Math.max(...one.values.map((value) => value.length)) : (longest[one.kind] ?? one.max)
  const numeric = one.kind === 'bigint' || one.kind === 'decimal'
  const compared = text.sort === true || one.sort === true || one.filter !== undefined
  const written =
    one.values !== undefined || longest[one.kind] !== undefined || one.kind === 'email' || one.kind === 'url'
  return written && Number(max) >= Number(length) && !(numeric && compared)
}
