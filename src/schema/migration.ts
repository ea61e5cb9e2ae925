/** Migration: what can be done with a database whose tables differ from the declaration, and what it answers. The cellar. */
import type { Misfits } from '../fields/bounds.ts'
import type { Collection } from '../rows/collection.ts'
import type { Layout } from '../sql/layout.ts'
import { collectionsToMerge } from '../sql/merging.ts'
import type { DeclaredRow } from './declared-rows.ts'
import type { Hazard } from './hazard.ts'
import type { SchemaChange, SchemaState } from './schema-change.ts'
import { type AppliedPlan, formerLayout, layoutName, type SchemaComparison } from './state.ts'
import type { Phase, SchemaStep } from './step.ts'
import type { Target } from './target.ts'

/** What became of a copy: put back, or left for a reason. */
export interface UndropResult {
  readonly field: string
  readonly id: string
  /** Null where the value was put back. */
  readonly because: string | null
}

/** What a store's schema is, what it should be, and the steps between. */
export interface Migration {
  readonly steps: readonly SchemaStep[]
  readonly serves: SchemaComparison['serves']
  /** Refuses a declaration whose steps were all carried out, or remembers it. */
  readonly admit: () => void | Promise<void>
  /** What the steps would be refused for. */
  readonly survey: () => readonly Hazard[] | Promise<readonly Hazard[]>
  /** Runs the steps; those that wait for the nodes of before only when these are gone. */
  readonly apply: () => MigrationResult | Promise<MigrationResult>
  /** The plans that were carried out, in order. */
  readonly appliedPlans: () => readonly AppliedPlan[] | Promise<readonly AppliedPlan[]>
  /** Carries one plan out and writes it down, both or neither. */
  readonly applyPlan: (plan: MigrationPlan) => PlanResult | Promise<PlanResult>
  /** Hands every row to `see`, as this declaration has it, and gives the rows that do not fit it. */
  readonly inspect: (see: (row: DeclaredRow) => void) => Misfits | Promise<Misfits>
  /** Puts dropped values back where their fields were not written since. */
  readonly undrop: () => readonly UndropResult[] | Promise<readonly UndropResult[]>
  readonly close: () => void
}

/** One phase of a change, as it was reviewed. */
export interface MigrationPlan extends Omit<AppliedPlan, 'time'> {
  readonly phase: Phase
  /** What it is written for. */
  readonly target: Target
  /** Names the layout that it starts from; null for an empty database. */
  readonly from: string | null
  /** What the database looks like behind both phases. */
  readonly to: Layout
  readonly steps: readonly SchemaStep[]
}

/** Whether a plan was carried out, was found to be so, or waits for nodes. */
export type PlanResult =
  | { readonly is: 'done' | 'adopted' }
  | { readonly is: 'waiting'; readonly waitsFor: readonly string[] }

/** What a plan finds: it is to be carried out, or everything is there already; anything else is refused. */
export function planReadiness(
  { name, number, phase, from, to }: MigrationPlan,
  state: SchemaState | null,
): 'ready' | 'adopted' {
  const now = state && layoutName(state.layout)
  if (now === layoutName(to)) {
    if (phase === 'contract') return state?.layout.open ? 'ready' : 'adopted'
    return 'adopted'
  }
  if (phase === 'expand' && now === from && state?.layout.open !== true) return 'ready'
  throw new Error(
    `Plan ${number} (${name}) cannot be carried out: the database is not as the plan before it leaves it. ` +
      (state?.layout.open
        ? 'A change is not finished there: carry out the plan that finishes it first.'
        : 'Look at `bylaw migrate plan` without a name to see how it differs, or restore it from a backup.'),
  )
}

/** What was done, and what is left to do because some nodes run yet. */
export interface MigrationResult {
  readonly done: readonly SchemaStep[]
  readonly left: readonly SchemaStep[]
  readonly waitsFor: readonly string[]
}

/** `apply` brings the schema up to date at start; `require` refuses where it is not. */
export type SchemaMode = 'apply' | 'require'

/** Told where a schema is not as declared and may not be changed. */
export function schemaOutdated(steps: readonly SchemaStep[]): Error {
  const list = steps.map(({ about }) => `  - ${about}`).join('\n')
  return new Error(
    `It is not as the declaration asks:\n${list}\nRun \`bylaw migrate plan\` to see the statements and \`bylaw migrate apply\` to carry them out.`,
  )
}

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
