/** Shifts: how the values that a field allows differ between two contracts. Part 9, versioning. */

import type { FieldTerms } from '../fields/kind.ts'
import { standardKinds } from '../fields/kinds.ts'
import { isTypeAllowed } from '../files/file-types.ts'
import { scaledInteger } from '../formats/number-texts.ts'
import type { ShiftEffect, ValueShift } from './difference.ts'

/** All shifts of a field's own values; items of lists and fields of objects are compared separately. */
export function ownShifts(before: FieldTerms, after: FieldTerms): ValueShift[] {
  if (before.kind !== after.kind) return [kindShift(before, after)]
  return [
    ...(before.kind === 'decimal' ? digitShifts(before, after) : []),
    ...boundShift('min', before, after),
    ...boundShift('max', before, after),
    ...(['keys', 'keyLength', 'valueLength'] as const).flatMap((name) => boundShift(name, before, after)),
    ...patternShifts(before, after),
    ...(before.kind === 'file' ? typeShifts(before, after) : enumShifts(before, after)),
    ...(before.to === after.to
      ? []
      : [bothDirections('changes', `refers to ${after.to} instead of ${before.to}.`, true)]),
  ]
}

const bothDirections = (effect: ShiftEffect, says: string, filters = false): ValueShift => ({
  says,
  input: effect,
  output: effect,
  filters,
})

type BoundName = 'min' | 'max' | 'keys' | 'keyLength' | 'valueLength'

function boundShift(name: BoundName, before: FieldTerms, after: FieldTerms): ValueShift[] {
  const [was, is] = [before[name], after[name]]
  if (was === is) return []
  if (was === undefined) return [bothDirections('narrows', `has a \`${name}\` of ${is} now.`)]
  if (is === undefined) return [bothDirections('widens', `has no \`${name}\` any more; it was ${was}.`)]
  const greater = comparableBound(is, after) > comparableBound(was, before)
  const effect = greater === (name === 'min') ? 'narrows' : 'widens'
  return [bothDirections(effect, `has a \`${name}\` of ${is} instead of ${was}.`)]
}

/** A bound in a form that can be compared. Dates and times can be compared as text. */
function comparableBound(bound: number | string, { kind }: FieldTerms): number | bigint | string {
  if (kind === 'bigint') return BigInt(bound)
  return kind === 'decimal' ? scaledInteger(String(bound), widestScale) : bound
}
const widestScale = 38

function digitShifts(before: FieldTerms, after: FieldTerms): ValueShift[] {
  const [was, is] = [before, after].map(({ scale = 0, precision = 0 }) => ({ scale, whole: precision - scale }))
  if (!was || !is || (was.scale === is.scale && was.whole === is.whole)) return []
  const more = is.whole >= was.whole && is.scale >= was.scale
  const less = is.whole <= was.whole && is.scale <= was.scale
  const effect = more ? 'widens' : less ? 'narrows' : 'changes'
  const says = `has ${after.precision} digits with ${after.scale} of them after the point, instead of ${before.precision} with ${before.scale}.`
  // Answers are padded to the scale, so another scale changes the form of every answer.
  return [{ says, input: effect, output: was.scale === is.scale ? effect : 'changes', filters: true }]
}

function patternShifts({ pattern: was }: FieldTerms, { pattern: is }: FieldTerms): ValueShift[] {
  if (was === is) return []
  if (was === undefined) return [bothDirections('narrows', `has to match ${is} now.`)]
  if (is === undefined) return [bothDirections('widens', `has to match no pattern any more; it was ${was}.`)]
  return [bothDirections('changes', `has to match ${is} instead of ${was}.`)]
}

function enumShifts({ values: had = [] }: FieldTerms, { values: has = [] }: FieldTerms): ValueShift[] {
  const [gone, come] = [had.filter((one) => !has.includes(one)), has.filter((one) => !had.includes(one))]
  return [
    ...(gone.length > 0 ? [bothDirections('narrows', `cannot be ${quotedList(gone)} any more.`, true)] : []),
    ...(come.length > 0 ? [bothDirections('widens', `can be ${quotedList(come)} now.`, true)] : []),
  ]
}

/** The media types of contents; a field that lists none takes any. */
function typeShifts({ values: had }: FieldTerms, { values: has }: FieldTerms): ValueShift[] {
  if (had === undefined && has === undefined) return []
  if (has === undefined) return [bothDirections('widens', 'takes contents of any type now.')]
  if (had === undefined) return [bothDirections('narrows', `takes contents of the types ${has.join(', ')} alone now.`)]
  const [gone, come] = [had.filter((one) => !isTypeAllowed(one, has)), has.filter((one) => !isTypeAllowed(one, had))]
  return [
    ...(gone.length > 0
      ? [bothDirections('narrows', `takes no contents of the types ${gone.join(', ')} any more.`)]
      : []),
    ...(come.length > 0 ? [bothDirections('widens', `takes contents of the types ${come.join(', ')} now.`)] : []),
  ]
}

const quotedList = (values: readonly string[]): string => values.map((one) => `"${one}"`).join(', ')

function kindShift(before: FieldTerms, after: FieldTerms): ValueShift {
  const says = `is ${kindText(after)} instead of ${kindText(before)}.`
  if (isWithin(before, after)) return bothDirections('widens', says, true)
  return bothDirections(isWithin(after, before) ? 'narrows' : 'changes', says, true)
}

const kindText = ({ kind, to }: FieldTerms): string => (to === undefined ? kind : `a reference to ${to}`)

/** Whether every value of a field is a text that the other field allows, and the texts sort like the values. */
function isWithin(one: FieldTerms, { kind, min = 0, max = 0, pattern, ...text }: FieldTerms): boolean {
  if (kind !== 'text' || pattern !== undefined || Number(min) > 1) return false
  const longest = one.kind === 'integer' || one.kind === 'boolean' ? undefined : standardKinds[one.kind]?.longest
  const length = one.values ? Math.max(...one.values.map((value) => value.length)) : (longest ?? one.max)
  const numeric = one.kind === 'bigint' || one.kind === 'decimal'
  const compared = text.sort === true || one.sort === true || one.filter !== undefined
  const written = one.values !== undefined || longest !== undefined || one.kind === 'email' || one.kind === 'url'
  return written && Number(max) >= Number(length) && !(numeric && compared)
}
