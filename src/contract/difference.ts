/** Difference: one thing that two contracts say differently, and what that means to a consumer. Part 9, versioning. */
import type { Weight } from './weight.ts'

export interface Difference {
  /** Where it is in the declaration. */
  readonly place: string
  readonly weight: Weight
  readonly says: string
  /** What makes a breaking one harmless. */
  readonly mend: string
  readonly what: DifferenceKind
  /** The part of a field that is the same in all versions, where it is one of a field. R194. */
  readonly part?: string
}

/** What is different, as far as a change of a version could claim it. */
export type DifferenceKind =
  | 'field-removed'
  | 'field-added'
  | 'field-changed'
  | 'resource-removed'
  | 'method-removed'
  | 'error-changed'
  /** A part that is the same in all versions. R194. */
  | 'fixed'
  | 'other'

/** What is sent, what is answered, and by whom values are compared in lists. */
export interface FieldExposure {
  readonly input: boolean
  readonly output: boolean
  readonly filter: boolean
}

/** How the values of before and after lie to each other: fewer of them, more, or others. */
export type ShiftEffect = 'narrows' | 'widens' | 'changes'

/** A difference of values, by direction: a request is judged by other rules than an answer. */
export interface ValueShift {
  readonly says: string
  readonly input: ShiftEffect
  readonly output: ShiftEffect
  /** Whether filters take other values too. */
  readonly filters: boolean
}

/** Narrowing what is sent and widening what is answered breaks; the other way round it does not. */
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
  if (sent && answered) return 'What was accepted may be refused, and answers may hold what consumers do not know.'
  if (sent) return 'What was accepted may be refused.'
  return answered ? 'Answers may hold what consumers do not know.' : ''
}

const weightRanks: readonly Weight[] = ['none', 'additive', 'breaking']

/** The weight of several differences together. */
export const heaviestWeight = (found: readonly Pick<Difference, 'weight'>[]): Weight =>
  weightRanks[Math.max(0, ...found.map(({ weight }) => weightRanks.indexOf(weight)))] as Weight

export const onlyBreaking = <D extends Pick<Difference, 'weight'>>(found: readonly D[]): D[] =>
  found.filter(({ weight }) => weight === 'breaking')

/** Every name of both, with what each has of it. */
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
