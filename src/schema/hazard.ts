/** Hazard: reasons to refuse a schema change, all found before its first step and reported in one error. The store. */

import type { Steps } from '../catalog/steps.ts'
import type { World } from '../flow/world.ts'
import type { Collection } from '../rows/collection.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { SchemaChange, SchemaState } from './schema-change.ts'
import type { SchemaStep } from './step.ts'

/** One reason to refuse a change: values would be lost, rows would not fit, or callers would be cut off. */
export interface Hazard {
  /** The consequence and the number of rows. The first line is shown as a list item; the others are indented below it. */
  readonly about: string
  /** Ways to fix it, each a label and a text to paste or to run. */
  readonly mends: readonly (readonly [label: string, text: string])[]
  /** The field whose values would be lost, if that is the hazard. */
  readonly loss?: string
}

/** The input of a survey: a change of which no step has been applied yet. */
export interface SurveyedChange {
  readonly change: SchemaChange
  readonly collections: readonly Collection[]
  readonly dialect: Dialect
  readonly world: World
}

/** Finds the hazards of one kind; it only reads. */
export type Survey = (surveyed: SurveyedChange) => Steps<readonly Hazard[]>

/** A value that a change drops, with the row that held it. */
export interface DroppedValue {
  readonly collection: string
  readonly account: string | null
  readonly parent: string | null
  readonly id: string
  readonly field: string
  readonly value: unknown
}

/** The decisions of an operator about a change, and where its steps are reported. */
export interface Consent {
  /** The fields whose stored values may be dropped, for example `notes.text`. */
  readonly allowLoss?: readonly string[]
  /** Whether rows that do not fit a narrower declaration may stay as they are. */
  readonly allowMisfits?: boolean
  /** Saves a copy of a dropped value outside the database, before the transaction that drops it is committed. */
  readonly keep?: (copy: DroppedValue) => void
  /** Whether an existing database is opened as it is, without checks or changes. */
  readonly asItIs?: boolean
  /** Surveys in addition to those of losses and of earlier releases. They also run if the change has no steps. */
  readonly surveys?: readonly Survey[]
  /** Called with one line for each step, once the steps have been committed. */
  readonly report?: (line: string) => void
  /** How long dropped values are kept, in milliseconds; null means for ever. */
  readonly retention?: number | null
}

/** The error that refuses a change, with all its hazards. */
export interface ChangeRefusal extends Error {
  readonly hazards: readonly Hazard[]
}

export const isChangeRefusal = (error: unknown): error is ChangeRefusal => error instanceof Error && 'hazards' in error

/** Every survey runs before anything is refused, so that an operator sees all reasons at once. */
export function* requireNoHazards(surveyed: SurveyedChange, surveys: readonly Survey[]): Steps<void> {
  const hazards = yield* findHazards(surveyed, surveys)
  if (hazards.length > 0) throw changeRefusal(hazards)
}

export function* findHazards(surveyed: SurveyedChange, surveys: readonly Survey[]): Steps<readonly Hazard[]> {
  if (surveyed.change.before === null) return [] // a new database has nothing to lose
  const hazards: Hazard[] = []
  for (const look of surveys) hazards.push(...(yield* look(surveyed)))
  return hazards
}

export function changeRefusal(hazards: readonly Hazard[]): ChangeRefusal {
  return Object.assign(new Error(hazards.map(hazardText).join('\n')), { hazards })
}

/** The error of a start: why a database was not changed, or cannot be used, and how an operator can mend it. */
export function startError(database: string, cause: unknown, mend = ''): Error {
  const { message } = cause as Error
  const refused = new Error(`The database ${database} was not changed, because:\n${message}`)
  if (isChangeRefusal(cause)) return Object.assign(refused, { hazards: cause.hazards })
  const says = [asSentence(message), mend].filter(Boolean).join(' ')
  return new Error(`The database ${database} cannot be used. ${says}`, { cause })
}

const asSentence = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?\n)]$/.test(text) ? '' : '.')

export function hazardText({ about, mends }: Hazard): string {
  const widest = Math.max(0, ...mends.map(([label]) => label.length))
  const lines = mends.map(([label, text]) => `      ${`${label}:`.padEnd(widest + 3)}${text}`)
  return [`  - ${about.replaceAll('\n', '\n    ')}`, ...lines].join('\n')
}

/** Reports the steps of a start; for a new database, one line with the tables of other programs in it. */
export function reportSteps(
  { state, others }: { readonly state: SchemaState | null; readonly others: readonly string[] },
  collections: readonly Collection[],
  { done }: { readonly done: readonly SchemaStep[] },
  { report }: Consent,
): void {
  if (!report || done.length === 0) return
  const shared = others.length > 0 ? `, beside those of something else: ${others.join(', ')}` : ''
  if (state === null)
    report(`made the tables of ${collections.map(({ name }) => name).join(', ') || 'a new database'}${shared}`)
  else for (const { about } of done) report(about)
}
