/** State: what a database remembers of its schema, of its nodes and of the steps that were carried out. The cellar. */
import { createHash } from 'node:crypto'
import type { Collection } from '../rows/collection.ts'
import { metaTable, planTable } from '../sql/compile.ts'
import type { Dialect } from '../sql/dialect.ts'
import { type Layout, layoutOf, layoutVersionOf, mergingLayoutVersion } from '../sql/layout.ts'
import { isEarlierReleaseNode } from '../sql/merging.ts'
import type { Steps } from '../store/steps.ts'
import type { Survey } from './hazard.ts'
import { readOtherNodes } from './presence.ts'
import { changeBetween, isFormerDeclaration, type SchemaChange, type SchemaState } from './schema-change.ts'
import type { Phase, SchemaStep } from './step.ts'

/** What a database and a declaration are to each other. */
export interface SchemaComparison {
  readonly state: SchemaState | null
  readonly change: SchemaChange
  /** Whether a node of this declaration can serve: it is the declaration of now, or the one of before. */
  readonly serves: 'now' | 'former' | null
}

export function compareSchema(
  state: SchemaState | null,
  collections: readonly Collection[],
  dialect: Dialect,
): SchemaComparison {
  const former = state !== null && isFormerDeclaration(state, collections, dialect)
  const change = former ? null : changeBetween(state, collections, dialect)
  if (state && change === null)
    return { state, change: { before: state, after: state.layout, steps: [], merged: [] }, serves: 'former' }
  const now = (change as SchemaChange).steps.length === 0 || state?.layout.open === true
  return { state, change: change as SchemaChange, serves: now ? 'now' : null }
}

/** What a used database is read by where it is opened as it is; null where tables are missing that all resources share. */
export function stateToOpenAsIs({ state, change: { after }, serves }: SchemaComparison): SchemaState | null {
  if (state === null || after.shared.some((name) => !state.layout.shared.includes(name))) return null
  if (serves === 'now') return state
  return { layout: (serves === 'former' && state.former) || after, former: null }
}

/** Names a declaration by what it asks of the tables: nodes of one name do the same with them. */
export const layoutName = ({ tables }: Layout): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(tables).map(([name, table]) => [name, { ...table, pending: [] }])))
    .digest('hex')
    .slice(0, 16)

export const stepsOfPhase = (steps: readonly SchemaStep[], phase: SchemaStep['phase']): SchemaStep[] =>
  steps.filter((step) => step.phase === phase)

/** The declaration that may run beside the one that is brought in. */
export const formerLayout = (before: SchemaState | null): Layout | null =>
  before?.layout.open ? before.former : (before?.layout ?? null)
/** The collections whose rows can be written for a layout: it holds them as they are declared. */
export const writableCollections = (
  collections: readonly Collection[],
  layout: Layout,
  dialect: Dialect,
): Collection[] => {
  const now = layoutOf(collections, layout, dialect, layout.shared)
  return collections.filter(({ name }) => now.tables[name]?.shape === layout.tables[name]?.shape)
}

/** A change beside which no node of the declaration before runs, so that rows keep nothing for it. */
export const withoutFormer = (change: SchemaChange): SchemaChange => ({ ...change, before: null })

/** What is remembered once a phase is done; `open` where the other one is to follow. Where tables are made anew, or values reserved, nothing of before can run. */
export function stateAfter({ before, after, steps, merged }: SchemaChange, phase: Phase, open: boolean): SchemaState {
  const former = steps.some(({ empty }) => empty) ? null : formerLayout(before)
  const alone = open && steps.some(({ still }) => still)
  return phase === 'expand'
    ? {
        layout: {
          ...after,
          ...(open && merged.length > 0 && { layout: mergingLayoutVersion }),
          open,
          ...(alone && { alone }),
        },
        former,
      }
    : { layout: finishedLayout(after), former: null }
}

/** A layout when all its steps are done. */
export function finishedLayout(layout: Layout): Layout {
  const tables = Object.entries(layout.tables).map(([name, table]) => [name, { ...table, pending: [] }])
  return { ...layout, tables: Object.fromEntries(tables), open: false }
}

export function* readSchemaState(): Steps<SchemaState | null> {
  const rows = yield { text: `SELECT name, value FROM ${metaTable} WHERE name IN ('layout', 'former')`, values: [] }
  const found = (name: string): Layout | null => {
    const row = rows.find((one) => one.name === name)
    return row ? (JSON.parse(row.value as string) as Layout) : null
  }
  const layout = found('layout')
  if (layout && layout.layout > (layout.open ? mergingLayoutVersion : layoutVersionOf(layout)))
    throw new Error('It was written by a newer release of bylaw. Run that release, or a newer one.')
  return layout && { layout, former: found('former') }
}

export function* writeSchemaState({ mark }: Dialect, { layout, former }: SchemaState): Steps<void> {
  const text = `INSERT INTO ${metaTable} (name, value) VALUES (${mark(1)}, ${mark(2)}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
  yield { text, values: ['layout', JSON.stringify(layout)] }
  if (former) yield { text, values: ['former', JSON.stringify(former)] }
  else yield { text: `DELETE FROM ${metaTable} WHERE name = 'former'`, values: [] }
}

/** A plan that was carried out. */
export interface AppliedPlan {
  readonly number: number
  readonly name: string
  readonly checksum: string
  /** When, in milliseconds. */
  readonly time: number
}

/** What was carried out, in order; nothing in databases of before. */
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

/** How far a phase was carried out by somebody who did not come to its end; 0 where nobody began it. */
export function* readProgress({ mark }: Dialect, key: string): Steps<number> {
  const [row] = yield { text: `SELECT value FROM ${metaTable} WHERE name = ${mark(1)}`, values: ['progress'] }
  const [of, done] = ((row?.value as string | undefined) ?? '').split(' ')
  return of === key ? Number(done) : 0
}

export function* writeProgress({ mark }: Dialect, key: string, done: number): Steps<void> {
  yield {
    text: `INSERT INTO ${metaTable} (name, value) VALUES (${mark(1)}, ${mark(2)}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    values: ['progress', `${key} ${done}`],
  }
}

/** Refuses a change, or a start, beside nodes of an earlier release that run another declaration, where rows would lose values. */
export const earlierReleaseSurvey: Survey = function* ({ change: { before, after, merged }, dialect }) {
  if (before === null || merged.length === 0) return []
  const earlier = (yield* readOtherNodes(dialect, layoutName(after))).filter(isEarlierReleaseNode)
  if (earlier.length === 0) return []
  const about = `Nodes of an earlier release of bylaw run with another declaration: ${earlier.join(', ')}. They and nodes of this declaration would lose writes of each other to ${merged.join(', ')}.`
  const mend = 'Start this release with their declaration in their place, then bring in this declaration.'
  return [
    {
      about,
      mends: [
        ['first', mend],
        ['or', 'Stop them; a node that was not stopped but lost is forgotten after half a minute.'],
      ],
    },
  ]
}
