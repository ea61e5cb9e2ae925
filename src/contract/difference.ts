/** Difference: one thing that two contracts say differently, and what that means to a consumer. Part 9, versioning. */
import type { Weight } from './noticed.ts'

export interface Difference {
  /** Where it is in the declaration. */
  readonly place: string
  readonly weight: Weight
  readonly says: string
  /** What makes a breaking one harmless. */
  readonly mend: string
  readonly what: What
  /** The part of a field that is the same in all versions, where it is one of a field. R194. */
  readonly part?: string
}

/** What is different, as far as a change of a version could claim it. */
export type What =
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
export interface Way {
  readonly input: boolean
  readonly output: boolean
  readonly filter: boolean
}

/** How the values of before and after lie to each other: fewer of them, more, or others. */
export type Effect = 'narrows' | 'widens' | 'changes'

/** A difference of values, by direction: a request is judged by other rules than an answer. */
export interface Shift {
  readonly says: string
  readonly input: Effect
  readonly output: Effect
  /** Whether filters take other values too. */
  readonly filters: boolean
}

/** Narrowing what is sent and widening what is answered breaks; the other way round it does not. */
export function weigh({ input, output, filters }: Shift, way: Way): Weight {
  const sent = way.input || (filters && way.filter) ? input : undefined
  const answered = way.output ? output : undefined
  if (refuses(sent) || surprises(answered)) return 'breaking'
  return sent || answered ? 'additive' : 'none'
}

const refuses = (sent: Effect | undefined): boolean => sent === 'narrows' || sent === 'changes'
const surprises = (answered: Effect | undefined): boolean => answered === 'widens' || answered === 'changes'

/** Why it breaks, in words. */
export function reason({ input, output, filters }: Shift, way: Way): string {
  const sent = (way.input || (filters && way.filter)) && refuses(input)
  const answered = way.output && surprises(output)
  if (sent && answered) return 'What was accepted may be refused, and answers may hold what consumers do not know.'
  if (sent) return 'What was accepted may be refused.'
  return answered ? 'Answers may hold what consumers do not know.' : ''
}

const ranks: readonly Weight[] = ['none', 'additive', 'breaking']

/** The weight of several differences together. */
export const heaviest = (found: readonly Pick<Difference, 'weight'>[]): Weight =>
  ranks[Math.max(0, ...found.map(({ weight }) => ranks.indexOf(weight)))] as Weight

export const breaking = <D extends Pick<Difference, 'weight'>>(found: readonly D[]): D[] =>
  found.filter(({ weight }) => weight === 'breaking')
