/** State: the schema state, applied plans and progress that a database stores. The store. */
import { createHash } from 'node:crypto'
import type { Steps } from '../catalog/steps.ts'
import type { Table } from '../flow/table.ts'
import type { Collection } from '../rows/collection.ts'
import type { Dialect } from '../sql/dialect.ts'
import { type Layout, layoutOf, layoutVersionOf, mergingLayoutVersion, storedNamesIn } from '../sql/layout.ts'
import { isEarlierReleaseNode } from '../sql/merging.ts'
import { collectionsRow, metaTable, planTable } from '../sql/statements.ts'
import { unfinishedRow } from './behaviour-steps.ts'
import type { Survey } from './hazard.ts'
import { readOtherNodes } from './presence.ts'
import { changeBetween, isFormerDeclaration, type SchemaChange, type SchemaState } from './schema-change.ts'
import { readMeta, writeMeta } from './shared-tables.ts'
import type { SchemaStep, StepPhase } from './step.ts'

/** Everything that a service stores: the rows of its collections, and the rows of its own tables. */
export interface StoredParts {
  readonly collections: readonly Collection[]
  readonly tables?: readonly Table[]
}

/** The result of comparing a database with a declaration. */
export interface SchemaComparison {
  readonly state: SchemaState | null
  /** The tables of a database that has none of a service: the wrong database may have been named. */
  readonly others: readonly string[]
  readonly change: SchemaChange
  /** Whether a node of this declaration can serve: as a current node, as an old one of a rolling upgrade, or not at all. */
  readonly serves: 'now' | 'former' | null
}

export function compareSchema(
  state: SchemaState | null,
  stored: StoredParts,
  dialect: Dialect,
  others: readonly string[] = [],
): SchemaComparison {
  const { collections, tables } = stored
  if (state !== null && isFormerDeclaration(state, collections, dialect))
    return { state, others, change: returnToFormer(state, stored, dialect), serves: 'former' }
  const change = changeBetween(state, collections, dialect, tables)
  const now = change.steps.length === 0 || state?.layout.open === true
  return { state, others, change, serves: now ? 'now' : null }
}

/**
 * The change back to the former declaration. It has no steps while the change from it is not finished, or if there is no way
 * back, as after a resource was renamed.
 */
function returnToFormer(state: SchemaState, { collections, tables }: StoredParts, dialect: Dialect): SchemaChange {
  const nothing = { before: state, after: state.layout, steps: [], merged: [] }
  if (state.layout.open) return nothing
  try {
    return changeBetween({ layout: state.layout, former: null }, collections, dialect, tables)
  } catch {
    return nothing
  }
}

/** The state to open an existing database with as it is; null if it is empty or lacks shared tables. */
export function stateToOpenAsIs({ state, change: { after }, serves }: SchemaComparison): SchemaState | null {
  if (state === null || after.shared.some((name) => !state.layout.shared.includes(name))) return null
  if (serves === 'now') return state
  return { layout: (serves === 'former' && state.former) || after, former: null }
}

/** A hash of the tables of a layout: nodes with the same name use them in the same way. */
export const layoutName = ({ tables }: Layout): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(tables).map(([name, table]) => [name, { ...table, pending: [] }])))
    .digest('hex')
    .slice(0, 16)

export const stepsOfPhase = (steps: readonly SchemaStep[], phase: SchemaStep['phase']): SchemaStep[] =>
  steps.filter((step) => step.phase === phase)

/** The layout of the old nodes that may run while the new declaration is applied. */
export const formerLayout = (before: SchemaState | null): Layout | null =>
  before?.layout.open ? before.former : (before?.layout ?? null)

/** The collections whose rows can be written for a layout, as their current shape is that of the layout. */
export const writableCollections = (
  collections: readonly Collection[],
  layout: Layout,
  dialect: Dialect,
): Collection[] => {
  const now = layoutOf(collections, layout, dialect, layout.shared)
  return collections.filter(({ name }) => now.tables[name]?.shape === layout.tables[name]?.shape)
}

/** A change during which no old nodes run, so that rows keep nothing for them. */
export const withoutFormer = (change: SchemaChange): SchemaChange => ({ ...change, before: null })

/** The state to store after a phase; `open` if the other phase follows. Old nodes cannot use recreated tables or reservations. */
export function stateAfter(
  { before, after, steps, merged }: SchemaChange,
  phase: StepPhase,
  open: boolean,
): SchemaState {
  const former = steps.some(({ empty }) => empty) ? null : formerLayout(before)
  const alone = open && steps.some(({ still }) => still)
  if (phase === 'contract') return { layout: finishedLayout(after), former: null }
  const version = open && merged.length > 0 ? mergingLayoutVersion : after.layout
  return { layout: { ...after, layout: version, open, ...(alone && { alone }) }, former }
}

/** A layout when all its steps are done. */
export function finishedLayout(layout: Layout): Layout {
  const tables = Object.entries(layout.tables).map(([name, table]) => [name, { ...table, pending: [] }])
  return { ...layout, tables: Object.fromEntries(tables), open: false }
}

export function* readSchemaState(): Steps<SchemaState | null> {
  const rows = yield { text: `SELECT name, value FROM ${metaTable} WHERE name IN ('layout', 'former')`, values: [] }
  const layoutNamed = (name: string): Layout | null =>
    JSON.parse((rows.find((one) => one.name === name)?.value ?? 'null') as string)
  const layout = layoutNamed('layout')
  if (layout && layout.layout > (layout.open ? mergingLayoutVersion : layoutVersionOf(layout)))
    throw new Error('It was written by a newer release of bylaw. Run that release, or a newer one.')
  return layout && { layout, former: layoutNamed('former') }
}

export function* writeSchemaState(dialect: Dialect, { layout, former }: SchemaState): Steps<void> {
  yield* writeMeta(dialect, 'layout', JSON.stringify(layout))
  yield* writeMeta(dialect, collectionsRow, storedNamesIn(layout))
  if (former) yield* writeMeta(dialect, 'former', JSON.stringify(former))
  else yield { text: `DELETE FROM ${metaTable} WHERE name = 'former'`, values: [] }
  if (layout.open) yield* writeMeta(dialect, unfinishedRow, layoutName(layout))
  else yield { text: `DELETE FROM ${metaTable} WHERE name = '${unfinishedRow}'`, values: [] }
}

/** A plan that was applied. */
export interface AppliedPlan {
  readonly number: number
  readonly name: string
  readonly checksum: string
  /** When, in milliseconds. */
  readonly time: number
}

/** The applied plans in order; empty for databases of releases without plans. */
export function* readAppliedPlans(state: SchemaState | null): Steps<AppliedPlan[]> {
  if (!state?.layout.shared.includes(planTable)) return []
  const rows = yield { text: `SELECT number, name, checksum, time FROM ${planTable} ORDER BY number`, values: [] }
  return rows.map(({ number, name, checksum, time }) => ({
    number: Number(number),
    name: name as string,
    checksum: checksum as string,
    time: Number(time),
  }))
}

export function* recordPlan(
  { mark, now }: Dialect,
  { number, name, checksum }: Omit<AppliedPlan, 'time'>,
): Steps<void> {
  const marks = [1, 2, 3].map(mark).join(', ')
  yield {
    text: `INSERT INTO ${planTable} (number, name, checksum, time) VALUES (${marks}, ${now})`,
    values: [number, name, checksum],
  }
}

/** How many steps of an interrupted phase are done; 0 if it was not begun. */
export function* readProgress(key: string): Steps<number> {
  const [of, done] = (yield* readMeta('progress'))?.split(' ') ?? []
  return of === key ? Number(done) : 0
}

export const writeProgress = (dialect: Dialect, key: string, done: number): Steps<void> =>
  writeMeta(dialect, 'progress', `${key} ${done}`)

/** Refuses a change or a start while nodes of an earlier release run another declaration, if writes would be lost. */
export const earlierReleaseSurvey: Survey = function* ({ change: { before, after, merged }, dialect }) {
  if (before === null || merged.length === 0) return []
  const earlier = (yield* readOtherNodes(dialect, layoutName(after))).filter(isEarlierReleaseNode)
  if (earlier.length === 0) return []
  const about = `Nodes of an earlier release of bylaw run with another declaration: ${earlier.join(', ')}. They and nodes of this declaration would overwrite each other's writes to ${merged.join(', ')}.`
  const mend = 'Replace them with nodes of this release that run their declaration, then deploy this declaration.'
  return [
    {
      about,
      mends: [
        ['first', mend],
        ['or', 'Stop them; a node that crashed is forgotten after half a minute.'],
      ],
    },
  ]
}
