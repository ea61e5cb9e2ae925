/** Difference: a difference between two contracts, and its effect on consumers. Part 9, versioning. */
import type { Weight } from './weight.ts'

export interface Difference {
  /** The path in the declaration. */
  readonly place: string
  readonly weight: Weight
  readonly says: string
  /** How to avoid a breaking difference. */
  readonly mend: string
  readonly what: DifferenceKind
  /** For a fixed part of a field, its name. R194. */
  readonly part?: string
}

/** The kind of a difference; it determines whether a change of a version can claim it. */
export type DifferenceKind =
  | 'field-removed'
  | 'field-added'
  | 'field-changed'
  | 'resource-removed'
  | 'method-removed'
  /** A transition or an operation is gone or changed, or a state allows fewer writes. */
  | 'actions-changed'
  | 'error-changed'
  /** A part that must be the same in all versions. R194. */
  | 'fixed'
  | 'other'

/** Whether consumers send a field, receive it, and filter lists by it. */
export interface FieldExposure {
  readonly input: boolean
  readonly output: boolean
  readonly filter: boolean
}

/** How the allowed values differ: fewer than before, more, or others. */
export type ShiftEffect = 'narrows' | 'widens' | 'changes'

/** A difference of values by direction: requests and answers are judged by different rules. */
export interface ValueShift {
  readonly says: string
  readonly input: ShiftEffect
  readonly output: ShiftEffect
  /** Whether filters are affected too. */
  readonly filters: boolean
}

export const requestsOnly: FieldExposure = { input: true, output: false, filter: false }
export const answersOnly: FieldExposure = { input: false, output: true, filter: false }

/** Fewer values in requests or more values in answers break consumers; the reverse does not. */
export function weighShift({ input, output, filters }: ValueShift, way: FieldExposure): Weight {
  const sent = way.input || (filters && way.filter) ? input : undefined
  const answered = way.output ? output : undefined
  if (refuses(sent) || surprises(answered)) return 'breaking'
  return sent || answered ? 'additive' : 'none'
}

const refuses = (sent: ShiftEffect | undefined): boolean => sent === 'narrows' || sent === 'changes'
const surprises = (answered: ShiftEffect | undefined): boolean => answered === 'widens' || answered === 'changes'

/** Why it breaks, in words. */
export function breakReason({ input, output, filters }: ValueShift, way: FieldExposure): string {
  const sent = (way.input || (filters && way.filter)) && refuses(input)
  const answered = way.output && surprises(output)
  if (sent && answered)
    return 'Requests that were accepted may be refused, and answers may contain values that consumers do not know.'
  if (sent) return 'Requests that were accepted may be refused.'
  return answered ? 'Answers may contain values that consumers do not know.' : ''
}

const weightRanks: readonly Weight[] = ['none', 'additive', 'breaking']

/** The weight of several differences together. */
export const heaviestWeight = (differences: readonly Pick<Difference, 'weight'>[]): Weight =>
  weightRanks[Math.max(0, ...differences.map(({ weight }) => weightRanks.indexOf(weight)))] as Weight

export const onlyBreaking = <D extends Pick<Difference, 'weight'>>(differences: readonly D[]): D[] =>
  differences.filter(({ weight }) => weight === 'breaking')

/** Calls `see` for each name that either side has, with its value on both sides. */
export function compareMembers<T, R>(
  before: Readonly<Record<string, T>>,
  after: Readonly<Record<string, T>>,
  see: (name: string, had: T | undefined, has: T | undefined) => R[],
): R[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const own = (all: Readonly<Record<string, T>>, name: string) => (Object.hasOwn(all, name) ? all[name] : undefined)
  return [...names].toSorted().flatMap((name) => see(name, own(before, name), own(after, name)))
}

export function makeDifference(
  place: string,
  weight: Weight,
  says: string,
  mend = '',
  what: DifferenceKind = 'other',
): Difference {
  return { place, weight, says, mend: weight === 'breaking' ? mend : '', what }
}
