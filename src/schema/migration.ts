/** Migration: the operations on a database whose schema differs from the declaration, and their results. The store. */
import type { Misfits } from '../fields/bounds.ts'
import type { Collection } from '../rows/collection.ts'
import type { Layout } from '../sql/layout.ts'
import { collectionsToMerge } from '../sql/merging.ts'
import type { DeclaredRow } from './declared-rows.ts'
import type { Hazard } from './hazard.ts'
import type { OtherNode } from './presence.ts'
import type { SchemaChange, SchemaState } from './schema-change.ts'
import { type AppliedPlan, formerLayout, layoutName, type SchemaComparison } from './state.ts'
import type { SchemaStep, StepPhase } from './step.ts'
import type { Target } from './target.ts'

/** The result for one copy: its value was restored, or why not. */
export interface UndropResult {
  readonly field: string
  readonly id: string
  /** Null if the value was restored. */
  readonly because: string | null
}

/** The steps from the schema of a store to the declared one, and the operations of `bylaw migrate`. */
export interface Migration {
  readonly steps: readonly SchemaStep[]
  readonly serves: SchemaComparison['serves']
  /** The tables of a database without tables of this service; null if it has those. */
  readonly others: readonly string[] | null
  /** For a declaration whose steps were all applied: throws if it has hazards, otherwise stores its bounds. */
  readonly admit: () => void | Promise<void>
  /** The hazards that the steps would be refused for. */
  readonly survey: () => readonly Hazard[] | Promise<readonly Hazard[]>
  /** Runs the steps; those of the second phase only if no old nodes run. */
  readonly apply: () => MigrationResult | Promise<MigrationResult>
  /** The nodes of other declarations, which the second phase waits for, and those that were lost. */
  readonly otherNodes: () => readonly OtherNode[] | Promise<readonly OtherNode[]>
  /** The plans that were applied, in order. */
  readonly appliedPlans: () => readonly AppliedPlan[] | Promise<readonly AppliedPlan[]>
  /** Applies one plan and records it: on SQLite atomically, on PostgreSQL so that an interrupted plan can continue. */
  readonly applyPlan: (plan: MigrationPlan) => PlanResult | Promise<PlanResult>
  /** Passes every row, converted to this declaration, to `see`; returns the misfits. */
  readonly inspect: (see: (row: DeclaredRow) => void) => Misfits | Promise<Misfits>
  /** The hazards of tables with rows that have to be created again: `inspect` cannot read these rows. */
  readonly unreadable: () => readonly Hazard[] | Promise<readonly Hazard[]>
  /** Compares index columns, totals and idempotency keys with the rows; null if the database is not as declared. */
  readonly crossCheck: () => readonly CrossFault[] | null | Promise<readonly CrossFault[] | null>
  /** The database and its version: `SQLite 3.51.3`. */
  readonly version: () => string | Promise<string>
  /** Restores dropped values whose fields were not written since. */
  readonly undrop: () => readonly UndropResult[] | Promise<readonly UndropResult[]>
  /** Records that the database was restored by other means; throws if nodes use it. */
  readonly recordRestore: () => void | Promise<void>
  readonly close: () => void
}

/** Rows with the same fault. */
export interface CrossFault {
  readonly collection: string
  /** The fault in words: `by_name differs from the document`. */
  readonly says: string
  readonly rows: readonly string[]
}

/** One phase of a change, as it was reviewed. */
export interface MigrationPlan extends Omit<AppliedPlan, 'time'> {
  readonly phase: StepPhase
  /** The database that it is written for. */
  readonly target: Target
  /** The name of the layout that it starts from; null for an empty database. */
  readonly from: string | null
  /** The layout after both phases. */
  readonly to: Layout
  readonly steps: readonly SchemaStep[]
}

/** The result of applying a plan: it was applied, needed no change, or waits for nodes. */
export type PlanResult =
  | { readonly is: 'done' | 'adopted' }
  | { readonly is: 'waiting'; readonly waitsFor: readonly string[] }

/** Whether a plan can be applied, or the database already is as it leaves it; throws in any other state. */
export function planReadiness(
  { name, number, phase, from, to }: MigrationPlan,
  state: SchemaState | null,
): 'ready' | 'adopted' {
  const now = state && layoutName(state.layout)
  if (now === layoutName(to)) return phase === 'contract' && state?.layout.open ? 'ready' : 'adopted'
  if (phase === 'expand' && now === from && state?.layout.open !== true) return 'ready'
  throw new Error(
    `Plan ${number} (${name}) cannot be carried out: the database is not in the state after the plan before it. ` +
      (state?.layout.open
        ? 'An earlier change is not finished: carry out the plan that finishes it first.'
        : 'Run `bylaw migrate plan` without a name to see how it differs, or restore it from a backup.'),
  )
}

/** The steps that were done, and those left because old nodes still run. */
export interface MigrationResult {
  readonly done: readonly SchemaStep[]
  readonly left: readonly SchemaStep[]
  readonly waitsFor: readonly string[]
}

/** `apply` migrates the schema at start; `require` refuses to start if it is outdated. */
export type SchemaMode = 'apply' | 'require'

export const applyMend = 'Run `bylaw migrate plan` to see the statements and `bylaw migrate apply` to carry them out.'

/** The error if a schema is outdated and may not be changed. */
export function schemaOutdated({
  others,
  change: { before, steps },
}: Omit<SchemaComparison, 'state' | 'serves'>): Error {
  if (before === null) return new Error(noTablesText(others, applyMend))
  const list = steps.map(({ about }) => `  - ${about}`).join('\n')
  return new Error(`It does not match the declaration. Missing:\n${list}\n${applyMend}`)
}

/** The tables of a database without any declared table; null if it has some of these. */
export function otherTables(
  { state, others }: Pick<SchemaComparison, 'state' | 'others'>,
  collections: readonly Collection[],
): readonly string[] | null {
  if (state === null) return others
  const names = Object.values(state.layout.tables).map(({ table }) => table)
  return names.length === 0 || collections.some(({ table }) => names.includes(table)) ? null : names
}

/** The content of a database without tables of this service, in words. */
export const foundText = (others: readonly string[]): string =>
  others.length === 0
    ? 'It has no tables of a service yet.'
    : `It has no tables of this service, but others: ${others.slice(0, mostNamed).join(', ')}${others.length > mostNamed ? ', …' : ''}.`

const mostNamed = 5

/** The content in words, with a hint that the wrong database may have been named. */
export const noTablesText = (others: readonly string[], mend: string): string =>
  others.length === 0
    ? `${foundText(others)} ${mend}`
    : `${foundText(others)} If you mean another database, name it with --database. ${mend}`

/** The change that a plan is a phase of. */
export const changeOfPlan = (
  { to, steps }: MigrationPlan,
  before: SchemaState | null,
  collections: readonly Collection[],
): SchemaChange => ({
  before,
  after: to,
  steps,
  merged: collectionsToMerge(formerLayout(before), to, collections),
})
