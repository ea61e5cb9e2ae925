/** State: what a database remembers of its schema, of its nodes and of the steps that were carried out. The cellar. */
import { createHash } from 'node:crypto'
import type { Misfits } from '../resources/bounds.ts'
import type { Collection } from '../resources/collection.ts'
import type { Steps } from '../store/cellar.ts'
import { meta, nodes, plans } from '../store/compile.ts'
import type { Dialect } from '../store/dialect.ts'
import { type Layout, layoutOf, merging, versionOf } from '../store/layout.ts'
import { isEarlier, mergedIn } from '../store/merging.ts'
import type { Hazard, Survey } from './hazard.ts'
import type { Row } from './rows.ts'
import { type Change, changeBetween, isFormer, type State } from './schema.ts'
import type { Phase, Step } from './step.ts'
import type { Target } from './target.ts'

/** What a database and a declaration are to each other. */
export interface Standing {
  readonly state: State | null
  readonly change: Change
  /** Whether a node of this declaration can serve: it is the declaration of now, or the one of before. */
  readonly serves: 'now' | 'former' | null
}

export function standing(state: State | null, collections: readonly Collection[], dialect: Dialect): Standing {
  const former = state !== null && isFormer(state, collections, dialect)
  const change = former ? null : changeBetween(state, collections, dialect)
  if (state && change === null)
    return { state, change: { before: state, after: state.layout, steps: [], merged: [] }, serves: 'former' }
  const now = (change as Change).steps.length === 0 || state?.layout.open === true
  return { state, change: change as Change, serves: now ? 'now' : null }
}

/** What a used database is read by where it is opened as it is; null where tables are missing that all resources share. */
export function groundAsItIs({ state, change: { after }, serves }: Standing): State | null {
  if (state === null || after.shared.some((name) => !state.layout.shared.includes(name))) return null
  if (serves === 'now') return state
  return { layout: (serves === 'former' && state.former) || after, former: null }
}

/** Names a declaration by what it asks of the tables: nodes of one name do the same with them. */
export const nameOf = ({ tables }: Layout): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(tables).map(([name, table]) => [name, { ...table, pending: [] }])))
    .digest('hex')
    .slice(0, 16)

export const phaseOf = (steps: readonly Step[], phase: Step['phase']): Step[] =>
  steps.filter((step) => step.phase === phase)

/** The declaration that may run beside the one that is brought in. */
export const formerOf = (before: State | null): Layout | null =>
  before?.layout.open ? before.former : (before?.layout ?? null)

/** The change that a plan is a phase of. */
export const changeOf = ({ to, steps }: Plan, before: State | null, collections: readonly Collection[]): Change => ({
  before,
  after: to,
  steps,
  merged: mergedIn(formerOf(before), to, collections),
})

/** The collections whose rows can be written for a layout: it holds them as they are declared. */
export const fitting = (collections: readonly Collection[], layout: Layout, dialect: Dialect): Collection[] => {
  const now = layoutOf(collections, layout, dialect, layout.shared)
  return collections.filter(({ name }) => now.tables[name]?.shape === layout.tables[name]?.shape)
}

/** A change beside which no node of the declaration before runs, so that rows keep nothing for it. */
export const bare = (change: Change): Change => ({ ...change, before: null })

/** What is remembered once a phase is done; `open` where the other one is to follow. Where tables are made anew, or values reserved, nothing of before can run. */
export function after({ before, after, steps, merged }: Change, phase: Phase, open: boolean): State {
  const former = steps.some(({ empty }) => empty) ? null : formerOf(before)
  const alone = open && steps.some(({ still }) => still)
  return phase === 'expand'
    ? {
        layout: { ...after, ...(open && merged.length > 0 && { layout: merging }), open, ...(alone && { alone }) },
        former,
      }
    : { layout: finished(after), former: null }
}

/** A layout when all its steps are done. */
export function finished(layout: Layout): Layout {
  const tables = Object.entries(layout.tables).map(([name, table]) => [name, { ...table, pending: [] }])
  return { ...layout, tables: Object.fromEntries(tables), open: false }
}

export function* readState(): Steps<State | null> {
  const rows = yield { text: `SELECT name, value FROM ${meta} WHERE name IN ('layout', 'former')`, values: [] }
  const found = (name: string): Layout | null => {
    const row = rows.find((one) => one.name === name)
    return row ? (JSON.parse(row.value as string) as Layout) : null
  }
  const layout = found('layout')
  if (layout && layout.layout > (layout.open ? merging : versionOf(layout)))
    throw new Error('It was written by a newer release of bylaw. Run that release, or a newer one.')
  return layout && { layout, former: found('former') }
}

export function* writeState({ mark }: Dialect, { layout, former }: State): Steps<void> {
  const text = `INSERT INTO ${meta} (name, value) VALUES (${mark(1)}, ${mark(2)}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
  yield { text, values: ['layout', JSON.stringify(layout)] }
  if (former) yield { text, values: ['former', JSON.stringify(former)] }
  else yield { text: `DELETE FROM ${meta} WHERE name = 'former'`, values: [] }
}

/** A plan that was carried out. */
export interface Entry {
  readonly number: number
  readonly name: string
  readonly checksum: string
  /** When, in milliseconds. */
  readonly time: number
}

/** What was carried out, in order; nothing in databases of before. */
export function* readLedger(state: State | null): Steps<Entry[]> {
  if (!state?.layout.shared.includes(plans)) return []
  const rows = yield { text: `SELECT number, name, checksum, time FROM ${plans} ORDER BY number`, values: [] }
  return rows.map(({ number, name, checksum, time }) => ({
    number: Number(number),
    name: name as string,
    checksum: checksum as string,
    time: Number(time),
  }))
}

export function* record({ mark, now }: Dialect, { number, name, checksum }: Omit<Entry, 'time'>): Steps<void> {
  const marks = [1, 2, 3].map(mark).join(', ')
  yield {
    text: `INSERT INTO ${plans} (number, name, checksum, time) VALUES (${marks}, ${now})`,
    values: [number, name, checksum],
  }
}

/** How far a phase was carried out by somebody who did not come to its end; 0 where nobody began it. */
export function* readProgress({ mark }: Dialect, key: string): Steps<number> {
  const [row] = yield { text: `SELECT value FROM ${meta} WHERE name = ${mark(1)}`, values: ['progress'] }
  const [of, done] = ((row?.value as string | undefined) ?? '').split(' ')
  return of === key ? Number(done) : 0
}

export function* writeProgress({ mark }: Dialect, key: string, done: number): Steps<void> {
  yield {
    text: `INSERT INTO ${meta} (name, value) VALUES (${mark(1)}, ${mark(2)}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    values: ['progress', `${key} ${done}`],
  }
}

/** A node that was not seen for so long, in milliseconds, does not run any more. */
const silence = 30_000
/** How often a node says that it runs. */
export const attendance = 10_000
/** How soon it says so again where it could not, as others were in the way. */
export const insistence = 1000

/** Says that a node runs, and what it is declared by. */
export function* attend({ mark, now }: Dialect, node: string, name: string): Steps<void> {
  yield {
    text: `INSERT INTO ${nodes} (node, name, seen) VALUES (${mark(1)}, ${mark(2)}, ${now})
      ON CONFLICT (node) DO UPDATE SET name = excluded.name, seen = excluded.seen`,
    values: [node, name],
  }
}

export function* depart({ mark }: Dialect, node: string): Steps<void> {
  yield { text: `DELETE FROM ${nodes} WHERE node = ${mark(1)}`, values: [node] }
}

/** Forgets nodes that did not depart; only by a clock that nobody sets, as rows of running nodes would be deleted too. */
export function* forgetLost({ now }: Dialect): Steps<void> {
  yield { text: `DELETE FROM ${nodes} WHERE seen < ${now} - ${silence * 10}`, values: [] }
}

/** What a node of another declaration said last, where the clock says that this was long ago, or is yet to come. */
export interface Sign {
  readonly node: string
  readonly seen: number
}

export function* doubtful({ mark, now }: Dialect, name: string): Steps<readonly Sign[]> {
  const text = `SELECT node, seen FROM ${nodes} WHERE name <> ${mark(1)} AND abs(seen - ${now}) >= ${silence} ORDER BY node`
  return (yield { text, values: [name] }) as unknown as readonly Sign[]
}

/** Forgets a node, unless it said since that it runs. */
export function* forget({ mark }: Dialect, { node, seen }: Sign): Steps<void> {
  yield { text: `DELETE FROM ${nodes} WHERE node = ${mark(1)} AND seen = ${mark(2)}`, values: [node, seen] }
}

/** The nodes that run another declaration than the one with a name. */
export function* others({ mark, now }: Dialect, name: string): Steps<string[]> {
  const text = `SELECT node FROM ${nodes} WHERE name <> ${mark(1)} AND seen > ${now} - ${silence} ORDER BY node`
  return (yield { text, values: [name] }).map(({ node }) => node as string)
}

/** Refuses a change, or a start, beside nodes of an earlier release that run another declaration, where rows would lose values. */
export const besideEarlier: Survey = function* ({ change: { before, after, merged }, dialect }) {
  if (before === null || merged.length === 0) return []
  const earlier = (yield* others(dialect, nameOf(after))).filter(isEarlier)
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

/** What became of a copy: put back, or left for a reason. */
export interface Fate {
  readonly field: string
  readonly id: string
  /** Null where the value was put back. */
  readonly because: string | null
}

/** What a store's schema is, what it should be, and the steps between. */
export interface Migration {
  readonly steps: readonly Step[]
  readonly serves: Standing['serves']
  /** Refuses a declaration whose steps were all carried out, or remembers it. */
  readonly admit: () => void | Promise<void>
  /** What the steps would be refused for. */
  readonly survey: () => readonly Hazard[] | Promise<readonly Hazard[]>
  /** Runs the steps; those that wait for the nodes of before only when these are gone. */
  readonly apply: () => Applied | Promise<Applied>
  /** The plans that were carried out, in order. */
  readonly ledger: () => readonly Entry[] | Promise<readonly Entry[]>
  /** Carries one plan out and writes it down, both or neither. */
  readonly carry: (plan: Plan) => Carried | Promise<Carried>
  /** Hands every row to `see`, as this declaration has it, and gives the rows that do not fit it. */
  readonly inspect: (see: (row: Row) => void) => Misfits | Promise<Misfits>
  /** Puts dropped values back where their fields were not written since. */
  readonly undrop: () => readonly Fate[] | Promise<readonly Fate[]>
  readonly close: () => void
}

/** One phase of a change, as it was reviewed. */
export interface Plan extends Omit<Entry, 'time'> {
  readonly phase: Phase
  /** What it is written for. */
  readonly target: Target
  /** Names the layout that it starts from; null for an empty database. */
  readonly from: string | null
  /** What the database looks like behind both phases. */
  readonly to: Layout
  readonly steps: readonly Step[]
}

/** Whether a plan was carried out, was found to be so, or waits for nodes. */
export type Carried =
  | { readonly is: 'done' | 'adopted' }
  | { readonly is: 'waiting'; readonly waitsFor: readonly string[] }

/** What a plan finds: it is to be carried out, or everything is there already; anything else is refused. */
export function readiness({ name, number, phase, from, to }: Plan, state: State | null): 'ready' | 'adopted' {
  const now = state && nameOf(state.layout)
  if (now === nameOf(to)) {
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
export interface Applied {
  readonly done: readonly Step[]
  readonly left: readonly Step[]
  readonly waitsFor: readonly string[]
}

/** `apply` brings the schema up to date at start; `require` refuses where it is not. */
export type SchemaMode = 'apply' | 'require'

/** Told where a schema is not as declared and may not be changed. */
export function unlike(steps: readonly Step[]): Error {
  const list = steps.map(({ about }) => `  - ${about}`).join('\n')
  return new Error(
    `It is not as the declaration asks:\n${list}\nRun \`bylaw migrate plan\` to see the statements and \`bylaw migrate apply\` to carry them out.`,
  )
}
