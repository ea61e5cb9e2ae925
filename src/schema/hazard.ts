/** Hazard: what a change of the schema would cost, found out before its first step, and the one refusal that names all of it. The cellar. */
import type { Collection } from '../rows/collection.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { Steps } from '../store/steps.ts'
import type { SchemaChange, SchemaState } from './schema-change.ts'
import type { SchemaStep } from './step.ts'

/** One reason not to carry a change out: values that would be lost, rows that would not fit, callers that would be cut off. */
export interface Hazard {
  /** What would happen, and to how much. The first line is an item of a list; further ones are indented below it. */
  readonly about: string
  /** Ways to mend it, each a label and what to paste or to run. */
  readonly mends: readonly (readonly [label: string, text: string])[]
  /** The field whose values would be lost, where it is that. */
  readonly loss?: string
}

/** What a survey looks at: nothing of the change has been carried out yet. */
export interface SurveyedChange {
  readonly change: SchemaChange
  readonly collections: readonly Collection[]
  readonly dialect: Dialect
}

/** Looks for hazards of one sort; it only reads. */
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

/** What an operator decides about a change, and where the change is reported. */
export interface Consent {
  /** The fields whose stored values may be dropped, as `notes.text`. */
  readonly allowLoss?: readonly string[]
  /** Whether rows may stay as they are that do not fit a declaration that became narrower. */
  readonly allowMisfits?: boolean
  /** Writes a copy of a dropped value outside of the database, before the transaction that drops it is committed. */
  readonly keep?: (copy: DroppedValue) => void
  /** Whether a database that was used before is opened as it is: nothing of it is judged or changed. */
  readonly asItIs?: boolean
  /** Surveys besides that of losses. They run at every start, whether or not there are steps. */
  readonly surveys?: readonly Survey[]
  /** Called with one line for each step, once the steps have been committed. */
  readonly report?: (line: string) => void
  /** How long dropped values are kept, in milliseconds; null for ever. */
  readonly retention?: number | null
}

/** What an operator is told instead of a change. */
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

/** A refusal with the database that it is about. */
export const refusalOfDatabase = (database: string, { hazards, message }: ChangeRefusal): ChangeRefusal =>
  Object.assign(new Error(`The database ${database} was not changed, because:\n${message}`), { hazards })

export function hazardText({ about, mends }: Hazard): string {
  const widest = Math.max(0, ...mends.map(([label]) => label.length))
  const lines = mends.map(([label, text]) => `      ${`${label}:`.padEnd(widest + 3)}${text}`)
  return [`  - ${about.replaceAll('\n', '\n    ')}`, ...lines].join('\n')
}

/** Reports the steps of a start; a new database is one line. */
export function reportSteps(
  before: SchemaState | null,
  collections: readonly Collection[],
  { done }: { readonly done: readonly SchemaStep[] },
  { report }: Consent,
): void {
  if (!report || done.length === 0) return
  if (before === null)
    report(`made the tables of ${collections.map(({ name }) => name).join(', ') || 'a new database'}`)
  else for (const { about } of done) report(about)
}
