/** Schema: the steps from the tables that are there to those that a declaration asks for. Pure. The cellar. */
import { type Collection, keyColumns } from '../resources/collection.ts'
import { dropView } from '../store/compile.ts'
import { type Dialect, quoted } from '../store/dialect.ts'
import { isConverted } from '../store/epoch.ts'
import { unlike } from '../store/kinds.ts'
import { heirOf, type Layout, layoutOf, placed, type TableLayout } from '../store/layout.ts'
import { mergedIn } from '../store/merging.ts'
import { existing, gone, reservedSteps, shared } from './shared.ts'
import type { Phase, Step } from './step.ts'
import { created, creation, indexText, lost, named, refuseHidden, refuseLater } from './tables.ts'

/** What a database is laid out for: the declaration of now, and the one of before while its nodes may run. */
export interface State {
  readonly layout: Layout
  readonly former: Layout | null
}

/** What stands between a database and a declaration. */
export interface Change {
  readonly before: State | null
  readonly after: Layout
  readonly steps: readonly Step[]
  /** The collections whose rows are safe beside nodes of the former declaration only where all nodes merge what they write. */
  readonly merged: readonly string[]
}

/** The steps from what is there to what is declared, those that wait for the former nodes last. */
export function changeBetween(before: State | null, collections: readonly Collection[], dialect: Dialect): Change {
  const all = [...collections]
  const after = layoutOf(all, before?.layout ?? null, dialect, Object.keys(shared(dialect)))
  const expand = [...missingShared(before?.layout ?? null, dialect), ...tableSteps(before?.layout ?? null, after)]
  const merged = mergedIn(before?.layout.open ? before.former : (before?.layout ?? null), after, all)
  if (before?.layout.open !== true) return { before, after, steps: expand, merged }
  if (expand.length > 0) throw unfinished()
  const rest = tableSteps(before.former, after).filter(({ phase }) => phase === 'contract')
  return { before, after, steps: rest, merged }

  function tableSteps(was: Layout | null, is: Layout): Step[] {
    const steps = inheriting(placed(collections, is)).flatMap(({ collection, table }) => {
      const old = heirOf(collection, all, was)
      if (old) {
        refuseLater(collection, old)
        return [...named(collection, was), ...changed(collection, old, table, { was, dialect })]
      }
      refuseHidden(collection.name, all, was)
      return created(collection, table, dialect)
    })
    return steps.toSorted((a, b) => rank(a) - rank(b))
  }
}

/** Rows are written ahead when all tables have what is new, as they give something to rows of others. */
const rank = ({ phase, fill }: Step): number => (phase === 'contract' ? 2 : fill?.ahead ? 1 : 0)

/** Collections before those that their rows give something to. */
function inheriting(all: ReturnType<typeof placed>): ReturnType<typeof placed> {
  const done = new Set<string>()
  const within = (one: (typeof all)[number]): typeof all => {
    if (done.has(one.collection.name)) return []
    done.add(one.collection.name)
    const givers = all.filter(({ collection }) => collection.epochs?.heirs.includes(one.collection.name))
    return [...givers.flatMap(within), one]
  }
  return all.flatMap(within)
}

const unfinished = (): Error =>
  new Error(
    'The change before this one is not finished: some of its steps wait until no node of the declaration before it runs. Run `bylaw migrate apply` with that declaration first.',
  )

/** Whether a declaration is the one of before, whose nodes may still run beside those of now. */
export function isFormer({ former, layout }: State, collections: readonly Collection[], dialect: Dialect): boolean {
  if (!former || layout.alone) return false
  const after = layoutOf(collections, former, dialect, former.shared)
  return collections.every(({ name }) => JSON.stringify(after.tables[name]) === JSON.stringify(former.tables[name]))
}

function missingShared(before: Layout | null, dialect: Dialect): Step[] {
  const missing = Object.entries(shared(dialect)).filter(([name]) => !before?.shared.includes(name))
  return missing.map(([name, sql]) => ({
    about: `create ${name}, which all resources share`,
    phase: 'expand',
    sql,
    note: 'New tables; nothing waits for it.',
  }))
}

/** What differs between two layouts of a table. */
interface Difference {
  readonly one: Collection
  readonly was: TableLayout
  readonly is: TableLayout
  readonly dialect: Dialect
  readonly freshColumns: readonly string[]
  readonly goneColumns: readonly string[]
  readonly freshIndexes: readonly string[]
  readonly goneIndexes: readonly string[]
}

function changed(
  one: Collection,
  was: TableLayout,
  is: TableLayout,
  { was: layout, dialect }: { readonly was: Layout | null; readonly dialect: Dialect },
): Step[] {
  const reason = unlike(one, was, layout)
  if (reason !== null) return [anew(one, was, is, dialect, reason)]
  const [old, now] = [Object.keys(was.columns), Object.keys(is.columns)]
  const same = (name: string) => JSON.stringify(was.indexes[name]) === JSON.stringify(is.indexes[name])
  const difference: Difference = {
    one,
    was,
    is,
    dialect,
    freshColumns: now.filter((name) => !old.includes(name)),
    goneColumns: old.filter((name) => !now.includes(name)),
    freshIndexes: Object.keys(is.indexes).filter((name) => !same(name)),
    goneIndexes: Object.keys(was.indexes).filter((name) => !same(name)),
  }
  const converted = isConverted(one, was)
  return [...widened(difference), ...reservedSteps({ name: one.name, was, is, converted }), ...narrowed(difference)]
}

const isUnique = (name: string): boolean => name.startsWith('unique')
/** What nodes of before do not notice. */
function widened(difference: Difference): Step[] {
  const { one, was, is, dialect, freshColumns, freshIndexes, goneIndexes } = difference
  const steps: Step[] = []
  const relaxed = goneIndexes.filter(isUnique)
  if (relaxed.length > 0)
    steps.push(dropped(difference, `let ${one.name} be alike in what is unique no longer`, relaxed, 'expand'))
  if (freshColumns.length > 0)
    steps.push({
      about: `add ${freshColumns.join(', ')} to ${one.name}`,
      phase: 'expand',
      sql: freshColumns.map(
        (name) =>
          `ALTER TABLE ${quoted(is.table)} ADD COLUMN ${existing(dialect)}${quoted(name)} ${is.columns[name]?.type}`,
      ),
      note: `Takes no value from existing rows, so it only holds the table for an instant.${older(difference)}`,
    })
  if (is.shape !== was.shape && was.shapes.includes(is.shapes[is.shape - 1] as string)) {
    const fill = { collection: one.name, again: true }
    const note = 'The structure was used before; the rows get new revisions, so that no tag of that time names them.'
    steps.push({ about: `count the revisions of ${one.name} on`, phase: 'expand', sql: [], note, fill })
  }
  if (isAhead(difference)) steps.push(...filledAhead(difference))
  const otherwise = goneIndexes.filter((name) => !isUnique(name) && freshIndexes.includes(name))
  if (otherwise.length > 0)
    steps.push(dropped(difference, `drop indexes of ${one.name} that are built otherwise`, otherwise, 'expand'))
  const ready = freshIndexes.filter((name) => !isUnique(name))
  if (ready.length > 0) steps.push(indexed(difference, `index ${one.name}`, ready, 'expand'))
  return steps
}

/** What columns are that no field of today has. */
function older({ one, freshColumns }: Difference): string {
  const own = one.columns.filter(({ name, of }) => of && freshColumns.includes(name)).map(({ name }) => name)
  return own.length === 0 ? '' : ` What changes make of a row for lists of older versions stands in ${own.join(', ')}.`
}

/** Whether nodes of today ask for what rows of before do not have, so that those are written before they begin. */
const isAhead = ({ one, was, is, freshColumns }: Difference): boolean =>
  is.shape !== was.shape && (freshColumns.length > 0 || (isConverted(one, was) && (one.epochs?.heirs.length ?? 0) > 0))

/** Rows are written in today's shape, and those that nodes of before write from then on are found by an index. */
function filledAhead({ one, is, dialect }: Difference): Step[] {
  const [how, apart] = dialect.online ? ['CONCURRENTLY IF NOT EXISTS ', { apart: true }] : ['', {}]
  const key = keyColumns(one).join(', ')
  return [
    {
      about: `find the rows of ${one.name} that nodes of before write`,
      phase: 'expand',
      sql: [`CREATE INDEX ${how}${lagging(is)} ON ${quoted(is.table)} (${key}) WHERE shape < ${is.shape}`],
      note: 'It goes with the end of the change.',
      ...apart,
    },
    {
      about: `write the rows of ${one.name} ahead`,
      phase: 'expand',
      sql: [],
      note: 'Runs in batches, each a short transaction; what nodes of before know of a row stays beside it.',
      fill: { collection: one.name, again: false, ahead: true },
    },
  ]
}

/** The index of the rows that are of an older shape. */
const lagging = ({ table }: TableLayout): string => quoted(`lagging__${table}`)

/** What has to wait until all nodes are of today. */
function narrowed(difference: Difference): Step[] {
  const { one, was, is, dialect, goneColumns, freshIndexes, goneIndexes } = difference
  const steps: Step[] = []
  if (is.shape !== was.shape) steps.push(...filled(difference))
  const late = freshIndexes.filter(isUnique)
  if (late.length > 0) steps.push(indexed(difference, `index what is new in ${one.name}`, late, 'contract'))
  const idle = goneIndexes.filter((name) => !isUnique(name) && !freshIndexes.includes(name))
  if (idle.length > 0)
    steps.push(dropped(difference, `drop indexes of ${one.name} that serve no list`, idle, 'contract'))
  const columns = goneColumns.map(
    (name) => `ALTER TABLE ${quoted(is.table)} DROP COLUMN ${gone(dialect)}${quoted(name)}`,
  )
  const views = was.view === is.view ? [] : [dropView(is), is.view]
  const found = isAhead(difference) ? [`DROP INDEX IF EXISTS ${lagging(is)}`] : []
  if (columns.length + views.length + found.length > 0)
    steps.push({
      about: `take out of ${one.name} what is indexed or shown no longer`,
      phase: 'contract',
      sql: [...found, ...columns, ...views],
      note: 'Nodes of the former declaration cannot write any more behind it.',
    })
  return steps
}

/** What becomes of fields that are not declared any more. */
function lossOf(one: Collection, was: TableLayout): string {
  const gone = lost(one, was)
  const fate = isConverted(one, was)
    ? 'becomes what the changes of versions make of it'
    : 'goes to bylaw_dropped, if --allow-loss names it'
  const filled = one.fields.some(hasFill) ? '; what a fill replaces goes to bylaw_dropped' : ''
  return (gone.length === 0 ? '' : `; what stands in ${gone.join(', ')} ${fate}`) + filled
}

const hasFill = ({ fill, inner }: Collection['fields'][number]): boolean => fill !== null || inner.some(hasFill)

/** From now on nobody writes rows of before; those that are there are written again. */
function filled(difference: Difference): Step[] {
  const { one, was, is, dialect } = difference
  const { before, behind } = dialect.floor(is.table, is.shape)
  const loss = lossOf(one, was)
  const guard: Step[] =
    before.length === 0
      ? []
      : [
          {
            about: `let nobody write rows of ${one.name} as they were before`,
            phase: 'contract',
            sql: before,
            guards: true,
            note: 'Nodes of the former declaration are refused from here on, as their rows would lack what is new.',
          },
        ]
  const proof: Step[] =
    behind.length === 0
      ? []
      : [
          {
            about: `prove that no row of ${one.name} is as it was before`,
            phase: 'contract',
            sql: behind,
            apart: true,
            note: 'Reads the whole table; nobody waits for it.',
          },
        ]
  return [
    ...guard,
    {
      about: `write the rows of ${one.name} again${loss}`,
      phase: 'contract',
      sql: [],
      note: 'Runs in batches, each a short transaction; it can be stopped and goes on where it was.',
      fill: { collection: one.name, again: false, ...(isAhead(difference) && { latest: true }) },
    },
    ...proof,
  ]
}

/** Makes indexes of a table while it is used. */
export function indexed(
  { is, dialect }: Pick<Difference, 'is' | 'dialect'>,
  about: string,
  names: readonly string[],
  phase: Phase,
): Step {
  const { online } = dialect
  const how = online ? 'CONCURRENTLY IF NOT EXISTS ' : ''
  const note = online
    ? 'Reads and writes go on meanwhile; it waits for transactions that are open.'
    : 'Writers wait until it is built.'
  const unique = names.some(isUnique) ? ' It fails where rows are alike: make them differ first.' : ''
  const sql = names.map((name) => indexText(is, name, is.indexes[name] as readonly string[], how))
  return { about, phase, sql, note: note + unique, ...(online && { apart: true }) }
}

function dropped({ dialect: { online } }: Difference, about: string, names: readonly string[], phase: Phase): Step {
  const sql = names.map((name) => `DROP INDEX ${online ? 'CONCURRENTLY ' : ''}IF EXISTS ${quoted(name)}`)
  return { about, phase, sql, note: 'Lists that need it are slower from here on.', ...(online && { apart: true }) }
}

/** What no step can do without losing rows is done only where there are none. */
function anew(one: Collection, was: TableLayout, is: TableLayout, dialect: Dialect, reason: string): Step {
  const sql = [dropView(was), `DROP TABLE ${gone(dialect)}${quoted(was.table)}`, ...creation(one, is, dialect)]
  const note = 'Only where the table has no rows; nodes of the former declaration fail behind it.'
  return { about: `make ${one.name} anew, as ${reason}`, phase: 'expand', sql, note, empty: was.table }
}
